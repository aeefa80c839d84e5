// The loop: generate, run here, ask the partner, confirm on other inputs, reduce, read the dump. Of a job's ranks each
// looks at programs, beside a partner of its own; rank 0 takes what they saw, and reduces.
#include "rldb/repro/against.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
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
constexpr double kRunHere = 10;    // seconds of a candidate beside the partner's
constexpr std::size_t kAhead = 3;  // answers of each other rank that may wait for one before them

// One program beside the partner, as the answer of a child process or of another rank.
struct Beside {
  // None: the seed makes no program. Died: rldb itself, a reason that is told before others.
  enum class Outcome : std::uint8_t { None, Died, NotRunHere, Useless, Refused, Agrees, NotLasting, Differs } outcome;
  std::string why;  // of Died to Refused
  std::optional<Symptom> symptom;
};
using Outcome = Beside::Outcome;

std::string wire_of(const Beside& b) { return to_parts({std::to_string(int(b.outcome)), b.why, to_wire(b.symptom)}); }

std::optional<Beside> beside_from(std::string_view bytes) {
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() != 3 || (*parts)[0].size() != 1) return std::nullopt;
  return Beside{Beside::Outcome((*parts)[0][0] - '0'), (*parts)[1], from_wire((*parts)[2])};
}

Question question_for(const Partner& partner, const Tolerances& tolerances) {
  Question q;
  q.kind = OracleKind::Command;
  q.partner = &partner;
  q.tolerances = tolerances;
  return q;
}

// Looks at programs in child processes.
class Looker {
 public:
  Looker(session::Session& session, const Partner& partner, const Tolerances& tolerances)
      : session_(session), partner_(partner), tolerances_(tolerances) {}

  std::unique_ptr<ChildProcess> start(std::uint64_t seed) {
    const ChildLimits limits{partner_.options().start_seconds + 2 * partner_.options().seconds + kRunHere};
    return std::make_unique<ChildProcess>(limits, [this, seed]() -> std::string {
      const auto made = generate(session_, seed);
      if (!made) return wire_of({Outcome::None, {}, {}});
      session_.options().default_dim = made->dim;
      return wire_of(look_at(made->module));
    });
  }

  static Beside seen(ChildProcess& child, std::uint64_t seed) {
    const auto answer = child.answer();
    if (const auto beside = answer ? beside_from(*answer) : std::nullopt) return *beside;
    const int signal = child.signal();
    if (child.is_late() || signal == SIGXCPU || signal == SIGKILL)
      return {Outcome::NotRunHere, "it takes too long", {}};
    return {Outcome::Died,
            signal == 0 ? fmt::format("rldb ends without an answer (seed {})", seed)
                        : fmt::format("rldb ends with signal {} (seed {})", signal, seed),
            {}};
  }

  Question question() const { return question_for(partner_, tolerances_); }

 private:
  Beside look_at(const ir::Module* module) {
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

  session::Session& session_;
  const Partner& partner_;
  const Tolerances& tolerances_;
};

// Seeds as a question to another rank.
std::string wire_of(const std::vector<std::uint64_t>& seeds) {
  std::vector<std::string> parts;
  for (const std::uint64_t seed : seeds) parts.push_back(std::to_string(seed));
  return to_parts(parts);
}

std::vector<std::uint64_t> seeds_from(std::string_view bytes) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& part : from_parts(bytes).value_or(std::vector<std::string>())) {
    std::uint64_t seed = 0;
    std::from_chars(part.data(), part.data() + part.size(), seed);
    seeds.push_back(seed);
  }
  return seeds;
}

class Against {
 public:
  Against(session::Session& session, const Partner& partner, const AgainstOptions& options, AgainstReport& out)
      : session_(session),
        partner_(partner),
        options_(options),
        looker_(session, partner, options_.tolerances),
        seeds_(options.seed),
        out_(out) {
    if (options.ranks && options.ranks->size() > 1) ranks_.emplace(*options.ranks);
  }

