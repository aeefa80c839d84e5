// TraceBisector: rounds by other ranks, and the questions that ranks answer.
#include "repro/bisect/trace_bisector.h"

namespace rldb::repro {

Seen TraceBisector::round_apart(std::size_t function, std::size_t k) {
  Seen seen;
  if (Clock::now() - start_ > kEnough) return seen;
  TraceBisection fresh;
  fresh.stages = out_.stages;
  const BisectProgress silent;
  TraceBisector apart(session_, tolerances_, what_, silent, nullptr, fresh);
  apart.first_ = first_;
  apart.order_ = order_;
  apart.open_ = open_;
  apart.open_dims_ = open_dims_;
  apart.static_dims_ = static_dims_;
  apart.dims_for_all_ = dims_for_all_;
  apart.follower_.keep_integers(keep_integers_);
  apart.follower_.set_maker(&*maker_);
  apart.only_looks_ = true;
  Tried tried{functions_.at(function).name, 0, false, {}, {}};
  const auto differs = apart.round(tried, k);
  if (!differs) return seen;
  seen.tried = true;
  seen.differs = *differs || fresh.rounding || fresh.from_expected || !fresh.anew.empty();
  seen.compared = !fresh.compared.empty();
  seen.numbers = apart.follower_.saw_numbers(tried.name);
  seen.why = tried.why;
  seen.runs = fresh.runs;
  seen.notes = fresh.notes;
  for (std::size_t i = 0; i < fresh.stages.size(); ++i)
    if (apart.follower_.has_run(i)) seen.stages.push_back(i);
  return seen;
}

bool TraceBisector::share_rounds() {
  std::vector<std::pair<std::size_t, std::size_t>> rounds;  // a function, and the index of its dims
  for (std::size_t k = 0; k < dims().size(); ++k)
    for (std::size_t f = 0; f < functions_.size(); ++f)
      if (k >= functions_[f].next && functions_[f].once && (k < dims_for_all_ || !was_compared(functions_[f].name)))
        rounds.emplace_back(f, k);
  std::vector<std::string> questions;
  for (const auto& [f, k] : rounds) questions.push_back(question(kRound, f, k));
  Answer here;
  if (Clock::now() - start_ < kEnough) here = [this](const std::string& q) { return answer_to(q); };
  while (!rounds.empty()) {
    const std::vector<std::string> answers =
        ask_all(&*others_, questions, here, [](const std::string& answer) { return seen_from(answer).differs; });
    std::size_t done = 0;
    for (; done < rounds.size(); ++done) {
      const auto [f, k] = rounds[done];
      const Seen seen = seen_from(answers[done]);
      if (is_new(functions_[f], seen)) break;
      note_seen(functions_[f], k, seen);
    }
    if (done == rounds.size()) return false;
    const auto [f, k] = rounds[done];
    if (round(functions_[f], k) == true) return true;
    if (out_.from_expected) return false;
    rounds.erase(rounds.begin(), rounds.begin() + std::ptrdiff_t(done) + 1);
    questions.erase(questions.begin(), questions.begin() + std::ptrdiff_t(done) + 1);
  }
  return false;
}

bool TraceBisector::is_new(const Tried& function, const Seen& seen) const {
  const bool nan_so_far = follower_.only_nan(function.name) != nullptr;
  return seen.differs || (seen.compared && !was_compared(function.name)) || (seen.numbers && nan_so_far);
}

void TraceBisector::note_seen(Tried& function, std::size_t k, const Seen& seen) {
  if (!seen.tried) return;
  const auto* f = ir::as<ir::Function>(first_->module->find(function.name));
  const session::Options given = session_.options();
  if (choose(dims()[k], f)) note_tried(dims()[k], f);
  session_.options() = given;
  if (!was_compared(function.name)) function.why = seen.why;
  out_.runs += seen.runs;
  for (const std::size_t i : seen.stages) follower_.note_run(i);
  for (const std::string& text : seen.notes) follower_.note(text);
}

std::string TraceBisector::question(std::string_view kind, std::size_t a, std::size_t b) {
  return to_parts({std::string(kind), std::to_string(a), std::to_string(b)});
}

std::string TraceBisector::answer_to(const std::string& asked) {
  const auto parts = from_parts(asked);
  if (!parts || parts->size() < 2) return {};
  if ((*parts)[0] == kKernel) return kernels_.answer_to((*parts)[1], kForKernels);
  if (parts->size() != 3) return {};
  const std::size_t a = std::stoull((*parts)[1]), b = std::stoull((*parts)[2]);
  if ((*parts)[0] == kRound) return wire_of(round_apart(a, b));
  const auto outcome = single(a, b);
  if (outcome && outcome->ran && !outcome->found) return to_parts({std::string(kRan), outcome->parts});
  return std::string(!outcome ? kNoTime : outcome->found ? kFound : kDidNotRun);
}

}  // namespace rldb::repro
