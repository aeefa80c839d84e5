// InlinePrivatePrimFuncs (TVM: tirx.transform.InlinePrivateFunctions): a statement that calls a private PrimFunc
// becomes its body, and private PrimFuncs that nothing names any more are removed.
//
// Left as they are: functions that are directly or indirectly recursive, that take buffers (a pointer may be passed),
// that are blocks, that return in their middle, and those of another target than the caller's. A call within an
// expression stays.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/inline_kernel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

using PrimFuncs = std::map<std::string_view, const PrimFunc*>;
using Names = std::unordered_set<std::string_view>;

Names names_in(const Node* n) {
  Names out;
  walk(n, [&](const Node* part) {
    if (const auto* g = as<GlobalVar>(part)) out.insert(g->name);
    return true;
  });
  return out;
}

bool returns(const Stmt* body) {
  bool found = false;
  walk(body, [&](const Node* n) {
    const auto* e = as<Expr>(n);
    found = found || (e && (is_call_of(e, intrin::Ret) || is_call_of(e, intrin::ThreadReturn)));
    return !found;
  });
  return found;
}

// Those that call themselves, over others or not.
Names recursive(const PrimFuncs& functions) {
  Names out;
  for (const auto& [name, f] : functions) {
    std::vector<std::string_view> open{name};
    Names seen;
    while (!open.empty()) {
      const auto found = functions.find(open.back());
      open.pop_back();
      if (found == functions.end()) continue;
      for (const std::string_view callee : names_in(found->second->body))
        if (seen.insert(callee).second) open.push_back(callee);
    }
    if (seen.contains(name)) out.insert(name);
  }
  return out;
}

PrimFuncs inlinable_functions(const Module* module) {
  PrimFuncs all, out;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<PrimFunc>(e.function)) all[e.name] = f;
  const Names loops = recursive(all);
  for (const auto& [name, f] : all) {
    bool takes_buffers = false;
    for (const PrimParam& p : f->params) takes_buffers = takes_buffers || p.buffer;
    if (find_attr(f->attrs, attr_name::GlobalSymbol) || takes_buffers || loops.contains(name)) continue;
    if (!isa<SBlockRealize>(f->body) && !returns(f->body)) out[name] = f;
  }
  return out;
}

// The body with other parameters.
class Body : public KernelInliner {
 public:
  using KernelInliner::KernelInliner;
  void put(const Var* param, const Expr* argument) {
    as<PrimType>(param->type) ? put_scalar(param, argument) : remap(param, argument);
  }
};

class Calls : public Rewriter {
 public:
  Calls(Context& ctx, const PrimFuncs& inlinable, const PrimFunc* caller)
      : Rewriter(ctx), inlinable_(inlinable), caller_(caller) {}

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* e = as<Evaluate>(s);
    const Call* call = e ? as<Call>(e->value) : nullptr;
    const PrimFunc* callee = call ? callee_of(call) : nullptr;
    if (!callee) return default_stmt(s);
    UniqueNames names("_");
    Body body(ctx_, names);
    std::vector<const Stmt*> parts;
    for (std::size_t i = 0; i < call->args.size(); ++i) {
      const Var* param = callee->params[i].var;
      const Expr* argument = call->args[i];
      // An argument that reads memory or has an effect is computed once, before the body.
      if (as<PrimType>(param->type) && !is_pure_value(argument)) {
        const Var* bound = ctx_.var(param->name, param->type);
        parts.push_back(ctx_.bind(bound, cast_to(ctx_, param->dtype(), argument)));
        argument = bound;
      }
      body.put(param, argument);
    }
    const Stmt* made = rewrite(body.rewrite(callee->body));
    parts.push_back(made ? made : no_op(ctx_));
    made = ctx_.seq_stmt(parts);
    ctx_.set_origin(made, s);
    return made;
  }

 private:
  const PrimFunc* callee_of(const Call* call) const {
    const auto* name = as<GlobalVar>(call->callee);
    const auto found = name ? inlinable_.find(name->name) : inlinable_.end();
    if (found == inlinable_.end() || found->second->params.size() != call->args.size()) return nullptr;
    const Attr* theirs = find_attr(found->second->attrs, kTargetAttr);
    const Attr* ours = find_attr(caller_->attrs, kTargetAttr);
    if (theirs && ours && !attr_equal(theirs, ours)) return nullptr;
    for (const Expr* argument : call->args)
      if (!as<PrimType>(argument->type) || argument->dtype().is_handle())
        if (!is_plain_pointer(argument)) return nullptr;
    return found->second;
  }
  // A variable, or the address of an element whose indices read nothing.
  static bool is_plain_pointer(const Expr* e) {
    const auto* call = is_call_of(e, intrin::AddressOf) ? as<Call>(e) : nullptr;
    const auto* load = call ? as<BufferLoad>(call->args[0]) : nullptr;
    if (!load) return isa<Var>(e);
    return std::all_of(load->indices.begin(), load->indices.end(), [](const Expr* i) { return is_pure_value(i); });
  }

  const PrimFuncs& inlinable_;
  const PrimFunc* caller_;
};

// Names in functions other than those of `inlinable`, in these functions, and so on.
Names named_from_outside(const Module* module, const PrimFuncs& inlinable) {
  std::vector<const Node*> open;
  for (const ModuleEntry& e : module->entries)
    if (!inlinable.contains(e.name)) open.push_back(e.function);
  Names out;
  while (!open.empty()) {
    const Node* f = open.back();
    open.pop_back();
    for (const std::string_view name : names_in(f))
      if (out.insert(name).second && inlinable.contains(name)) open.push_back(module->find(name));
  }
  return out;
}

}  // namespace

Result<const Module*> inline_private_prim_funcs(PassEnv& env, const Module* module, const NoOptions&) {
  const PrimFuncs inlinable = inlinable_functions(module);
  RLDB_TRY(const Module* made,
           map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
             return with_body(env.ctx, f, Calls(env.ctx, inlinable, f).rewrite(f->body));
           }));
  if (made == module) return module;
  const Names used = named_from_outside(made, inlinable);
  ModuleBuilder kept(env.ctx, *made);
  for (const auto& [name, f] : inlinable)
    if (!used.contains(name)) kept.remove(name);
  return kept.build();
}

}  // namespace rldb::passes
