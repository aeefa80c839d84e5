#include "rldb/passes/codegen_marks.h"

#include <algorithm>
#include <iterator>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kMarks[] = {fn_attr::kPrimitive, fn_attr::kComposite, fn_attr::kCodegen};

bool is_marked(const Function* f) {
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return find_attr(f->attrs, mark) != nullptr; });
}

bool has_marks(const Expr* function) {
  bool found = false;
  walk(function, [&](const Node* n) {
    const auto* f = as<Function>(n);
    found = found || (f && is_marked(f));
    return !found;
  });
  return found;
}

class Unmarker : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* unmark(const Function* f) {
    f = rewrite_function(f);
    Span<NamedAttr> attrs = f->attrs;
    for (const std::string_view mark : kMarks) attrs = ctx_.with_attr(attrs, mark, nullptr);
    const Function* made = ctx_.function(f->params, f->body, f->ret_type, f->is_pure, attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* f = as<Function>(e);
    return f && is_marked(f) ? unmark(f) : Rewriter::visit_expr(e);
  }
};

}  // namespace

const Module* without_codegen_marks(Context& ctx, const Module* module) {
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || !has_marks(f)) continue;
    builder.set(e.name, is_marked(f) ? Unmarker(ctx).unmark(f) : Unmarker(ctx).rewrite_function(f));
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
