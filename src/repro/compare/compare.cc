// The first difference between the traces of two programs.
#include "rldb/repro/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <unordered_map>

#include "repro/argument_writes.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/signature.h"
#include "repro/borrow.h"
#include "repro/compare/alone.h"
#include "repro/compare/beyond_format.h"
#include "repro/compare/branches.h"
#include "repro/compare/executable.h"
#include "repro/compare/handed_on.h"
#include "repro/compare/match.h"
#include "repro/compare/not_compared.h"
#include "repro/compare/search.h"
#include "repro/compare/shadow.h"
#include "repro/cpu_clock.h"
#include "repro/dims.h"
#include "repro/finite.h"
#include "repro/run_limit.h"
#include "repro/sanitize/race.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/guarded.h"
#include "rldb/session/dim_fault.h"
#include "rldb/support/cancel.h"
#include "rldb/support/memory.h"
#include "rldb/support/run_limit.h"
#include "rldb/support/text.h"

namespace rldb::repro {

using runtime::Value;

namespace {

// The part of the memory limit that the copies of one run may take.
constexpr std::size_t kShareOfMemory = 4;

// Floats that the usual tolerances take for equal.
bool only_rounds(const Value& a, const Value& b) {
  if (!a.is(runtime::ValueKind::Tensor) || !is_plain_float(a.as_tensor())) return false;
  const auto d = difference(a, b, {});
  return !d || is_rounding(a, *d, kUsualRounding);
}

bool is_condition(const Value& v) {
  return v.is(runtime::ValueKind::Tensor) && v.as_tensor().dtype().is_bool() && v.as_tensor().shape().empty();
}

std::string text_of(const Event& e) { return e.binding ? ir::print_binding(e.binding) : e.instruction; }

// The first lines in which two kernels differ.
void note_kernel_lines(const ir::PrimFunc& a, const ir::PrimFunc& b, FirstDifference& d) {
  if (ir::structural_equal(&a, &b)) return;
  std::istringstream left(ir::print_function(d.callee, &a)), right(ir::print_function(d.callee, &b));
  std::string x, y;
  while (x == y && (left || right)) {
    if (!std::getline(left, x)) x.clear();
    if (!std::getline(right, y)) y.clear();
  }
  d.other_kernel_line = support::trim(x);
  d.kernel_line = support::trim(y);
}

class FirstSearch {
 public:
  // Strict: a tensor that keeps its name and has another value is wrong also if all of the same values are there.
  enum class Names : std::uint8_t { MayMove, Strict };
  FirstSearch(const Trace& a, const Trace& b, const Matcher& matcher, const Tolerances& tolerances,
              Names names = Names::MayMove)
      : a_(a), b_(b), matcher_(matcher), tolerances_(tolerances), names_(names) {}

  // Back from the part of the result that differs.
  std::optional<FirstDifference> from_result(std::size_t leaf) {
    if (leaf >= b_.results.size()) return std::nullopt;
    const Reading& r = b_.results[leaf];
    if (r.overwritten) return at_return(r);
    if (r.event == kNoEvent) return std::nullopt;
    end_ = r.event;
    end_counterpart_ = leaf < a_.results.size() ? a_.results[leaf].event : kNoEvent;
    if (is_another_result()) return of_another(r);
    return from_end();
  }

  // A condition, on which it depends what runs after it, before another event: where it, or what it is computed from,
  // is first wrong.
  std::optional<FirstDifference> of_condition(const HandedOn& handed, std::size_t before) const {
    for (std::size_t j = 0; j < std::min(before, b_.events.size()); ++j) {
      if (!is_condition(b_.events[j].value)) continue;
      const std::size_t i = handed.at_place_of(j);
      if (i == kNoEvent || matcher_.same_value(a_.events[i], b_.events[j])) continue;
      auto d = FirstSearch(a_, b_, matcher_, tolerances_).from_event(j, i);
      return d && d->inputs_agree() ? d : std::nullopt;
    }
    return std::nullopt;
  }

