// TraceBisector: the rounds of its search, and what is done when none of them finds a difference.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "repro/bisect/number_kinds.h"
#include "repro/bisect/stage_functions.h"
#include "repro/bisect/trace_bisector.h"
#include "repro/borrow.h"
#include "repro/dims.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/repro/planner.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

TraceBisector::TraceBisector(session::Session& session, const Tolerances& tolerances, const Followed& what,
                             const BisectProgress& progress, support::Ranks* ranks, TraceBisection& out)
    : session_(session),
      tolerances_(tolerances),
      what_(what),
      progress_(progress),
      ranks_(ranks),
      out_(out),
      follower_(session, tolerances, out, what),
      kernels_(session, tolerances, out.stages),
      alone_(session, tolerances) {
  out_.tried.inputs = what.inputs;
  if (ranks && ranks->rank() == 0 && ranks->size() > 1) others_.emplace(*ranks);
}

TraceBisector::~TraceBisector() {
  if (others_) others_->end();
}

void TraceBisector::run() {
  prepare();
  if (ranks_ && ranks_->rank() > 0)
    return answer_rank_0(*ranks_, [this](const std::string& asked) { return answer_to(asked); });
  if (!first_) {
    out_.why = "no stage can be run";
    look_at_kernels();
    if (out_.verdict == TraceBisection::Verdict::CannotTell) agree_if_unchanged();
    return;
  }
  std::vector<Tried>& functions = functions_;
  // Each function once, then all of them with other dims while time remains.
  for (bool again = true; again;) {
    again = false;
    for (Tried& f : functions) {
      support::poll();
      if (try_next(f)) return follower_.tell_reasons();
      if (out_.from_expected) return found_in_the_first();
      again = again || f.next < dims().size();
    }
    if (!others_ || !again) continue;
    if (share_rounds()) return follower_.tell_reasons();
    if (out_.from_expected) return found_in_the_first();
    again = false;
  }
  for (const Tried& f : functions)
    if (look_between(f)) return follower_.tell_reasons();
  for (const Tried& f : functions) note_function(f);
  follower_.tell_reasons();
  if (out_.compared.empty()) out_.unchanged.clear();  // nothing ran: no verdict on values
  out_.verdict = !out_.compared.empty() ? TraceBisection::Verdict::Agree : TraceBisection::Verdict::CannotTell;
  const std::vector<std::string> notes = out_.notes;
  const std::set<std::size_t> anew = out_.anew;
  for (const Tried& f : functions) {
    if (out_.verdict == TraceBisection::Verdict::Found || Clock::now() - start_ > kTooMuch) break;
    if (was_compared(f.name)) look_at_last_memory(f.name, f.at);
  }
  for (const Tried& f : functions)
    if (out_.verdict == TraceBisection::Verdict::Agree && was_compared(f.name)) look_at_storages(f);
  if (out_.verdict != TraceBisection::Verdict::Found) look_at_kernels();
  if (out_.verdict != TraceBisection::Verdict::Found) look_at_singles(functions);
  for (const Tried& f : functions)
    if (out_.verdict != TraceBisection::Verdict::Found) look_behind_nan(f);
  out_.notes = notes;  // going back is not a new comparison
  out_.notes.insert(out_.notes.end(), alone_.doubts().begin(), alone_.doubts().end());
  out_.anew = anew;
  out_.passed_over = stages_passed_over();
  if (out_.verdict != TraceBisection::Verdict::Found && out_.compared.empty()) tell_nothing_compared(functions);
  if (out_.verdict == TraceBisection::Verdict::Agree) tell_what_is_open();
  if (out_.verdict != TraceBisection::Verdict::Found) tell_of_not_compared();
}

void TraceBisector::prepare() {
  const auto first = std::find_if(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return can_run(s); });
  if (first == out_.stages.end()) return;
  first_ = &*first;
  order_stages();
  open_ = has_open_dims(first_->module);
  choose_dims();
  keep_integers_ = std::any_of(order_.begin(), order_.end(),
                               [&](std::size_t i) { return has_loops_by_data(out_.stages[i].module); });
  follower_.keep_integers(keep_integers_);
  maker_.emplace(named_, keep_integers_);
  follower_.set_maker(&*maker_);
  for (const std::string& name : functions_of(first_->module))
    if (what_.function.empty() || name == what_.function) functions_.push_back({name, 0, false, {}, {}});
}

void TraceBisector::choose_dims() {
  std::vector<std::int64_t> known(std::begin(kMoreDims), std::end(kMoreDims));
  for (const Dims& d : kDims) known.push_back(d.value);
  std::vector<const ir::Module*> modules;
  for (const std::size_t i : order_) modules.push_back(out_.stages[i].module);
  named_ = named_numbers(modules);
  static_dims_.insert(static_dims_.end(), std::begin(kKinds), std::end(kKinds));
  dims_for_all_ = static_dims_.size();
  if (!open_) return;
  for (const std::int64_t dim : kMoreDims) open_dims_.push_back({dim, true});
  for (const std::int64_t dim : dims_around(named_.widths, known)) open_dims_.push_back({dim, true});
  open_dims_.insert(open_dims_.end(), std::begin(kKinds), std::end(kKinds));
  dims_for_all_ = open_dims_.size();
  open_dims_.insert(open_dims_.end(), std::begin(kOtherDims), std::end(kOtherDims));
}

