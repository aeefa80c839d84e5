// KernelBisector: finds the kernel that causes the difference when the JIT runs it instead of the evaluator, and in
// that kernel the step of its schedule.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <unordered_set>

#include "repro/bisect/next_middles.h"
#include "repro/borrow.h"
#include "repro/other_ranks.h"
#include "repro/values.h"
#include "rldb/ir/module.h"
#include "rldb/passes/pass_id.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using runtime::Value;
using session::Engine;

// Questions to other ranks: how the results differ with the JIT's first kernels, with a form of one kernel on the
// evaluator, and with the JIT's code for that form.
constexpr std::string_view kFirstKernels = "first", kFormEvaluated = "evaluated", kFormCompiled = "compiled";

std::string difference_to_wire(const std::optional<std::string>& difference) {
  return difference ? "+" + *difference : "-";
}
std::optional<std::string> difference_from_wire(const std::string& bytes) {
  return bytes.starts_with('+') ? std::optional(bytes.substr(1)) : std::nullopt;
}

class KernelBisector {
 public:
  KernelBisector(session::Session& session, const Question& question, const BisectProgress& progress,
                 support::Ranks* ranks, KernelBisection& out)
      : session_(session), question_(question), progress_(progress), ranks_(ranks), out_(out) {
    if (ranks && ranks->rank() == 0 && ranks->size() > 1) others_.emplace(*ranks);
  }
  ~KernelBisector() {
    if (others_) others_->end();
  }
  KernelBisector(const KernelBisector&) = delete;
  KernelBisector& operator=(const KernelBisector&) = delete;

  void run(const ir::Module* module) {
    module_ = with_kernels(module);
    const bool runs = module_ && make_reference();
    if (ranks_ && ranks_->rank() > 0)
      return answer_rank_0(*ranks_, [this](const std::string& asked) { return answer_to(asked); });
    if (!runs) return;
    const auto all = difference_with(module_, kernels_.size(), {});
    if (!out_.why.empty()) return;
    if (!all) {
      out_.verdict = KernelBisection::Verdict::None;
      return;
    }
    find_kernel(*all);
    find_step();
  }

 private:
  // The program after its pipeline, with operators legalised to named kernels. Null: `why`.
  const ir::Module* with_kernels(const ir::Module* module) {
    session_.set_program(module);
    const std::string legalize(passes::info(passes::PassId::LegalizeOps).name);
    for (const std::string& passes : {question_.passes, legalize}) {
      source::Diagnostics found;
      if (passes.empty() || session_.run_passes(passes, found)) continue;
      if (out_.why.empty()) out_.why = found.first_error();
      return nullptr;
    }
    return session_.module();
  }

  // Computes the result by the evaluator, and the kernels in the order of their first calls.
  bool make_reference() {
    session_.set_program(module_);
    source::Diagnostics found;
    auto made = session_.arguments(question_.function, question_.inputs, found);
    if (made)
      for (const session::Argument& a : *made) arguments_.push_back(a.value);
    else
      out_.why = found.all().empty() ? "there are no arguments" : found.all()[0].message;
    if (!made) return false;
    Program program;
    program.module = module_;
    program.function = question_.function;
    program.args = arguments_;
    program.kernels = Engine::Eval;
    const Trace trace = record(session_, program);
    if (!trace.error.empty()) {
      out_.why = "the program cannot be run by the evaluator: " + trace.error;
      return false;
    }
    flatten(trace.result, reference_);
    out_.why = nothing_to_compare(reference_);
    if (!out_.why.empty()) return false;
    find_kernels(trace);
    return !kernels_.empty();
  }

  // Finds those that the JIT compiles; the others always run on the evaluator. None: `why`.
  void find_kernels(const Trace& trace) {
    std::string refused;
    for (const Event& e : trace.events) {
      if (!ir::as<ir::PrimFunc>(module_->find(e.callee)) || met_.contains(e.callee)) continue;
      support::poll();
      met_.insert(e.callee);
      source::Diagnostics found;
      if (session_.compile_kernel(e.callee, found)) {
        kernels_.push_back(e.callee);
        continue;
      }
      out_.refused.push_back(e.callee);
      if (refused.empty() && !found.all().empty()) refused = found.all()[0].message;
    }
    out_.kernels = kernels_.size();
    if (!kernels_.empty()) return;
    out_.why =
        out_.refused.empty() ? "the program calls no kernel" : "the JIT compiles none of its kernels: " + refused;
  }

