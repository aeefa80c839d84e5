// The passes of pass.def by name: PassId::FuseOps.
#pragma once

#include "rldb/relay/passes/pass.h"

namespace rldb::relay {

enum class PassId : std::uint8_t {
#define RLDB_RELAY_PASS(Id, name, short_name, options, doc) Id,
#include "rldb/relay/passes/pass.def"
};

}  // namespace rldb::relay
