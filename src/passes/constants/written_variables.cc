// The variables of a function whose tensors are written in place, also through views, fields and functions that are
// called.
#include "passes/constants/written_variables.h"

#include "passes/common.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_inplace(const Expr* e) {
  const auto* call = as<Call>(e);
  return call && (as_call_of(call, op::CallTirInplace) || as_call_of(call, op::CallInplacePacked));
}

class Collector {
 public:
  explicit Collector(const Module* module) : module_(module) {}
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
      if (callee_writes(call->callee))
        for (const Expr* arg : call->args) write(arg);
      return visit(call);
    }
    if (written.count(b->var)) write(b->value);
  }
  // A function of the module that writes something in place may write its parameters; of a variable nobody knows which
  // function it is.
  bool callee_writes(const Expr* callee) {
    if (isa<Var>(callee)) callee = nullptr;
    const auto* g = as<GlobalVar>(callee);
    if (callee && !g) return false;
    const auto [it, fresh] = writes_.try_emplace(g ? g->name : std::string_view(), false);
    if (!fresh) return it->second;
    bool found = false;
    for (const ModuleEntry& e : module_->entries) {
      if (!isa<Function>(e.function) || (g && e.name != g->name)) continue;
      ir::walk(e.function, [&](const Node* n) {
        found = found || is_inplace(as<Expr>(n));
        if (const auto* inner = as<Call>(n); inner && !found && isa<GlobalVar>(inner->callee))
          found = callee_writes(inner->callee);
        return !found;
      });
    }
    return writes_[g ? g->name : std::string_view()] = found;
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

  const Module* module_;
  std::unordered_map<std::string_view, bool> writes_;  // by the function's name; "": any function
};

}  // namespace

std::unordered_set<const Var*> written_variables(const Module* module, const Function* f) {
  Collector collector(module);
  collector.visit(f->body);
  return std::move(collector.written);
}

}  // namespace rldb::passes
