// TraceBisector: the first module of a dump whose results differ from those before.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "repro/bisect/follow.h"
#include "repro/borrow.h"
#include "repro/dims.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/planner.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;
using Step = Follower::Step;

struct Dims {
  std::int64_t value;
  bool apart = false;         // several symbolic dims are different numbers
  bool other_inputs = false;  // one element that is wrong may be lost on the way, with some inputs
};
constexpr Dims kDims[] = {{7, true}, {7}, {7, false, true}, {1}, {16}, {2}};
constexpr Dims kStaticDims[] = {{7}, {7, false, true}};
constexpr std::uint64_t kOtherInputs = 0x5eed;
// Tried only while no stage runs with the others: sizes that programs like to ask for.
constexpr Dims kOtherDims[] = {{4}, {8}, {3}, {32}, {64}, {10}};
// After so long no other dims are tried, and no stage after the other.
constexpr auto kEnough = std::chrono::seconds(4);
// Of what is evaluated in one run (kernels that cannot be compiled): some tenths of a second.
constexpr std::uint64_t kStatements = 5'000'000;
// Of more stages in a row that are compared with one, the last is looked at first.
constexpr std::size_t kLongRun = 24;

class TraceBisector {
 public:
  TraceBisector(session::Session& session, const Tolerances& tolerances, const Followed& what,
                const BisectProgress& progress, TraceBisection& out)
      : session_(session),
        tolerances_(tolerances),
        what_(what),
        progress_(progress),
        out_(out),
        follower_(session, tolerances, out, what.inputs) {}

