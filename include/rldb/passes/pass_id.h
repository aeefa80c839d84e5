// The passes of pass.def by name: PassId::LegalizeOps.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

enum class PassId : std::uint16_t {
#define RLDB_PASS(name, function, kind, options, doc) name,
#include "rldb/passes/pass.def"
};

}  // namespace rldb::passes
