// Operators of a program that has run, once more with the shapes that their operands had.
#include "repro/bisect/defined.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

class Shapes {
 public:
  Shapes(ir::Context& ctx, const std::string& function, const Trace& run) : ctx_(ctx) {
    for (const Event& e : run.events) {
      if (e.function != function || !e.value.is(runtime::ValueKind::Tensor)) continue;
      for (const std::string& name : e.names) add(name, e.value.as_tensor());
    }
  }

  std::string wrong(const ir::Binding* b) {
    const auto* call = ir::as<ir::Call>(b->value);
    const op::Row* row = call ? op::row_of(call->callee) : nullptr;
    if (!row || call->args.empty()) return {};
    const runtime::Tensor *first = tensor(call->args[0]), *result = tensor(b->var);
    if (row->has(op::Trait::View) && first && result && first->element_count() != result->element_count())
      return fmt::format("`{}` of {} elements gives {}", row->name, first->element_count(), result->element_count());
    return call->args.size() == 2 && call->attrs.empty() ? wrong_operands(call) : std::string();
  }

 private:
  // A name that is given to tensors of several types (defined twice, or in a function that calls itself) tells nothing.
  void add(const std::string& name, const runtime::Tensor& t) {
    const auto [it, is_new] = tensors_.emplace(name, &t);
    if (is_new || !it->second) return;
    const runtime::Tensor& before = *it->second;
    if (before.dtype() != t.dtype() || !std::ranges::equal(before.shape(), t.shape())) it->second = nullptr;
  }

  const runtime::Tensor* tensor(const ir::Expr* e) const {
    const auto* v = ir::as<ir::Var>(e);
    const auto it = v ? tensors_.find(v->name) : tensors_.end();
    return it == tensors_.end() ? nullptr : it->second;
  }

  // Of an operator on two tensors.
  std::string wrong_operands(const ir::Call* call) {
    std::vector<const ir::Expr*> operands;
    for (const ir::Expr* arg : call->args) {
      const runtime::Tensor* t = tensor(arg);
      if (!t) return {};
      std::vector<const ir::Expr*> dims;
      for (const std::int64_t d : t->shape()) dims.push_back(ctx_.i64(d));
      operands.push_back(ctx_.var("operand", ctx_.tensor(dims, t->dtype())));
    }
    const auto typed = ctx_.call({call->callee, ctx_.list(operands), {}, {}});
    return typed.ok() ? std::string() : typed.error().text;
  }

  ir::Context& ctx_;
  std::map<std::string, const runtime::Tensor*, std::less<>> tensors_;  // by the names of variables; null: several
};

}  // namespace

std::string wrong_shapes(ir::Context& ctx, const ir::Module* module, const std::string& function, const Trace& run) {
  const auto* f = ir::as<ir::Function>(module->find(function));
  std::string why;
  if (!f || !run.incomplete.empty()) return why;
  Shapes shapes(ctx, function, run);
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    if (b && why.empty()) why = shapes.wrong(b);
    return why.empty();
  });
  return why;
}

}  // namespace rldb::repro