  // The difference when the JIT runs the first kernels, or only one.
  std::optional<std::string> difference_with(const ir::Module* module, std::size_t first, const std::string& alone) {
    support::poll();
    session_.options().engine = Engine::Eval;
    auto& engines = session_.options().kernel_engines;
    engines.clear();
    for (std::size_t i = 0; i < first; ++i) engines[kernels_[i]] = Engine::Jit;
    if (!alone.empty()) engines[alone] = Engine::Jit;
    eval::Watcher nobody;
    source::Diagnostics found;
    const session::RunResult run = session_.run_watched(module, question_.function, copies(arguments_), nobody, found);
    support::poll_cause();
    if (!run.ok) return "it fails: " + (found.all().empty() ? std::string("it does not end") : found.all()[0].message);
    std::vector<Value> leaves;
    flatten(run.value, leaves);
    if (leaves.size() != reference_.size()) return fmt::format("{} results, not {}", leaves.size(), reference_.size());
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (!is_opaque(leaves[i]))
        if (const auto d = difference(reference_[i], leaves[i], question_.tolerances)) return to_string(*d);
    return std::nullopt;
  }

  void tell(std::size_t done, const std::string& what) const {
    if (progress_) progress_(done, out_.steps.empty() ? kernels_.size() : out_.steps.size(), what);
  }

  // ---- questions ----

  std::vector<std::optional<std::string>> ask(std::string_view kind, const std::vector<std::int64_t>& numbers,
                                              bool until_one_differs) {
    std::vector<std::string> questions;
    for (const std::int64_t n : numbers)
      questions.push_back(to_parts({std::string(kind), std::to_string(n), std::to_string(out_.index)}));
    std::function<bool(const std::string&)> decides;
    if (until_one_differs) decides = [](const std::string& a) { return difference_from_wire(a).has_value(); };
    std::vector<std::optional<std::string>> out;
    for (const std::string& answer : ask_all(
             others_ ? &*others_ : nullptr, questions, [this](const std::string& q) { return answer_to(q); }, decides))
      out.push_back(difference_from_wire(answer));
    return out;
  }

  std::string answer_to(const std::string& asked) {
    const auto parts = from_parts(asked);
    if (!parts || parts->size() != 3) return {};
    const auto number = std::size_t(std::stoull((*parts)[1])), kernel = std::size_t(std::stoull((*parts)[2]));
    if ((*parts)[0] == kFirstKernels) return difference_to_wire(difference_with(module_, number, {}));
    if (out_.kernel != kernels_.at(kernel)) set_kernel(kernel);
    const bool compiled = (*parts)[0] == kFormCompiled;
    if (compiled) session_.options().schedule = false;
    return difference_to_wire(difference_with(with(form(number)), 0, compiled ? out_.kernel : std::string()));
  }

  // ---- the search ----

  void find_kernel(const std::string& all) {
    std::int64_t good = 0, bad = std::int64_t(kernels_.size());
    std::string seen = all;
    const std::size_t width = others_ ? std::size_t(others_->others()) + 1 : 1;
    std::map<std::int64_t, std::optional<std::string>> answers;
    while (bad - good > 1) {
      tell(0, fmt::format("kernels {} to {}", good + 1, bad));
      const std::int64_t middle = good + (bad - good) / 2;
      if (!answers.contains(middle)) {
        const std::vector<std::int64_t> wanted = next_middles(good, bad, width);
        const auto found = ask(kFirstKernels, wanted, false);
        for (std::size_t i = 0; i < wanted.size(); ++i) answers[wanted[i]] = found[i];
      }
      const auto& d = answers.at(middle);
      if (d) seen = *d;
      (d ? bad : good) = middle;
    }
    out_.verdict = KernelBisection::Verdict::Found;
    set_kernel(std::size_t(bad - 1));
    const auto alone = difference_with(module_, 0, out_.kernel);
    out_.alone = alone.has_value();
    out_.difference = alone.value_or(seen);
  }

  void set_kernel(std::size_t index) {
    out_.index = index;
    out_.kernel = kernels_[index];
    kernel_ = ir::as<ir::PrimFunc>(module_->find(out_.kernel));
    schedule::Options options;
    options.require_proof = session_.options().check_bounds;
    options.record = true;
    steps_.clear();
    if (session_.options().schedule && !schedule::is_scheduled(kernel_))
      steps_ = schedule::default_schedule(session_.context(), kernel_, options).steps;
  }

