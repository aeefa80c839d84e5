#include "passes/constants/written_variables.h"

#include "passes/common.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Collector {
 public:
  // Backwards: an alias comes after what it is a name of.
  void visit(const SeqExpr* s) {
    for (std::size_t i = s->blocks.size(); i-- > 0;)
      for (std::size_t k = s->blocks[i]->bindings.size(); k-- > 0;) visit(s->blocks[i]->bindings[k]);
  }
  std::unordered_set<const Var*> written;

 private:
  void visit(const Binding* b) {
    if (const auto* branch = as<If>(b->value)) {
      for (const SeqExpr* s : {branch->then_branch, branch->else_branch}) {
        if (written.count(b->var)) write(s->body);
        visit(s);
      }
      return;
    }
    if (const auto* local = as<Function>(b->value)) return visit(local->body);
    if (const auto* call = as<Call>(b->value)) {
      // A view has the memory of what it is a view of.
      const bool view = isa<Op>(call->callee) && op::has(call->callee, op::Trait::View | op::Trait::Identity);
      if (view && written.count(b->var) && !call->args.empty()) write(call->args[0]);
      return visit(call);
    }
    if (written.count(b->var)) write(b->value);
  }
  void visit(const Call* call) {
    const bool tir = as_call_of(call, op::CallTirInplace) != nullptr;
    if (!tir && !as_call_of(call, op::CallInplacePacked)) return;
    const Attr* indices = find_attr(call->attrs, op_attr::InplaceIndices);
    const auto* tuple = tir && call->args.size() > 1 ? as<Tuple>(call->args[1]) : nullptr;
    const Span<const Expr*> args = tuple ? tuple->items : call->args;
    for (std::size_t i = 0; indices && i < indices->items.size(); ++i) {
      const std::int64_t at = indices->items[i]->integer + (tuple ? 0 : 1);
      if (indices->items[i]->integer >= 0 && std::size_t(at) < args.size()) write(args[std::size_t(at)]);
    }
  }
  void write(const Expr* e) {
    if (const auto* v = as<Var>(e)) written.insert(v);
    if (const auto* get = as<TupleGetItem>(e)) write(get->tuple);
    if (const auto* tuple = as<Tuple>(e))
      for (const Expr* item : tuple->items) write(item);
  }
};

}  // namespace

std::unordered_set<const Var*> written_variables(const Function* f) {
  Collector collector;
  collector.visit(f->body);
  return std::move(collector.written);
}

}  // namespace rldb::passes
