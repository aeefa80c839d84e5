// Programs of the Relay VM for a session (session/relay_machine.h): compiled from text or opened from a file, mapped
// for debuggers (relay/vm/on_machine.h). User: ui.
#pragma once

#include <memory>

#include "rldb/session/relay_machine.h"

namespace rldb::relay_run {

std::shared_ptr<session::RelayMachine> make_relay_machine();

}  // namespace rldb::relay_run
