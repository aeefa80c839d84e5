// The loop: generate, run here, ask the partner, confirm on other inputs, reduce, read the dump.
#include "rldb/repro/against.h"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <deque>
#include <memory>

#include "repro/borrow.h"
#include "repro/compare/match.h"
#include "repro/fuzz/random.h"
#include "repro/other_ranks.h"
#include "repro/reduce/child.h"
#include "rldb/repro/generate.h"
#include "rldb/support/cancel.h"
#include "rldb/support/folder.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNextInputs = 0x5eed;
constexpr double kRunHere = 10;  // seconds of a candidate beside the partner's

// One program beside the partner, as the answer of a child process.
struct Beside {
  enum class Outcome : std::uint8_t { NotRunHere, Useless, Refused, Agrees, NotLasting, Differs } outcome;
  std::string why;  // of the first three
  std::optional<Symptom> symptom;
};

std::string wire_of(const Beside& b) { return to_parts({std::to_string(int(b.outcome)), b.why, to_wire(b.symptom)}); }

std::optional<Beside> beside_from(std::string_view bytes) {
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() != 3 || (*parts)[0].size() != 1) return std::nullopt;
  return Beside{Beside::Outcome((*parts)[0][0] - '0'), (*parts)[1], from_wire((*parts)[2])};
}

class Against {
 public:
  Against(session::Session& session, const Partner& partner, const AgainstOptions& options, AgainstReport& out)
      : session_(session), partner_(partner), options_(options), out_(out) {}

  void run() {
    Random seeds(options_.seed);
    while (!is_over() && out_.broken.empty()) {
      support::poll();
      while (running_.size() < std::max(1u, options_.jobs)) start(seeds.next());
      take(running_.front());
      running_.pop_front();
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

 private:
  // Programs are looked at in child processes, as many at a time as the partner has processes, and their answers are
  // taken in the order of the seeds: the report does not depend on their number.
  struct Running {
    std::uint64_t seed;
    std::unique_ptr<ChildProcess> child;
  };

  void start(std::uint64_t seed) {
    const ChildLimits limits{partner_.options().start_seconds + 2 * partner_.options().seconds + kRunHere};
    running_.push_back({seed, std::make_unique<ChildProcess>(limits, [this, seed]() -> std::string {
                          const auto made = generate(session_, seed);
                          if (!made) return "none";
                          session_.options().default_dim = made->dim;
                          return wire_of(look_at(made->module));
                        })});
  }

  void take(Running& running) {
    const auto answer = running.child->answer();
    if (answer == "none") return;
    ++out_.programs;
    const auto seen = answer ? beside_from(*answer) : std::nullopt;
    using Outcome = Beside::Outcome;
    if (!seen)
      note_death(running);
    else if (seen->outcome == Outcome::NotRunHere)
      note(out_.not_run_here, out_.why_not_run_here, seen->why);
    else if (seen->outcome == Outcome::Useless)
      out_.broken = seen->why;
    else if (seen->outcome == Outcome::Refused)
      note(out_.refused, out_.why_refused, seen->why);
    else if (seen->outcome == Outcome::NotLasting)
      ++out_.not_lasting;
    else
      ++out_.compared;
    if (!seen || seen->outcome != Outcome::Differs) return;
    const auto made = generate(session_, running.seed);
    session_.options().default_dim = made->dim;
    add(running.seed, made->module, *seen->symptom);
  }

  static void note(std::size_t& count, std::string& why, const std::string& reason) {
    if (count++ == 0) why = reason;
  }

  // A crash of rldb itself is told before other reasons.
  void note_death(const Running& running) {
    const ChildProcess& child = *running.child;
    const int signal = child.signal();
    if (child.is_late() || signal == SIGXCPU || signal == SIGKILL)
      return note(out_.not_run_here, out_.why_not_run_here, "it takes too long");
    ++out_.not_run_here;
    out_.why_not_run_here = signal == 0 ? fmt::format("rldb ends without an answer (seed {})", running.seed)
                                        : fmt::format("rldb ends with signal {} (seed {})", signal, running.seed);
  }

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

  Beside look_at(const ir::Module* module) {
    using Outcome = Beside::Outcome;
    const Borrow borrow(session_);
    Oracle oracle(session_, question());
    // Its result would have nothing to be compared with.
    if (!oracle.start(module)) return {Outcome::NotRunHere, oracle.why(), {}};
    const auto symptom = oracle.look(module);
    using Kind = PartnerAnswer::Kind;
    const PartnerAnswer& answer = *oracle.partner_answer();
    if (answer.kind == Kind::Useless) return {Outcome::Useless, answer.text, {}};
    if (answer.kind == Kind::Refused) return {Outcome::Refused, answer.text, {}};
    if (!symptom) return {Outcome::Agrees, {}, {}};
    if (symptom->kind == SymptomKind::Values && !lasts(module, *symptom)) return {Outcome::NotLasting, {}, {}};
    return {Outcome::Differs, {}, symptom};
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
  std::deque<Running> running_;
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