  // Anywhere: the results agree.
  std::optional<FirstDifference> anywhere() {
    for (std::size_t j = 0; j < b_.events.size(); ++j) {
      if (matcher_.equal()[j] != kNoEvent || b_.events[j].is_parameter()) continue;
      if (const std::size_t i = matcher_.counterpart(j, Matcher::kSure); i != kNoEvent) return describe(j, i);
    }
    return std::nullopt;
  }

 private:
  std::optional<FirstDifference> from_event(std::size_t j, std::size_t i) {
    end_ = j;
    end_counterpart_ = i;
    return from_end();
  }

  std::optional<FirstDifference> from_end() {
    collect(end_);
    for (const std::size_t j : slice_) {
      const std::size_t i = counterpart(j);
      if (i != kNoEvent || reads_overwritten(j) || j == end_) return describe(j, i);
    }
    return std::nullopt;
  }

  std::size_t counterpart(std::size_t j) {
    if (j == end_) return end_counterpart_;
    const auto [it, fresh] = counterparts_.try_emplace(j, kNoEvent);
    if (fresh) it->second = matcher_.counterpart(j);
    return it->second;
  }

  bool reads_overwritten(std::size_t j) const {
    const auto& inputs = b_.events[j].inputs;
    return std::any_of(inputs.begin(), inputs.end(), [](const Reading& r) { return r.overwritten; });
  }

  // The two calls are of one kind and read as many tensors: these correspond by their places.
  static bool aligned(const Event& a, const Event& b) {
    return !a.inputs.empty() && a.inputs.size() == b.inputs.size() && stem(a.callee) == stem(b.callee);
  }

  // Both read the same tensors, in whatever order.
  bool same_set(const Event& a, const Event& b) const {
    const auto found = [&](const Reading& r, const std::vector<Reading>& among) {
      return std::any_of(among.begin(), among.end(), [&](const Reading& s) {
        if (r.event == kNoEvent || s.event == kNoEvent) return false;
        return &among == &b.inputs ? matcher_.same_value(a_.events[r.event], b_.events[s.event])
                                   : matcher_.same_value(a_.events[s.event], b_.events[r.event]);
      });
    };
    return std::all_of(a.inputs.begin(), a.inputs.end(), [&](const Reading& r) { return found(r, b.inputs); }) &&
           std::all_of(b.inputs.begin(), b.inputs.end(), [&](const Reading& r) { return found(r, a.inputs); });
  }

  enum class Operand : std::uint8_t {
    Same,
    Other,  // right, but the first side reads another tensor in this place
    Wrong,  // the first side has no such tensor, or it has another value there
  };

  // Of event j of b, whose counterpart is i. Places come before values: that some tensor of the first side has the same
  // value says little (b = matmul(x, q) in place of matmul(x, k) is equal to a = matmul(x, q)).
  Operand operand(std::size_t j, std::size_t i, std::size_t k) const {
    const Reading& r = b_.events[j].inputs[k];
    if (r.event == kNoEvent || r.overwritten) return Operand::Wrong;
    const bool known = matcher_.equal()[r.event] != kNoEvent;
    if (i == kNoEvent || !aligned(a_.events[i], b_.events[j]))
      return known && !matcher_.became_equal_to_another(r.event) ? Operand::Same : Operand::Wrong;
    const std::size_t theirs = a_.events[i].inputs[k].event;
    if (theirs == kNoEvent) return known ? Operand::Same : Operand::Wrong;
    if (matcher_.same_value(a_.events[theirs], b_.events[r.event])) return Operand::Same;
    if (!known) return Operand::Wrong;
    const bool keeps_its_name = matcher_.namesake(r.event) == theirs;
    const bool may_be_renamed = names_ == Names::MayMove && same_set(a_.events[i], b_.events[j]);
    return keeps_its_name && !may_be_renamed ? Operand::Wrong : Operand::Other;
  }

  // Collects the tensors from which the wrong one was computed and that are wrong themselves.
  void collect(std::size_t from) {
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
      const std::size_t j = open.back();
      open.pop_back();
      if (!slice_.insert(j).second) continue;
      const std::size_t i = counterpart(j);
      for (std::size_t k = 0; k < b_.events[j].inputs.size(); ++k) {
        const Reading& r = b_.events[j].inputs[k];
        if (r.event == kNoEvent || r.event >= j || operand(j, i, k) != Operand::Wrong) continue;
        const bool known = matcher_.equal()[r.event] != kNoEvent;
        if (known && r.overwritten) continue;  // right when it was computed
        // Equal to some tensor of the first side, but not to its own.
        if (known) counterparts_.try_emplace(r.event, matcher_.namesake(r.event));
        open.push_back(r.event);
      }
    }
  }

