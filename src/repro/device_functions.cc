// Packed functions that a module calls and the session lacks.
#include "repro/device_functions.h"

#include <algorithm>
#include <set>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/device_function.h"
#include "rldb/ir/launched.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/external_module.h"

namespace rldb::repro {

namespace {

using Names = std::set<std::string_view>;

Names packed_functions(const ir::Module* module) {
  Names names;
  for (const ir::ModuleEntry& e : module->entries)
    ir::walk(e.function, [&](const ir::Node* n) {
      if (const auto* x = ir::as<ir::ExternFunc>(n)) names.insert(x->symbol);
      if (const std::string_view name = ir::packed_callee(n); !name.empty()) names.insert(name);
      return true;
    });
  return names;
}

Names external_functions(const ir::Module* module) {
  Names names;
  for (const ir::Attr* external : passes::external_modules(module)) {
    names.insert(passes::string_of(external, passes::external::kSymbol));
    const ir::Attr* list = ir::find_attr(external->fields, passes::external::kSymbols);
    if (!list || !list->is(ir::AttrKind::List)) continue;
    for (const ir::Attr* symbol : list->items)
      if (symbol->is(ir::AttrKind::String)) names.insert(symbol->string);
  }
  return names;
}

}  // namespace

bool needs_a_device(session::Session& session, const ir::Module* module) {
  Names missing = packed_functions(module);
  const ir::LaunchedKernels kernels = ir::launched_kernels(module);  // the engines call them
  std::erase_if(missing, [&](std::string_view name) {
    return session.registry().find(name) || bytecode::find_builtin(name) || kernels.contains(name);
  });
  const Names external = external_functions(module);
  const auto is_of_a_device = [&](std::string_view name) {
    return bytecode::is_device_function(name) || external.contains(name);
  };
  return !missing.empty() && std::all_of(missing.begin(), missing.end(), is_of_a_device);
}

}  // namespace rldb::repro
