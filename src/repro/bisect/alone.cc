// AloneChecker: pairs the bindings that two versions compute by different calls, makes each a function of what it
// reads, and runs both on generated numbers.
#include "repro/bisect/alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <unordered_map>

#include "repro/bisect/doubt.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/stage_functions.h"
#include "repro/borrow.h"
#include "repro/compare/match.h"
#include "repro/compare/shadow.h"
#include "repro/cpu_clock.h"
#include "repro/dims.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// Of one computation: a large one does not take all of the time.
constexpr auto kForOne = std::chrono::milliseconds(1500);
constexpr auto kUntilAnyRuns = 4 * kForOne;
// With other dims than the first, one that takes more elements is not run.
constexpr std::int64_t kMostTaken = 1 << 20;

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

// Texts to be written in place of names.
using Words = std::map<std::string, std::string, std::less<>>;

std::string with_words(const std::string& text, const Words& words) {
  std::string out;
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    const auto it = words.find(word);
    out += it == words.end() ? word : it->second;
    i = end;
  }
  return out;
}

// Two bindings with the same text and the same functions behind them are one computation.
std::string computation(const ir::Module* module, const ir::Binding* b) {
  Words words;
  ir::walk(b->value, [&](const ir::Node* n) {
    const auto* g = ir::as<ir::GlobalVar>(n);
    const ir::Expr* f = g ? module->find(g->name) : nullptr;
    if (g) words[std::string(g->name)] = fmt::format("@{:x}", f ? ir::structural_hash(f) : 0);
    return true;
  });
  return fmt::format("{} = {}", ir::print_type(b->var->type), with_words(ir::print_expr(b->value), words));
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
      if (computation(good, old) == computation(bad, b)) return true;
      out.push_back({std::string(e.name), before, now, old, b});
      return true;
    });
  }
  return out;
}

// A module in which the function computes this part alone. Null: it cannot be made.
const ir::Module* AloneChecker::alone(const ir::Module* module, const std::string& name, const CutPart& part) {
  ir::Context& ctx = session_.context();
  ir::VarMap fresh;
  std::vector<const ir::Var*> params;
  for (const ir::Var* v : part.values) {
    params.push_back(ctx.var(v->name, v->type));
    fresh.emplace(v, params.back());
  }
  // The symbolic dims come first, as a shape, so that types which mention only expressions of them are checked.
  const std::vector<const ir::Expr*> symbols(part.symbols.begin(), part.symbols.end());
  if (!symbols.empty()) params.insert(params.begin(), ctx.var("dims", ctx.shape_type(symbols)));
  std::vector<const ir::Binding*> bindings;
  for (const ir::Binding* b : part.bindings) {
    const ir::Expr* value = ir::substitute(ctx, b->value, fresh);
    const ir::Var* var = ctx.var(b->var->name, b->var->type);
    fresh.emplace(b->var, var);
    bindings.push_back(ctx.binding(var, value));
  }
  const ir::Var* result = bindings.back()->var;
  const std::vector<const ir::BindingBlock*> blocks{ctx.block(bindings)};
  const ir::Function* f = ctx.function(params, ctx.seq(blocks, result), result->type, true, {});
  ir::ModuleBuilder builder(ctx, *module);
  builder.set(name, f);
  const std::string_view roots[] = {name};
  return ir::reachable_from(ctx, builder.build(), roots);
}

std::optional<Value> AloneChecker::execute(const Program& program) {
  eval::Watcher nobody;
  source::Diagnostics found;
  const std::vector<Value> args = copies(program.args);
  const Muted muted(session_);
  const session::RunResult run = session_.run_watched(program.module, program.function, args, nobody, found);
  support::poll_cause();
  if (!run.ok) return std::nullopt;
  return run.value;
}

AloneChecker::Outcome AloneChecker::run(const Pair& pair, const Stage& good_stage, const Stage& bad_stage) {
  const CutAt good{good_stage.module, pair.good_in, pair.good}, bad{bad_stage.module, pair.bad_in, pair.bad};
  Outcome outcome;
  for (const CutReach reach : {CutReach::Near, CutReach::Parameters}) {
    const auto parts = common_cut(good, bad, reach);
    if (!parts)
      return {std::nullopt, outcome.ran, outcome.parts};  // what was found near may rest on what is not seen there
    const auto& [before, now] = *parts;
    Found found;
    found.binding = pair.bad->var->name;
    found.related = related(name_of(pair.good->value), name_of(pair.bad->value));
    for (const ir::Var* v : before.values) found.reads.emplace_back(v->name);
    found.good.module = alone(good.module, pair.function, before);
    found.bad.module = alone(bad.module, pair.function, now);
    // Equal layers have equal parts, whatever the variables are called.
    const Parts both{ir::structural_hash(found.good.module), ir::structural_hash(found.bad.module)};
    if (reach == CutReach::Near && alike_.contains(both)) return outcome;
    found.good.function = found.bad.function = pair.function;
    found.good.kernels = found.bad.kernels = session_.options().engine;
    found.good.label = good_stage.file;
    found.bad.label = bad_stage.file;
    outcome = run_parts(found, !before.symbols.empty());
    outcome.parts = fmt::format("{:x} {:x}", both.first, both.second);
    // Where the parts begin, relations between the variables are lost, and a long part may rely on them: a difference
    // that ordinary numbers are enough to show has to show with the whole way from the parameters too.
    const bool may_rely = before.values.size() > 1 && before.bindings.size() + now.bindings.size() > 2;
    if (!outcome.found && reach == CutReach::Near) alike_.insert(both);
    if (!outcome.found || !may_rely || outcome.found->numbers != text_of(Numbers::Generated)) return outcome;
  }
  return outcome;
}

