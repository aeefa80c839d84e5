// KillAfterLastUse: inserts a binding that frees a storage, tensor or other object after its last use.
//
// Starts from canonical bindings, so that an alias does not outlive its target. A use inside a branch counts as a use
// by the whole `if`. Never killed: parameters, results, constants, functions, shapes and scalars, values captured by a
// local function (which may run at any time), and the shape heap of lowered code, which holds the values of symbols.
#include <unordered_set>
#include <utility>

#include "passes/common.h"
#include "passes/lowering/shape_lowered.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

// A trivial binding that is never read.
class AliasRemover : public Rewriter {
 public:
  AliasRemover(Context& ctx, const Function* f) : Rewriter(ctx) {
    walk(f, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) used_.insert(v);
      return true;
    });
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const bool trivial = isa<Var>(b->value) && (!b->is_match_cast() || b->var->type == b->value->type);
    if (trivial && !used_.count(b->var)) return {};
    return default_binding(b);
  }

 private:
  std::unordered_set<const Var*> used_;
};

// A match_cast is an alias of the same register. For a variable that the program kills itself it binds a copy instead,
// as the alias outlives the kill.
class CastSeparator : public Rewriter {
 public:
  CastSeparator(Context& ctx, const Function* f) : Rewriter(ctx), killed_(killed_variables(f)) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const auto* source = b->is_match_cast() ? as<Var>(b->value) : nullptr;
    if (!source || (!killed_.count(source) && !killed_.count(b->var))) return default_binding(b);
    const Binding* copy = bind_new(ctx_, source->name, source, b);
    std::vector<const Binding*> out = default_binding(copy);
    const Binding* cast = ctx_.match_cast(b->var, out.back()->var, b->cast_type);
    ctx_.set_origin(cast, b);
    for (const Binding* made : default_binding(cast)) out.push_back(made);
    return out;
  }

 private:
  std::unordered_set<const Var*> killed_;
};

struct Kills {
  std::vector<const Var*> tensors;
  std::vector<const Var*> storages;
  std::vector<const Var*> objects;
};
using KillsAfter = std::unordered_map<const Binding*, Kills>;

bool is_storage(const Expr* value) { return op::is_call_with(value, op::Trait::Storage); }

// Whether a value of the type lives in a register of its own.
bool in_register(const Type* t) {
  switch (t->kind) {
    case TypeKind::Func:
    case TypeKind::Shape:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return false;
    case TypeKind::Any:
    case TypeKind::Tensor:
    case TypeKind::DTensor:
    case TypeKind::Tuple:
      return true;
  }
  return false;
}

// The kills of one sequence: variables that it binds itself, by the binding of this sequence that uses them last.
KillsAfter kills_of(const SeqExpr* s) {
  struct Info {
    const Binding* last = nullptr;
    bool kept = false;
    const Binding* defined = nullptr;
  };
  std::unordered_map<const Var*, Info> infos;
  std::vector<const Var*> order;
  // A match_cast is an alias of the same register: its uses are uses of its target, and it is not killed itself.
  std::unordered_map<const Var*, const Var*> named_by;
  const auto root = [&](const Var* v) {
    const auto found = named_by.find(v);
    return found == named_by.end() ? v : found->second;
  };
  const auto use = [&](const Expr* e, const Binding* by) {
    walk(e, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) {
        const auto found = infos.find(root(v));
        if (found != infos.end()) found->second.last = by;
      }
      if (const auto* f = as<Function>(n)) {
        for (const Var* v : free_vars(f))
          if (const auto found = infos.find(root(v)); found != infos.end()) found->second.kept = true;
        return false;
      }
      return true;
    });
  };
  for (const BindingBlock* block : s->blocks) {
    for (const Binding* b : block->bindings) {
      support::poll();
      use(b->value, b);
      if (const Var* v = killed_by(b->value); v && infos.count(root(v))) infos[root(v)].kept = true;
      if (const auto* source = b->is_match_cast() ? as<Var>(b->value) : nullptr) {
        named_by[b->var] = root(source);
        continue;
      }
      Info& made = infos[b->var];
      made.defined = b;
      made.kept = isa<Constant>(b->value) || !in_register(b->var->type) || makes_shape_heap(b->value);
      order.push_back(b->var);
    }
  }
  // The result outlives the sequence.
  walk(s->body, [&](const Node* n) {
    if (const auto* v = as<Var>(n))
      if (const auto found = infos.find(root(v)); found != infos.end()) found->second.kept = true;
    return true;
  });
  KillsAfter kills;
  for (const Var* v : order) {
    const Info& info = infos[v];
    if (!info.last || info.kept) continue;
    Kills& at = kills[info.last];
    if (is_storage(info.defined->value)) {
      at.storages.push_back(v);
    } else if (as<TensorType>(v->type)) {
      at.tensors.push_back(v);
    } else {
      at.objects.push_back(v);
    }
  }
  return kills;
}

class KillInserter : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    KillsAfter mine = kills_of(s);
    std::swap(mine, kills_);
    const SeqExpr* made = default_seq(s);
    std::swap(mine, kills_);
    return made;
  }

  const BindingBlock* visit_block(const BindingBlock* b) override {
    const bool outer = std::exchange(dataflow_, b->is_dataflow());
    const BindingBlock* made = default_block(b);
    dataflow_ = outer;
    return made;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out = default_binding(b);
    const auto found = kills_.find(b);
    if (found == kills_.end()) return out;
    const Kills& k = found->second;
    kill(op::MemoryKillTensor, k.tensors, b, out);
    kill(op::MemoryKillStorage, k.storages, b, out);
    kill(op::VmKillObject, k.objects, b, out);
    return out;
  }

 private:
  void kill(std::string_view op, const std::vector<const Var*>& vars, const Binding* b,
            std::vector<const Binding*>& out) {
    for (const Var* v : vars) {
      const Call* call = op_call(ctx_, op, {lookup(v)}, ctx_.void_type());
      out.push_back(dataflow_ ? ctx_.binding(ctx_.dataflow_var("_", call->type), call) : bind_new(ctx_, "_", call, b));
      ctx_.set_origin(out.back(), b);
    }
  }

  bool dataflow_ = false;

  KillsAfter kills_;
};

}  // namespace

Result<const Module*> kill_after_last_use(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Function* plain = canonicalize(env.ctx, CastSeparator(env.ctx, f).rewrite_function(f));
    plain = AliasRemover(env.ctx, plain).rewrite_function(plain);
    return KillInserter(env.ctx).rewrite_function(plain);
  });
}

}  // namespace rldb::passes
