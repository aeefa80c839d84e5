// The code generator `plugin`: a plugin already exports the function, so no code is generated.
#include "passes/byoc/codegens.h"
#include "passes/common.h"
#include "rldb/passes/external_module.h"
#include "rldb/source/diagnostic_byoc.h"

namespace rldb::passes {

using namespace ir;

Result<const Attr*> plugin_codegen(const CodegenInput& input) {
  Context& ctx = input.env.ctx;
  std::vector<NamedAttr> fields{ctx.named(external::kKind, ctx.attr(codegen_name::Plugin))};
  for (const auto& [name, value] : input.options) {
    if (name != external::kLibrary) return support::Failure(source::message(diag::CodegenOption, input.codegen, name));
    fields.push_back(ctx.named(external::kLibrary, ctx.attr(std::string_view(value.name()))));
  }
  const Attr* symbol = ctx.attr(input.symbol);
  fields.push_back(ctx.named(external::kSymbols, ctx.attr_list(std::span(&symbol, 1))));
  return ctx.attr_dict(fields);
}

Result<const Attr*> plugin_kernel_codegen(const KernelCodegenInput& input) {
  Context& ctx = input.env.ctx;
  const Attr* symbol = ctx.attr(input.symbol);
  return ctx.attr_dict(std::vector<NamedAttr>{ctx.named(external::kKind, ctx.attr(input.codegen)),
                                              ctx.named(external::kSymbols, ctx.attr_list(std::span(&symbol, 1)))});
}

}  // namespace rldb::passes
