// Follower: runs the versions of a function one after the other on equivalent inputs.
#include "repro/bisect/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "repro/bisect/learn.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/signature.h"
#include "repro/borrow.h"
#include "repro/finite.h"
#include "repro/run_limit.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/run_limit.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// For tensors without a dtype: that of the function's constants if all have the same one, since operators of two
// operands want equal dtypes.
std::string likely_dtype(const ir::Function* f) {
  std::set<std::string> dtypes;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* c = ir::as<ir::Constant>(n);
    const auto* t = c ? ir::as<ir::TensorType>(c->type) : nullptr;
    if (t && !t->dtype.is_void()) dtypes.insert(runtime::to_string(t->dtype));
    return true;
  });
  return dtypes.size() == 1 ? *dtypes.begin() : "float32";
}

// Inputs, as text, for parameters whose annotations are incomplete.
std::vector<std::string> open_inputs(const ir::Function* f, std::int64_t dim, std::uint64_t seed) {
  constexpr int kNdim = 2;
  std::vector<std::string> out;
  for (const ir::Var* p : f->params) {
    if (const auto* s = ir::as<ir::ShapeType>(p->type); s && !s->has_values && s->ndim != 0) {
      std::string dims = fmt::format("{}", dim);
      for (int i = 1; i < (s->ndim > 0 ? s->ndim : kNdim); ++i) dims += fmt::format(", {}", dim);
      out.push_back(fmt::format("{}=shape({})", p->name, dims));
    }
    const auto* t = ir::as<ir::TensorType>(p->type);
    if (!t || t->has_shape || (t->ndim != ir::kUnknownNdim && !t->dtype.is_void())) continue;
    std::string dims;
    for (int i = 0; i < (t->ndim == ir::kUnknownNdim ? kNdim : t->ndim); ++i) dims += fmt::format("{}x", dim);
    const std::string dtype = t->dtype.is_void() ? likely_dtype(f) : runtime::to_string(t->dtype);
    out.push_back(fmt::format("{}={}{}=rand(seed={})", p->name, dims, dtype, seed + out.size()));
  }
  return out;
}

// Far beyond the range of an exponential, but no sum of products overflows.
constexpr double kLarge = 200, kLargeInHalf = 16;

// Maps floats from [-1, 1) to [0, 1]: variances and arguments of logarithms are not negative.
void make_positive(const Value& v) {
  for_each_tensor(v, [](const runtime::Tensor& t) {
    if (!is_plain_float(t)) return;
    for (std::int64_t i = 0; i < t.element_count(); ++i) store(t, i, std::fabs(t.at(i)));
  });
}

void turn_round(const Value& v) {
  for_each_tensor(v, [](const runtime::Tensor& t) {
    if (!t.dtype().is_bool()) return;
    for (std::size_t i = 0; i < t.byte_size(); ++i)
      t.data()[i] = t.data()[i] == std::byte{0} ? std::byte{1} : std::byte{0};
  });
}

}  // namespace

std::string_view text_of(Follower::Inputs inputs, Numbers numbers) {
  switch (inputs) {
    case Follower::Inputs::Usual:
      return kUsualNumbers;
    case Follower::Inputs::Other:
      return "conditions inverted, integers of both signs, small weights";
    case Follower::Inputs::Large:
      return numbers == Numbers::OneSign ? "large negative floats" : "large floats";
    case Follower::Inputs::Kind:
      return text_of(numbers);
  }
  return {};
}

const ir::Function* find_exported(const ir::Module* module, const std::string& name, std::string& there) {
  there = name;
  if (const auto* f = ir::as<ir::Function>(module->find(name))) return f;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = ir::as<ir::Function>(e.function);
    const ir::Attr* symbol = f ? ir::find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
    if (!symbol || symbol->string != name) continue;
    there = e.name;
    return f;
  }
  return nullptr;
}

void Follower::skip(std::size_t stage, std::string why) {
  last_reason_ = why;
  if (reasons_[stage].empty()) reasons_[stage] = std::move(why);
}

void Follower::note(const std::string& text) {
  if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end()) out_.notes.push_back(text);
}

void Follower::tell_reasons() {
  for (std::size_t i = 0; i < ran_.size(); ++i)
    if (!ran_[i] && out_.stages[i].not_runnable.empty()) out_.stages[i].not_runnable = reasons_[i];
}

