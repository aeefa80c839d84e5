// The live page of a session at the prompt: a server on loopback, and what it answers. docs/page.md.
// User: the program, which gives it to the prompt.
#pragma once

#include <memory>

#include "rldb/ui/prompt/page_door.h"

namespace rldb::protocol {

std::unique_ptr<ui::PageDoor> make_page_door();

}  // namespace rldb::protocol
