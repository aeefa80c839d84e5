// Recorded runs of programs that are no Relax modules: of their code. Room-private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/compare.h"

namespace rldb::repro {

// On the machine, instruction by instruction; variables are named by the debug information.
Trace record_code(session::Session& session, const Program& program);

// A call of a recorded run, with other contents of the tensors that it reads.
struct CallWithOthers {
  std::size_t event = kNoEvent;  // that it computes
  std::string instruction;
  struct Input {
    runtime::Value own, other;
  };
  std::vector<Input> inputs;  // each that it reads
};
// The tensor that it computes from these. None: the run does not come to this call again.
std::optional<runtime::Value> record_with_others(session::Session& session, const Program& program,
                                                 const CallWithOthers& call);

}  // namespace rldb::repro
