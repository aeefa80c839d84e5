// The code generator `tir`: part of a kernel stays TensorIR, as text beside the program.
#include "passes/byoc/codegens.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/external_module.h"
#include "rldb/source/diagnostic_byoc.h"
#include "rldb/source/diagnostic_pass.h"

namespace rldb::passes {

using namespace ir;

Result<const Attr*> tir_codegen(const KernelCodegenInput& input) {
  Context& ctx = input.env.ctx;
  ModuleBuilder builder(ctx);
  builder.set(input.symbol, input.function);
  const Module* alone = builder.build();
  PrintOptions options;
  options.show_meta = true;
  for (const std::string& gap : unsayable(alone, options.syntax))
    return support::Failure(source::message(diag::CodegenRefused, input.codegen, input.symbol, gap));
  return ctx.attr_dict(std::vector<NamedAttr>{
      ctx.named(external::kKind, ctx.attr(input.codegen)), ctx.named(external::kSymbol, ctx.attr(input.symbol)),
      ctx.named(external::kTensorIr, ctx.attr(std::string_view(print(alone, options))))});
}

}  // namespace rldb::passes
