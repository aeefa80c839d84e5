// Validation of a pass: the runs before and after, at boundary dims, and the comparison of their results.
#include "rldb/repro/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "repro/argument_writes.h"
#include "repro/bisect/follow.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/signature.h"
#include "repro/bisect/unpack.h"
#include "repro/compare/lower_precision.h"
#include "repro/unchanged.h"
#include "repro/validated_side.h"
#include "repro/values.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/launched.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/compare.h"
#include "rldb/session/dim_fault.h"
#include "rldb/support/cancel.h"
#include "rldb/support/progress.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

using runtime::Value;

// Small, prime, a vector's width, one more, and zero.
constexpr std::int64_t kDims[] = {1, 2, 7, 16, 17, 0};
constexpr std::int64_t kEngineDims[] = {1, 7, 0};
constexpr std::int64_t kApart = 7;  // from here on, if there are several
// Limit of a run on the evaluator: some tenths of a second, at each of the dims and on both sides.
constexpr std::uint64_t kStatements = 1'000'000;

struct Side {
  session::RunResult result;
  std::string error;
  std::vector<GivenTensor> arguments;
  bool for_device = false;  // it failed where it calls the runtime of a device, which rldb does not have
  bool failed_by(runtime::ErrorKind kind) const { return result.fault && result.fault->error.kind == kind; }
  bool too_long() const { return failed_by(runtime::ErrorKind::TooLong); }
};

struct Case {
  std::int64_t dim;
  std::string dims;  // for the reader
  std::vector<Value> args;
  Side before;
  bool is_kernel = false;  // a PrimFunc by itself
};

// Why the function did not run on either side, or how the sides differ; both empty: it ran and they agree.
struct Verdict {
  std::string difference;
  std::string not_run;
  const Case* of = nullptr;  // the one that differs
  bool both_ran = false;
  std::string precision;  // the format whose errors explain the differences; empty: there were none
};

// Why the result, or a part of it, cannot be compared.
std::string not_comparable(const Value& result) {
  std::vector<Value> leaves;
  flatten(result, leaves);
  for (const Value& v : leaves)
    if (is_opaque(v)) return nothing_to_compare(v);
  return nothing_to_compare(leaves);
}

Verdict compare_case(const Case& c, const Side& after, const runtime::Tolerance& tolerance) {
  const Side& before = c.before;
  if (before.too_long() || after.too_long()) return {{}, before.too_long() ? before.error : after.error, nullptr};
  if (!before.result.ok && !after.result.ok) return {{}, "fails before and after: " + before.error};
  if (after.for_device) return {{}, after.error};
  for (const Side* side : {&before, &after})
    if (side->result.fault && session::dims_do_not_fit(side->result.fault->error)) return {{}, side->error};
  if (c.is_kernel && !before.result.ok) return {{}, fmt::format("failed before ({}), now runs", before.error)};
  if (c.is_kernel && after.failed_by(runtime::ErrorKind::Unsupported)) return {{}, after.error};
  if (before.result.ok && after.result.ok)
    if (const std::string why = not_comparable(before.result.value); !why.empty()) return {{}, why};
  std::string difference;
  if (!after.result.ok) {
    difference = "ran before, now: " + after.error;
  } else if (!before.result.ok) {
    difference = "failed before (" + before.error + "), now runs";
  } else {
    difference = runtime::compare(after.result.value, before.result.value, tolerance);
  }
  if (!difference.empty()) return {fmt::format("with symbolic dims {}: {}", c.dims, difference), {}};
  const NanOnBoth nan = nan_on_both(before.result.value, after.result.value);
  return {{}, nan.whole_leaf ? to_string(nan) : std::string()};
}

