// AloneChecker: pairs the bindings that two versions compute by different calls, makes each a function of what it
// reads, and runs both on generated numbers.
#include "repro/bisect/alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "repro/bisect/number_kinds.h"
#include "repro/bisect/numbers.h"
#include "repro/compare/match.h"
#include "repro/cpu_clock.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// Of one computation: a large one does not take all of the time.
constexpr auto kForOne = std::chrono::milliseconds(1500);

// ---- bindings ----

using Named = std::unordered_map<std::string_view, std::vector<const ir::Binding*>>;
Named bindings_of(const ir::Function* f) {
  Named out;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    if (b && !b->is_match_cast() && ir::as<ir::Call>(b->value)) out[b->var->name].push_back(b);
    return true;
  });
  return out;
}

// The functions of the module that a call names, itself or as the kernel of an indirect call.
std::vector<const ir::Expr*> called(const ir::Module* module, const ir::Expr* value) {
  std::vector<const ir::Expr*> out;
  ir::walk(value, [&](const ir::Node* n) {
    if (const auto* g = ir::as<ir::GlobalVar>(n)) out.push_back(module->find(g->name));
    return true;
  });
  return out;
}

bool is_symbol(const ir::Var* v) {
  const auto* t = ir::as<ir::PrimType>(v->type);
  return t && t->dtype == runtime::DType::Int(64);
}

// A function of values only: a call with effects or of something outside may not be repeated.
bool is_pure_call(const ir::Module* module, const ir::Expr* value) {
  const auto* call = ir::as<ir::Call>(value);
  if (!call) return false;
  if (op::is_call_with(call, op::Trait::Allocates)) return false;
  bool pure = ops::is_pure_call(call);
  ir::walk(value, [&](const ir::Node* n) {
    if (ir::as<ir::ExternFunc>(n) || ir::as<ir::MetaConstant>(n)) pure = false;
    return pure;
  });
  for (const ir::Expr* f : called(module, value)) pure = pure && (ir::as<ir::PrimFunc>(f) || ir::as<ir::Function>(f));
  return pure;
}

// The variables that the two bindings read, by name in the order of the first, symbolic variables apart.
struct Reads {
  std::vector<const ir::Var*> values, symbols;
};
Reads reads_of(const ir::Expr* value) {
  Reads out;
  const auto add = [](std::vector<const ir::Var*>& to, const ir::Var* v) {
    if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
  };
  for (const ir::Var* v : ir::free_vars(value)) add(is_symbol(v) ? out.symbols : out.values, v);
  std::vector<const ir::Var*> in_types;
  for (const ir::Var* v : out.values) ir::collect_vars(v->type, in_types);
  ir::collect_vars(value->type, in_types);
  for (const ir::Var* v : in_types) add(out.symbols, v);
  return out;
}

// The variables of `from` in the order of their namesakes in `like`; empty unless the names are the same.
std::vector<const ir::Var*> ordered(const std::vector<const ir::Var*>& from, const std::vector<const ir::Var*>& like) {
  std::vector<const ir::Var*> out;
  for (const ir::Var* wanted : like) {
    const auto it = std::find_if(from.begin(), from.end(), [&](const ir::Var* v) { return v->name == wanted->name; });
    if (it == from.end() || std::find(out.begin(), out.end(), *it) != out.end()) return {};
    out.push_back(*it);
  }
  return out.size() == from.size() ? out : std::vector<const ir::Var*>{};
}

bool same_types(const std::vector<const ir::Var*>& a, const std::vector<const ir::Var*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ir::Var* x, const ir::Var* y) {
    return ir::print_type(x->type) == ir::print_type(y->type);
  });
}

// Two bindings with the same text and the same functions behind them are one computation.
std::string computation(const ir::Module* module, const ir::Binding* b) {
  std::string text = ir::print_type(b->var->type);
  const auto* call = ir::as<ir::Call>(b->value);
  if (const auto* o = ir::as<ir::Op>(call->callee)) text += o->name;
  for (const ir::NamedAttr& a : call->attrs) text += fmt::format(";{}", a.name);
  for (const ir::Var* v : ir::free_vars(b->value)) text += ";" + ir::print_type(v->type);
  for (const ir::Expr* f : called(module, b->value)) text += fmt::format(";{:x}", f ? ir::structural_hash(f) : 0);
  return text;
}

// `add`, of an operator or of the kernel or function that is called.
std::string_view name_of(const ir::Expr* value) {
  const auto* call = ir::as<ir::Call>(value);
  const auto* kernel = call->args.empty() ? nullptr : ir::as<ir::GlobalVar>(call->args[0]);
  if (const auto* g = ir::as<ir::GlobalVar>(call->callee)) kernel = g;
  if (kernel) return stem(kernel->name);
  const auto* o = ir::as<ir::Op>(call->callee);
  return o ? o->name.substr(o->name.rfind('.') + 1) : std::string_view();
}

bool related(std::string_view a, std::string_view b) {
  return a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos;
}

}  // namespace

