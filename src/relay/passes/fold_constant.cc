// FoldConstant: operators whose operands are constants are computed at compile time, with the evaluator that the caller
// supplies; variables bound to constants are replaced by them. As in TVM, operators without operands (`zeros`) are left
// unchanged; a call that cannot be computed here stays.
#include <fmt/format.h>

#include "relay/passes/common.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::relay {

namespace {

// A larger result costs more to keep than to compute again.
constexpr std::int64_t kMaxBytes = std::int64_t(64) << 20;

bool is_constant(const Expr* e) {
  if (e->kind == ExprKind::Constant) return true;
  const auto* t = as<Tuple>(e);
  return t && std::all_of(t->fields.begin(), t->fields.end(), [](const Expr* f) { return is_constant(f); });
}

// 0 or less: not known.
std::int64_t bytes_of(const Type* t) {
  if (const auto* tensor = as<TensorType>(t)) {
    std::int64_t bytes = std::int64_t(tensor->dtype.bytes());
    for (const Dim& d : tensor->shape)
      if (d.kind != DimKind::Known || __builtin_mul_overflow(bytes, d.value, &bytes)) return -1;
    return std::max<std::int64_t>(bytes, 1);
  }
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return -1;
  std::int64_t sum = 1;
  for (const Type* f : tuple->fields) {
    const std::int64_t bytes = bytes_of(f);
    if (bytes <= 0 || __builtin_add_overflow(sum, bytes, &sum)) return -1;
  }
  return sum;
}

class ConstantFolder : public GraphRewriter {
 public:
  ConstantFolder(PassEnv& env, const Typing& typing) : GraphRewriter(env), typing_(typing) {}

 private:
  void bound(const Let& let, const Expr* value) override {
    if (value->kind == ExprKind::Constant) map(let.var, value);
  }

  const Expr* rewrite(const Expr* e, const Expr* made) override {
    if (const auto* p = as<Projection>(made)) {
      const auto* tuple = as<Tuple>(p->tuple);
      const bool known = tuple && p->index >= 0 && std::size_t(p->index) < tuple->fields.size();
      return known && is_constant(tuple) ? tuple->fields[std::size_t(p->index)] : made;
    }
    const auto* let = as<Let>(made);
    if (let && let->value->kind == ExprKind::Constant) return let->body;
    const Expr* folded = fold(e, made);
    return folded ? folded : made;
  }

  // Null: it stays.
  const Expr* fold(const Expr* e, const Expr* made) {
    const OpInfo* op = operator_of(made);
    const bool computes =
        op && (op->role == OpRole::Plain || op->role == OpRole::Reshape || op->role == OpRole::Values);
    if (!computes) return nullptr;
    const auto& args = cast<Call>(made).args;
    if (args.empty() || !std::all_of(args.begin(), args.end(), is_constant)) return nullptr;
    const std::int64_t bytes = bytes_of(typing_.of(e));
    if (op->role != OpRole::Values && (bytes <= 0 || bytes > kMaxBytes)) return nullptr;
    if (!support::may_rewrite([&] { return fmt::format("computes `{}`", op->name); })) return nullptr;
    support::RewriteCounter of_the_kernel;  // for the kernel's passes, whose rewrites are not this one's
    const auto value = env_.evaluator->evaluate(ctx_.function({}, {}, nullptr, made));
    support::poll();
    return value.ok() ? constant_of(*value) : nullptr;
  }

  const Expr* constant_of(const runtime::Value& v) {
    if (v.is(runtime::ValueKind::Tensor))
      return ctx_.constant(support::Ref<runtime::Tensor>(const_cast<runtime::Tensor*>(&v.as_tensor())));
    if (!v.is(runtime::ValueKind::Tuple)) return nullptr;
    std::vector<const Expr*> fields;
    for (const runtime::Value& f : v.as_tuple().fields) {
      fields.push_back(constant_of(f));
      if (!fields.back()) return nullptr;
    }
    return ctx_.tuple(fields);
  }

  const Typing& typing_;
};

}  // namespace

const Module* run_FoldConstant(PassEnv& env, const Module* m, const NoOptions&) {
  if (!env.evaluator) return m;
  Typing typing;
  if (!infer_types(env.ctx, m, typing, env.out)) return nullptr;
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : ConstantFolder(env, typing).function(d.function);
  });
}

}  // namespace rldb::relay
