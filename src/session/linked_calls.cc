// Calls of PrimFuncs by PrimFuncs: each becomes a call of a packed function of the session, which runs the callee on
// the evaluator. So every engine has them. Kernels that SplitHostDevice made are called by their symbols, with the
// launch sizes behind the arguments; here a launch is a call, whose callee has the sizes itself.
#include "session/linked_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rldb/eval/eval.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/launched.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::session {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Value;

namespace {

constexpr int kMostNested = 200;  // calls inside of each other
thread_local int t_nested = 0;

struct Nested {
  Nested() { ++t_nested; }
  ~Nested() { --t_nested; }
};

runtime::Result<Value> run_callee(const ir::PrimFunc* f, std::string_view name, const runtime::PackedRegistry* registry,
                                  runtime::PackedArgs args) {
  if (t_nested >= kMostNested)
    return fail(ErrorKind::TooLong, fmt::format("calls of PrimFuncs are nested more than {} deep: `{}` is called again",
                                                kMostNested, name));
  const Nested nested;
  eval::TirMachine machine(f, registry);
  RLDB_TRY_VOID(machine.start(args));
  auto ran = machine.run({.interrupt = &support::cancel_flag()});
  if (!ran.ok()) {
    runtime::Error error = std::move(ran).error();
    error.notes.resize(std::min<std::size_t>(error.notes.size(), 1));  // of the innermost call
    if (t_nested == 1) error.notes.push_back(fmt::format("in `{}`, called by a kernel", name));
    return support::Failure(std::move(error));
  }
  if (*ran == eval::TirMachine::Ran::Interrupted)
    return fail(ErrorKind::Interrupted, fmt::format("interrupted in `{}`", name));
  return machine.result();
}

class Linker : public ir::Rewriter {
 public:
  Linker(ir::Context& ctx, const ir::Module* module)
      : Rewriter(ctx), module_(module), kernels_(ir::launched_kernels(module)) {}

  // The name of the PrimFunc that an expression calls; empty: it calls none.
  std::string_view callee_of(const ir::Expr* e) const {
    const auto* call = as<ir::Call>(e);
    const auto* name = call ? as<ir::GlobalVar>(call->callee) : nullptr;
    if (name) return as<ir::PrimFunc>(module_->find(name->name)) ? name->name : std::string_view();
    const auto launched = kernels_.find(ir::packed_callee(e));
    return launched == kernels_.end() ? std::string_view() : launched->second;
  }
  std::set<std::string_view> callees(const ir::PrimFunc* f) const {
    std::set<std::string_view> out;
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* e = as<ir::Expr>(n);
      if (const std::string_view name = e ? callee_of(e) : std::string_view(); !name.empty()) out.insert(name);
      return true;
    });
    return out;
  }
  // The same for equal functions that call equal ones, in all modules and processes: compiled code contains it.
  std::string symbol(std::string_view name) const {
    std::set<std::string_view> all{name};
    std::vector<std::string_view> open{name};
    while (!open.empty()) {
      const auto* f = as<ir::PrimFunc>(module_->find(open.back()));
      open.pop_back();
      for (const std::string_view callee : callees(f))
        if (all.insert(callee).second) open.push_back(callee);
    }
    std::uint64_t hash = 0;
    for (const std::string_view n : all) hash = hash * 31 + ir::structural_hash(module_->find(n));
    return fmt::format("{}#{:x}", name, hash);
  }

 protected:
  const ir::Expr* visit_call(const ir::Call* c) override {
    const std::string_view callee = callee_of(c);
    if (callee.empty()) return default_expr(c);
    std::vector<const ir::Expr*> args{ctx_.string(symbol(callee))};
    const bool is_launch = !as<ir::GlobalVar>(c->callee);
    for (const ir::Expr* a : c->args.subspan(is_launch ? 1 : 0)) args.push_back(rewrite(a));
    if (is_launch) return ctx_.call_typed(c->callee, args, c->type, c->attrs, c->ty_args);
    const bool has_value = as<ir::PrimType>(c->type) && !c->dtype().is_void();
    const ir::Type* type = has_value ? c->type : ctx_.prim(ir::DType::Int(32));
    return ctx_.call_typed(ctx_.op(ir::info(ir::intrin::TvmCallPacked).op), args, type);
  }

 private:
  const ir::Module* module_;
  ir::LaunchedKernels kernels_;
};

}  // namespace

const ir::Module* with_linked_calls(ir::Context& ctx, const ir::Module* module, runtime::PackedRegistry& registry) {
  Linker linker(ctx, module);
  std::set<std::string_view> called;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = as<ir::PrimFunc>(e.function)) called.merge(linker.callees(f));
  if (called.empty()) return module;
  ir::ModuleBuilder builder(ctx, *module);
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = as<ir::PrimFunc>(e.function)) builder.set(e.name, linker.rewrite_prim_func(f));
  const ir::Module* linked = builder.build();
  for (const std::string_view name : called) {
    const auto* f = as<ir::PrimFunc>(linked->find(name));
    registry.register_function(
        linker.symbol(name),
        [f, name = std::string(name), all = &registry](runtime::PackedArgs args) {
          return run_callee(f, name, all, args.first(std::min(args.size(), f->params.size())));
        },
        "a PrimFunc of the program that another one calls", ir::is_launched(f) ? -1 : int(f->params.size()));
  }
  return linked;
}

}  // namespace rldb::session