// `narrower`: one side computes in a lower precision, so that only who writes counts, not the values.
std::string difference_in_arguments(const Case& c, const Side& after, const runtime::Tolerance& tolerance,
                                    bool narrower) {
  Tolerances tolerances;
  tolerances.atol = tolerance.atol;
  tolerances.rtol = tolerance.rtol;
  const auto d = difference_of_arguments(c.before.arguments, after.arguments, tolerances);
  if (!d || (narrower && d->both_write())) return {};
  return fmt::format("with symbolic dims {}: {}", c.dims, to_string(*d));
}

// Whether some parameter's type leaves a dimension open.
bool has_open_dims(const ir::Type* t) {
  if (t->has_vars) return true;
  if (const auto* tensor = ir::as<ir::TensorType>(t)) return !tensor->has_shape;
  if (const auto* shape = ir::as<ir::ShapeType>(t)) return !shape->has_values;
  const auto* tuple = ir::as<ir::TupleType>(t);
  return tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(), has_open_dims);
}

bool has_open_dims(const ir::PrimFunc* f) {
  const auto* type = ir::as<ir::FuncType>(f->type);
  return type &&
         std::any_of(type->params.begin(), type->params.end(), [](const ir::Type* t) { return has_open_dims(t); });
}

// Those of the dims to try that make a difference.
std::span<const std::int64_t> dims_for(const ir::Function* f, std::span<const std::int64_t> dims) {
  const bool open =
      std::any_of(f->params.begin(), f->params.end(), [](const ir::Var* p) { return has_open_dims(p->type); });
  return open ? dims : dims.first(1);
}

support::Doing running(const Way& way, std::string_view name, std::int64_t dim) {
  return support::Doing(fmt::format("{} {}, dims {}", name, way.text, dim));
}

Side run_side(Borrowed& session, const Way& way, std::string_view name, const std::vector<Value>& given) {
  Side side;
  const std::vector<Value> args = copies(given);
  side.result = session.run(way.module, name, args, side.error);
  side.arguments = given_tensors(way.module, name, given, args, 0);
  return side;
}

// At one dim, or with several dims that are different numbers from it on. None: inputs cannot be generated.
std::optional<Case> reference_case(Borrowed& session, const Way& way, std::string_view name, std::int64_t dim,
                                   const std::string& dims) {
  const support::Doing doing = running(way, name, dim);
  auto made = session.arguments(way.module, name);
  if (!made) return std::nullopt;
  Case c{dim, dims, std::move(made->values), {}, ir::isa<ir::PrimFunc>(way.module->find(name))};
  const bool are_given = std::find(made->generated.begin(), made->generated.end(), false) != made->generated.end();
  if (const auto* f = ir::as<ir::Function>(way.module->find(name)); f && are_given)
    c.dims = session.dims_text(f, c.args);
  c.before = run_side(session, way, name, c.args);
  if (!c.before.result.ok || not_finite(c.before.result.value) == 0) return c;
  if (session.find_finite(way.module, name, c.args, made->generated)) c.before = run_side(session, way, name, c.args);
  return c;
}

// The results of one side at each of the dims; nullopt when inputs cannot be generated.
std::optional<std::vector<Case>> reference_cases(Borrowed& session, const Way& way, std::string_view name,
                                                 const ir::Function* f, std::span<const std::int64_t> dims) {
  std::vector<Case> cases;
  session.set_engine(way.engine);
  for (const std::int64_t dim : dims) {
    std::optional<Case> c;
    if (dim == kApart && session.set_dims_apart(dim, f))
      c = reference_case(session, way, name, dim, session.dims_text(f));
    if (!c || !c->before.result.ok) {  // it may require them to be equal
      session.set_dim(dim);
      c = reference_case(session, way, name, dim, std::to_string(dim));
    }
    if (!c) return std::nullopt;
    cases.push_back(std::move(*c));
    if (cases.back().before.too_long()) break;
  }
  return cases;
}

