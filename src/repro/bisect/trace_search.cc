// TraceBisector: one function through all stages, and the stage that is found.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <set>

#include "repro/bisect/defined.h"
#include "repro/bisect/doubt.h"
#include "repro/bisect/number_kinds.h"
#include "repro/bisect/stage_functions.h"
#include "repro/bisect/trace_bisector.h"
#include "repro/dims.h"
#include "repro/run_limit.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

bool TraceBisector::look_at(const std::string& name) {
  name_ = name;
  at_ = Point{};
  does_not_count_ = false;
  for (std::size_t k = 0; k < order_.size() && !does_not_count_;) {
    support::poll();
    const std::size_t end = end_of_run(k);
    const bool is_long = end - k > kLongRun || (end - k > 2 && Clock::now() - start_ > kEnough / 2);
    if (at_.baseline != kNoStage && is_long) {
      const auto run = order_.begin();
      if (search({run + std::ptrdiff_t(k), run + std::ptrdiff_t(end)})) return true;
      k = end;
    } else if (step(order_[k++])) {
      return true;
    }
  }
  return false;
}

std::size_t TraceBisector::end_of_run(std::size_t k) const {
  std::size_t end = k;
  const std::string shape = k > 0 ? signature(order_[k - 1]) : std::string();
  while (end < order_.size() && signature(order_[end]) == shape) ++end;
  return std::max(end, k + 1);
}

std::string TraceBisector::signature(std::size_t stage) const {
  const Stage& s = out_.stages[stage];
  std::string there;
  const ir::Function* f = find_exported(s.module, name_, there);
  std::string text = s.made_up;
  if (f)
    for (const ir::Var* p : f->params) text += fmt::format("{}:{};", p->name, ir::print_type(p->type));
  return f ? text : std::string("none");
}

TraceBisector::Step TraceBisector::attempt(std::size_t stage, Program& tried) {
  if (progress_) progress_(stage, out_.stages.size(), fmt::format("{}: {}", out_.stages[stage].file, name_));
  return follower_.attempt(stage, name_, at_, tried);
}

bool TraceBisector::step(std::size_t stage) {
  Program tried;
  const Step answer = attempt(stage, tried);
  return answer == Step::Differs && found(stage, tried);
}

bool TraceBisector::search(std::vector<std::size_t> open) {
  std::optional<std::pair<std::size_t, Program>> bad;
  while (!open.empty()) {
    support::poll();
    const std::size_t middle = bad ? open.size() / 2 : open.size() - 1;
    const Point before = at_;
    Program tried;
    switch (attempt(open[middle], tried)) {
      case Step::Skipped:
        open.erase(open.begin() + std::ptrdiff_t(middle));
        break;
      case Step::Anew:
      case Step::Agrees:
        for (std::size_t i = 0; i < middle; ++i) follower_.spare(open[i]);
        if (!bad && middle > 0) pass_over(before, {open.begin(), open.begin() + std::ptrdiff_t(middle)});
        open.erase(open.begin(), open.begin() + std::ptrdiff_t(middle) + 1);
        break;
      case Step::Differs:
        bad = {open[middle], std::move(tried)};
        open.resize(middle);
        break;
    }
  }
  return bad && found(bad->first, bad->second);
}

void TraceBisector::pass_over(const Point& before, std::vector<std::size_t> stages) {
  if (!now_.keep) return;
  for (const std::size_t stage : stages) passed_over_.emplace(name_, stage);
  now_.keep->push_back({now_.dims, before, std::move(stages)});
}

bool TraceBisector::look_between(const Tried& function) {
  const auto* f = ir::as<ir::Function>(first_->module->find(function.name));
  for (const Between& b : function.between) {
    const session::Options given = session_.options();
    choose(dims()[b.dims], f);
    name_ = function.name;
    const bool differs = look_between(b);
    if (differs && open_) out_.dims = dims_text(session_.options(), f);
    session_.options() = given;
    if (differs) return true;
  }
  return false;
}

bool TraceBisector::look_between(const Between& b) {
  std::size_t step = std::bit_floor(b.stages.size());
  for (; step > 0; step /= 2)
    for (std::size_t i = step - 1; i < b.stages.size(); i += 2 * step) {
      support::poll();
      if (Clock::now() - start_ > kEnough) return false;
      at_ = b.before;
      Program tried;
      const Step answer = attempt(b.stages[i], tried);
      if (answer == Step::Agrees || answer == Step::Anew) passed_over_.erase({name_, b.stages[i]});
      if (answer != Step::Differs) continue;
      at_ = b.before;
      return search({b.stages.begin(), b.stages.begin() + std::ptrdiff_t(i) + 1});
    }
  return false;
}

bool TraceBisector::found(std::size_t stage, const Program& program) {
  if (only_looks_) return true;
  const auto begin = std::chrono::steady_clock::now();
  const Trace good = record(session_, at_.program);
  const double most = limit_beside(std::chrono::steady_clock::now() - begin);
  if (const std::string why = wrong_shapes(session_.context(), at_.program.module, at_.program.function, good);
      !why.empty()) {
    follower_.skip(stage, "the program is not defined on the inputs: " + why);
    return false;
  }
  if (!counts(program)) {
    does_not_count_ = true;
    return false;
  }
  found_between(at_.previous, stage, at_.program, program);
  const Dims& now = dims()[now_.dims];
  if (now.inputs != Inputs::Usual) out_.numbers = text_of(now.inputs, now.numbers);
  if (at_.arguments.module == first_->module) out_.arguments = at_.arguments.values;
  const Trace bad = record_beside(session_, program, good.error.empty() ? most : 0);
  out_.lost_assertion = !good.error.empty();
  out_.large = is_large_;
  out_.comparison =
      compare(session_, good, bad, at_.program, program, is_large_ ? of_large_numbers(tolerances_) : tolerances_);
  out_.memory = memory_of(bad, true);
  return true;
}

bool TraceBisector::counts(const Program& program) {
  const Dims& now = dims()[now_.dims];
  const bool chosen = now.inputs == Inputs::Kind || follower_.has_other_integers();
  const std::string why =
      chosen ? doubt_about(session_, at_.program, program, tolerances_, follower_.has_other_integers()) : std::string();
  if (!why.empty())
    follower_.note(fmt::format("a difference on {} does not count: {}", text_of(now.inputs, now.numbers), why));
  return why.empty() && (!what_.counts || what_.counts(at_.program, program));
}

std::size_t TraceBisector::stages_passed_over() const {
  std::set<std::size_t> stages;
  for (const auto& [function, stage] : passed_over_) stages.insert(stage);
  return stages.size();
}

}  // namespace rldb::repro
