// `rldb opt` on Relay text: passes of the Relay VM's compiler.
#pragma once

#include "rldb/session/relay_text.h"
#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

int batch_opt_relay(session::Session& session, const session::RelayText& program, const CommandLine& line,
                    Console& console);

}  // namespace rldb::ui