  const ir::Module* with(const ir::PrimFunc* kernel) {
    ir::ModuleBuilder builder(session_.context(), *module_);
    builder.set(out_.kernel, kernel);
    return builder.build();
  }

  // The kernel after so many steps of its schedule.
  const ir::PrimFunc* form(std::size_t steps) const { return steps == 0 ? kernel_ : steps_.at(steps - 1).after; }

  // The first step whose function the evaluator computes differently. If there is none, the steps are right: then the
  // first one whose machine code is wrong.
  void find_step() {
    if (!out_.alone) return;  // its schedule alone proves nothing then
    out_.steps = steps_;
    tell(0, fmt::format("steps of {}", out_.kernel));
    if (const auto step = first_form(kFormEvaluated, 1)) return set_step(KernelBisection::Part::Schedule, *step);
    tell(0, fmt::format("code of {}", out_.kernel));
    if (const auto step = first_form(kFormCompiled, 0)) set_step(KernelBisection::Part::Code, *step);
  }

  // The first form from this one on with which the results differ.
  std::optional<std::size_t> first_form(std::string_view kind, std::size_t from) {
    std::vector<std::int64_t> forms;
    for (std::size_t i = from; i <= steps_.size(); ++i) forms.push_back(std::int64_t(i));
    const auto answers = ask(kind, forms, true);
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (answers[i]) return from + i;
    return std::nullopt;
  }

  void set_step(KernelBisection::Part part, std::size_t step) {
    out_.part = part;
    out_.step = step;
    out_.without = form(step < 2 ? 0 : step - 1);
    out_.with = form(step);
  }

  session::Session& session_;
  const Question& question_;
  const BisectProgress& progress_;
  support::Ranks* ranks_;
  std::optional<OtherRanks> others_;
  KernelBisection& out_;
  const ir::Module* module_ = nullptr;
  const ir::PrimFunc* kernel_ = nullptr;  // the one that was found
  std::vector<schedule::Step> steps_;     // of its schedule
  std::vector<Value> arguments_, reference_;
  std::vector<std::string> kernels_;  // in the order of their first calls
  std::unordered_set<std::string> met_;
};

}  // namespace

KernelBisection bisect_kernels(session::Session& session, const ir::Module* module, const Question& question,
                               const BisectProgress& progress, support::Ranks* ranks) {
  KernelBisection out;
  const Borrow borrow(session);
  KernelBisector(session, question, progress, ranks, out).run(module);
  return out;
}

std::string to_string(const KernelBisection& b) {
  using Part = KernelBisection::Part;
  using Verdict = KernelBisection::Verdict;
  if (b.verdict == Verdict::CannotTell) return "cannot tell: " + b.why;
  const std::string refused =
      b.refused.empty() ? std::string()
                        : fmt::format("not compiled by the JIT, and not checked: {}\n", fmt::join(b.refused, ", "));
  if (b.verdict == Verdict::None)
    return refused + fmt::format("the JIT runs each of {} kernels as the evaluator does", b.kernels);
  std::string text =
      refused + fmt::format("kernel: {} ({} of {} in the order of their calls){}\n", b.kernel, b.index + 1, b.kernels,
                            b.alone ? "" : ", only together with kernels before it");
  text += "symptom: " + b.difference;
  if (b.part == Part::Schedule) {
    const schedule::Step& step = b.steps[b.step - 1];
    const schedule::StepInfo& info = schedule::info_of(step.id);
    return text + fmt::format("\nschedule: step {} of {} is wrong on the evaluator too: {} of `{}`: {}", b.step,
                              b.steps.size(), info.name, step.block, info.doc);
  }
  if (b.part == Part::Code && b.step == 0) return text + "\ncode: of the kernel as it is, without a schedule";
  if (b.part == Part::Code)
    return text + fmt::format(
                      "\ncode: each of {} steps of the schedule is right on the evaluator; the machine code is "
                      "wrong from step {} on: {} of `{}`",
                      b.steps.size(), b.step, schedule::info_of(b.steps[b.step - 1].id).name,
                      b.steps[b.step - 1].block);
  return text;
}

}  // namespace rldb::repro