void TraceBisector::order_stages() {
  const ir::Module* last = nullptr;
  for (std::size_t i = 0; i < out_.stages.size(); ++i) {
    support::poll();
    if (!can_run(out_.stages[i])) continue;
    const ir::Module* module = out_.stages[i].module;
    if (!last || out_.stages[i].kernels_by || !ir::structural_equal(last, module)) order_.push_back(i);
    last = module;
  }
}

bool TraceBisector::was_compared(const std::string& name) const {
  return std::find(out_.compared.begin(), out_.compared.end(), name) != out_.compared.end();
}

bool TraceBisector::try_next(Tried& function) {
  while (function.next < dims().size()) {
    const std::size_t k = function.next++;
    // Those around the widths are for a function that runs at all.
    if (open_ && k >= std::size(kDims) && k < dims_for_all_ && !was_compared(function.name)) continue;
    const Clock::duration spent = Clock::now() - start_;
    if (spent > kTooMuch && !function.once) function.why = "no time was left for it";
    if (spent > (function.once ? kEnough : kTooMuch) || (k >= dims_for_all_ && was_compared(function.name))) {
      function.next = dims().size();
      break;
    }
    if (const auto differs = round(function, k)) return *differs;
  }
  return false;
}

std::optional<bool> TraceBisector::round(Tried& function, std::size_t k) {
  const auto* f = ir::as<ir::Function>(first_->module->find(function.name));
  const session::Options given = session_.options();
  if (!choose(dims()[k], f)) {
    session_.options() = given;
    return std::nullopt;
  }
  const double elements = elements_with(session_.context(), session_.options(), f);
  if (dims()[k].value > kAlwaysTried && takes_too_long(function, elements)) {
    session_.options() = given;
    return std::nullopt;
  }
  const bool first = !std::exchange(function.once, true);
  follower_.forget_reason();
  const std::size_t compared = follower_.comparisons();
  const auto begin = Clock::now();
  now_.dims = k;
  now_.keep = first ? &function.between : nullptr;
  bool differs = look_at(function.name);
  for (std::int64_t r = 1; !differs && r < follower_.rounds() && Clock::now() - start_ < kEnough; ++r) {
    follower_.set_round(r);
    differs = look_at(function.name);
  }
  now_.keep = nullptr;
  if (differs || follower_.comparisons() > compared) note_tried(dims()[k], f);
  function.took = Clock::now() - begin;
  function.elements = elements;
  function.why = follower_.last_reason();
  if (function.at.previous == kNoStage) function.at = at_;
  if (differs && open_) out_.dims = dims_text(session_.options(), f);
  session_.options() = given;
  return differs;
}

bool TraceBisector::takes_too_long(const Tried& function, double elements) const {
  constexpr double kMostElements = 1 << 24, kRoom = 2;
  if (elements > kMostElements || function.elements == 0) return elements > kMostElements;
  return Clock::now() - start_ + function.took * (kRoom * elements / function.elements) > kEnough;
}

void TraceBisector::note_tried(const Dims& dims, const ir::Function* f) {
  const Arguments& seen = at_.arguments;  // given ones have dims of their own
  const bool are_given = !what_.inputs.empty() || !what_.values.empty();
  if (are_given && seen.function && has_symbolic_dims(seen.function))
    out_.tried.add_dims(dims_text(session_.options(), seen.function, seen.values));
  else if (f && has_symbolic_dims(f))
    out_.tried.add_dims(dims_text(session_.options(), f));
  out_.tried.add_numbers(std::string(text_of(dims.inputs, dims.numbers)));
  out_.tried.add_seed(session_.options().seed);
}

void TraceBisector::note_all_numbers() {
  std::vector<std::string_view> texts;
  for (const Numbers n : kNumbers) texts.push_back(text_of(n));
  out_.tried.add_numbers(fmt::format("by themselves: {}", fmt::join(texts, ", ")));
}

bool TraceBisector::choose(const Dims& dims, const ir::Function* f) {
  session_.options().default_dim = dims.value;
  // All of them are given: other dims would be the same round again.
  if (f && dims.value != kDims[0].value && has_symbolic_dims(f) && !has_free_dims(session_.options(), f)) return false;
  const bool are_several = dims.apart && tell_dims_apart(session_.options(), f, dims.falling);
  if (dims.apart && !are_several && dims.value == kDims[0].value) return false;  // the next ones are equal dims
  if (dims.inputs == Inputs::Other && made_up_constants()) return false;
  if (dims.inputs == Inputs::Other && !what_.keep_seed) session_.options().seed ^= kOtherInputs;
  follower_.set_inputs(dims.inputs, dims.numbers);
  is_large_ = dims.inputs == Inputs::Large;
  return true;
}

bool TraceBisector::made_up_constants() const {
  return std::any_of(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return s.unfilled; });
}

TraceBisection bisect_stages(session::Session& session, TraceBisection out, const Tolerances& tolerances,
                             const Followed& what, const BisectProgress& progress, support::Ranks* ranks) {
  if (out.stages.empty()) return out;
  const Borrow borrow(session);
  session.options().eval_statements = kStatements;
  session.options().poisoned_memory = true;
  TraceBisector(session, tolerances, what, progress, ranks, out).run();
  name_planners(out.memory, out.stages);
  return out;
}

TraceBisection bisect_trace(session::Session& session, const std::string& folder, const Tolerances& tolerances,
                            const Followed& what, const BisectProgress& progress, support::Ranks* ranks) {
  TraceBisection out;
  out.stages = read_dump(session, folder, out.why, what.original);
  return bisect_stages(session, std::move(out), tolerances, what, progress, ranks);
}

}  // namespace rldb::repro