Follower::Step Follower::attempt(std::size_t i, const std::string& function, Point& at, Program& tried) {
  const Stage& stage = out_.stages[i];
  Program program;
  program.module = stage.module;
  program.label = stage.file;
  program.kernels = stage.kernels_by.value_or(session_.options().engine);
  const ir::Function* f = find_exported(stage.module, function, program.function);
  if (!f) return Step::Skipped;
  Point next = at;
  std::string why;
  const bool follows = at.baseline != kNoStage && follow(i, f, next, program, why);
  if (!follows) {
    next = Point{};
    program.module = stage.module;
    program.args.clear();
    std::string problem;
    if (!make_arguments(f, program, problem)) {
      skip(i, problem);
      return Step::Skipped;
    }
  }
  Outcome outcome = run_somehow(i, at, program);
  if (outcome.asserted && !follows) pass_assertion(outcome, program);
  if (loses_assertion(at, outcome, program)) {
    at.previous = at.asserting->first;
    at.program = at.asserting->second;
    tried = std::move(program);
    ran_[i] = ran_[at.previous] = true;
    return Step::Differs;
  }
  if (outcome.ran && !follows) {
    other_integers_ = false;
    look_for_finite(outcome, program);
    if (kind_ == Inputs::Other) prefer_wide(outcome, program);
    if (kind_ == Inputs::Kind) refill(outcome, program);
  }
  if (outcome.not_run.empty() && !outcome.ran && !follows) outcome.not_run = "it fails: " + outcome.error;
  if (outcome.ran && !follows) outcome.not_run = nothing_to_compare(outcome.result);
  if (outcome.not_run.empty() && at.baseline == kNoStage)
    if (auto why_not = cannot_be_expected()) outcome.not_run = *why_not;
  if (!outcome.not_run.empty()) {
    if (outcome.asserted && at.baseline == kNoStage) at.asserting.emplace(i, program);
    skip(i, outcome.not_run);
    return Step::Skipped;
  }
  ran_[i] = true;
  comparisons_ += follows;
  if (at.baseline == kNoStage && !is_as_expected(i, outcome)) return Step::Skipped;
  if (follows && differs(next.reference, outcome)) {
    if (!is_meant(stage, next, outcome)) {
      tried = std::move(program);
      at.reference = next.reference;  // with bound parameters, both run on the constants
      at.program = next.program;
      return Step::Differs;
    }
    why = fmt::format("`{}` changes values", stage.pass);
    next.reference = outcome;
  }
  if (follows && why.empty()) note_rounding(i, next.reference, outcome);
  if (follows) note_nan(function, next.reference, outcome);
  if (at.baseline != kNoStage && !why.empty()) note(fmt::format("compared anew from {} on: {}", stage.file, why));
  const Step step = why.empty() && follows ? Step::Agrees : Step::Anew;
  if (follows && std::find(out_.compared.begin(), out_.compared.end(), function) == out_.compared.end())
    out_.compared.push_back(function);
  if (!follows) {
    next.arguments = {stage.module, f, program.args};
    next.reference = std::move(outcome);
  }
  if (step == Step::Anew) next.baseline = i;
  if (step == Step::Anew && at.baseline != kNoStage) out_.anew.insert(i);
  next.previous = i;
  next.made_up = stage.made_up;
  next.before = std::move(next.program);
  next.program = std::move(program);
  at = std::move(next);
  return step;
}

bool Follower::follow(std::size_t i, const ir::Function* f, Point& next, Program& program, std::string& why) {
  return set_constants(out_.stages[i], next, program, why) && set_arguments(f, next, program, why);
}

bool Follower::set_constants(const Stage& stage, Point& next, Program& program, std::string& why) {
  if (!stage.unfilled) {
    next.constants.clear();
    return true;
  }
  const bool same = next.made_up == stage.made_up;
  ConstantValues known = learn_constants(session_, next.program, stage.unfilled, stage.constants);
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (known[k]) continue;
    if (same && k < next.constants.size()) known[k] = next.constants[k];
    if (same || !stage.constants[k]) continue;
    why = "it has other constants, whose data the dump left out";
    return false;
  }
  program.module = fill_constants(session_.context(), stage.unfilled, stage.constants, known, session_.options().seed);
  next.constants = std::move(known);
  return program.module != nullptr;
}

