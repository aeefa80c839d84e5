// The loop: generate, run here, ask the partner, confirm on other inputs, reduce, read the dump.
#include "rldb/repro/against.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
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
constexpr double kRunHere = 10;   // seconds of a candidate beside the partner's
constexpr double kOnTheWay = 10;  // seconds that an answer of another rank may take beyond those of a process here

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

// The answer of the process that looked at one program, or how it ended.
struct Looked {
  std::string said;
  bool is_late = false;
  int signal = 0;
};

std::string wire_of(const Looked& l) { return to_parts({l.said, l.is_late ? "1" : "0", std::to_string(l.signal)}); }

std::optional<Looked> looked_from(std::string_view bytes) {
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() != 3) return std::nullopt;
  Looked l{(*parts)[0], (*parts)[1] == "1", 0};
  std::from_chars((*parts)[2].data(), (*parts)[2].data() + (*parts)[2].size(), l.signal);
  return l;
}

Looked looked(ChildProcess& child) {
  Looked l;
  l.said = child.answer().value_or("");
  l.is_late = child.is_late();
  l.signal = child.signal();
  return l;
}

class Against {
 public:
  Against(session::Session& session, const Partner& partner, const AgainstOptions& options, AgainstReport& out)
      : session_(session), partner_(partner), options_(options), out_(out) {
    if (options.ranks && options.ranks->size() > 1) others_.emplace(*options.ranks);
  }

  void run() {
    Random seeds(options_.seed);
    while (!is_over() && out_.broken.empty()) {
      support::poll();
      start_some(seeds);
      Running first = std::move(running_.front());
      running_.pop_front();
      take(first);
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

  // For rank 0: what one process says of the program of this seed.
  std::string answer_to(const std::string& question) {
    std::uint64_t seed = 0;
    std::from_chars(question.data(), question.data() + question.size(), seed);
    return wire_of(looked(*process(seed)));
  }

 private:
  // Programs are looked at in child processes, as many at a time as the partner has processes, and one on each other
  // rank. Their answers are taken in the order of the seeds: the report does not depend on their number.
  struct Running {
    std::uint64_t seed;
    std::unique_ptr<ChildProcess> child;  // null: another rank has it
    int rank = 0;
    std::size_t question = 0;
    Clock::time_point until;
  };

  void start_some(Random& seeds) {
    for (;;) {
      const bool elsewhere = others_ && others_->is_one_free();
      if (!elsewhere && here_ >= std::max(1u, options_.jobs)) return;
      const std::uint64_t seed = seeds.next();
      if (const auto rank = elsewhere ? others_->give(std::to_string(seed)) : std::nullopt) {
        const auto until = Clock::now() + std::chrono::milliseconds(std::int64_t(1000 * (seconds() + kOnTheWay)));
        running_.push_back({seed, nullptr, *rank, others_->last_question(), until});
        continue;
      }
      running_.push_back({seed, process(seed), 0, 0, {}});
      ++here_;
    }
  }

  double seconds() const { return partner_.options().start_seconds + 2 * partner_.options().seconds + kRunHere; }

  std::unique_ptr<ChildProcess> process(std::uint64_t seed) {
    return std::make_unique<ChildProcess>(ChildLimits{seconds()}, [this, seed]() -> std::string {
      const auto made = generate(session_, seed);
      if (!made) return "none";
      session_.options().default_dim = made->dim;
      return wire_of(look_at(made->module));
    });
  }

  Looked wait_for(Running& running) {
    while (!running.child && Clock::now() < running.until) {
      support::poll();
      const auto heard = others_->heard(running.rank, running.question);
      if (heard && heard->empty()) break;  // it has left
      if (auto l = heard ? looked_from(*heard) : std::nullopt) return *l;
      wait_for_messages();
    }
    if (!running.child) return looked(*process(running.seed));
    --here_;
    return looked(*running.child);
  }

  void take(Running& running) {
    const Looked looked = wait_for(running);
    if (looked.said == "none") return;
    ++out_.programs;
    const auto seen = beside_from(looked.said);
    using Outcome = Beside::Outcome;
    if (!seen)
      note_death(running.seed, looked);
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
  void note_death(std::uint64_t seed, const Looked& how) {
    if (how.is_late || how.signal == SIGXCPU || how.signal == SIGKILL)
      return note(out_.not_run_here, out_.why_not_run_here, "it takes too long");
    ++out_.not_run_here;
    out_.why_not_run_here = how.signal == 0 ? fmt::format("rldb ends without an answer (seed {})", seed)
                                            : fmt::format("rldb ends with signal {} (seed {})", how.signal, seed);
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
  std::optional<OtherRanks> others_;
  std::deque<Running> running_;
  std::size_t here_ = 0;  // of them in child processes of this one
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

void answer_fuzz_against(session::Session& session, const Partner* partner, const std::string& why,
                         const AgainstOptions& options) {
  if (!partner) {
    const std::string of_no_use =
        wire_of(Looked{wire_of(Beside{Beside::Outcome::Useless, "on another rank: " + why, {}})});
    return answer_rank_0(*options.ranks, [&](const std::string&) { return of_no_use; });
  }
  const Borrow borrow(session);
  AgainstReport unused;
  AgainstOptions alone = options;
  alone.ranks = nullptr;
  Against against(session, *partner, alone, unused);
  answer_rank_0(*options.ranks, [&](const std::string& question) { return against.answer_to(question); });
}

}  // namespace rldb::repro
