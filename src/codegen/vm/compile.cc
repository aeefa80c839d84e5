#include "rldb/codegen/vm/compile.h"

#include <fmt/format.h>

#include "codegen/vm/function_compiler.h"
#include "rldb/bytecode/plain_text.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/support/text.h"

namespace rldb::codegen {

namespace {

// TVM's programs may call functions by any string; in an executable names are text that a listing shows as it is.
bool names_are_text(const bytecode::Executable& exe, source::Diagnostics& out) {
  const std::size_t before = out.error_count();
  for (const bytecode::FunctionEntry& f : exe.functions)
    if (!bytecode::is_plain_text(f.name)) out.add({}, source::message(diag::FunctionNameNotText, f.name));
  return out.error_count() == before;
}

support::Failure<source::Message> failed(const ir::Module* module, std::size_t errors) {
  return support::Failure(source::message(diag::CodegenUnsupported, fmt::format("module `{}`", module->name),
                                          support::counted(errors, "error") + " in it"));
}

}  // namespace

ir::Result<bytecode::Executable> compile_vm(ir::Context& ctx, const ir::Module* module, source::Diagnostics& out) {
  std::size_t before = out.error_count();
  bytecode::ExecutableBuilder builder;
  FunctionCompiler compiler(ctx, module, builder, out);
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f) continue;
    // Mentioned before its callees, as in TVM.
    builder.function(entry.name, bytecode::FunctionKind::Bytecode);
    VirtualCode code = compiler.compile(entry.name, f);
    if (out.error_count() == before) emit(code, builder);
  }
  if (std::size_t errors = out.error_count() - before; errors > 0) return failed(module, errors);
  if (const auto& open = compiler.operators_at_run_time(); !open.empty()) {
    const std::string which = open.size() == 1 ? "an operator" : fmt::format("{} operators", open.size());
    out.add(ctx.span_of(open.front()), source::message(diag::OperatorAtRunTime, which));
  }
  bytecode::Executable exe = builder.finish();
  if (!names_are_text(exe, out)) return failed(module, out.error_count() - before);
  auto verified = bytecode::verify(exe);
  RLDB_CHECK(verified.ok(), verified.ok() ? std::string() : verified.error().message);
  return exe;
}

}  // namespace rldb::codegen