bool Follower::set_arguments(const ir::Function* f, Point& next, Program& program, std::string& why) {
  if (auto bound = bound_arguments(next.program, program.module)) {
    next.program.args = std::move(*bound);
    next.reference = execute(next.program);
    std::string ignored;
    next.arguments = {next.program.module, find_exported(next.program.module, next.program.function, ignored),
                      next.program.args};
    if (!next.reference.ran) {
      why = "the version before does not run with the parameters that were bound";
      return false;
    }
  }
  if (auto adapted = adapt_arguments(session_, next.arguments, program.module, program.function, f, why)) {
    program.args = std::move(*adapted);
    return true;
  }
  auto with_room = with_outputs(next.arguments.values, next.reference.result, f);
  if (!with_room) return false;
  program.outputs = with_room->size() - next.arguments.values.size();
  program.args = std::move(*with_room);
  why.clear();
  return true;
}

// `name=...` for a parameter that the user specified, by name or position.
bool Follower::is_given(const ir::Function* f, const std::string& text) const {
  const std::string name = text.substr(0, text.find('=') + 1);
  std::size_t place = 0;
  for (const std::string& input : inputs_) {
    if (input.starts_with(name)) return true;
    const bool named = std::any_of(f->params.begin(), f->params.end(),
                                   [&](const ir::Var* p) { return input.starts_with(std::string(p->name) + "="); });
    if (!named && place < f->params.size() && std::string(f->params[place++]->name) + "=" == name) return true;
  }
  return false;
}

bool Follower::make_arguments(const ir::Function* f, Program& program, std::string& why) {
  session_.set_program(program.module);
  source::Diagnostics found;
  auto made = session_.arguments(program.function, inputs_, found);
  if (made) give_values(*made);
  if (!made) {
    source::Diagnostics ignored;
    std::vector<std::string> texts = inputs_;
    for (std::string& text : open_inputs(f, session_.options().default_dim, session_.options().seed))
      if (!is_given(f, text)) texts.push_back(std::move(text));
    made = session_.arguments(program.function, texts, ignored);
  }
  if (!made) {
    why = found.first_error();
    return false;
  }
  made_up_.clear();
  for (const session::Argument& a : *made) {
    program.args.push_back(a.value);
    made_up_.push_back(a.generated);
    if (kind_ == Inputs::Other && a.generated) turn_round(a.value);
  }
  if (kind_ == Inputs::Large) make_large(program);
  if (kind_ == Inputs::Other) make_weights_small(program);
  return true;
}

// Values that were given to a comparison stay.
void Follower::give_values(std::vector<session::Argument>& made) const {
  for (session::Argument& a : made) {
    const auto given = what_.values.find(a.parameter);
    if (given == what_.values.end()) continue;
    a.value = copies({given->second})[0];
    a.generated = false;
  }
}

// The same with its generated arguments changed.
Program Follower::with_generated(const Program& program, void (*change)(const Value&)) const {
  Program other = program;
  other.args = copies(program.args);
  for (std::size_t i = 0; i < other.args.size(); ++i)
    if (made_up_[i]) change(other.args[i]);
  return other;
}

// An assertion about a generated condition: with the conditions inverted the program may get past it.
void Follower::pass_assertion(Outcome& outcome, Program& program) {
  Program other = with_generated(program, turn_round);
  Outcome second = execute(other);
  if (!second.ran) return;
  outcome = std::move(second);
  program = std::move(other);
}

// On the same inputs an earlier version was stopped by an assertion, which a pass removed.
bool Follower::loses_assertion(const Point& at, const Outcome& outcome, const Program& program) const {
  if (at.baseline != kNoStage || !at.asserting || !outcome.ran) return false;
  const std::vector<Value>& before = at.asserting->second.args;
  Tolerances exact;
  exact.exact = true;
  return std::equal(before.begin(), before.end(), program.args.begin(), program.args.end(),
                    [&](const Value& a, const Value& b) { return !difference(a, b, exact); });
}

