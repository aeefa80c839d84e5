// TraceBisector: the first module of a dump whose results differ from the earlier ones.
//
// It is long because it is one search: its rounds share the stage that they have reached, the inputs in use, the time
// left and what has been compared. Numbers, dims and parts that are run by themselves need none of these, and are in
// files of their own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <set>

#include "repro/bisect/alone.h"
#include "repro/bisect/defined.h"
#include "repro/bisect/doubt.h"
#include "repro/bisect/follow.h"
#include "repro/bisect/kept_meaning.h"
#include "repro/bisect/kernels_alone.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/named_numbers.h"
#include "repro/bisect/number_kinds.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/round_seen.h"
#include "repro/bisect/rounds.h"
#include "repro/bisect/stage_functions.h"
#include "repro/bisect/stages.h"
#include "repro/bisect/storage_sizes.h"
#include "repro/borrow.h"
#include "repro/compare/collectives.h"
#include "repro/cpu_clock.h"
#include "repro/dims.h"
#include "repro/unchanged.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/repro/planner.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using Clock = CpuClock;
using Step = Follower::Step;

using Inputs = Follower::Inputs;
using Dims = TraceDims;

// Questions to other ranks, and answers about single computations.
constexpr std::string_view kRound = "round", kKernel = "kernel", kSingle = "single";
constexpr std::string_view kFound = "found", kRan = "ran", kNoTime = "no time", kDidNotRun = "no";