// A difference of values as a verdict, where the pass lowers the precision.
void judge_precision(Borrowed& session, LowerPrecision& lower, const Case& c, const Side& after, const Way& way,
                     std::string_view name, Verdict& verdict) {
  const auto run = [&](const ir::Module* module, const std::vector<Value>& args) -> std::optional<Value> {
    Side side;
    side.result = session.run(module, name, copies(args), side.error);
    return side.result.ok ? std::optional(side.result.value) : std::nullopt;
  };
  session.set_engine(way.engine);
  std::string why;
  const auto answer = lower.judge(c.args, c.before.result.value, after.result.value, run, why);
  if (answer == LowerPrecision::Answer::Worse) {
    if (!why.empty()) verdict.difference += "; " + why;
    return;
  }
  verdict.difference.clear();
  if (answer == LowerPrecision::Answer::CannotTell) verdict.not_run = "its precision changes, and " + why;
  if (answer == LowerPrecision::Answer::Explained) verdict.precision = runtime::to_string(lower.format());
}

// A parameter of this side that wants more than the null made for an object of the other side. Null: none does.
const ir::Var* wants_a_value(const Way& way, std::string_view name, const std::vector<Value>& args) {
  const auto* f = ir::as<ir::Function>(way.module->find(name));
  if (!f || f->params.size() != args.size()) return nullptr;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::TypeKind kind = f->params[i]->type->kind;
    if (args[i].is_null() && (kind == ir::TypeKind::Tensor || kind == ir::TypeKind::Tuple)) return f->params[i];
  }
  return nullptr;
}

Verdict compare_cases(Borrowed& session, const std::vector<Case>& cases, const Way& way, std::string_view name,
                      LowerPrecision* lower) {
  std::string not_run, precision;
  bool ran = false;
  session.set_engine(way.engine);
  for (const Case& c : cases) {
    session.set_dim(c.dim);
    const support::Doing doing = running(way, name, c.dim);
    Side side;
    if (!c.before.too_long()) {
      std::string why;
      const auto args = session.taken_by(way, name, c.args, why);
      if (!args) return {{}, why};
      if (const ir::Var* p = wants_a_value(way, name, *args))
        return {{}, fmt::format("`{}` has no value to give it", p->name)};
      side = run_side(session, way, name, *args);
      side.for_device = side.failed_by(runtime::ErrorKind::UnknownFunction) && session.needs_a_device(way.module);
    }
    Verdict verdict = compare_case(c, side, session.tolerance());
    const bool both = c.before.result.ok && side.result.ok;
    if (lower && both && !verdict.difference.empty()) judge_precision(session, *lower, c, side, way, name, verdict);
    if (both && !c.is_kernel && verdict.difference.empty())
      verdict.difference = difference_in_arguments(c, side, session.tolerance(), lower != nullptr);
    if (precision.empty()) precision = verdict.precision;
    if (!verdict.difference.empty()) return {verdict.difference, {}, &c, both, {}};
    ran = ran || verdict.not_run.empty();
    if (not_run.empty()) not_run = verdict.not_run;
  }
  return {{}, ran ? std::string() : not_run, nullptr, false, precision};
}

std::string lowered_on(session::Engine engine) {
  return fmt::format("lowered, on engine {}", session::to_string(engine));
}

using Pair = std::pair<Way, Way>;

