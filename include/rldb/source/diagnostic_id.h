// The names of the diagnostics, from diagnostic.def. For sources that emit one or ask which one it was; not for
// headers.
#pragma once

#include "rldb/source/diagnostic.h"

namespace rldb::source {

enum class DiagId : std::uint16_t {
#define RLDB_DIAG(id, severity, text, hint) id,
#include "rldb/source/diagnostic.def"
};

}  // namespace rldb::source
