// AllocateWorkspace: functions with a code generator of their own that declare how much memory they need besides their
// results (attribute `WorkspaceSize`) get it as an extra parameter, of the largest size that any of them needs; their
// callers allocate it.
//
// As in TVM the function gets a new name. TVM gives a workspace to every function with a dataflow block; here only
// functions that call such a function get one, one for each block that does.
#include "passes/common.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kWorkspaceSize = "WorkspaceSize";

std::int64_t workspace_of(const Function* f) {
  const Attr* a = find_attr(f->attrs, kWorkspaceSize);
  if (!a) return 0;
  const auto* literal = a->is(AttrKind::Expr) ? as<IntImm>(a->node) : nullptr;
  return literal ? literal->value : a->integer;
}

bool has_name(const Function* f, std::string_view attr) {
  const Attr* a = find_attr(f->attrs, attr);
  return a && a->is(AttrKind::String);
}

const Type* workspace_type(Context& ctx, std::int64_t size) {
  const Expr* const dims[] = {ctx.i64(size)};
  return ctx.tensor(dims, DType::UInt(8));
}

// A function for a code generator with the extra parameter, passed on to the composite functions in it that need it.
class WorkspaceTaker : public Rewriter {
 public:
  WorkspaceTaker(Context& ctx, std::int64_t size) : Rewriter(ctx), type_(workspace_type(ctx, size)) {}

  const Function* take(const Function* f) {
    std::vector<const Var*> params(f->params.begin(), f->params.end());
    params.push_back(ctx_.var("workspace", type_));
    const Var* outer = std::exchange(workspace_, params.back());
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    workspace_ = outer;
    const Function* made =
        ctx_.function(params, body, f->ret_type, f->is_pure, ctx_.with_attr(f->attrs, kWorkspaceSize, nullptr));
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* f = as<Function>(e);
    return f && has_name(f, attr_name::Composite) && workspace_of(f) > 0 ? take(f) : default_expr(e);
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    const auto* f = as<Function>(b->value);
    if (f && made.size() == 1 && made[0]->value != f && has_name(f, attr_name::Composite) && workspace_of(f) > 0)
      takers_.insert(made[0]->var);
    return made;
  }

  const Expr* visit_call(const Call* c) override {
    const Expr* callee = rewrite(c->callee);
    const auto* v = as<Var>(callee);
    if (!v || !takers_.count(v)) return default_expr(c);
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(rewrite(a));
    args.push_back(workspace_);
    return ctx_.call_typed(callee, args, c->type, c->attrs, c->ty_args);
  }

 private:
  const Type* type_;
  const Var* workspace_ = nullptr;
  std::unordered_set<const Var*> takers_;
};

// A function that calls them.
class WorkspaceGiver : public Rewriter {
 public:
  using Names = std::unordered_map<std::string_view, const GlobalVar*>;
  WorkspaceGiver(Context& ctx, std::int64_t size, const Names& takers) : Rewriter(ctx), size_(size), takers_(takers) {}

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    // The workspace of this block; made when something in it needs it. Branches are blocks of their own.
    const Var* outer = std::exchange(workspace_, nullptr);
    const bool outer_dataflow = std::exchange(makes_dataflow_, b->is_dataflow());
    const BindingBlock* made = default_block(b);
    if (workspace_) {
      std::vector<const Binding*> bindings{allocation_of(b)};
      bindings.insert(bindings.end(), made->bindings.begin(), made->bindings.end());
      made = ctx_.block(bindings, b->is_dataflow());
      ctx_.set_origin(made, b);
    }
    workspace_ = outer;
    makes_dataflow_ = outer_dataflow;
    return made;
  }

  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const auto* call = as<Call>(made);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto found = callee ? takers_.find(callee->name) : takers_.end();
    if (found == takers_.end()) return made;
    if (!workspace_) {
      const Type* type = workspace_type(ctx_, size_);
      workspace_ = makes_dataflow_ ? static_cast<const Var*>(ctx_.dataflow_var("workspace_main", type))
                                   : ctx_.var("workspace_main", type);
    }
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    args.push_back(workspace_);
    return ctx_.call_typed(found->second, args, call->type, call->attrs, call->ty_args);
  }

 private:
  const Binding* allocation_of(const BindingBlock* b) {
    const Expr* const dims[] = {ctx_.i64(size_)};
    const Call* call =
        op_call(ctx_, op::BuiltinAllocTensor,
                {ctx_.shape(dims), ctx_.dtype(DType::UInt(8)), ctx_.i64(0), ctx_.string("global")}, workspace_->type);
    const Binding* made = ctx_.binding(workspace_, call);
    ctx_.set_origin(made, b);
    return made;
  }

  std::int64_t size_;
  const Names& takers_;
  const Var* workspace_ = nullptr;
  bool makes_dataflow_ = false;
};

}  // namespace

Result<const Module*> allocate_workspace(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  std::int64_t size = 0;
  std::vector<ModuleEntry> takers;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || workspace_of(f) <= 0 || !has_name(f, attr_name::Codegen)) continue;
    size = std::max(size, workspace_of(f));
    takers.push_back(e);
  }
  if (takers.empty()) return module;
  ModuleBuilder builder(ctx, *module);
  WorkspaceGiver::Names names;
  for (const ModuleEntry& e : takers) {
    const Function* made = WorkspaceTaker(ctx, size).take(cast<Function>(e.function));
    const std::string_view name = ctx.str(builder.unique_name(e.name));
    if (!made->is_private()) made = with_attr(ctx, made, attr_name::GlobalSymbol, ctx.attr(name));
    builder.set(name, made);
    names.emplace(e.name, ctx.global_var(name, made->type));
  }
  for (const ModuleEntry& e : takers) builder.remove(e.name);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || names.count(e.name)) continue;
    support::poll();
    const Function* made = WorkspaceGiver(ctx, size, names).rewrite_function(f);
    if (made != f) builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
