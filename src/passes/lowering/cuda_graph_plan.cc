// The plan of RewriteCUDAGraph: which values are static, and where regions begin and end.
#include "passes/lowering/cuda_graph_plan.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kBuiltinPrefix = "vm.builtin";

template <class T>
void add_once(std::vector<T>& list, std::unordered_set<T>& seen, T item) {
  if (seen.insert(item).second) list.push_back(item);
}

// Storage of tensors that a sequence returns, directly or in tuples.
class Returned {
 public:
  std::unordered_set<const Var*> storages;

  void visit(const SeqExpr* s) {
    for (const Var* v : free_vars(s->body)) vars_.insert(v);
    for (std::size_t i = s->blocks.size(); i-- > 0;) {
      const Span<const Binding*> bindings = s->blocks[i]->bindings;
      for (std::size_t k = bindings.size(); k-- > 0;) visit(bindings[k]);
    }
  }

 private:
  void visit(const Binding* b) {
    support::poll();
    if (const auto* branch = as<If>(b->value)) {
      visit(branch->then_branch);
      visit(branch->else_branch);
    }
    if (!vars_.contains(b->var)) return;
    if (const Call* call = as_call_of(b->value, op::MemoryAllocTensor)) {
      if (const auto* storage = as<Var>(call->args[0])) storages.insert(storage);
    } else if (isa<Var>(b->value) || isa<Tuple>(b->value) || isa<TupleGetItem>(b->value)) {
      for (const Var* v : free_vars(b->value)) vars_.insert(v);
    } else if (const auto* view = as<Call>(b->value)) {
      // A view of a tensor keeps its memory alive.
      for (const Expr* arg : view->args)
        if (const auto* v = as<Var>(arg)) vars_.insert(v);
    }
  }

  std::unordered_set<const Var*> vars_;
};

// The values on which an operand depends.
struct Reads {
  std::vector<const Var*> vars;
  std::vector<const Var*> symbols;
};

class Planner {
 public:
  Planner(const Module* module, CudaGraphPlan& plan) : module_(module), plan_(plan) {}

  void run(std::string_view name, const Function* f) {
    name_ = name;
    parameters(f);
    Returned returned;
    returned.visit(f->body);
    returned_ = std::move(returned.storages);
    CudaGraphRegion storage;
    storage.function = name;
    plan_.storages.push_back(std::move(storage));
    storage_ = &plan_.storages.back();
    visit(f->body);
    if (storage_->bindings.empty()) plan_.storages.pop_back();
  }

