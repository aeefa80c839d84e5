#include "session/contrib.h"

#include "rldb/bytecode/runtime_function.h"
#include "rldb/runtime/contrib.h"

namespace rldb::session {

void register_contrib(runtime::PackedRegistry& registry) {
#define RLDB_RUNTIME_FUNCTION(id, name, function, doc) \
  registry.register_function(std::string(runtime_function::id), runtime::function, doc);
#include "rldb/bytecode/runtime_function.def"
}

}  // namespace rldb::session