  ComparedInput input(const Reading& r) const {
    ComparedInput in;
    in.name = r.name;
    in.agrees = r.event != kNoEvent && !r.overwritten && matcher_.equal()[r.event] != kNoEvent;
    in.overwritten = r.overwritten;
    in.shared = r.shared || (r.writer != kNoEvent && !r.overwritten);
    if (r.event != kNoEvent) in.storage = b_.events[r.event].storage;
    if (r.writer != kNoEvent) {
      in.writer = b_.events[r.writer].name();
      in.writer_callee = b_.events[r.writer].callee;
    }
    return in;
  }

  ComparedInput input(std::size_t j, std::size_t i, std::size_t k) const {
    ComparedInput in = input(b_.events[j].inputs[k]);
    in.operand = k + 1;
    const Operand state = operand(j, i, k);
    in.agrees = state == Operand::Same;
    if (in.agrees) in.other_event = counterpart_of_input(j, i, k);
    if (in.agrees) in.rounded = rounding(b_.events[j].inputs[k].event, in.other_event);
    if (state == Operand::Other) {
      in.instead_of = a_.events[i].inputs[k].name;
    }
    return in;
  }

  // The event of a that input k of event j was found equal to.
  std::size_t counterpart_of_input(std::size_t j, std::size_t i, std::size_t k) const {
    if (i != kNoEvent && aligned(a_.events[i], b_.events[j]))
      if (const std::size_t theirs = a_.events[i].inputs[k].event; theirs != kNoEvent) return theirs;
    const std::size_t ours = b_.events[j].inputs[k].event;
    return ours == kNoEvent ? kNoEvent : matcher_.equal()[ours];
  }

  // By how much values differ that agree within the tolerance. nullopt: not by a bit.
  std::optional<double> rounding(std::size_t ours, std::size_t theirs) const {
    if (ours == kNoEvent || theirs == kNoEvent) return std::nullopt;
    Tolerances exact;
    exact.exact = true;
    const auto d = difference(a_.events[theirs].value, b_.events[ours].value, exact);
    return d ? std::optional(d->max_abs) : std::nullopt;
  }

  // It is right, and not what the first side returns: what computed that from it is missing, or something else is
  // returned.
  bool is_another_result() const {
    return end_counterpart_ != kNoEvent && end_counterpart_ != matcher_.equal()[end_] &&
           matcher_.is_computed_alike(end_) && !aligned(a_.events[end_counterpart_], b_.events[end_]);
  }

  FirstDifference of_another(const Reading& r) const {
    const Event& expected = a_.events[end_counterpart_];
    FirstDifference d;
    d.function = b_.events[end_].function;
    d.name = d.other_name = b_.events[end_].names.empty() ? r.name : b_.events[end_].names.back();
    d.text = text_of(b_.events[end_]);
    d.other_text = text_of(expected);
    d.handed_on = "this tensor is right, but it is the result in place of the other one";
    return d;
  }

  FirstDifference at_return(const Reading& r) const {
    FirstDifference d;
    d.function = r.event == kNoEvent ? std::string() : b_.events[r.event].function;
    d.name = r.name;
    d.text = "return " + r.name;
    d.inputs.push_back(input(r));
    return d;
  }