 private:
  void parameters(const Function* f) {
    std::unordered_set<std::string_view> hints;
    if (const Attr* names = find_attr(f->attrs, attr_name::CaptureSymbolicVars))
      for (const Attr* n : names->items) hints.insert(n->string);
    const std::size_t inputs = input_count(f);
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      std::unordered_set<const Var*> symbols;
      bound_symbols(f->params[i]->type, symbols);
      for (const Var* s : symbols)
        if (i >= inputs || hints.contains(s->name)) symbols_.insert(s);
      if (i >= inputs) static_.insert(f->params[i]);
    }
  }

  void visit(const SeqExpr* s) {
    CudaGraphRegion* outer = std::exchange(region_, nullptr);
    for (const BindingBlock* block : s->blocks) {
      for (const Binding* b : block->bindings) visit(b);
      region_ = nullptr;
    }
    Reads reads;
    is_static(s->body, reads);
    mark_outputs(reads);
    region_ = outer;
  }

  void visit(const Binding* b) {
    support::poll();
    if (const auto* branch = as<If>(b->value)) {
      region_ = nullptr;
      Reads reads;
      is_static(branch->cond, reads);
      mark_outputs(reads);
      visit(branch->then_branch);
      visit(branch->else_branch);
      return;
    }
    if (const auto* call = as<Call>(b->value); call && !b->is_match_cast()) return visit_call(b, call);
    if (isa<Constant>(b->value) && !b->is_match_cast()) return add_static(b);
    Reads reads;
    if (isa<Function>(b->value)) reads.vars = free_vars(b->value);
    if (is_static(b->value, reads) && !b->is_match_cast()) {
      add_static(b);
      mark_inputs(reads);
    } else {
      region_ = nullptr;
    }
    mark_outputs(reads);
  }

  void visit_call(const Binding* b, const Call* call) {
    if (as_call_of(call, op::MemoryAllocStorage)) {
      if (!is_static_storage(b->var, call)) return;
      storage_->bindings.push_back(b);
      home_[b->var] = storage_;
      static_.insert(b->var);
      return;
    }
    if (as_call_of(call, op::BuiltinAllocTensor)) return;
    Reads reads;
    bool all_static = true;
    for (const Expr* arg : call->args) all_static = is_static(arg, reads) && all_static;
    if (all_static && may_be_captured(call)) {
      if (!region_ && is_kernel(call)) {
        plan_.captures.emplace_back();
        region_ = &plan_.captures.back();
        region_->function = name_;
      }
      add_static(b);
      mark_inputs(reads);
    } else {
      region_ = nullptr;
    }
    mark_outputs(reads);
  }

  bool is_prim_func(const Call* call) const {
    const auto* callee = as<GlobalVar>(call->callee);
    return callee && isa<PrimFunc>(module_->find(callee->name));
  }

  // Calls of Relax functions and of the machine's own functions may not.
  bool may_be_captured(const Call* call) const {
    if (const auto* f = as<ExternFunc>(call->callee)) return !f->symbol.starts_with(kBuiltinPrefix);
    return isa<Op>(call->callee) || is_prim_func(call);
  }

  // Work for the device, not a view or memory.
  bool is_kernel(const Call* call) const {
    const auto* op = as<Op>(call->callee);
    if (!op) return true;
    const auto space = [](std::string_view name) { return name.substr(0, name.rfind('.')); };
    return space(op->name) != space(op::MemoryView) && space(op->name) != space(op::BuiltinAllocTensor) &&
           op->name != op::Reshape && op->name != op::NullValue && op->name != op::CallBuiltinWithCtx;
  }

  bool is_static_storage(const Var* v, const Call* call) const {
    const auto* shape = as<ShapeExpr>(call->args[0]);
    const auto device = const_int(call->args[1]);
    return !returned_.contains(v) && shape && shape->values.size() == 1 && as_int(shape->values[0]) && device == 0 &&
           isa<StringImm>(call->args[2]);
  }

  void add_static(const Binding* b) {
    if (region_) {
      region_->bindings.push_back(b);
      home_[b->var] = region_;
    }
    static_.insert(b->var);
  }

  void mark_inputs(const Reads& reads) {
    if (!region_) return;
    for (const Var* v : reads.vars) {
      const auto home = home_.find(v);
      if (home == home_.end() || home->second != region_) add_once(region_->inputs, seen_[region_].inputs, v);
    }
    for (const Var* s : reads.symbols) add_once(region_->symbols, seen_[region_].symbols, s);
  }

  void mark_outputs(const Reads& reads) {
    for (const Var* v : reads.vars) {
      const auto home = home_.find(v);
      if (home != home_.end() && home->second != region_ && home->second != storage_)
        add_once(home->second->outputs, seen_[home->second].outputs, v);
    }
  }

  // ---- static values ----
  bool symbols_static(const Expr* e, Reads& reads) const {
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    bool good = true;
    for (const Var* v : vars) {
      good = good && symbols_.contains(v);
      if (symbols_.contains(v)) reads.symbols.push_back(v);
    }
    return good;
  }

  bool list_static(Span<const Expr*> list, Reads& reads) const {
    bool good = true;
    for (const Expr* e : list) good = is_static(e, reads) && good;
    return good;
  }

  // All variables are recorded, whatever the answer.
  bool is_static(const Expr* e, Reads& reads) const {
    if (isa<Constant>(e) || isa<DTypeImm>(e) || isa<StringImm>(e) || isa<GlobalVar>(e)) return true;
    if (const auto* v = as<Var>(e); v && v->type->kind != TypeKind::Prim) {
      reads.vars.push_back(v);
      return static_.contains(v) && type_static(v->type, reads);
    }
    if (const auto* shape = as<ShapeExpr>(e)) return list_static(shape->values, reads);
    if (const auto* tuple = as<Tuple>(e)) return list_static(tuple->items, reads);
    if (const auto* get = as<TupleGetItem>(e)) return is_static(get->tuple, reads);
    if (e->type->kind == TypeKind::Prim) return symbols_static(e, reads);
    return false;
  }

  bool type_static(const Type* t, Reads& reads) const {
    if (const auto* tensor = as<TensorType>(t)) return tensor->has_shape && list_static(tensor->shape, reads);
    if (const auto* shape = as<ShapeType>(t)) return shape->has_values && list_static(shape->values, reads);
    if (const auto* tuple = as<TupleType>(t)) {
      bool good = true;
      for (const Type* f : tuple->fields) good = type_static(f, reads) && good;
      return good;
    }
    return t->kind == TypeKind::Any || t->kind == TypeKind::Prim;
  }

  struct Seen {
    std::unordered_set<const Var*> inputs, outputs, symbols;
  };

  const Module* module_;
  CudaGraphPlan& plan_;
  std::string_view name_;
  CudaGraphRegion* storage_ = nullptr;
  CudaGraphRegion* region_ = nullptr;
  std::unordered_set<const Var*> static_;
  std::unordered_set<const Var*> symbols_;
  std::unordered_set<const Var*> returned_;
  std::unordered_map<const Var*, CudaGraphRegion*> home_;
  std::unordered_map<const CudaGraphRegion*, Seen> seen_;
};

}  // namespace

CudaGraphPlan plan_cuda_graph(const Module* module) {
  CudaGraphPlan plan;
  Planner planner(module, plan);
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function)) planner.run(e.name, f);
  return plan;
}

}  // namespace rldb::passes