// Looks for generated inputs for which less of the result is NaN or infinite.
void Follower::look_for_finite(Outcome& outcome, Program& program) {
  if (not_finite(outcome.result) == 0) return;
  if (kind_ != Inputs::Usual) return prefer_positive(outcome, program);
  const RunForFinite again = [&](const std::vector<Value>& args) {
    ++out_.runs;
    return run_for_finite(session_, program.module, program.function, args);
  };
  auto run = again(program.args);
  const std::string numbers = run ? prefer_finite(program.args, made_up_, *run, again) : std::string();
  if (numbers.empty()) return;
  out_.tried.add_numbers(numbers);
  outcome = execute(program);
}

void Follower::prefer_positive(Outcome& outcome, Program& program) {
  Program positive = with_generated(program, make_positive);
  Outcome second = execute(positive);
  if (!second.ran || not_finite(second.result) >= not_finite(outcome.result)) return;
  outcome = std::move(second);
  program = std::move(positive);
}

// Values are expected of inputs that are all given.
std::optional<std::string> Follower::cannot_be_expected() const {
  if (what_.expected.empty() || std::find(made_up_.begin(), made_up_.end(), true) == made_up_.end())
    return std::nullopt;
  return "values are expected of it, but not every parameter has a given input";
}

// Against the framework's values, where there are some.
bool Follower::is_as_expected(std::size_t stage, const Outcome& o) {
  if (what_.expected.empty()) return true;
  if (out_.from_expected) return false;  // an earlier stage is not
  out_.first_compared = stage;
  std::vector<Value> leaves;
  flatten(o.result, leaves);
  if (leaves.size() != what_.expected.size()) {
    out_.from_expected.emplace().kind = fmt::format("{} values, expected {}", leaves.size(), what_.expected.size());
    return false;
  }
  for (std::size_t i = 0; i < leaves.size() && !out_.from_expected; ++i) {
    if (auto d = difference(what_.expected[i], leaves[i], tolerances_); d && !is_rounding(what_.expected[i], *d)) {
      if (leaves.size() > 1) d->path.insert(d->path.begin(), i);
      out_.from_expected = std::move(d);
    }
  }
  return !out_.from_expected;
}

void Follower::note_nan(const std::string& function, const Outcome& reference, const Outcome& o) {
  if (!o.ran || seen_.contains(function)) return;
  const NanOnBoth nan = nan_on_both(reference.result, o.result);
  if (nan.whole_leaf) {
    nan_.emplace(function, nan);
    return;
  }
  seen_.insert(function);
  nan_.erase(function);
}

const NanOnBoth* Follower::only_nan(const std::string& function) const {
  const auto it = nan_.find(function);
  return it == nan_.end() ? nullptr : &it->second;
}

// Integers that are negative and exceed the next narrower dtype, if the program runs on them: then they are not used as
// indices.
void Follower::prefer_wide(Outcome& outcome, Program& program) {
  constexpr std::size_t kMaxParameters = 8;
  if (keep_integers_ || !session_.options().check_bounds) return;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < program.args.size() && tried < kMaxParameters; ++i) {
    if (!made_up_[i] || !program.args[i].is(ValueKind::Tensor) || !is_plain_integer(program.args[i].as_tensor()))
      continue;
    ++tried;
    Program wide = program;
    wide.args = copies(program.args);
    widen(wide.args[i].as_tensor());
    Outcome second = execute(wide);
    if (!second.ran || not_finite(second.result) > not_finite(outcome.result)) continue;
    outcome = std::move(second);
    program = std::move(wide);
    other_integers_ = true;
  }
}

// Generated numbers become those of the kind. If the program does not run with all of them, some integers are indices
// or divisors: then those of one parameter after the other, as long as it runs.
void Follower::refill(Outcome& outcome, Program& program) {
  constexpr std::size_t kMostParameters = 8;
  if (!maker_) return;
  std::vector<Value> made;
  std::vector<bool> floats(made_up_), integers(made_up_.size(), false);
  std::size_t of_integers = 0;
  for (std::size_t i = 0; i < made_up_.size() && i < program.args.size(); ++i) {
    if (!made_up_[i]) continue;
    made.push_back(program.args[i]);
    if (!has_integers(program.args[i])) continue;
    floats[i] = false;
    integers[i] = of_integers++ < kMostParameters;
  }
  rounds_ = maker_->rounds(made, numbers_);
  const std::vector<Value> generated = copies(program.args);
  other_integers_ = of_integers > 0;
  if (take_if_it_runs(made_up_, outcome, program, generated) || of_integers == 0) return;
  other_integers_ = false;
  std::vector<bool> which = floats;
  take_if_it_runs(which, outcome, program, generated);
  if (!session_.options().check_bounds) return;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    if (!integers[i]) continue;
    which[i] = true;
    which[i] = take_if_it_runs(which, outcome, program, generated);
    other_integers_ = other_integers_ || which[i];
  }
}

