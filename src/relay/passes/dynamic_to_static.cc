// DynamicToStatic: operands that are constants become attributes (dynamic.def has the rows).
#include <charconv>

#include "relay/passes/common.h"
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

  // Null: an operand is no constant.
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

  // As the operator's row has them, and none that it has not.
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

class Rewriter : public AnfRewriter {
 public:
  using AnfRewriter::AnfRewriter;

 private:
  const Expr* value(const Var*, const Expr* v) override {
    const auto* call = as<Call>(v);
    const auto* op = call ? as<Op>(call->callee) : nullptr;
    if (!op) return v;
    for (const Row& row : kRows)
      if (row.dynamic == op->info->id)
        if (const Expr* made = ToStatic(ctx_, *call, row).run()) return made;
    return v;
  }
};

}  // namespace

const Module* run_DynamicToStatic(PassEnv& env, const Module* m) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : Rewriter(env.ctx).function(d.function);
  });
}

}  // namespace rldb::relay