  void run() {
    while (!is_over() && out_.broken.empty()) {
      support::poll();
      start();
      if (!is_ready(running_.front())) {
        wait_for_messages();
        continue;
      }
      take(running_.front());
      running_.pop_front();
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

 private:
  // Programs are looked at as many at a time as there are processes of partners, and the answers are taken in the order
  // of the seeds: the report does not depend on their number. One program here, or several on another rank.
  struct Running {
    std::vector<std::uint64_t> seeds;
    std::unique_ptr<ChildProcess> child;  // null: another rank has them
    Clock::time_point begun = Clock::now();
    int rank = 0;
    std::size_t question = 0;
    std::optional<std::string> heard;  // from that rank
  };

  void start() {
    while (ranks_ && running_.size() < kAhead * std::size_t(ranks_->others()) && ranks_->is_one_free()) {
      Running r;
      for (unsigned i = 0; i < jobs(); ++i) r.seeds.push_back(seeds_.next());
      const auto rank = ranks_->give(wire_of(r.seeds));
      if (rank) {
        r.rank = *rank;
        r.question = ranks_->last_question();
        running_.push_back(std::move(r));
      } else {
        for (const std::uint64_t seed : r.seeds) start_here(seed);
      }
    }
    while (std::count_if(running_.begin(), running_.end(), [](const Running& r) { return r.child != nullptr; }) <
           std::ptrdiff_t(jobs()))
      start_here(seeds_.next());
  }

  void start_here(std::uint64_t seed) {
    Running r;
    r.seeds = {seed};
    r.child = looker_.start(seed);
    running_.push_back(std::move(r));
  }

  // A rank that is alone waits for its child itself.
  bool is_ready(Running& r) {
    if (r.child) return !ranks_ || r.child->is_done();
    if (!r.heard) r.heard = ranks_->heard(r.rank, r.question);
    return r.heard.has_value();
  }

  void take(Running& r) {
    if (r.child) {
      const Beside seen = looker_.seen(*r.child, r.seeds.front());
      if (ranks_) ranks_->took(Clock::now() - r.begun);
      return add(r.seeds.front(), seen);
    }
    const auto answers = from_parts(*r.heard).value_or(std::vector<std::string>());
    for (std::size_t i = 0; i < r.seeds.size() && !is_over() && out_.broken.empty(); ++i) {
      auto seen = i < answers.size() ? beside_from(answers[i]) : std::nullopt;
      // The rank has left, is late, or could not look.
      if (!seen) seen = looker_.seen(*looker_.start(r.seeds[i]), r.seeds[i]);
      if (seen->outcome == Outcome::Useless) seen->why = fmt::format("of rank {}: {}", r.rank, seen->why);
      add(r.seeds[i], *seen);
    }
  }

  void add(std::uint64_t seed, const Beside& seen) {
    if (seen.outcome == Outcome::None) return;
    ++out_.programs;
    switch (seen.outcome) {
      case Outcome::None:
        break;
      case Outcome::Died:
        ++out_.not_run_here;
        out_.why_not_run_here = seen.why;
        break;
      case Outcome::NotRunHere:
        note(out_.not_run_here, out_.why_not_run_here, seen.why);
        break;
      case Outcome::Useless:
        out_.broken = seen.why;
        break;
      case Outcome::Refused:
        note(out_.refused, out_.why_refused, seen.why);
        break;
      case Outcome::NotLasting:
        ++out_.not_lasting;
        break;
      case Outcome::Agrees:
        ++out_.compared;
        break;
      case Outcome::Differs:
        ++out_.compared;
        const auto made = generate(session_, seed);
        session_.options().default_dim = made->dim;
        add_finding(seed, made->module, *seen.symptom);
        break;
    }
  }

  static void note(std::size_t& count, std::string& why, const std::string& reason) {
    if (count++ == 0) why = reason;
  }

  unsigned jobs() const { return std::max(1u, options_.jobs); }

  bool is_over() const {
    if (options_.programs > 0 && out_.programs >= options_.programs) return true;
    return options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  void add_finding(std::uint64_t seed, const ir::Module* module, const Symptom& symptom) {
    AgainstFinding f;
    f.seed = seed;
    f.seeds = {seed};
    f.symptom = symptom;
    f.module = module;
    f.question = looker_.question();
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
  Looker looker_;
  Random seeds_;
  AgainstReport& out_;
  std::optional<OtherRanks> ranks_;
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

void answer_against(session::Session& session, const Partner* partner, const std::string& why_none,
                    const Tolerances& tolerances, unsigned jobs, support::Ranks& ranks) {
  const Borrow borrow(session);
  answer_rank_0(ranks, [&](const std::string& question) {
    std::vector<std::uint64_t> seeds = seeds_from(question);
    std::vector<std::string> answers;
    if (!partner) answers.assign(seeds.size(), wire_of(Beside{Outcome::Useless, why_none, {}}));
    while (answers.size() < seeds.size()) {
      std::vector<std::unique_ptr<ChildProcess>> children;
      Looker looker(session, *partner, tolerances);
      const std::size_t first = answers.size(), count = std::min<std::size_t>(std::max(1u, jobs), seeds.size() - first);
      for (std::size_t i = 0; i < count; ++i) children.push_back(looker.start(seeds[first + i]));
      for (std::size_t i = 0; i < count; ++i) answers.push_back(wire_of(looker.seen(*children[i], seeds[first + i])));
    }
    return to_parts(answers);
  });
}

}  // namespace rldb::repro