  FirstDifference describe(std::size_t j, std::size_t i) {
    const Event& e = b_.events[j];
    FirstDifference d;
    d.function = e.function;
    d.name = e.names.back();
    d.callee = e.callee;
    d.binding = e.binding;
    d.event = j;
    d.other_event = i;
    d.text = text_of(e);
    if (i == kNoEvent || a_.events[i].beside.empty()) d.beside = e.beside;
    d.storage = e.storage;
    for (std::size_t k = 0; k < e.inputs.size(); ++k) d.inputs.push_back(input(j, i, k));
    if (i != kNoEvent) {
      const Event& f = a_.events[i];
      if (f.kernel && e.kernel && d.text == text_of(f)) note_kernel_lines(*f.kernel, *e.kernel, d);
      d.other_text = text_of(f);
      d.other_name = a_.events[i].names.back();
      d.difference = difference(a_.events[i].value, e.value, tolerances_);
      d.rounding = d.difference && are_given(tolerances_) && only_rounds(a_.events[i].value, e.value);
    }
    for (const std::size_t k : slice_)
      if (k < j && counterpart(k) == kNoEvent) d.through.push_back(b_.events[k].name());
    return d;
  }

  const Trace& a_;
  const Trace& b_;
  const Matcher& matcher_;
  const Tolerances& tolerances_;
  std::set<std::size_t> slice_;  // in execution order
  std::unordered_map<std::size_t, std::size_t> counterparts_;
  std::size_t end_ = kNoEvent;  // the event of the result, whose counterpart is known
  std::size_t end_counterpart_ = kNoEvent;
  Names names_;
};

// The place where a run ended with an error; none if it did not begin.
std::optional<FirstDifference> place_of_error(const Trace& t) {
  if (t.error_function.empty() && t.error_binding == nullptr) return std::nullopt;
  FirstDifference d;
  d.function = t.error_function;
  d.binding = t.error_binding;
  if (d.binding) d.name = d.binding->var->name;
  d.text = d.binding ? ir::print_binding(d.binding) : t.error_instruction;
  return d;
}

// One side did not finish.
Comparison of_errors(const Trace& a, const Trace& b) {
  Comparison c;
  if (!a.error.empty() && !b.error.empty()) {
    c.why = "both fail: " + a.error + "; " + b.error;
    return c;
  }
  const Trace& failed = a.error.empty() ? b : a;
  // It is a library that cannot be run here, takes other arguments, has no such function.
  if (failed.events.empty() && failed.error_function.empty() && !failed.results_only) {
    c.why = fmt::format("the {} was not run: {}", a.error.empty() ? "second" : "first", failed.error);
    return c;
  }
  if (failed.dims_misfit) {
    c.why = fmt::format("the {} stops, as the dims do not fit its operator: {}", a.error.empty() ? "second" : "first",
                        failed.error);
    return c;
  }
  // There is nothing to compare with. A second side that cannot be run any more has been broken.
  if (!a.error.empty() && a.error_kind == runtime::ErrorKind::Unsupported) {
    c.why = "the first cannot be run: " + a.error;
    return c;
  }
  c.verdict = Comparison::Verdict::Differs;
  c.why = a.error.empty() ? "only the second fails: " + b.error : "only the first fails: " + a.error;
  c.first = place_of_error(failed);
  return c;
}

// The last binding or instruction that writes to the memory of an argument; null: none does.
const Event* writer_of(const Trace& t, const GivenTensor& argument) {
  for (const auto& [event, writer] : t.overwritten)
    if (const auto& names = t.events[event].names;
        std::find(names.begin(), names.end(), argument.parameter) != names.end() ||
        std::find(names.begin(), names.end(), fmt::format("{}[{}]", argument.parameter, argument.field)) != names.end())
      return &t.events[writer];
  return nullptr;
}

// An argument is left with other contents: what writes there.
std::optional<FirstDifference> place_of_write(const Trace& a, const Trace& b, const ArgumentDifference& in_arguments) {
  const Event *ours = writer_of(b, *in_arguments.b), *theirs = writer_of(a, *in_arguments.a);
  if (!ours && !theirs) return std::nullopt;
  FirstDifference d;
  const Event& e = ours ? *ours : *theirs;
  d.function = e.function;
  d.name = in_arguments.b->parameter;
  d.callee = e.callee;
  if (ours) d.binding = ours->binding;
  if (ours) d.text = text_of(*ours);
  if (theirs) d.other_text = text_of(*theirs);
  d.difference = in_arguments.difference;
  if (!ours || !theirs) d.handed_on = what_differs(in_arguments);
  return d;
}

// The first leaf of the results that differs.
std::optional<TensorDifference> difference_of_results(const Trace& a, const Trace& b, const Tolerances& t,
                                                      std::size_t& leaf, std::string& why) {
  std::vector<Value> left, right;
  flatten(a.result, left);
  flatten(b.result, right);
  if (left.size() != right.size()) {
    why = "the first gives " + support::counted(left.size(), "value") + ", the second " + std::to_string(right.size());
    return std::nullopt;
  }
  why = nothing_to_compare(left);
  for (leaf = 0; leaf < left.size(); ++leaf) {
    if (is_opaque(left[leaf])) {
      why = "it gives a value that cannot be compared: " + runtime::describe(left[leaf]);
      continue;
    }
    if (auto d = difference(left[leaf], right[leaf], t)) {
      if (left.size() > 1) d->path.insert(d->path.begin(), leaf);
      return d;
    }
  }
  return std::nullopt;
}

}  // namespace

