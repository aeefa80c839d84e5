#include "rldb/session/default_function.h"

#include <vector>

#include "rldb/session/session.h"
#include "rldb/support/entry_function.h"

namespace rldb::session {

std::string default_function(const Session& session) {
  std::vector<std::string> open, relax, all;
  if (const ir::Module* module = session.module()) {
    for (const ir::ModuleEntry& e : module->entries) {
      const auto* f = ir::as<ir::Function>(e.function);
      if (f && !f->is_private()) open.emplace_back(e.name);
      if (f) relax.emplace_back(e.name);
      all.emplace_back(e.name);
    }
  } else {
    all = session.function_names();
  }
  const std::vector<std::string>& names = !open.empty() ? open : !relax.empty() ? relax : all;
  return names.size() == 1 ? names[0] : std::string(support::kEntryFunction);
}

}  // namespace rldb::session
