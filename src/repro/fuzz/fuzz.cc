// Fuzzer: generates programs, runs them through passes and engines, and reduces those that fail.
#include "rldb/repro/fuzz.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "repro/bisect/search_passes.h"
#include "repro/borrow.h"
#include "repro/fuzz/gather.h"
#include "repro/fuzz/mutate.h"
#include "repro/fuzz/random.h"
#include "repro/read_again.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/generate.h"
#include "rldb/repro/validate.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

// Programs compute in long chains: with every step correct, the result may still be off by this much.
constexpr double kAbsolute = 1e-3, kRelative = 1e-2;
constexpr std::uint64_t kOtherInputs = 0x5eed;

class Fuzzer {
 public:
  Fuzzer(session::Session& session, const FuzzOptions& options, FuzzReport& out)
      : session_(session), options_(options), out_(out) {
    out_.operators = generated_operators().size();
    seeds_ = read_seeds(session, options.seeds);
  }

  void run() {
    Random seeds(options_.seed);
    const auto parts = options_.ranks ? std::size_t(options_.ranks->size()) : 1;
    const auto own = options_.ranks ? std::size_t(options_.ranks->rank()) : 0;
    // A seed may give no program: each rank makes its part of them, from the seeds that are its own.
    const std::size_t wanted = options_.programs / parts + (own < options_.programs % parts);
    for (std::size_t given = 0; !is_over(wanted) && out_.wrong_option.empty(); ++given) {
      support::poll();
      const std::uint64_t seed = seeds.next();
      if (given % parts != own) continue;
      look_at(seed);
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

 private:
  bool is_over(std::size_t wanted) const {
    if (options_.programs > 0 && out_.programs >= wanted) return true;
    return options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  Question question() const { return fuzz_question(options_.passes, program_.error); }

  void look_at(std::uint64_t seed) {
    auto made = seeds_.empty() ? generate(session_, seed) : mutate(session_, seeds_, seed);
    if (!made) return;
    program_ = std::move(*made);
    ++out_.programs;
    if (options_.coverage) add_coverage();
    const ir::Module* module = program_.module;
    bool compared = false;
    for (const std::int64_t dim : dims()) {
      session_.options().default_dim = dim;
      const PassBisection b = bisect_on_these_inputs(session_, module, question());
      if (b.verdict == PassBisection::Verdict::Found && is_about_options(b.symptom)) {
        out_.wrong_option = b.symptom.text;
        return;
      }
      if (!b.runs) continue;  // diagnostics of a pass do not matter here
      compared = compared || b.verdict != PassBisection::Verdict::CannotTell;
      if (b.verdict == PassBisection::Verdict::Found && lasts(module, b)) {
        add(seed, module, b);
        return;
      }
    }
    out_.compared += compared;
    if (compared) look_at_engines(seed, module);
  }

  void add_coverage() {
    Coverage& c = out_.coverage;
    c.solved += program_.solved;
    c.refused += program_.refused;
    cover(session_, program_.module, options_.passes, c);
    out_.undefined += has_nan();
  }

  bool has_nan() {
    const Borrow borrow(session_);
    std::vector<runtime::Value> args, leaves;
    for (const auto& [name, value] : inputs_of(session_, program_)) args.push_back(value);
    eval::Watcher nobody;
    source::Diagnostics ignored;
    const session::RunResult run =
        session_.run_watched(program_.module, support::kEntryFunction, args, nobody, ignored);
    if (run.ok) flatten(run.value, leaves);
    return std::any_of(leaves.begin(), leaves.end(), [](const runtime::Value& v) {
      if (!v.is(runtime::ValueKind::Tensor) || !v.as_tensor().dtype().is_float()) return false;
      for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i)
        if (std::isnan(v.as_tensor().at(i))) return true;
      return false;
    });
  }

  // That of the program, and the least one, if it has symbolic dims.
  std::vector<std::int64_t> dims() const {
    std::vector<const ir::Var*> symbols;
    const auto* f = ir::as<ir::Function>(program_.module->find(question().function));
    for (const ir::Var* p : f->params) ir::collect_vars(p->type, symbols);
    if (symbols.empty() || program_.dim == 1) return {program_.dim};
    return {program_.dim, 1};
  }

  // Then the fault is not in the pass but in its options.
  static bool is_about_options(const Symptom& s) { return s.id == diag::PassOptionValue.name; }

  // Values that differ on these inputs and on others.
  bool lasts(const ir::Module* module, const PassBisection& b) {
    if (b.symptom.kind != SymptomKind::Values) return true;
    const Borrow borrow(session_);
    session_.options().seed ^= kOtherInputs;
    const PassBisection again = bisect_on_these_inputs(session_, module, question());
    return again.verdict == PassBisection::Verdict::Found && again.index == b.index;
  }

  void add(std::uint64_t seed, const ir::Module* module, const PassBisection& b) {
    if (b.symptom.kind != SymptomKind::Values)
      for (FuzzFinding& known : out_.findings)
        if (known.symptom == b.symptom) {
          ++known.programs;
          return;
        }
    FuzzFinding f;
    f.seed = seed;
    f.module = module;
    f.passes = options_.passes;
    f.symptom = b.symptom;
    f.text = to_string(b);
    f.question = question();
    f.default_dim = session_.options().default_dim;
    if (options_.reduce) {
      ReduceOptions reduction;
      reduction.seconds = options_.reduce_seconds;
      if (options_.progress)
        reduction.progress = [this](const ProgramSize&, std::size_t, const std::string&) {
          options_.progress(out_.programs, out_.findings.size());
        };
      const Reduction r = reduce(session_, module, question(), reduction);
      if (r.module) {
        f.module = r.module;
        f.passes = f.question.passes = r.passes;
        f.question.inputs = r.inputs;
      }
    }
    f.confirmed = is_there(f);
    keep(std::move(f));
  }

  void keep(FuzzFinding f) {
    if (out_.findings.empty()) out_.first_finding = out_.programs;
    out_.findings.push_back(std::move(f));
  }

  // The reduced program, as its text reads, has the symptom that was found.
  bool is_there(const FuzzFinding& f) {
    ir::PrintOptions print;
    print.show_meta = true;
    const ir::Module* again = read_again_unchecked(session_, ir::print(f.module, print));
    if (!again) return false;
    const Borrow borrow(session_);
    session_.options().default_dim = f.default_dim;
    Oracle oracle(session_, f.question);
    const auto shown = oracle.ask(again);
    // The reduced pipeline need not end with the pass that was found first.
    return shown && shown->kind == f.symptom.kind && shown->id == f.symptom.id && shown->form == f.symptom.form;
  }

  void look_at_engines(std::uint64_t seed, const ir::Module* module) {
    const Borrow borrow(session_);
    session_.set_program(module);
    const Validation v = validate_engines(session_);
    out_.on_engines += !v.compared.empty() || !v.difference.empty();
    // A reduction over no elements writes nothing (TensorIR's init belongs to the first iteration): any value is right.
    if (v.difference.empty() || v.over_nothing) return;
    session_.options().seed ^= kOtherInputs;
    if (validate_engines(session_).difference.empty()) return;
    FuzzFinding f;
    f.seed = seed;
    f.text = "engines: " + v.difference;
    f.symptom = {SymptomKind::Values, {}, {}, v.difference};
    f.module = module;
    f.default_dim = session_.options().default_dim;
    f.confirmed = true;  // it was seen twice, on the program as it is written
    keep(std::move(f));
  }

  session::Session& session_;
  const FuzzOptions& options_;
  FuzzReport& out_;
  std::vector<const ir::Module*> seeds_;
  Generated program_;  // that is looked at
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Question fuzz_question(const std::string& passes, double error) {
  Question q;
  q.passes = passes;
  q.tolerances.atol = std::max(kAbsolute, 4 * error);
  q.tolerances.rtol = kRelative;
  return q;
}

FuzzReport fuzz(session::Session& session, const FuzzOptions& options) {
  FuzzReport out;
  const Borrow borrow(session);
  try {
    Fuzzer(session, options, out).run();
  } catch (const support::Cancelled&) {
    support::acknowledge_cancel();  // results so far are kept, and reported
  }
  if (options.ranks) gather(session, *options.ranks, out);
  return out;
}

std::string to_string(const FuzzReport& r) {
  std::string text = fmt::format("{} of {}, {} of them compared ({} on the engines): {}",
                                 support::counted(r.programs, "program"), support::counted(r.operators, "operator"),
                                 r.compared, r.on_engines, support::counted(r.findings.size(), "finding"));
  for (const FuzzFinding& f : r.findings) {
    text += fmt::format("\n\nseed {}: {}\n", f.seed, f.text);
    if (!f.confirmed)
      text += "the reduced program does not show it again: the fault may depend on more than the program\n";
    if (f.programs > 1) text += fmt::format("the same in {} programs\n", f.programs);
    if (!f.passes.empty()) text += "passes: " + f.passes + "\n";
    text += ir::print(f.module);
  }
  if (r.coverage.programs > 0) {
    text += "\n\n" + to_string(r.coverage);
    text += fmt::format("\nprograms with a NaN in their own result: {}", r.undefined);
  }
  return text;
}

}  // namespace rldb::repro
