// The passes of both tables by name: PassId::LegalizeOps.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

enum class PassId : std::uint16_t {
#define RLDB_PASS(name, function, kind, options, doc) name,
#include "rldb/passes/pass.def"
#define RLDB_PASS(name, function, kind, options, doc) name,
#include "rldb/tir_passes/pass.def"
};

}  // namespace rldb::passes