class TraceBisector {
 public:
  TraceBisector(session::Session& session, const Tolerances& tolerances, const Followed& what,
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
  ~TraceBisector() {
    if (others_) others_->end();
  }
  TraceBisector(const TraceBisector&) = delete;
  TraceBisector& operator=(const TraceBisector&) = delete;

  void run() {
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
    out_.anew = anew;
    out_.passed_over = stages_passed_over();
    if (out_.verdict != TraceBisection::Verdict::Found && out_.compared.empty()) tell_nothing_compared(functions);
    if (out_.verdict == TraceBisection::Verdict::Agree) tell_what_is_open();
    if (out_.verdict != TraceBisection::Verdict::Found) tell_of_collectives();
  }

 private:
  // Stages in a long run that were passed over, because a later one agrees.
  struct Between {
    std::size_t dims = 0;  // index into `dims()`
    Point before;
    std::vector<std::size_t> stages;
  };
  struct Tried {
    std::string name;
    std::size_t next = 0;  // index into `dims()`
    bool once = false;
    std::string why;      // it could not be compared
    Point at;             // where its comparison ended first
    double elements = 0;  // of its last round, and how long that took
    Clock::duration took{};
    std::vector<Between> between;  // in its first round
  };

  static bool can_run(const Stage& s) { return s.module && s.not_runnable.empty(); }

  // The same on all ranks.
  void prepare() {
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

  // Those for all programs, those that these stages name, kinds of numbers, and at last those that some programs
  // require.
  void choose_dims() {
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

  // A function that was not compared is the same everywhere, or it says why.
  void note_function(const Tried& f) {
    if (was_compared(f.name)) return;
    const ir::Module *first = nullptr, *last = nullptr;
    bool same = true;
    for (const Stage& s : out_.stages) {
      if (!s.module) continue;
      if (!first) first = s.module;
      same = same && (!last || is_unchanged(last, s.module, f.name));
      last = s.module;
    }
    const bool all_read =
        std::all_of(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return s.module || s.is_empty; });
    if (same && all_read && first != last)
      out_.unchanged.push_back(f.name);
    else if (f.why == kNoValue)
      follower_.note(fmt::format("`{}` returns no value", f.name));
    else if (f.why.empty() && is_part_of_another(f.name))
      follower_.note(fmt::format("`{}` is not a function in all stages; it is compared in those that call it", f.name));
    else
      out_.alone.push_back(f.why.empty() ? f.name : f.name + " (" + f.why + ")");
  }

  // A pass made a kernel of it, or gave it other parameters: those that call it are compared.
  bool is_part_of_another(const std::string& name) const {
    return std::any_of(out_.compared.begin(), out_.compared.end(),
                       [&](const std::string& other) { return calls_function(first_->module->find(other), name); });
  }

  // The program gives other values than the framework before any pass that is in the folder.
  void found_in_the_first() {
    out_.verdict = TraceBisection::Verdict::Found;
    follower_.tell_reasons();
  }

  // Its result is NaN on both sides, whatever the inputs: a difference on the way counts.
  void look_behind_nan(const Tried& f) {
    const NanOnBoth* nan = follower_.only_nan(f.name);
    if (!nan || f.at.previous == kNoStage) return;
    out_.alone.push_back(fmt::format("{} ({})", f.name, to_string(*nan)));
    Point at;
    std::optional<Trace> last;
    for (const std::size_t stage : order_) {
      support::poll();
      Program ignored;
      const std::size_t before = at.previous;
      const Step step = follower_.attempt(stage, f.name, at, ignored);
      if (step == Step::Skipped || at.previous != stage) continue;
      Trace now = record(session_, at.program);
      if (step == Step::Agrees && last) {
        Comparison c = compare(session_.context(), *last, now, tolerances_);
        if (c.first) return found_on_the_way(before, stage, std::move(c), at);
      }
      last = std::move(now);
    }
  }

  void found_on_the_way(std::size_t good, std::size_t bad, Comparison c, const Point& at) {
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = good;
    out_.bad = bad;
    out_.function = at.program.function;
    out_.behind_nan = true;
    c.verdict = Comparison::Verdict::Differs;
    c.why = to_string(c.nan);
    out_.comparison = std::move(c);
    out_.good_program = at.before;
    out_.bad_program = at.program;
  }

  // No pass changed anything, and nothing else was asked.
  bool agree_if_unchanged() {
    const bool fit = first_ && std::all_of(functions_.begin(), functions_.end(), [](auto& f) { return f.why.empty(); });
    if (!are_all_the_same(out_.stages) || asks_for_a_run(out_, what_, fit)) return false;
    out_.verdict = TraceBisection::Verdict::Agree;
    out_.why.clear();
    return true;
  }

  void tell_nothing_compared(const std::vector<Tried>& functions) {
    out_.why = "no two stages could be compared";
    if (agree_if_unchanged()) return;
    if (is_one_program()) out_.why += ": those that can be run are one program";
    if (!what_.function.empty() && !find_public(first_->module, what_.function))
      out_.why = fmt::format("there is no public function `{}` in {}", what_.function, first_->file);
    const auto told = std::find_if(functions.rbegin(), functions.rend(), [](const Tried& f) { return !f.why.empty(); });
    if (told != functions.rend()) out_.why += ": " + told->why;
    out_.alone.clear();
  }

  // A stage identical to the previous one need not run.
  void order_stages() {
    const ir::Module* last = nullptr;
    for (std::size_t i = 0; i < out_.stages.size(); ++i) {
      support::poll();
      if (!can_run(out_.stages[i])) continue;
      const ir::Module* module = out_.stages[i].module;
      if (!last || out_.stages[i].kernels_by || !ir::structural_equal(last, module)) order_.push_back(i);
      last = module;
    }
  }

  // Several stages can be run, and no pass changed anything.
  bool is_one_program() const {
    return order_.size() == 1 && std::count_if(out_.stages.begin(), out_.stages.end(), can_run) > 1;
  }

  const std::vector<Dims>& dims() const { return open_ ? open_dims_ : static_dims_; }

  std::size_t stages_passed_over() const {
    std::set<std::size_t> stages;
    for (const auto& [function, stage] : passed_over_) stages.insert(stage);
    return stages.size();
  }

  bool was_compared(const std::string& name) const {
    return std::find(out_.compared.begin(), out_.compared.end(), name) != out_.compared.end();
  }

  // One function with its next dims. True: a stage differs.
  bool try_next(Tried& function) {
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

  // One function with these dims in all stages. nullopt: it would repeat an earlier attempt.
  std::optional<bool> round(Tried& function, std::size_t k) {
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
    note_tried(dims()[k], f);
    const auto begin = Clock::now();
    now_.dims = k;
    now_.keep = first ? &function.between : nullptr;
    bool differs = look_at(function.name);
    for (std::int64_t r = 1; !differs && r < follower_.rounds() && Clock::now() - start_ < kEnough; ++r) {
      follower_.set_round(r);
      differs = look_at(function.name);
    }
    now_.keep = nullptr;
    function.took = Clock::now() - begin;
    function.elements = elements;
    function.why = follower_.last_reason();
    if (function.at.previous == kNoStage) function.at = at_;
    if (differs && open_) out_.dims = dims_text(session_.options(), f);
    session_.options() = given;
    return differs;
  }

  // By the round before, with room for work that grows faster than its tensors.
  bool takes_too_long(const Tried& function, double elements) const {
    constexpr double kMostElements = 1 << 24, kRoom = 2;
    if (elements > kMostElements || function.elements == 0) return elements > kMostElements;
    return Clock::now() - start_ + function.took * (kRoom * elements / function.elements) > kEnough;
  }

  // ---- rounds of other ranks ----

  // A round in which nothing is known from earlier ones.
  Seen round_apart(std::size_t function, std::size_t k) {
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

  // The rounds that this process has not had, by all ranks; those with something new are repeated here. True: a stage
  // differs.
  bool share_rounds() {
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

  bool is_new(const Tried& function, const Seen& seen) const {
    const bool nan_so_far = follower_.only_nan(function.name) != nullptr;
    return seen.differs || (seen.compared && !was_compared(function.name)) || (seen.numbers && nan_so_far);
  }

  void note_seen(Tried& function, std::size_t k, const Seen& seen) {
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

  // ---- questions to other ranks: a kind and two numbers ----

  static std::string question(std::string_view kind, std::size_t a, std::size_t b) {
    return to_parts({std::string(kind), std::to_string(a), std::to_string(b)});
  }

  std::string answer_to(const std::string& asked) {
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

  void note_tried(const Dims& dims, const ir::Function* f) {
    if (f && has_symbolic_dims(f)) out_.tried.add_dims(dims_text(session_.options(), f));
    out_.tried.add_numbers(std::string(text_of(dims.inputs, dims.numbers)));
    out_.tried.add_seed(session_.options().seed);
  }

  // Of kernels and computations that are run by themselves.
  void note_all_numbers() {
    std::vector<std::string_view> texts;
    for (const Numbers n : kNumbers) texts.push_back(text_of(n));
    out_.tried.add_numbers(fmt::format("by themselves: {}", fmt::join(texts, ", ")));
  }

  // False: it would repeat an earlier attempt.
  bool choose(const Dims& dims, const ir::Function* f) {
    session_.options().default_dim = dims.value;
    // All of them are given: other dims would be the same round again.
    if (f && dims.value != kDims[0].value && has_symbolic_dims(f) && !has_free_dims(session_.options(), f))
      return false;
    const bool are_several = dims.apart && tell_dims_apart(session_.options(), f, dims.falling);
    if (dims.apart && !are_several && dims.value == kDims[0].value) return false;  // the next ones are equal dims
    if (dims.inputs == Inputs::Other && made_up_constants()) return false;
    if (dims.inputs == Inputs::Other && !what_.keep_seed) session_.options().seed ^= kOtherInputs;
    follower_.set_inputs(dims.inputs, dims.numbers);
    is_large_ = dims.inputs == Inputs::Large;
    return true;
  }

  // They were generated from the seed when the stages were read.
  bool made_up_constants() const {
    return std::any_of(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return s.unfilled; });
  }

  // ---- one function in all stages ----

  bool look_at(const std::string& name) {
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

  // The end of the run of consecutive stages with the same parameters and constants as the stage at `k`: any of them
  // can follow the previous one.
  std::size_t end_of_run(std::size_t k) const {
    std::size_t end = k;
    const std::string shape = k > 0 ? signature(order_[k - 1]) : std::string();
    while (end < order_.size() && signature(order_[end]) == shape) ++end;
    return std::max(end, k + 1);
  }

  std::string signature(std::size_t stage) const {
    const Stage& s = out_.stages[stage];
    std::string there;
    const ir::Function* f = find_exported(s.module, name_, there);
    std::string text = s.made_up;
    if (f)
      for (const ir::Var* p : f->params) text += fmt::format("{}:{};", p->name, ir::print_type(p->type));
    return f ? text : std::string("none");
  }

  Step attempt(std::size_t stage, Program& tried) {
    if (progress_) progress_(stage, out_.stages.size(), fmt::format("{}: {}", out_.stages[stage].file, name_));
    return follower_.attempt(stage, name_, at_, tried);
  }

  bool step(std::size_t stage) {
    Program tried;
    const Step answer = attempt(stage, tried);
    return answer == Step::Differs && found(stage, tried);
  }

  // Binary search over a long run; its stages differ from some point on, or not at all.
  bool search(std::vector<std::size_t> open) {
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

  void pass_over(const Point& before, std::vector<std::size_t> stages) {
    if (!now_.keep) return;
    for (const std::size_t stage : stages) passed_over_.emplace(name_, stage);
    now_.keep->push_back({now_.dims, before, std::move(stages)});
  }

  // A later stage may undo what one in between does wrong. True: one differs.
  bool look_between(const Tried& function) {
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

  // Those in the middle of the rest first: a fault lasts for some stages.
  bool look_between(const Between& b) {
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

  // ---- reporting ----

  bool found(std::size_t stage, const Program& program) {
    if (only_looks_) return true;
    const Trace good = record(session_, at_.program);
    if (const std::string why = wrong_shapes(session_.context(), at_.program.module, at_.program.function, good);
        !why.empty()) {
      follower_.skip(stage, "the program is not defined on the inputs: " + why);
      return false;
    }
    if (!counts(program)) {
      does_not_count_ = true;
      return false;
    }
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = at_.previous;
    out_.bad = stage;
    out_.function = program.function;
    const Dims& now = dims()[now_.dims];
    if (now.inputs != Inputs::Usual) out_.numbers = text_of(now.inputs, now.numbers);
    if (at_.arguments.module == first_->module) out_.arguments = at_.arguments.values;
    const Trace bad = record(session_, program);
    out_.large = is_large_;
    out_.comparison =
        compare(session_, good, bad, at_.program, program, is_large_ ? of_large_numbers(tolerances_) : tolerances_);
    out_.memory = memory_of(bad, true);
    out_.good_program = at_.program;
    out_.bad_program = program;
    return true;
  }

  // Of numbers that were chosen for their effect, or by the caller's judgement.
  bool counts(const Program& program) {
    const Dims& now = dims()[now_.dims];
    const bool chosen = now.inputs == Inputs::Kind || follower_.has_other_integers();
    const std::string why =
        chosen ? doubt_about(session_, at_.program, program, tolerances_, follower_.has_other_integers())
               : std::string();
    if (!why.empty())
      follower_.note(fmt::format("a difference on {} does not count: {}", text_of(now.inputs, now.numbers), why));
    return why.empty() && (!what_.counts || what_.counts(at_.program, program));
  }

  static std::vector<Finding> memory_of(const Trace& trace, bool unwritten) {
    Sanitizers which;
    which.storage = true;
    which.unwritten = unwritten;
    return sanitize(trace, which);
  }

  // Kernels by themselves: they need no Relax function, and get other numbers than in the programs.
  void look_at_kernels() {
    const session::Options given = session_.options();
    if (progress_) progress_(0, out_.stages.size(), "kernels");
    const auto kept = [&](const KernelDifference& d) {
      const session::Options of_kernels = session_.options();
      session_.options() = given;
      const bool is_kept = std::any_of(functions_.begin(), functions_.end(), [&](const Tried& f) {
        const auto traces = traces_of(f, d.good, d.bad);
        return traces && keeps_its_meaning(traces->first, traces->second, d.kernel, tolerances_);
      });
      session_.options() = of_kernels;
      return is_kept;
    };
    auto found = kernels_.check(kForKernels, kept, others_ ? &*others_ : nullptr, kKernel);
    session_.options() = given;
    if (!kernels_.compared().empty()) note_all_numbers();
    out_.kernels_compared = kernels_.compared();
    out_.kernels_not_run = kernels_.not_run();
    if (found) return found_kernel(std::move(*found));
    // They are all that these stages have.
    const bool has_programs = std::any_of(out_.stages.begin(), out_.stages.end(), can_run);
    if (has_programs || out_.kernels_compared.empty()) return;
    out_.verdict = TraceBisection::Verdict::Agree;
    out_.why.clear();
    tell_what_is_open();
  }

  void found_kernel(KernelDifference found) {
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = found.good;
    out_.bad = found.bad;
    out_.function = found.kernel;
    out_.numbers = found.numbers;
    out_.dims = found.dims;
    out_.large = found.large;
    out_.good_program = found.good_program;
    out_.bad_program = found.bad_program;
    out_.kernel = std::move(found);
  }

  void tell_of_collectives() {
    std::vector<const ir::Module*> modules;
    for (const Stage& s : out_.stages)
      if (s.module) modules.push_back(s.module);
    if (const std::string note = note_of_collectives(modules); !note.empty()) out_.notes.push_back(note);
  }

  // Nothing differs, but what did not run may.
  void tell_what_is_open() {
    std::size_t last = 0;
    for (std::size_t i = 0; i < out_.stages.size(); ++i)
      if (follower_.has_run(i)) last = i;
    std::vector<std::string> open = out_.alone;
    for (std::size_t i = last + 1; i < out_.stages.size(); ++i) {
      const Stage& s = out_.stages[i];
      const bool only_kernels = s.kernels && (!s.module || !s.completed_by.empty());
      if (!s.is_empty && !s.not_runnable.empty() && !only_kernels)
        open.push_back(fmt::format("{} ({})", s.file, s.not_runnable));
    }
    for (const KernelNotRun& k : out_.kernels_not_run)
      if (k.stage > last || follower_.stands_in(k.stage))
        open.push_back(fmt::format("`{}` from {} on ({})", k.kernel, out_.stages[k.stage].file, k.why));
    if (open.empty() && out_.in_doubt.empty()) return;
    out_.verdict = TraceBisection::Verdict::CannotTell;
    if (open.empty()) {
      out_.why = fmt::format("it cannot be told {}", fmt::join(out_.in_doubt, ", nor "));
      return;
    }
    constexpr std::size_t kShown = 6;
    const std::string more = open.size() > kShown ? fmt::format(" and {} more", open.size() - kShown) : "";
    if (open.size() > kShown) open.resize(kShown);
    out_.why = fmt::format("nothing that was run differs, but these were not run: {}{}", fmt::join(open, ", "), more);
  }

  // All agree on these inputs: single computations are run on others.
  void look_at_singles(const std::vector<Tried>& functions) {
    std::set<std::string> compared;  // ranks do not know of the computations that others have run
    for (std::size_t k = 1; k < order_.size(); ++k) {
      support::poll();
      if (progress_) progress_(order_[k], out_.stages.size(), out_.stages[order_[k]].file + ": single computations");
      std::vector<std::string> questions;
      for (std::size_t i = 0; i < singles_of(k).size(); ++i) questions.push_back(question(kSingle, k, i));
      for (std::size_t done = 0; done < questions.size();) {
        const std::vector<std::string> rest(questions.begin() + std::ptrdiff_t(done), questions.end());
        const std::vector<std::string> answers = ask_all(
            others_ ? &*others_ : nullptr, rest, [this](const std::string& q) { return answer_to(q); },
            [](const std::string& answer) { return answer == kFound; });
        std::size_t i = 0;
        for (; i < answers.size() && answers[i] != kFound; ++i) {
          out_.not_by_themselves += answers[i] == kNoTime;
          const auto parts = from_parts(answers[i]);
          if (parts && parts->size() == 2 && (*parts)[0] == kRan) compared.insert((*parts)[1]);
        }
        done += i + 1;
        if (i == answers.size()) break;
        const auto found = single_found(k, done - 1);
        if (!found || !is_one_computation(*found, k, functions)) continue;
        found_alone(*found, k);
        break;
      }
      if (out_.verdict == TraceBisection::Verdict::Found) break;
    }
    if (!compared.empty()) note_all_numbers();
    out_.by_themselves = compared.size();
  }

  // The bindings that two neighbouring stages compute differently.
  const std::vector<AloneChecker::Pair>& singles_of(std::size_t k) {
    while (singles_.size() <= k) {
      const std::size_t at = singles_.size();
      auto& pairs = singles_.emplace_back();
      if (at == 0) continue;
      const Stage &good = out_.stages[order_[at - 1]], &bad = out_.stages[order_[at]];
      if (good.unfilled || bad.unfilled || meant_by(bad.pass) != Meant::Exact) continue;
      pairs = alone_.changed(good.module, bad.module);
    }
    return singles_[k];
  }

  // nullopt: no time is left.
  std::optional<AloneChecker::Outcome> single(std::size_t k, std::size_t i) {
    const AloneChecker::Pair& pair = singles_of(k).at(i);
    if (!singles_until_) singles_until_ = Clock::now() + kForSingles;
    if (Clock::now() > *singles_until_) return std::nullopt;
    AloneChecker::Outcome outcome = run_single(pair, k);
    if (outcome.found) found_singles_[{k, i}] = *outcome.found;
    return outcome;
  }

  AloneChecker::Outcome run_single(const AloneChecker::Pair& pair, std::size_t k) {
    const session::Options given = session_.options();
    session_.options().default_dim = kDims[0].value;
    AloneChecker::Outcome outcome = alone_.run(pair, out_.stages[order_[k - 1]], out_.stages[order_[k]]);
    session_.options() = given;
    return outcome;
  }

  // Found here or by another rank.
  std::optional<AloneChecker::Found> single_found(std::size_t k, std::size_t i) {
    if (const auto it = found_singles_.find({k, i}); it != found_singles_.end()) return it->second;
    return run_single(singles_of(k)[i], k).found;
  }

  bool is_one_computation(const AloneChecker::Found& f, std::size_t k, const std::vector<Tried>& functions) {
    return std::any_of(functions.begin(), functions.end(), [&](const Tried& tried) {
      const auto traces = traces_of(tried, order_[k - 1], order_[k]);
      return traces && is_one_in_both(f, traces->first, traces->second, tolerances_);
    });
  }

  // The runs of a function that was compared, in two stages.
  std::optional<std::pair<Trace, Trace>> traces_of(const Tried& tried, std::size_t good, std::size_t bad) {
    if (!was_compared(tried.name) || tried.at.previous == kNoStage) return std::nullopt;
    Point at = tried.at;
    Program ignored;
    std::optional<Trace> first;
    for (const std::size_t stage : {good, bad}) {
      if (!can_run(out_.stages[stage])) return std::nullopt;
      follower_.attempt(stage, tried.name, at, ignored);
      if (at.previous != stage) return std::nullopt;
      if (!first) first = record(session_, at.program);
    }
    return std::pair{std::move(*first), record(session_, at.program)};
  }

  void found_alone(const AloneChecker::Found& f, std::size_t k) {
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = order_[k - 1];
    out_.bad = order_[k];
    out_.function = f.bad.function;
    out_.by_itself = f.binding;
    out_.numbers = f.numbers;
    out_.dims = f.dims;
    out_.large = f.large;
    const Tolerances t = f.large ? of_large_numbers(tolerances_) : tolerances_;
    out_.comparison = compare(session_, record(session_, f.good), record(session_, f.bad), f.good, f.bad, t);
    out_.good_program = f.good;
    out_.bad_program = f.bad;
  }

  // All agree on these inputs. Memory released too early is wrong nevertheless; the earliest stage that does it is the
  // answer.
  void look_at_last_memory(const std::string& name, const Point& end) {
    if (end.previous == kNoStage) return;
    std::vector<Finding> wrong = memory_of(record(session_, end.program), false);
    if (wrong.empty()) return;
    Program last = end.program;
    std::size_t bad = end.previous;
    for (std::size_t k = order_.size(); k-- > 0;) {
      support::poll();
      if (order_[k] >= bad) continue;
      Point at = end;
      Program ignored;
      const Step step = follower_.attempt(order_[k], name, at, ignored);
      if (step == Step::Skipped || step == Step::Differs) continue;
      auto findings = memory_of(record(session_, at.program), false);
      if (!findings.empty()) {
        bad = order_[k];
        last = at.program;
        wrong = std::move(findings);
        continue;
      }
      out_.memory = std::move(wrong);
      out_.verdict = TraceBisection::Verdict::Found;
      out_.good = order_[k];
      out_.bad = bad;
      out_.function = last.function;
      out_.good_program = at.program;
      out_.bad_program = last;
      if (step == Step::Agrees) out_.comparison = compare(session_, at.program, last, tolerances_);
      return;
    }
    out_.memory.insert(out_.memory.end(), wrong.begin(), wrong.end());
  }

  // The values agree; a storage of another size than in the stage before is wrong nevertheless.
  void look_at_storages(const Tried& function) {
    std::optional<StorageSizes> last;
    Program before;
    std::size_t good = kNoStage;
    for (const std::size_t stage : order_) {
      support::poll();
      if (!has_storages(out_.stages[stage].module) || Clock::now() - start_ > kTooMuch) continue;
      Point at = function.at;
      Program ignored;
      const Step step = follower_.attempt(stage, function.name, at, ignored);
      if (at.previous != stage || (step != Step::Agrees && step != Step::Anew)) continue;
      StorageSizes now = storage_sizes(session_, at.program);
      if (last && step == Step::Agrees)
        if (auto found = resized_storages(*last, now); !found.empty()) {
          out_.memory = std::move(found);
          out_.verdict = TraceBisection::Verdict::Found;
          out_.good = good;
          out_.bad = stage;
          out_.function = at.program.function;
          out_.good_program = before;
          out_.bad_program = at.program;
          return;
        }
      last = std::move(now);
      before = at.program;
      good = stage;
    }
  }

  session::Session& session_;
  const Tolerances& tolerances_;
  const Followed& what_;
  const BisectProgress& progress_;
  support::Ranks* ranks_;
  std::optional<OtherRanks> others_;
  TraceBisection& out_;
  Follower follower_;
  KernelChecker kernels_;
  AloneChecker alone_;
  Clock::time_point start_ = Clock::now();
  const Stage* first_ = nullptr;  // that may run
  std::vector<Tried> functions_;  // of it
  bool keep_integers_ = false;
  NamedNumbers named_;  // by the stages
  std::optional<NumberMaker> maker_;
  bool does_not_count_ = false;  // the difference that was met last
  bool only_looks_ = false;      // whether a stage differs is all that matters
  std::vector<Dims> open_dims_{std::begin(kDims), std::end(kDims)};
  std::vector<Dims> static_dims_{std::begin(kStaticDims), std::end(kStaticDims)};
  bool open_ = false;                            // whether there are symbolic dims
  std::size_t dims_for_all_ = std::size(kDims);  // so many of them for functions that were compared already
  bool is_large_ = false;                        // whether the current inputs are large
  std::vector<std::size_t> order_;               // stages that may run, without duplicates
  std::string name_;
  Point at_;
  struct {
    std::size_t dims = 0;
    std::vector<Between>* keep = nullptr;  // null: not the first round of a function
  } now_;
  std::set<std::pair<std::string, std::size_t>> passed_over_;  // by the function
  std::vector<std::vector<AloneChecker::Pair>> singles_;       // by the index of the stage in `order_`
  std::map<std::pair<std::size_t, std::size_t>, AloneChecker::Found> found_singles_;
  std::optional<Clock::time_point> singles_until_;
};

}  // namespace

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