std::vector<AloneChecker::Pair> AloneChecker::changed(const ir::Module* good, const ir::Module* bad) {
  std::vector<Pair> out;
  for (const ir::ModuleEntry& e : bad->entries) {
    support::poll();
    const auto* now = ir::as<ir::Function>(e.function);
    const auto* before = now ? ir::as<ir::Function>(good->find(e.name)) : nullptr;
    if (!before) continue;
    const Named known = bindings_of(before);
    ir::walk(now->body, [&](const ir::Node* n) {
      const auto* b = ir::as<ir::Binding>(n);
      const auto it = b ? known.find(b->var->name) : known.end();
      if (it == known.end() || it->second.size() != 1 || b->is_match_cast()) return true;
      const ir::Binding* old = it->second.front();
      if (ir::print_type(old->var->type) != ir::print_type(b->var->type)) return true;
      if (!is_pure_call(good, old->value) || !is_pure_call(bad, b->value)) return true;
      const std::string both = computation(good, old) + "|" + computation(bad, b);
      const std::size_t middle = both.find('|');
      if (both.substr(0, middle) == both.substr(middle + 1) || !done_.insert(both).second) return true;
      out.push_back({std::string(e.name), old, b});
      return true;
    });
  }
  return out;
}

// A module in which the function returns this one value. Null: it cannot be made.
const ir::Module* AloneChecker::alone(const ir::Module* module, const std::string& name, const ir::Binding* b,
                                      const std::vector<const ir::Var*>& order) {
  ir::Context& ctx = session_.context();
  ir::VarMap fresh;
  std::vector<const ir::Var*> params;
  std::vector<const ir::Expr*> symbols;
  for (const ir::Var* v : order) {
    if (is_symbol(v)) {
      symbols.push_back(v);
      continue;
    }
    params.push_back(ctx.var(v->name, v->type));
    fresh.emplace(v, params.back());
  }
  // The symbolic dims come first, as a shape, so that types which mention only expressions of them are checked.
  if (!symbols.empty()) params.insert(params.begin(), ctx.var("dims", ctx.shape_type(symbols)));
  const ir::Expr* value = ir::substitute(ctx, b->value, fresh);
  const ir::Var* result = ctx.var(b->var->name, b->var->type);
  const std::vector<const ir::Binding*> bindings{ctx.binding(result, value)};
  const std::vector<const ir::BindingBlock*> blocks{ctx.block(bindings)};
  const ir::Function* f = ctx.function(params, ctx.seq(blocks, result), b->var->type, true, {});
  ir::ModuleBuilder builder(ctx, *module);
  builder.set(name, f);
  const std::string_view roots[] = {name};
  return ir::reachable_from(ctx, builder.build(), roots);
}

std::optional<Value> AloneChecker::execute(const Program& program) {
  eval::Watcher nobody;
  source::Diagnostics found;
  const std::vector<Value> args = copies(program.args);
  const session::RunResult run = session_.run_watched(program.module, program.function, args, nobody, found);
  support::poll_cause();
  if (!run.ok) return std::nullopt;
  return run.value;
}

AloneChecker::Outcome AloneChecker::run(const Pair& pair, const Stage& good_stage, const Stage& bad_stage) {
  const ir::Module *good = good_stage.module, *bad = bad_stage.module;
  const Reads before = reads_of(pair.good->value);
  Reads now = reads_of(pair.bad->value);
  now.values = ordered(now.values, before.values);
  now.symbols = ordered(now.symbols, before.symbols);
  if (now.values.size() != before.values.size() || now.symbols.size() != before.symbols.size()) return {};
  if (before.values.empty() || !same_types(before.values, now.values)) return {};
  const auto all = [](const Reads& r) {
    std::vector<const ir::Var*> out = r.symbols;
    out.insert(out.end(), r.values.begin(), r.values.end());
    return out;
  };
  Found found;
  found.binding = pair.bad->var->name;
  found.related = related(name_of(pair.good->value), name_of(pair.bad->value));
  for (const ir::Var* v : before.values) found.reads.emplace_back(v->name);
  found.good.module = alone(good, pair.function, pair.good, all(before));
  found.bad.module = alone(bad, pair.function, pair.bad, all(now));
  found.good.function = found.bad.function = pair.function;
  found.good.kernels = found.bad.kernels = session_.options().engine;
  found.good.label = good_stage.file;
  found.bad.label = bad_stage.file;
  session_.set_program(found.good.module);
  source::Diagnostics ignored;
  const auto made = session_.arguments(pair.function, {}, ignored);
  if (!made) return {};
  std::vector<Value> generated;
  for (const session::Argument& a : *made) generated.push_back(a.value);
  bool ran = false;
  const auto until = CpuClock::now() + kForOne;
  for (const Numbers numbers : kNumbers) {
    for (std::int64_t round = 0; round < rounds_of(generated, numbers); ++round) {
      support::poll();
      if (ran && CpuClock::now() > until) return {std::nullopt, ran};
      found.good.args = copies(generated);
      for (const Value& v : found.good.args) refill(v, numbers, round);
      found.bad.args = found.good.args;
      const auto left = execute(found.good);
      if (!left) break;  // its integers are indices, or it does not run at all
      const auto right = execute(found.bad);
      ran = ran || right;
      if (!right || !differ(*left, *right, numbers, tolerances_)) continue;
      found.numbers = text_of(numbers);
      found.large = numbers == Numbers::Large;
      return {std::move(found), true};
    }
  }
  return {std::nullopt, ran};
}

}  // namespace rldb::repro