bool FirstDifference::reads_others() const {
  const auto right = [](const ComparedInput& in) { return (in.agrees || !in.instead_of.empty()) && !in.shared; };
  return std::all_of(inputs.begin(), inputs.end(), right) && !inputs_agree();
}

bool FirstDifference::keeps_a_name() const {
  return reads_others() && std::any_of(inputs.begin(), inputs.end(), [](const ComparedInput& in) {
           return !in.instead_of.empty() && in.instead_of == in.name;
         });
}

bool FirstDifference::inputs_agree() const {
  return std::all_of(inputs.begin(), inputs.end(), [](const ComparedInput& in) { return in.agrees && !in.shared; });
}

bool FirstDifference::inputs_rounded() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const ComparedInput& in) { return in.rounded.has_value(); });
}

std::size_t memory_for_copies() { return support::memory_limit() / kShareOfMemory; }

Trace record_beside(session::Session& session, const Program& program, double seconds) {
  support::RunLimit limit(seconds);
  try {
    return record(session, program);
  } catch (const support::Cancelled&) {
    if (!limit.end()) throw;
  }
  Trace t;
  t.error = never_ends(seconds);
  t.error_function = program.function;
  return t;
}

Trace record(session::Session& session, const Program& program) {
  if (program.other) return record_code(session, program);
  const Borrow borrow(session);
  session.options().poisoned_memory = true;  // an initialisation that is missing shows
  Recorder recorder(memory_for_copies());
  return record(session, program, recorder);
}

Trace record(session::Session& session, const Program& program, Recorder& recorder) {
  const Borrow borrow(session);
  session.options().engine = program.kernels;
  source::Diagnostics found;
  const std::vector<Value> args = copies(program.args);
  const session::RunResult run = session.run_watched(program.module, program.function, args, recorder, found);
  support::poll_cause();
  if (run.ok && program.outputs > 0) recorder.results_are(std::span(args).last(program.outputs));
  Trace trace = recorder.take();
  trace.arguments = given_tensors(program.module, program.function, program.args, args, program.outputs);
  if (run.ok) return trace;
  if (run.fault) trace.error_kind = run.fault->error.kind;
  trace.dims_misfit = run.fault && session::dims_do_not_fit(run.fault->error);
  if (trace.error.empty()) trace.error = found.first_error("it did not end");
  return trace;
}