bool Follower::take_if_it_runs(const std::vector<bool>& which, Outcome& outcome, Program& program,
                               const std::vector<Value>& generated) {
  Program other = program;
  other.args = copies(generated);
  maker_->refill(other.args, which, numbers_, round_);
  Outcome second = execute(other);
  if (!second.ran) return false;
  outcome = std::move(second);
  program = std::move(other);
  return true;
}

Outcome Follower::run_somehow(std::size_t stage, const Point& at, Program& program) {
  Outcome outcome = execute(program);
  if (outcome.not_run.empty() || at.previous == kNoStage) return outcome;
  const ir::Module* other = with_earlier_kernels(program.module, at.program.module);
  if (!other) return outcome;
  Program stand_in = program;
  stand_in.module = other;
  Outcome second = execute(stand_in);
  if (!second.not_run.empty()) return outcome;
  if (!earlier_kernels_)
    note(fmt::format("from {} on kernels are run as they were in {}", out_.stages[stage].file,
                     out_.stages[at.previous].file));
  earlier_kernels_ = true;
  stands_in_[stage] = true;
  program = std::move(stand_in);
  return second;
}

// Kernels scheduled for another machine are replaced by earlier ones of the same name. Null: there is no such kernel.
const ir::Module* Follower::with_earlier_kernels(const ir::Module* module, const ir::Module* earlier) {
  ir::ModuleBuilder builder(session_.context(), *module);
  bool changed = false;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = ir::as<ir::PrimFunc>(e.function);
    const auto* before = f ? ir::as<ir::PrimFunc>(earlier->find(e.name)) : nullptr;
    if (!before || before == f || call_signature(before) != call_signature(f)) continue;
    builder.set(e.name, before);
    changed = true;
  }
  return changed ? builder.build() : nullptr;
}

Outcome Follower::execute(const Program& program) {
  ++out_.runs;
  Outcome o;
  eval::Watcher nobody;
  source::Diagnostics found;
  const std::vector<Value> args = copies(program.args);
  const session::Engine given = std::exchange(session_.options().engine, program.kernels);
  const Muted muted(session_);
  const double most = limit_beside(longest_);
  const auto begin = std::chrono::steady_clock::now();
  support::RunLimit limit(most);
  session::RunResult run;
  try {
    run = session_.run_watched(program.module, program.function, args, nobody, found);
  } catch (const support::Cancelled&) {
    session_.options().engine = given;
    if (!limit.end()) throw;
    o.error = never_ends(most);
    return o;
  }
  session_.options().engine = given;
  if (limit.end()) {
    o.error = never_ends(most);
    return o;
  }
  support::poll_cause();
  if (run.ok) longest_ = std::max(longest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin));
  o.ran = run.ok;
  o.result = run.value;
  o.arguments = given_tensors(program.module, program.function, program.args, args, program.outputs);
  if (o.ran && program.outputs > 0)
    o.result = Value::of_tuple({args.end() - std::ptrdiff_t(program.outputs), args.end()});
  if (o.ran) return o;
  o.error = found.first_error();
  using runtime::ErrorKind;
  const auto kind = run.fault ? run.fault->error.kind : ErrorKind::Unsupported;
  o.asserted = kind == ErrorKind::AssertFailed;
  if (kind == ErrorKind::Unsupported || kind == ErrorKind::UnknownFunction || kind == ErrorKind::TooLong ||
      kind == ErrorKind::OutOfMemory)
    o.not_run = o.error;
  return o;
}

