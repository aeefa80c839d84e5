// T.start_profile_intrinsic(id) and T.end_profile_intrinsic(id), which InstrumentProfileIntrinsics puts around loops:
// requests to a code generator, which no engine here has a use for. Users: eval, code generation.
#pragma once

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"

namespace rldb::ir {

inline bool is_profile_mark(const Expr* e) {
  return is_call_of(e, intrin::StartProfileIntrinsic) || is_call_of(e, intrin::EndProfileIntrinsic);
}

}  // namespace rldb::ir