Comparison compare(ir::Context& ctx, const Trace& a, const Trace& b, const Tolerances& tolerances) {
  if (!a.error.empty() || !b.error.empty()) return of_errors(a, b);
  Comparison c;
  c.tensors_a = a.events.size();
  c.tensors_b = b.events.size();
  std::size_t leaf = 0;
  c.result = difference_of_results(a, b, tolerances, leaf, c.why);
  const auto in_arguments = difference_of_arguments(a.arguments, b.arguments, tolerances);
  if (in_arguments) c.arguments = {to_string(*in_arguments), in_arguments->both_write()};
  if (in_arguments && c.result) c.notes.push_back(c.arguments->text);
  if (in_arguments && !c.result) {
    c.verdict = Comparison::Verdict::Differs;
    c.why = c.arguments->text;
    c.first = place_of_write(a, b, *in_arguments);
    return c;
  }
  if (!c.result && !c.why.empty()) return c;
  c.verdict = c.result ? Comparison::Verdict::Differs : Comparison::Verdict::Equal;
  c.nan = nan_on_both(a.result, b.result);
  c.results_only = a.results_only || b.results_only;
  if (c.results_only) return c;
  const Matcher matcher(ctx, a, b, tolerances);
  c.matched = std::size_t(
      std::count_if(matcher.equal().begin(), matcher.equal().end(), [](std::size_t i) { return i != kNoEvent; }));
  FirstSearch search(a, b, matcher, tolerances);
  c.first = c.result ? search.from_result(leaf) : search.anywhere();
  if (!c.result) return c;
  const HandedOn handed(a, b, matcher);
  auto behind = handed.in_result(leaf);
  if (!behind && c.first && c.first->starts_here()) behind = handed.behind(*c.first);
  if (!behind && c.first) behind = search.of_condition(handed, c.first->event);
  // A tensor that a call reads under the same name is wrong itself, where nothing tells how else it came there.
  if (!behind && c.first && c.first->keeps_a_name())
    if (auto found = FirstSearch(a, b, matcher, tolerances, FirstSearch::Names::Strict).from_result(leaf);
        found && found->difference)
      behind = std::move(found);
  if (behind) c.first = std::move(behind);
  return c;
}

Comparison compare(session::Session& session, const Trace& a, const Trace& b, const Program& first,
                   const Program& second, const Tolerances& tolerances) {
  Comparison c = compare(session.context(), a, b, tolerances);
  if (c.result && c.first && c.first->event != kNoEvent && first.module && second.module)
    if (auto branch = other_branch(first.module, second.module, a, b, c.first->event)) c.first = std::move(branch);
  if (c.first && c.first->event != kNoEvent && c.first->starts_here() && c.first->inputs_rounded())
    c.first->alone = run_alone(session, second, a, b, *c.first, tolerances);
  if (c.result) c.overflow = beyond_format(session, first, second, a, b, *c.result);
  return c;
}

namespace {

// One side alone reads or writes outside of a tensor: its numbers all the same, computed without checks in a guard
// process, and how they differ from the other side's.
std::string without_checks(session::Session& session, const Program& wild, const Trace& first, const Trace& second,
                           const Tolerances& tolerances) {
  const bool wild_is_second = first.error.empty();
  Program unchecked = wild;
  unchecked.kernels = session::Engine::Jit;
  const Borrow borrow(session);
  session.options().check_bounds = false;
  session.options().isolate = true;
  runtime::set_guarded_storage(true);  // for the copies of the arguments
  const Trace now = record(session, unchecked);
  runtime::set_guarded_storage(false);
  if (!now.error.empty()) return "it fails without checks of bounds too: " + now.error;
  std::size_t leaf = 0;
  std::string why;
  const auto d =
      difference_of_results(wild_is_second ? first : now, wild_is_second ? now : second, tolerances, leaf, why);
  if (d) return "without checks of bounds: " + to_string(*d);
  return why.empty() ? "without checks of bounds the results are equal" : "without checks of bounds: " + why;
}

// Of the kernel that computed the first difference, on either side: how its threads race, or that it is not known
// whether they do. Empty: they do not.
std::string race_behind(session::Session& session, const Program& a, const Program& b, const FirstDifference& d) {
  std::string not_known;
  for (const Program* side : {&b, &a}) {
    const auto* f = side->module ? ir::as<ir::PrimFunc>(side->module->find(d.callee)) : nullptr;
    if (!f || !has_gpu_threads(f)) continue;
    const RaceSearch search = race_in_kernel(session, *side, d.callee);
    if (search.race)
      return fmt::format("the threads of `{}` race, so that its result depends on their order: {}", d.callee,
                         to_string(*search.race));
    if (!search.not_followed.empty())
      not_known = fmt::format("a race of the threads of `{}` is not ruled out: {}", d.callee, search.not_followed);
  }
  return not_known;
}

bool leaves_a_tensor(const Trace& t) { return !t.error.empty() && t.error_kind == runtime::ErrorKind::OutOfBounds; }

}  // namespace