void Follower::make_large(Program& program) const {
  for (std::size_t i = 0; i < program.args.size(); ++i) {
    if (!made_up_[i] || !program.args[i].is(runtime::ValueKind::Tensor)) continue;
    const runtime::Tensor& t = program.args[i].as_tensor();
    if (!is_plain_float(t) || t.dtype().bits < 16) continue;
    const double times = t.dtype().bits == 16 && !t.dtype().is_bfloat16() ? kLargeInHalf : kLarge;
    // A maximum that begins at 0 shows where every element is far below it.
    const bool negative = numbers_ == Numbers::OneSign;
    for (std::int64_t k = 0; k < t.element_count(); ++k)
      store(t, k, negative ? -(1 + std::fabs(t.at(k))) * times : t.at(k) * times);
    return;
  }
}

// Sums of products with them are about as large as the other factor.
void Follower::make_weights_small(Program& program) const {
  bool is_data = true;
  for (std::size_t i = 0; i < program.args.size(); ++i) {
    if (!made_up_[i]) continue;
    for_each_tensor(program.args[i], [&](const runtime::Tensor& t) {
      if (!is_plain_float(t)) return;
      if (std::exchange(is_data, false) || t.ndim() < 2 || t.element_count() == 0) return;
      const double by = std::sqrt(3.0 * double(t.shape()[0]) / double(t.element_count()));
      for (std::int64_t k = 0; by < 1 && k < t.element_count(); ++k) store(t, k, t.at(k) * by);
    });
  }
}

// Notes a deviation that is not a difference yet, but larger than reordered sums usually cause. Reported once.
void Follower::note_rounding(std::size_t stage, const Outcome& reference, const Outcome& o) {
  if (kind_ != Inputs::Usual || out_.rounding) return;
  Tolerances exact;
  exact.exact = true;
  std::vector<Value> a, b;
  flatten(reference.result, a);
  flatten(o.result, b);
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (is_opaque(a[i])) continue;
    const auto d = difference(a[i], b[i], exact);
    if (d && !is_rounding(a[i], *d, kUsualRounding)) out_.rounding = {stage, *d};
  }
}

bool Follower::differs(const Outcome& reference, const Outcome& o) const {
  return results_differ(reference, o) || arguments_apart(reference, o);
}

std::optional<ArgumentDifference> Follower::arguments_apart(const Outcome& reference, const Outcome& o) const {
  if (kind_ == Inputs::Large) return std::nullopt;
  auto d = difference_of_arguments(reference.arguments, o.arguments, tolerances_);
  if (d && !are_given(tolerances_) && is_rounding(d->a->before, d->difference)) return std::nullopt;
  return d;
}

bool Follower::results_differ(const Outcome& reference, const Outcome& o) const {
  if (!o.ran) return true;
  std::vector<Value> a, b;
  flatten(reference.result, a);
  flatten(o.result, b);
  if (a.size() != b.size()) return true;
  const bool given = are_given(tolerances_);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_opaque(a[i])) continue;
    const auto d = difference(a[i], b[i], tolerances_);
    if (kind_ == Inputs::Large) {
      if (d && overflows_on_one_side(a[i], b[i])) return true;
      continue;
    }
    if (d && (given || !is_rounding(a[i], *d))) return true;
  }
  return false;
}

// `next.program`: the stage before, as it was run for this one.
bool Follower::is_meant(const Stage& stage, const Point& next, const Outcome& o) {
  const Meant meant = meant_by(stage.pass);
  if (!o.ran || meant == Meant::Exact || are_given(tolerances_)) return false;
  // Which of them writes to its arguments is no matter of precision; what is written is not judged.
  const auto apart = arguments_apart(next.reference, o);
  if (apart && !apart->both_write()) return false;
  if (apart) out_.in_doubt.insert(fmt::format("whether {} is right: {}", stage.file, to_string(*apart)));
  if (apart && !results_differ(next.reference, o)) return true;
  if (meant == Meant::Coarse && kind_ != Inputs::Usual) return true;  // the narrower format cannot hold such numbers
  Changed changed{next.program.module,
                  stage.module,
                  next.program.function,
                  next.program.args,
                  next.reference.result,
                  o.result,
                  true};
  const AsMeant as_meant = is_as_meant(session_, stage.pass, changed);
  if (as_meant.verdict == AsMeant::Verdict::CannotTell)
    out_.in_doubt.insert(fmt::format("whether {} is right: {}", stage.file, as_meant.why));
  return as_meant.verdict != AsMeant::Verdict::No;
}

}  // namespace rldb::repro
