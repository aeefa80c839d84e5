// The entry points of ir/verifier.h and the rules about the module as a whole (2, 3).
#include "rldb/ir/verifier.h"

#include "ir/verify/verifier_impl.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {
namespace verify_detail {
namespace {

void module_names(Reporter& report, const Module* m) {
  for (std::size_t k = 1; k < m->entries.size(); ++k)
    if (m->entries[k].name == m->entries[k - 1].name)
      report.add(m->entries[k].function, diag::VerifyDuplicateGlobal, m->entries[k].name);
}

// TVM requires it of Relax functions only: a PrimFunc may be exported under another name.
void global_symbol(Reporter& report, const ModuleEntry& e) {
  const auto* f = as<Function>(e.function);
  if (f == nullptr) return;
  const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
  if (symbol == nullptr || !symbol->is(AttrKind::String) || symbol->string == e.name) return;
  report.add(f, diag::VerifyGlobalSymbol, e.name, symbol->string);
}

void entry(Reporter& report, RelaxVerifier& relax, const ModuleEntry& e) {
  support::poll();
  report.at(e.function);
  global_symbol(report, e);
  if (const auto* f = as<Function>(e.function)) relax.function(e.name, f);
  if (const auto* f = as<PrimFunc>(e.function)) TirVerifier(report).function(e.name, f);
}

}  // namespace
}  // namespace verify_detail

bool verify(Context& ctx, const Module* m, source::Diagnostics& out, const VerifyOptions& options) {
  verify_detail::Reporter report(ctx, out);
  verify_detail::RelaxVerifier relax(report, m, options);
  verify_detail::module_names(report, m);
  for (const ModuleEntry& e : m->entries)
    if (!options.skip || !options.skip(e.function)) verify_detail::entry(report, relax, e);
  return report.clean();
}

bool verify_function(Context& ctx, const Module* m, std::string_view name, source::Diagnostics& out,
                     const VerifyOptions& options) {
  verify_detail::Reporter report(ctx, out);
  verify_detail::RelaxVerifier relax(report, m, options);
  for (const ModuleEntry& e : m->entries)
    if (e.name == name) verify_detail::entry(report, relax, e);
  return report.clean();
}

}  // namespace rldb::ir