Comparison compare(session::Session& session, const Program& a, const Program& b, const Tolerances& tolerances,
                   bool shadow) {
  const auto begin = std::chrono::steady_clock::now();
  const Trace first = record(session, a);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const Trace second = record_beside(session, b, first.error.empty() ? limit_beside(took) : 0);
  Comparison c = compare(session, first, second, a, b, tolerances);
  if (first.error.empty() != second.error.empty() && (leaves_a_tensor(first) || leaves_a_tensor(second)))
    c.unchecked = without_checks(session, first.error.empty() ? b : a, first, second, tolerances);
  if (c.result && c.first && !c.first->callee.empty()) c.why = race_behind(session, a, b, *c.first);
  if (shadow && c.result) c.shadow = against_shadow(session, a.module ? a : b, first.result, second.result);
  return c;
}

std::optional<ComparedInputs> compared_inputs(session::Session& session, std::string_view function,
                                              std::span<const std::string> texts, source::Diagnostics& out) {
  ComparedInputs inputs;
  auto made = session.arguments(function, texts, out);
  if (!made) return std::nullopt;
  inputs.arguments = std::move(*made);
  inputs.texts.assign(texts.begin(), texts.end());
  const auto* f = session.module() ? ir::as<ir::Function>(session.module()->find(function)) : nullptr;
  if (!f) return inputs;
  const Borrow borrow(session);
  source::Diagnostics ignored;
  const auto given = session.options().dims;
  for (std::vector<session::Argument>* apart : {&inputs.apart, &inputs.falling}) {
    session.options().dims = given;
    if (!tell_dims_apart(session.options(), f, apart == &inputs.falling)) return inputs;
    if (auto values = session.arguments(function, texts, ignored)) *apart = std::move(*values);
  }
  return inputs;
}

void judge_nan(Comparison& c) {
  if (c.verdict != Comparison::Verdict::Equal || c.nan.elements == 0) return;
  if (!c.first && !c.nan.whole_leaf) return;
  c.verdict = c.first ? Comparison::Verdict::Differs : Comparison::Verdict::CannotTell;
  c.why = to_string(c.nan) + (c.first ? ", and a tensor on the way differs" : ", and on the way nothing differs");
}

