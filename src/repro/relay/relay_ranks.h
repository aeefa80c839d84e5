// A candidate of a reduction of Relay text that rank 0 has sent, on another rank. Room-private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/oracle.h"
#include "rldb/session/relay_text.h"

namespace rldb::repro {

// `parts`: the passes, and the text of the module.
std::optional<Symptom> answer_relay_rank_0(session::Session& session, const session::RelayText& program,
                                           const Question& question, const std::vector<std::string>& parts);

}  // namespace rldb::repro