// Adds the result for one function. True: its values differ.
bool compare_pairs(Borrowed& session, const std::vector<Pair>& pairs, std::string_view name, const ir::Function* f,
                   std::span<const std::int64_t> dims, LowerPrecision* lower, Validation& out) {
  std::string precision;
  std::vector<std::string> missed, reasons;
  std::optional<std::vector<Case>> cases;
  const Way* reference = nullptr;  // the side to which these cases belong
  for (const auto& [before, after] : pairs) {
    if (!reference || reference->module != before.module || reference->engine != before.engine)
      cases = reference_cases(session, before, name, f, dims);
    reference = &before;
    const Verdict verdict = cases ? compare_cases(session, *cases, after, name, lower)
                                  : Verdict{{}, "its inputs cannot be generated", nullptr};
    if (!verdict.difference.empty()) {
      out.difference = fmt::format("`{}` {} ({})", name, verdict.difference, after.text);
      out.over_nothing = verdict.of && verdict.of->dim == 0 && verdict.both_ran;
      const bool is_relax = ir::as<ir::Function>(before.module->find(name)) != nullptr;
      const auto first =
          is_relax ? session.first_difference(before, after, name, verdict.of->args, verdict.of->dim) : std::nullopt;
      if (first && !first->name.empty()) out.difference += "; first: " + summary(*first);
      return true;
    }
    if (precision.empty()) precision = verdict.precision;
    if (verdict.not_run.empty()) continue;
    missed.push_back(fmt::format("not {}: {}", after.text, verdict.not_run));
    reasons.push_back(verdict.not_run);
  }
  if (missed.size() == pairs.size()) {
    out.not_run.push_back(fmt::format("{} ({})", name, reasons.back()));
    return false;
  }
  out.compared.emplace_back(name);
  if (!precision.empty()) out.lowered.push_back(fmt::format("{} ({})", name, precision));
  if (!missed.empty()) out.in_part.push_back(fmt::format("{} ({})", name, fmt::join(missed, "; ")));
  return false;
}

// The function with that name, or the one now exported under its symbol; null: there is none.
const ir::Function* find_public(const ir::Module* after, const ir::ModuleEntry& entry, std::string& there) {
  const auto* same = ir::as<ir::Function>(after->find(entry.name));
  there = entry.name;
  if (same && !same->is_private()) return same;
  const ir::Attr* symbol = ir::find_attr(ir::as<ir::Function>(entry.function)->attrs, attr_name::GlobalSymbol);
  return symbol ? find_exported(after, std::string(symbol->string), there) : nullptr;
}

// Parameters of the same types: a pass may merge two dims.
bool take_the_same(const ir::Function* f, const ir::Function* g) {
  if (f->params.size() != g->params.size()) return false;
  for (std::size_t i = 0; i < f->params.size(); ++i)
    if (ir::print_type(f->params[i]->type) != ir::print_type(g->params[i]->type)) return false;
  return true;
}

constexpr std::string_view kAsItIs = "as it is, on the evaluator";

std::vector<Pair> ways_between(const ir::Module* before, const ir::Module* after, session::Engine machine) {
  const std::string lowered = lowered_on(machine);
  return {{{before, session::Engine::Eval, std::string(kAsItIs)}, {after, session::Engine::Eval, std::string(kAsItIs)}},
          {{before, machine, lowered}, {after, machine, lowered}}};
}

bool has_relax_functions(const ir::Module* module) {
  return std::any_of(module->entries.begin(), module->entries.end(), [](const ir::ModuleEntry& e) {
    const auto* f = ir::as<ir::Function>(e.function);
    return f && !f->is_private();
  });
}

// A module of PrimFuncs alone: each of those that a caller has, by itself. Numbers that nobody chose for it may make it
// fail, and the evaluator may not know what a pass leaves or removes: then there is no verdict.
void validate_kernels(Borrowed& session, const ir::Module* given, const ir::Module* result, Validation& out) {
  const ir::Module* before = with_unpacked(session.context(), given);
  const ir::Module* after = with_unpacked(session.context(), result);
  const std::vector<Pair> ways = ways_between(before, after, session.machine());
  for (const ir::ModuleEntry& entry : before->entries) {
    const auto* f = ir::as<ir::PrimFunc>(entry.function);
    if (!f || f->is_private() || ir::is_launched(f)) continue;
    const auto* g = ir::as<ir::PrimFunc>(after->find(entry.name));
    if (!g || ir::is_launched(g)) {
      out.not_run.push_back(fmt::format("{} (it is not there afterwards)", entry.name));
    } else if (ir::print_type(f->type) != ir::print_type(g->type)) {
      out.not_run.push_back(fmt::format("{} (its parameters are others afterwards)", entry.name));
    } else if (compare_pairs(session, ways, entry.name, nullptr,
                             std::span(kDims).first(has_open_dims(f) ? std::size(kDims) : 1), nullptr, out)) {
      return;
    }
  }
}

}  // namespace

