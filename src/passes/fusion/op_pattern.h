// The patterns of rldb/fusion/op_pattern.h under the passes' names. AnnotateTIROpPattern assigns them, FuseOps decides
// by them.
#pragma once

#include "rldb/fusion/op_pattern.h"

namespace rldb::passes {

using fusion::OpPattern;
using enum fusion::OpPattern;

}  // namespace rldb::passes
