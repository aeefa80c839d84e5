// A function's storages as a picture: one row per tensor, from left to right the instructions during which it lives.
#pragma once

#include <string>

#include "rldb/debug/storage.h"

namespace rldb::ui {

// `now`: the instruction to mark; -1: none.
std::string storage_text(const debug::StoragePlan& plan, bytecode::Pc now, bool ascii);
std::string storage_svg(const debug::StoragePlan& plan, bytecode::Pc now);

}  // namespace rldb::ui
