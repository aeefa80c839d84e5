// The rows of diagnostic_onnx.def as constants: diag::<Id>.
#pragma once

#include "rldb/source/diagnostic.h"

namespace rldb::diag {

#define RLDB_DIAG(id, severity, text, hint) RLDB_DIAG_CONSTANT(id, severity, text, hint)
#include "rldb/source/diagnostic_onnx.def"
#undef RLDB_DIAG

}  // namespace rldb::diag