Validation validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after,
                             std::string_view passes) {
  Borrowed borrowed(session, kStatements);
  Validation out;
  std::set<std::string> same;
  std::optional<LowerPrecision> lower;
  if (meant_by_pipeline(passes) == Meant::Coarse) lower.emplace(session, before, after);
  if (!has_relax_functions(before)) {
    validate_kernels(borrowed, before, after, out);
    return out;
  }
  const std::vector<Pair> pairs = ways_between(before, after, borrowed.machine());
  for (const ir::ModuleEntry& entry : before->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f || f->is_private()) continue;
    std::string there;
    const ir::Function* g = find_public(after, entry, there);
    if (!g) {
      out.not_run.push_back(fmt::format("{} (it is not there afterwards)", entry.name));
      continue;
    }
    if (there != entry.name) {
      out.not_run.push_back(fmt::format("{} (it is `{}` afterwards)", entry.name, there));
      continue;
    }
    const bool other = f->params.size() != g->params.size();
    const bool adapt = (takes_as_many_values(f, g) && !take_the_same(f, g)) || lifts_parameters(after, entry.name);
    if (other && !adapt) {
      out.not_run.push_back(fmt::format("{} (it takes {} before and {} after)", entry.name,
                                        support::counted(f->params.size(), "argument"), g->params.size()));
      continue;
    }
    std::vector<Pair> ways = pairs;
    for (Pair& p : ways)
      if (adapt) p.second.given = f, p.second.function = g, p.second.source = before;
    const std::size_t missed = out.not_run.size();
    if (compare_pairs(borrowed, ways, entry.name, take_the_same(f, g) ? f : nullptr, dims_for(f, kDims),
                      lower ? &*lower : nullptr, out))
      return out;
    if (out.not_run.size() == missed || !is_unchanged(before, after, entry.name)) continue;
    same.insert(out.not_run.back());
    out.unchanged.emplace_back(entry.name);
  }
  if (out.compared.empty()) out.unchanged.clear();  // nothing ran: that the text is the same is no verdict on values
  if (!out.unchanged.empty()) std::erase_if(out.not_run, [&](const std::string& f) { return same.contains(f); });
  return out;
}

Validation validate_engines(session::Session& session) {
  using session::Engine;
  Borrowed borrowed(session, kStatements);
  const ir::Module* module = session.module();
  const Way reference{module, Engine::Eval, std::string(kAsItIs)};
  std::vector<Pair> pairs{{reference, {module, Engine::Vm, lowered_on(Engine::Vm)}},
                          {reference, {module, Engine::Jit, lowered_on(Engine::Jit)}}};
  source::Diagnostics ignored;
  const auto build = session.build(ignored);
  if (build && build->lowered)
    pairs.push_back({reference, {build->lowered, Engine::Eval, "lowered, on the evaluator"}});
  Validation out;
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f || f->is_private()) continue;
    if (compare_pairs(borrowed, pairs, entry.name, f, dims_for(f, kEngineDims), nullptr, out)) break;
  }
  return out;
}

std::string to_string(const Validation& v) {
  if (!v.difference.empty()) return v.difference;
  std::string text = v.compared.empty() ? "nothing was compared" : "same values";
  if (!v.lowered.empty())
    text += fmt::format("; as exact as the lower precision allows: {}", fmt::join(v.lowered, ", "));
  if (!v.in_part.empty()) text += fmt::format("; in part: {}", fmt::join(v.in_part, ", "));
  if (!v.compared.empty() && !v.unchanged.empty()) text += fmt::format("; unchanged: {}", fmt::join(v.unchanged, ", "));
  if (v.compared.empty() && v.not_run.empty()) text += ": there is no function that a caller could run";
  if (!v.not_run.empty()) text += fmt::format("; not run: {}", fmt::join(v.not_run, ", "));
  return text;
}

}  // namespace rldb::repro
