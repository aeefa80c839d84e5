#include <algorithm>

#include "frontend/place.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/verifier.h"

namespace rldb::frontend {

void verify_parsed(ir::Context& ctx, const source::SourceManager& sources, const ParseResult& parsed,
                   source::Diagnostics& found) {
  if (!parsed.module) return;
  ir::VerifyOptions options;
  std::vector<source::Span> errors;
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) errors.push_back(d.span);
  options.incomplete = !parsed.ok;
  options.skip = [&](const ir::Expr* function) {
    const source::Span span = ctx.span_of(function);
    // (A block that is missing is missed where the function ends.)
    return std::any_of(errors.begin(), errors.end(), [&](const source::Span& e) {
      return e.file == span.file && e.begin >= span.begin && e.begin <= span.end;
    });
  };
  const auto is_in = [](const std::vector<const ir::Expr*>& functions) {
    return
        [&functions](const ir::Expr* f) { return std::find(functions.begin(), functions.end(), f) != functions.end(); };
  };
  options.lacks_parameters = is_in(parsed.gaps.parameters);
  options.lacks_definitions = is_in(parsed.gaps.definitions);
  source::Diagnostics rules;
  ir::verify(ctx, parsed.module, rules, options);
  for (source::Diagnostic d : rules.all()) {
    if (!parsed.check_well_formed) d.severity = source::Severity::Warning;
    if (const source::Buffer* buffer = sources.find(d.span.file)) d.span = at_name(d.span, buffer->text());
    found.add(std::move(d));
  }
}

}  // namespace rldb::frontend
