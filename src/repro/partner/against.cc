// The loop: generate, run here, ask the partner, confirm on other inputs, reduce, read the dump.
#include "rldb/repro/against.h"

#include <fmt/format.h>

#include <chrono>

#include "repro/borrow.h"
#include "repro/compare/match.h"
#include "repro/fuzz/random.h"
#include "rldb/repro/generate.h"
#include "rldb/support/cancel.h"
#include "rldb/support/folder.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNextInputs = 0x5eed;
constexpr double kRunHere = 10;  // seconds of a candidate beside the partner's
class Against {
 public:
  Against(session::Session& session, const Partner& partner, const AgainstOptions& options, AgainstReport& out)
      : session_(session), partner_(partner), options_(options), out_(out) {}

  void run() {
    Random seeds(options_.seed);
    while (!is_over() && out_.broken.empty()) {
      support::poll();
      const std::uint64_t seed = seeds.next();
      if (const auto made = generate(session_, seed)) {
        session_.options().default_dim = made->dim;
        look_at(seed, made->module);
      }
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

 private:
  bool is_over() const {
    if (options_.programs > 0 && out_.programs >= options_.programs) return true;
    return options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  Question question() const {
    Question q;
    q.kind = OracleKind::Command;
    q.partner = &partner_;
    q.tolerances = options_.tolerances;
    return q;
  }

  void look_at(std::uint64_t seed, const ir::Module* module) {
    ++out_.programs;
    const Borrow borrow(session_);
    Oracle oracle(session_, question());
    if (!oracle.start(module)) {  // its result would have nothing to be compared with
      if (out_.not_run_here++ == 0) out_.why_not_run_here = oracle.why();
      return;
    }
    const auto symptom = oracle.look(module);
    using Kind = PartnerAnswer::Kind;
    const PartnerAnswer& answer = *oracle.partner_answer();
    if (answer.kind == Kind::Useless) {
      out_.broken = answer.text;
    } else if (answer.kind == Kind::Refused) {
      if (out_.refused++ == 0) out_.why_refused = answer.text;
    } else if (!symptom) {
      ++out_.compared;
    } else if (symptom->kind == SymptomKind::Values && !lasts(module, *symptom)) {
      ++out_.not_lasting;
    } else {
      ++out_.compared;
      add(seed, module, *symptom);
    }
  }

  // On other inputs too: a result that is rounded differs for single ones.
  bool lasts(const ir::Module* module, const Symptom& symptom) {
    const Borrow borrow(session_);
    session_.options().seed ^= kNextInputs;
    const auto again = Oracle(session_, question()).ask(module);
    return again && *again == symptom;
  }

  void add(std::uint64_t seed, const ir::Module* module, const Symptom& symptom) {
    AgainstFinding f;
    f.seed = seed;
    f.seeds = {seed};
    f.symptom = symptom;
    f.module = module;
    f.question = question();
    f.default_dim = session_.options().default_dim;
    f.question.keep_defined = true;
    if (symptom.kind == SymptomKind::Values) read_dump_of(f);
    f.group = group_of(f);
    for (AgainstFinding& known : out_.findings)
      if (known.group == f.group) {
        ++known.programs;
        known.seeds.push_back(seed);
        return;
      }
    shrink(f);
    read_dump_of(f);
    out_.findings.push_back(std::move(f));
  }

  // By the symptom, and for wrong values by the pass and the kind of computation that the dump tells. Without them each
  // program is a finding of its own.
  static std::string group_of(const AgainstFinding& f) {
    if (f.symptom.kind != SymptomKind::Values)
      return fmt::format("{}: {} {} {}", to_string(f.symptom.kind), f.symptom.pass, f.symptom.id, f.symptom.form);
    if (!f.dump || f.dump->verdict != TraceBisection::Verdict::Found) return fmt::format("seed {}", f.seed);
    const std::string pass = f.dump->stages[f.dump->bad].pass;
    if (f.dump->kernel) return fmt::format("{}: {}", pass, stem(f.dump->kernel->kernel));
    return fmt::format("{}: {}", pass, f.dump->comparison.first ? stem(f.dump->comparison.first->callee) : "");
  }

  void shrink(AgainstFinding& f) {
    ReduceOptions reduction;
    reduction.jobs = options_.jobs;
    reduction.seconds = options_.reduce_seconds;
    reduction.candidate_seconds = 2 * partner_.options().seconds + kRunHere;
    if (options_.progress)
      reduction.progress = [this](const ProgramSize&, std::size_t, const std::string&) {
        options_.progress(out_.programs, out_.findings.size());
      };
    const Reduction r = reduce(session_, f.module, f.question, reduction);
    f.minimal = r.module ? minimality(r) : "it is not reduced: " + r.why;
    if (!r.module) return;
    f.module = r.module;
    f.symptom = r.symptom;
    f.question.inputs = r.inputs;
  }

  // The partner is asked once more, to leave the stages of its pipeline.
  void read_dump_of(AgainstFinding& f) {
    const support::TemporaryFolder folder("dump");
    Oracle oracle(session_, f.question);
    PartnerQuestion q;
    q.module = f.module;
    q.passes = partner_.options().passes;
    q.ir_folder = folder.path();
    if (oracle.start(f.module)) q.arguments = &oracle.arguments();
    (void)partner_.ask(q);
    if (stage_files(folder.path()).empty()) return;
    Followed what;  // its first stage is the module before the first pass
    what.function = f.question.function;
    what.inputs = f.question.inputs;
    f.dump = bisect_trace(session_, folder.path(), options_.tolerances, what);
  }

  session::Session& session_;
  const Partner& partner_;
  const AgainstOptions& options_;
  AgainstReport& out_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

AgainstReport fuzz_against(session::Session& session, const Partner& partner, const AgainstOptions& options) {
  AgainstReport out;
  out.partner = partner.name();
  const Borrow borrow(session);
  try {
    Against(session, partner, options, out).run();
  } catch (const support::Cancelled&) {
    support::acknowledge_cancel();  // results so far are kept, and reported
  }
  return out;
}

}  // namespace rldb::repro
