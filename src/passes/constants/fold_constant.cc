// FoldConstant: calls whose arguments are constants are computed at compile time.
//
// A call_tir with one output of known shape is run as it is, wherever it is bound; in dataflow blocks an operator is
// legalised first and run when that gives a single call_tir. `tensor_to_shape` of a constant and `shape_to_tensor` of
// known dims are read directly, and shapes bound to a variable are put into the operators that take them. A kernel that
// cannot be run here (one for another target, or one that fails) stays a call. As in TVM. So does one whose result is
// written in place later, of which TVM makes a constant that each run changes.
#include <fmt/format.h>

#include "passes/common.h"
#include "passes/constants/written_variables.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using runtime::Value;
using source::message;
using support::Failure;

namespace {

// An operator without tensor arguments creates its elements from scratch: beyond this many, storing them costs more
// than computing them again.
constexpr std::int64_t kMaxCreated = 1024;

std::optional<std::vector<std::int64_t>> known_dims(const TensorType* t) {
  if (!t || !t->has_shape || t->dtype.is_void() || !all_int_literals(t->shape)) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const Expr* d : t->shape) dims.push_back(as<IntImm>(d)->value);
  return dims;
}

std::optional<std::vector<Value>> constant_values(Span<const Expr*> args) {
  std::vector<Value> values;
  for (const Expr* a : args) {
    const auto* c = as<Constant>(a);
    if (!c) return std::nullopt;
    values.push_back(*c->value);
  }
  return values;
}