  void run() {
    const auto first = std::find_if(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return can_run(s); });
    if (first == out_.stages.end()) {
      out_.why = "no stage can be run";
      return;
    }
    order_stages();
    const bool open = has_open_dims(first->module);
    for (const std::string& name : functions_of(first->module)) {
      if (!what_.function.empty() && name != what_.function) continue;
      const bool differs = try_dims(*first, name, open);
      if (differs) out_.alone.clear();
      if (differs) return follower_.tell_reasons();
      if (std::find(out_.compared.begin(), out_.compared.end(), name) == out_.compared.end())
        out_.alone.push_back(follower_.last_reason().empty() ? name : name + " (" + follower_.last_reason() + ")");
    }
    follower_.tell_reasons();
    out_.verdict = out_.compared.empty() ? TraceBisection::Verdict::CannotTell : TraceBisection::Verdict::Agree;
    const std::vector<std::string> notes = out_.notes;
    const std::set<std::size_t> anew = out_.anew;
    if (!out_.compared.empty()) look_at_last_memory();
    out_.notes = notes;  // going back is no comparison anew
    out_.anew = anew;
    if (!out_.compared.empty()) return;
    out_.why = "no two stages could be compared";
    if (is_one_program()) out_.why += ": those that can be run are one program";
    if (!what_.function.empty() && !find_public(first->module, what_.function))
      out_.why = fmt::format("there is no public function `{}` in {}", what_.function, first->file);
    if (!follower_.last_reason().empty()) out_.why += ": " + follower_.last_reason();
    out_.alone.clear();
  }

 private:
  static bool can_run(const Stage& s) { return s.module && s.not_runnable.empty(); }

  // Public ones; of a module that has none, all.
  static std::vector<std::string> functions_of(const ir::Module* module) {
    std::vector<std::string> names, hidden;
    for (const ir::ModuleEntry& e : module->entries)
      if (const auto* f = ir::as<ir::Function>(e.function)) (f->is_private() ? hidden : names).emplace_back(e.name);
    if (names.empty()) names = std::move(hidden);
    std::stable_partition(names.begin(), names.end(), [](const std::string& n) { return n == "main"; });
    return names;
  }

  static bool find_public(const ir::Module* module, const std::string& name) {
    const std::vector<std::string> names = functions_of(module);
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Parameters that fit tensors of more than one shape.
  static bool has_open_dims(const ir::Module* module) {
    const auto is_open = [](const ir::Var* p) {
      const auto* t = ir::as<ir::TensorType>(p->type);
      return p->type->has_vars || (t && !t->has_shape) || ir::as<ir::ShapeType>(p->type);
    };
    return std::any_of(module->entries.begin(), module->entries.end(), [&](const ir::ModuleEntry& e) {
      const auto* f = ir::as<ir::Function>(e.function);
      return f && std::any_of(f->params.begin(), f->params.end(), is_open);
    });
  }

  // A stage that is the one before again needs no run.
  void order_stages() {
    const ir::Module* last = nullptr;
    for (std::size_t i = 0; i < out_.stages.size(); ++i) {
      support::poll();
      if (!can_run(out_.stages[i])) continue;
      const ir::Module* module = out_.stages[i].module;
      if (!last || !ir::structural_equal(last, module)) order_.push_back(i);
      last = module;
    }
  }

  // Several stages can be run, and no pass changed anything.
  bool is_one_program() const {
    return order_.size() == 1 && std::count_if(out_.stages.begin(), out_.stages.end(), can_run) > 1;
  }

  // True: a stage differs.
  bool try_dims(const Stage& first, const std::string& name, bool open) {
    const auto* f = ir::as<ir::Function>(first.module->find(name));
    const session::Options given = session_.options();
    std::vector<Dims> dims(std::begin(kStaticDims), std::end(kStaticDims));
    if (open) dims.assign(std::begin(kDims), std::end(kDims));
    if (open) dims.insert(dims.end(), std::begin(kOtherDims), std::end(kOtherDims));
    for (std::size_t k = 0; k < dims.size(); ++k) {
      const bool was_compared = std::find(out_.compared.begin(), out_.compared.end(), name) != out_.compared.end();
      if (k > 0 && (Clock::now() - start_ > kEnough || (k >= std::size(kDims) && was_compared))) return false;
      session_.options() = given;
      session_.options().default_dim = dims[k].value;
      if (dims[k].apart && !tell_dims_apart(session_.options(), f)) continue;
      if (dims[k].other_inputs && made_up_constants()) continue;
      if (dims[k].other_inputs) session_.options().seed ^= kOtherInputs;
      follower_.set_other_way(dims[k].other_inputs);
      if (!look_at(name)) continue;
      if (open) out_.dims = dims_text(session_.options(), f);
      return true;
    }
    return false;
  }

  // They were made from the seed when the stages were read.
  bool made_up_constants() const {
    return std::any_of(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return s.unfilled; });
  }

  // ---- one function through all stages ----

  bool look_at(const std::string& name) {
    name_ = name;
    at_ = Point{};
    for (std::size_t k = 0; k < order_.size();) {
      support::poll();
      const std::size_t end = end_of_run(k);
      const bool is_long = end - k > kLongRun || (end - k > 2 && Clock::now() - start_ > kEnough / 2);
      if (at_.baseline != kNoStage && is_long) {
        if (search(k, end)) return true;
        k = end;
      } else if (step(order_[k++])) {
        return true;
      }
    }
    return false;
  }

  // Of the same parameters and constants as the stage at `k`, one after the other: any of them can follow the one
  // before.
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

  // Binary search over a long run; the stages in [k, end) differ from some point on, or none does.
  bool search(std::size_t k, std::size_t end) {
    std::vector<std::size_t> open(order_.begin() + std::ptrdiff_t(k), order_.begin() + std::ptrdiff_t(end));
    std::optional<std::pair<std::size_t, Program>> bad;
    while (!open.empty()) {
      support::poll();
      const std::size_t middle = bad ? open.size() / 2 : open.size() - 1;
      Program tried;
      switch (attempt(open[middle], tried)) {
        case Step::Skipped:
          open.erase(open.begin() + std::ptrdiff_t(middle));
          break;
        case Step::Anew:
        case Step::Agrees:
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

  // ---- telling ----

  bool found(std::size_t stage, const Program& program) {
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = at_.previous;
    out_.bad = stage;
    out_.function = program.function;
    const Trace good = record(session_, at_.program);
    const Trace bad = record(session_, program);
    out_.comparison = compare(session_.context(), good, bad, tolerances_);
    out_.memory = memory_of(bad, true);
    out_.good_program = at_.program;
    out_.bad_program = program;
    return true;
  }

  static std::vector<Finding> memory_of(const Trace& trace, bool unwritten) {
    Sanitizers which;
    which.storage = true;
    which.unwritten = unwritten;
    return sanitize(trace, which);
  }

  // All agree on these inputs. Memory that was given away too early is wrong all the same; the earliest stage that does
  // it is the answer.
  void look_at_last_memory() {
    if (at_.previous == kNoStage) return;
    out_.memory = memory_of(record(session_, at_.program), false);
    if (out_.memory.empty()) return;
    Program last = at_.program;
    std::size_t bad = at_.previous;
    for (std::size_t k = order_.size(); k-- > 0;) {
      support::poll();
      if (order_[k] >= bad) continue;
      Point at = at_;
      Program ignored;
      const Step step = follower_.attempt(order_[k], name_, at, ignored);
      if (step == Step::Skipped || step == Step::Differs) continue;
      const auto findings = memory_of(record(session_, at.program), false);
      if (!findings.empty()) {
        bad = order_[k];
        last = at.program;
        out_.memory = findings;
        continue;
      }
      out_.verdict = TraceBisection::Verdict::Found;
      out_.good = order_[k];
      out_.bad = bad;
      out_.function = last.function;
      out_.good_program = at.program;
      out_.bad_program = last;
      if (step == Step::Agrees) out_.comparison = compare(session_, at.program, last, tolerances_);
      return;
    }
  }

  session::Session& session_;
  const Tolerances& tolerances_;
  const Followed& what_;
  const BisectProgress& progress_;
  TraceBisection& out_;
  Follower follower_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::size_t> order_;  // stages that may run, without repetitions
  std::string name_;
  Point at_;
};

TraceBisection bisect_stages(session::Session& session, TraceBisection out, const Tolerances& tolerances,
                             const Followed& what, const BisectProgress& progress) {
  if (out.stages.empty()) return out;
  const Borrow borrow(session);
  session.options().eval_statements = kStatements;
  TraceBisector(session, tolerances, what, progress, out).run();
  name_planners(out.memory, out.stages);
  return out;
}

// The stages of both, one folder after the other.
TraceBisection joined(const TraceBisection& a, const TraceBisection& b, const std::string& first,
                      const std::string& second) {
  TraceBisection out;
  for (const auto& [side, folder] : {std::pair{&a, &first}, std::pair{&b, &second}})
    for (Stage s : side->stages) {
      s.file = *folder + "/" + s.file;
      out.stages.push_back(std::move(s));
    }
  return out;
}

// Where the second folder begins the comparison went on, or the folders were not compared with each other.
void need_passage(TraceBisection& both, std::size_t second) {
  if (both.verdict != TraceBisection::Verdict::Agree) return;
  std::size_t i = second;
  while (i < both.stages.size() && !both.stages[i].not_runnable.empty()) ++i;
  if (i < both.stages.size() && !both.anew.contains(i)) return;
  both.verdict = TraceBisection::Verdict::CannotTell;
  both.why = "the programs of the two folders could not be compared with each other";
}

}  // namespace

TraceBisection bisect_trace(session::Session& session, const std::string& folder, const Tolerances& tolerances,
                            const Followed& what, const BisectProgress& progress) {
  TraceBisection out;
  out.stages = read_dump(session, folder, out.why);
  return bisect_stages(session, std::move(out), tolerances, what, progress);
}

StageComparison compare_stages(session::Session& session, std::vector<Stage> stages, std::size_t a, std::size_t b,
                               const Followed& what, const Tolerances& tolerances, bool shadow) {
  const std::string function = what.function.empty() ? "main" : what.function;
  StageComparison out;
  TraceBisection both;
  both.stages = std::move(stages);
  for (const std::size_t i : {a, b}) {
    const Stage& s = both.stages[i];
    if (s.module && s.not_runnable.empty()) continue;
    out.comparison.why = fmt::format("{}: {}", s.file, s.not_runnable);
    return out;
  }
  const Borrow borrow(session);
  Follower follower(session, tolerances, both, what.inputs);
  Point at;
  Program second;
  Step step = follower.attempt(a, function, at, second);
  if (step != Step::Skipped) step = follower.attempt(b, function, at, second);
  if (step == Step::Agrees || step == Step::Differs) {
    out.a = step == Step::Differs ? at.program : at.before;
    out.b = step == Step::Differs ? second : at.program;
    out.comparison = compare(session, out.a, out.b, tolerances, shadow);
    return out;
  }
  out.comparison.why = follower.last_reason();
  if (!both.notes.empty()) out.comparison.why = both.notes.back();
  if (out.comparison.why.empty()) out.comparison.why = fmt::format("there is no function `{}` in both", function);
  return out;
}

FolderBisection bisect_two_traces(session::Session& session, const std::string& first, const std::string& second,
                                  const Tolerances& tolerances, const Followed& what, const BisectProgress& progress) {
  FolderBisection out;
  out.first = bisect_trace(session, first, tolerances, what, progress);
  out.second = bisect_trace(session, second, tolerances, what, progress);
  using Verdict = TraceBisection::Verdict;
  if (out.first.verdict != Verdict::Agree || out.second.verdict != Verdict::Agree) return out;
  out.both = bisect_stages(session, joined(out.first, out.second, first, second), tolerances, what, progress);
  need_passage(*out.both, out.first.stages.size());
  return out;
}

TraceBisection::Verdict FolderBisection::verdict() const {
  using Verdict = TraceBisection::Verdict;
  if (first.verdict == Verdict::Found || second.verdict == Verdict::Found) return Verdict::Found;
  return both ? both->verdict : Verdict::CannotTell;
}

}  // namespace rldb::repro
