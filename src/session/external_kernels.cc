// External modules of kind `tir`: their functions become kernels of the program that is built or evaluated, so that
// engines, the debugger and executables treat them like the others. The text is untrusted.
#include "rldb/frontend/parse.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/codegen.h"
#include "rldb/passes/external_module.h"
#include "rldb/source/diagnostic_executable.h"
#include "session/engines.h"

namespace rldb::session {

namespace {

// The PrimFunc of an external module's text under its symbol; null, with the reason.
const ir::PrimFunc* read_kernel(ir::Context& ctx, source::SourceManager& sources, const ir::Attr* external,
                                std::string& why) {
  const std::string_view symbol = passes::string_of(external, passes::external::kSymbol);
  const std::string text(passes::string_of(external, passes::external::kTensorIr));
  const source::FileId file = sources.add("<external " + std::string(symbol) + ">", text);
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(ctx, sources, file, found);
  if (parsed.module && !found.has_errors()) ir::verify(ctx, parsed.module, found);
  if (found.has_errors()) {
    why = found.first_error(text);
    return nullptr;
  }
  const auto* f = parsed.module ? ir::as<ir::PrimFunc>(parsed.module->find(symbol)) : nullptr;
  if (!f) why = "its text has no PrimFunc of that name";
  return f;
}

}  // namespace

const ir::Module* Session::Engines::with_external_kernels(ir::Context& ctx, source::SourceManager& sources,
                                                          const ir::Module* module, Diagnostics& out) {
  ir::ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ir::Attr* external : passes::external_modules(module)) {
    if (passes::string_of(external, passes::external::kKind) != passes::kernel_codegen_name::Tir) continue;
    const std::string_view symbol = passes::string_of(external, passes::external::kSymbol);
    std::string why;
    const ir::PrimFunc*& kernel = external_kernels[external];
    if (!kernel) kernel = read_kernel(ctx, sources, external, why);
    const ir::Expr* own = module->find(symbol);
    if (kernel && own && own != kernel) why = "the program has a function of that name too";
    if (!why.empty()) {
      out.add({}, source::message(diag::ExternalUnusable, symbol, why));
      return nullptr;
    }
    builder.set(symbol, kernel);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::session