namespace {

// Generated numbers for which less of the first program's result is NaN or infinite. The numbers in words, or empty.
std::string find_finite(session::Session& session, const Program& a, std::vector<session::Argument>& arguments) {
  if (!a.module) return {};
  std::vector<Value> args;
  std::vector<bool> generated;
  for (const session::Argument& argument : arguments) {
    args.push_back(argument.value);
    generated.push_back(argument.generated);
  }
  const Borrow borrow(session);
  session.options().engine = a.kernels;
  const RunForFinite again = [&](const std::vector<Value>& values) {
    return run_for_finite(session, a.module, a.function, values);
  };
  auto run = again(args);
  std::string numbers = run ? prefer_finite(args, generated, *run, again) : std::string();
  for (std::size_t i = 0; i < args.size(); ++i) arguments[i].value = args[i];
  return numbers;
}

Comparison compare_on_first_inputs(session::Session& session, Program a, Program b, ComparedInputs& inputs,
                                   const Tolerances& tolerances, bool shadow) {
  TriedInputs tried;
  tried.inputs = inputs.texts;
  const auto note = [&](const std::vector<session::Argument>& arguments, const std::string& numbers) {
    std::vector<Value> values;
    for (const session::Argument& argument : arguments) values.push_back(argument.value);
    if (const auto* f = a.module ? ir::as<ir::Function>(a.module->find(a.function)) : nullptr;
        f && has_symbolic_dims(f))
      tried.add_dims(dims_text(session.options(), f, values));
    const bool made_up = std::any_of(arguments.begin(), arguments.end(), [](const auto& x) { return x.generated; });
    if (made_up) tried.add_numbers(numbers), tried.add_seed(session.options().seed);
    for (const session::Argument& argument : arguments)
      if (argument.of_model) tried.add_weight(argument.parameter);
  };
  const auto give = [&](const std::vector<session::Argument>& arguments) {
    a.args.clear();
    for (const session::Argument& argument : arguments) a.args.push_back(argument.value);
    b.args = a.args;
    if (!a.module || !b.module) return;
    const Borrow borrow(session);
    const auto* f = ir::as<ir::Function>(a.module->find(a.function));
    b.args = arguments_for(session, {a.module, f, a.args}, b.module, b.function);
  };
  const Meant meant = meant_by_pipeline(inputs.passes);
  const auto on_these = [&](const std::vector<session::Argument>& arguments) {
    give(arguments);
    Comparison c = compare(session, a, b, tolerances, shadow);
    if (c.verdict != Comparison::Verdict::Differs || meant == Meant::Exact || are_given(tolerances)) return c;
    if (!c.result && c.arguments && c.arguments->both_write) {
      c.verdict = Comparison::Verdict::CannotTell;
      c.why = "the passes change values by their nature, and may have changed these: " + c.arguments->text;
      c.first.reset();
    }
    if (!c.result) return c;
    // Other values are not other shapes, and no NaN.
    const TensorDifference& d = *c.result;
    if (meant == Meant::Any && d.kind.empty() && d.not_finite == 0) {
      c.verdict = Comparison::Verdict::CannotTell;
      c.why = "the passes change values by their nature, and may have changed these: " + to_string(*c.result);
      return c;
    }
    if (meant == Meant::Any) return c;
    if (!a.module || !b.module) return c;
    const Borrow borrow(session);
    session.options().engine = a.kernels;
    const AsMeant as_meant = is_as_meant(
        session, inputs.passes,
        {a.module, b.module, a.function, a.args, record(session, a).result, record(session, b).result, false});
    if (as_meant.verdict == AsMeant::Verdict::No) {
      if (!as_meant.why.empty()) c.notes.push_back(as_meant.why);
      return c;
    }
    if (c.arguments && !c.arguments->both_write) return c;  // who writes is no matter of precision
    c.as_meant = as_meant.verdict == AsMeant::Verdict::Yes;
    c.verdict = c.as_meant ? Comparison::Verdict::Equal : Comparison::Verdict::CannotTell;
    c.why = as_meant.why;
    return c;
  };
  // Where both results are NaN, also on inputs for which they are not.
  const auto on = [&](std::vector<session::Argument>& arguments) {
    note(arguments, a.module ? kUsualNumbers : kUsualNumbersUnfollowed);
    Comparison c = on_these(arguments);
    if (c.verdict == Comparison::Verdict::Equal && c.nan.elements > 0)
      if (const std::string numbers = find_finite(session, a, arguments); !numbers.empty()) {
        note(arguments, numbers);
        c = on_these(arguments);
      }
    judge_nan(c);
    c.tried = tried;
    return c;
  };
  give(inputs.falling);
  if (!inputs.apart.empty() && !inputs.falling.empty() && record(session, a).error.empty()) {
    Comparison c = on(inputs.apart);
    if (c.verdict != Comparison::Verdict::CannotTell) {
      inputs.arguments = inputs.apart;
      return c;
    }
  }
  return on(inputs.arguments);
}

// Long sums in another order differ by more than the tolerance.
bool may_be_rounding(const Comparison& c) {
  constexpr double kClose = 0.05;
  const bool numbers = c.verdict == Comparison::Verdict::Differs && c.result && c.result->kind.empty();
  return numbers && c.result->dtype.is_float() && c.result->not_finite == 0 && c.result->max_rel <= kClose;
}

}  // namespace

Comparison compare(session::Session& session, Program a, Program b, ComparedInputs& inputs,
                   const Tolerances& tolerances, bool shadow) {
  const auto start = CpuClock::now();
  Comparison c = compare_on_first_inputs(session, a, b, inputs, tolerances, shadow);
  search_inputs(session, a, b, inputs, {tolerances, shadow, CpuClock::now() - start}, c);
  if (a.module && b.module && !shadow && may_be_rounding(c))
    c.notes.emplace_back("the numbers are close: --shadow tells whether they differ by rounding");
  const ir::Module* const modules[] = {a.module, b.module};
  if (c.verdict == Comparison::Verdict::Equal)
    for (std::string& note : notes_of_not_compared(modules))
      if (std::find(c.notes.begin(), c.notes.end(), note) == c.notes.end()) c.notes.push_back(std::move(note));
  return c;
}

}  // namespace rldb::repro