class ConstantFolder : public Rewriter {
 public:
  ConstantFolder(PassEnv& env, const Module* module, const Function* f)
      : Rewriter(env.ctx),
        env_(env),
        module_(module),
        scratch_(env.ctx),
        legalizer_(env.ctx, scratch_),
        written_(written_variables(module, f)) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (b->is_match_cast() || made.size() != 1) return made;
    const Expr* value = made[0]->value;
    if (const auto* call = as<Call>(value); call && !written_.count(b->var)) {
      const auto text_of_fold = [&] { return fmt::format("`{}` is computed now", b->var->name); };
      if (const Expr* folded = fold(call); folded && may_rewrite(text_of_fold)) {
        ctx_.set_origin(folded, call);
        value = folded;
      }
    }
    const Binding* folded = remake_binding(ctx_, made[0], variable_of(b, made[0]->var, value), value);
    if (isa<Constant>(value)) remap(b->var, value);
    if (isa<ShapeExpr>(value)) shapes_[folded->var] = value;
    return {folded};
  }

  const Expr* visit_call(const Call* call) override {
    const Expr* made = Rewriter::visit_call(call);
    const auto* again = as<Call>(made);
    // The new types show that the call fails when it runs: that is left for the run to report.
    if (made != call && again && isa<Op>(again->callee) && !is_tir_op(again->callee))
      failing_ = failing_ || !ctx_.call(CallSpec{again->callee, again->args, again->attrs, again->ty_args}).ok();
    if (!again || shapes_.empty() || !isa<Op>(again->callee) || op::is_call_with(again, op::Trait::CallTir))
      return made;
    std::vector<const Expr*> args(again->args.begin(), again->args.end());
    bool changed = false;
    for (const Expr*& a : args) {
      const auto found = isa<Var>(a) ? shapes_.find(as<Var>(a)) : shapes_.end();
      if (found == shapes_.end()) continue;
      a = found->second;
      changed = true;
    }
    if (!changed) return made;
    auto better = ctx_.call(CallSpec{again->callee, args, again->attrs, again->ty_args});
    failing_ = failing_ || !better.ok();
    return better.ok() ? *better : made;
  }

 public:
  bool found_failing_call() const { return failing_; }

 private:
  // A value whose type has become more precise gives its variable the better type.
  const Var* variable_of(const Binding* b, const Var* var, const Expr* value) {
    if (value == b->value || value->type == var->type || !is_base_of(ctx_, var->type, value->type)) return var;
    return define_var(b->var, value->type);
  }

  // The value of the call; null when the call stays.
  const Expr* fold(const Call* call) {
    support::poll();
    if (as_call_of(call, op::CallTir)) return fold_call_tir(call, as<PrimFunc>(module_->find(callee_of(call))));
    if (!in_dataflow() || !isa<Op>(call->callee)) return nullptr;
    if (as_call_of(call, op::TensorToShape)) return shape_of_constant(call->args[0]);
    if (as_call_of(call, op::ShapeToTensor)) return tensor_of_shape(call->args[0]);
    if (!is_worth_folding(call) || !ops::Legalizer::has_body(call)) return nullptr;
    return fold_operator(call);
  }

  static std::string_view callee_of(const Call* call) {
    const auto* g = as<GlobalVar>(call->args[0]);
    return g ? g->name : std::string_view();
  }

  // Whether every tensor that the call reads is a constant; if it reads none, whether the result is small.
  static bool is_worth_folding(const Call* call) {
    bool reads = false;
    for (const Expr* a : call->args) {
      if (const auto* tuple = as<Tuple>(a)) {
        if (!constant_values(tuple->items)) return false;
        reads = true;
      } else if (!isa<ShapeExpr>(a) && a->type->kind != TypeKind::Prim) {
        if (!isa<Constant>(a)) return false;
        reads = true;
      }
    }
    const auto dims = known_dims(as<TensorType>(call->type));
    if (!dims) return false;
    std::int64_t count = 1;
    for (const std::int64_t d : *dims)
      if (__builtin_mul_overflow(count, d, &count)) return false;
    return reads || count <= kMaxCreated;
  }

  const Expr* fold_operator(const Call* call) {
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    auto legal = legalizer_.legalize(call, blocks);
    const bool alone = blocks.end_scope(call)->blocks.empty();
    if (!legal.ok() || !alone || !as_call_of(*legal, op::CallTir)) return nullptr;
    const auto* made = as<Call>(*legal);
    return fold_call_tir(made, as<PrimFunc>(scratch_.find(callee_of(made))));
  }

  const Expr* fold_call_tir(const Call* call, const PrimFunc* f) {
    const auto* args = call->args.size() == 2 ? as<Tuple>(call->args[1]) : nullptr;
    const auto* type = call->ty_args.size() == 1 ? as<TensorType>(call->ty_args[0]) : nullptr;
    const auto dims = known_dims(type);
    if (!f || !args || !dims || type->vdevice) return nullptr;
    auto values = constant_values(args->items);
    if (!values) return nullptr;
    auto out = runtime::Tensor::empty(*dims, type->dtype);
    if (!out.ok()) return nullptr;
    values->push_back(Value(*out));
    if (!env_.kernels->run(f, callee_of(call), *values).ok()) {
      support::poll();  // an interrupt is not the kernel's fault
      return nullptr;
    }
    return ctx_.constant(Value(std::move(out).value()));
  }

  const Expr* shape_of_constant(const Expr* arg) {
    const auto* c = as<Constant>(arg);
    if (!c) return nullptr;
    const runtime::Tensor& t = c->value->as_tensor();
    if (t.ndim() != 1 || t.dtype().is_float()) return nullptr;
    std::vector<const Expr*> dims;
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      dims.push_back(ctx_.i64(runtime::load_as_int(t.data() + std::size_t(i) * t.dtype().bytes(), t.dtype())));
      if (as<IntImm>(dims.back())->value < 0) return nullptr;  // not a shape: the program reports it when it runs
    }
    return ctx_.shape(dims);
  }

  const Expr* tensor_of_shape(const Expr* arg) {
    const auto* shape = as<ShapeExpr>(arg);
    if (!shape || !all_int_literals(shape->values)) return nullptr;
    auto out = runtime::Tensor::empty({std::int64_t(shape->values.size())}, DType::Int(64));
    if (!out.ok()) return nullptr;
    auto* to = reinterpret_cast<std::int64_t*>((*out)->data());
    for (const Expr* d : shape->values) *to++ = as<IntImm>(d)->value;
    return ctx_.constant(Value(std::move(out).value()));
  }

  PassEnv& env_;
  const Module* module_;
  ModuleBuilder scratch_;  // kernels of operators being folded: not part of the program
  ops::Legalizer legalizer_;
  const std::unordered_set<const Var*> written_;
  std::unordered_map<const Var*, const Expr*> shapes_;  // variables that are bound to a shape
  bool failing_ = false;
};

}  // namespace

Result<const Module*> fold_constant(PassEnv& env, const Module* module, const NoOptions&) {
  if (!env.kernels) return Failure(message(diag::PassUnsupported, "constants", "nothing here can run a kernel"));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    ConstantFolder folder(env, module, f);
    const Function* made = folder.rewrite_function(f);
    return folder.found_failing_call() ? f : remove_dead_bindings(env.ctx, made);
  });
}

}  // namespace rldb::passes