// Generated ones; empty: there are none, or they are more than is worth a run.
std::vector<Value> AloneChecker::arguments(const Program& program, bool first) {
  session_.set_program(program.module);
  source::Diagnostics ignored;
  const auto made = session_.arguments(program.function, {}, ignored);
  std::vector<Value> generated;
  if (!made) return generated;
  std::int64_t elements = 0;
  for (const session::Argument& a : *made) {
    generated.push_back(a.value);
    for_each_tensor(a.value, [&](const runtime::Tensor& t) { elements += t.element_count(); });
  }
  if (!first && elements > kMostTaken) generated.clear();
  return generated;
}

// A sum in another order before a normalisation amplifies its rounding: in float64 it does not differ.
bool AloneChecker::is_in_doubt(const Found& f, Numbers numbers) {
  const bool integers = std::any_of(f.good.args.begin(), f.good.args.end(), has_integers);
  const Tolerances tolerances = numbers == Numbers::Large ? of_large_numbers(tolerances_) : tolerances_;
  std::string why = doubt_about(session_, f.good, f.bad, tolerances, integers);
  if (why.empty()) {
    const Trace good = record(session_, f.good), bad = record(session_, f.bad);
    const Shadow shadow = against_shadow(session_, f.good, good.result, bad.result);
    if (shadow.verdict == Shadow::Verdict::Rounding) why = to_string(shadow);
  }
  if (why.empty()) return false;
  std::string note =
      fmt::format("a difference of `{}`, run by itself on {}, does not count: {}", f.binding, text_of(numbers), why);
  if (std::find(doubts_.begin(), doubts_.end(), note) == doubts_.end()) doubts_.push_back(std::move(note));
  return true;
}

AloneChecker::Outcome AloneChecker::run_parts(Found found, bool has_symbols) {
  const session::Options given = session_.options();
  Outcome outcome = run_with_all(found, has_symbols);
  session_.options() = given;
  return outcome;
}

// Leaves the options as they were last.
AloneChecker::Outcome AloneChecker::run_with_all(Found& found, bool has_symbols) {
  const std::vector<const ir::Module*> modules{found.good.module, found.bad.module};
  const NamedNumbers named = named_numbers(modules);
  const NumberMaker maker(named, std::any_of(modules.begin(), modules.end(), has_loops_by_data));
  const std::vector<std::int64_t> dims = dims_alone(named, has_symbols);
  const session::Options given = session_.options();
  const auto* f = ir::as<ir::Function>(found.good.module->find(found.good.function));
  const auto start = CpuClock::now();
  Outcome outcome;
  std::vector<Value> generated;
  std::optional<std::size_t> made;  // for these dims
  for (const auto& [k, numbers] : order_of_attempts(dims.size())) {
    support::poll();
    if (CpuClock::now() - start > (outcome.ran ? kForOne : kUntilAnyRuns)) return outcome;
    if (made != k) {
      session_.options() = given;
      session_.options().default_dim = dims[k];
      if (has_symbols) tell_dims_apart(session_.options(), f);
      found.dims = has_symbols ? dims_text(session_.options(), f) : std::string();
      const bool few = k == 0 || !has_symbols || elements_with(session_.context(), session_.options(), f) <= kMostTaken;
      generated = few ? arguments(found.good, k == 0) : std::vector<Value>();
      made = k;
    }
    if (generated.empty()) continue;
    for (std::int64_t round = 0; round < maker.rounds(generated, numbers); ++round) {
      support::poll();
      if (CpuClock::now() - start > (outcome.ran ? kForOne : kUntilAnyRuns)) return outcome;
      found.good.args = copies(generated);
      maker.refill(found.good.args, numbers, round);
      found.bad.args = found.good.args;
      const auto left = execute(found.good);
      if (!left) continue;  // it divides by 0, or its integers are indices: other rounds have others
      const auto right = execute(found.bad);
      outcome.ran = outcome.ran || right;
      if (!right || !differ(*left, *right, numbers, tolerances_) || is_in_doubt(found, numbers)) continue;
      found.numbers = text_of(numbers);
      found.large = numbers == Numbers::Large;
      outcome.found = std::move(found);
      return outcome;
    }
  }
  return outcome;
}

}  // namespace rldb::repro
