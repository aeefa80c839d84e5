// DynamicToStatic: constant operands become attributes (dynamic.def has the rows).
#include <fmt/format.h>

#include <charconv>

#include "relay/passes/common.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/support/text.h"

namespace rldb::relay {

namespace {

struct Row {
  OpId dynamic, fixed;
  std::string_view operands;
};
constexpr Row kRows[] = {
#define RLDB_RELAY_DYNAMIC(Dynamic, Static, operands) {op::Dynamic, op::Static, operands},
#include "relay/passes/dynamic.def"
};

class ToStatic {
 public:
  ToStatic(Context& ctx, const Call& call, const Row& row) : ctx_(ctx), call_(call), row_(row) {}

  // Null: an operand is not constant.
  const Expr* run() {
    std::vector<bool> moved(call_.args.size());
    std::vector<NamedAttr> found(call_.attrs.begin(), call_.attrs.end());
    for (std::string_view rest = row_.operands; !rest.empty();) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      if (!move_operand(rest.substr(0, blank), moved, found)) return nullptr;
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    std::vector<const Expr*> args;
    for (std::size_t i = 0; i < call_.args.size(); ++i)
      if (!moved[i]) args.push_back(call_.args[i]);
    const Expr* made = ctx_.call(ctx_.op(&info(row_.fixed)), args, in_order(found));
    ctx_.set_span(made, ctx_.span(&call_));
    return made;
  }

 private:
  bool move_operand(std::string_view field, std::vector<bool>& moved, std::vector<NamedAttr>& found) {
    std::size_t index = 0;
    std::from_chars(field.data(), field.data() + field.size(), index);
    const std::string_view rest = field.substr(field.find(':') + 1);
    const std::string_view name = rest.substr(0, rest.find(':'));
    const auto* constant = index < call_.args.size() ? as<Constant>(call_.args[index]) : nullptr;
    if (!constant || !constant->tensor->dtype().is_integral() || constant->tensor->ndim() > 1) return false;
    moved[index] = true;
    std::erase_if(found, [&](const NamedAttr& a) { return a.name == name; });
    found.push_back({ctx_.str(name), rest.ends_with(":int") ? number(*constant->tensor, 0) : list(*constant->tensor)});
    return true;
  }

  const AttrValue* number(const runtime::Tensor& t, std::int64_t i) {
    AttrValue v;
    v.kind = AttrKind::Int;
    v.integer = std::int64_t(t.at(i));
    return ctx_.attr(v);
  }

  const AttrValue* list(const runtime::Tensor& t) {
    std::vector<const AttrValue*> items;
    for (std::int64_t i = 0; i < t.element_count(); ++i) items.push_back(number(t, i));
    AttrValue v;
    v.kind = AttrKind::List;
    v.items = ctx_.list(items);
    return ctx_.attr(v);
  }

  // In the order of the operator's row, and only those that it has.
  std::vector<NamedAttr> in_order(const std::vector<NamedAttr>& found) const {
    std::vector<NamedAttr> out;
    for (const AttrField& field : info(info(row_.fixed).attributes).fields)
      for (const NamedAttr& a : found)
        if (a.name == field.name) out.push_back(a);
    return out;
  }

  Context& ctx_;
  const Call& call_;
  const Row& row_;
};

class Rewriter : public GraphRewriter {
 public:
  using GraphRewriter::GraphRewriter;

 private:
  // A variable bound to a constant is one.
  void bound(const Let& let, const Expr* value) override {
    if (const auto* c = as<Constant>(value)) constants_[let.var] = c;
  }

  const Expr* rewrite(const Expr*, const Expr* made) override {
    const OpInfo* op = operator_of(made);
    if (!op) return made;
    for (const Row& row : kRows) {
      if (row.dynamic != op->id) continue;
      const auto text = [&] { return fmt::format("`{}` becomes `{}`", op->name, info(row.fixed).name); };
      const Expr* fixed = ToStatic(ctx_, cast<Call>(over_mapped(ctx_, made, constants_)), row).run();
      if (fixed && support::may_rewrite(text)) return fixed;
    }
    return made;
  }

  ExprMap constants_;
};

}  // namespace

const Module* run_DynamicToStatic(PassEnv& env, const Module* m, const NoOptions&) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : Rewriter(env).function(d.function);
  });
}

}  // namespace rldb::relay
