// Fuzzer of Relay programs.
#include <fmt/format.h>

#include <chrono>
#include <set>

#include "repro/borrow.h"
#include "repro/fuzz/gather.h"
#include "repro/fuzz/random.h"
#include "repro/fuzz/relay/program.h"
#include "repro/oracle/leaves.h"
#include "repro/values.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_fuzz.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;
using runtime::Value;

// As for Relax programs: long chains of correct steps may differ by this much.
constexpr runtime::Tolerance kTolerance{1e-3, 1e-2};

class RelayFuzzer {
 public:
  RelayFuzzer(session::Session& session, const FuzzOptions& options, RelayFuzzReport& out)
      : session_(session), options_(options), out_(out) {}

  void run() {
    Random seeds(options_.seed);
    const auto parts = options_.ranks ? std::size_t(options_.ranks->size()) : 1;
    const auto own = options_.ranks ? std::size_t(options_.ranks->rank()) : 0;
    for (std::size_t given = 0; !is_over(given); ++given) {
      support::poll();
      const std::uint64_t seed = seeds.next();
      if (given % parts != own) continue;
      look_at(seed);
      ++out_.programs;
      if (options_.progress) options_.progress(out_.programs, out_.findings.size());
    }
  }

 private:
  bool is_over(std::size_t given) const {
    if (options_.programs > 0 && given >= options_.programs) return true;
    return options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds;
  }

  void look_at(std::uint64_t seed) {
    const Borrow borrow(session_);
    session_.options().tolerance = kTolerance;
    const std::string text = generate_relay(seed);
    source::Diagnostics found;
    if (!load(text, session::Machine::Relay, found)) return not_run(seed, "it does not load: " + found.first_error());
    const auto* program = session::relay_text(session_.program());
    const auto passes = pipeline::parse(program->passes(), options_.passes, session_.sources(), found);
    if (!passes) return not_run(seed, found.first_error());
    look_at_passes(seed, *program, *passes);
    look_at_translation(seed, text);
  }

  bool load(const std::string& text, session::Machine machine, source::Diagnostics& found) {
    session_.options().machine = machine;
    return session_.load_text("fuzz.relay", text, found);
  }

  void not_run(std::uint64_t seed, const std::string& why) {
    if (reasons_.insert(form_of(why)).second) out_.not_run.push_back(fmt::format("seed {}: {}", seed, why));
  }

  void look_at_passes(std::uint64_t seed, const session::RelayText& program,
                      const std::vector<pipeline::Invocation>& passes) {
    const std::unique_ptr<session::Program> copy = program.copy();
    const auto& own = static_cast<const session::RelayText&>(*copy);
    Question q;
    const PassBisection b = bisect_relay(session_, own, passes, q);
    if (b.verdict == PassBisection::Verdict::CannotTell) return not_run(seed, b.why);
    ++out_.compared;
    if (b.verdict == PassBisection::Verdict::None) return;
    RelayFuzzFinding f{seed, options_.passes, to_string(b), {}};
    ReduceOptions reduction;
    reduction.seconds = options_.reduce_seconds;
    const RelayReduction r = reduce_relay(session_, own, passes, q, reduction);
    if (r.module) f.passes = r.passes;
    f.program = relay::print(r.module ? r.module : own.module());
    out_.findings.push_back(std::move(f));
  }

  void look_at_translation(std::uint64_t seed, const std::string& text) {
    std::string why;
    source::Diagnostics found;
    session_.options().engine = session::Engine::Jit;
    std::optional<std::vector<Value>> relay, relax;
    if (load(text, session::Machine::Relay, found)) relay = run(found);
    if (!relay) return not_run(seed, "it fails on the Relay VM: " + found.first_error());
    session_.options().engine = session::Engine::Eval;
    if (!load(text, session::Machine::Relax, found))
      return not_run(seed, "it is not translated: " + found.first_error());
    relax = run(found);
    if (!relax) return not_run(seed, "the translation does not run: " + found.first_error());
    ++out_.translated;
    std::string difference;
    if (relay->size() != relax->size())
      difference = fmt::format("{} and {}", support::counted(relay->size(), "result"), relax->size());
    for (std::size_t i = 0; i < relay->size() && difference.empty(); ++i)
      difference = runtime::compare((*relax)[i], (*relay)[i], kTolerance);
    if (!difference.empty()) out_.findings.push_back({seed, {}, "the translation to Relax: " + difference, text});
  }

  // The leaves of the result on made-up arguments, which both sides get alike.
  std::optional<std::vector<Value>> run(source::Diagnostics& found) {
    auto made = session_.arguments(support::kEntryFunction, {}, found);
    if (!made) return std::nullopt;
    std::vector<Value> args;
    for (const session::Argument& a : *made) args.push_back(a.value);
    const session::RunResult result = session_.run(support::kEntryFunction, args, found);
    support::poll_cause();
    if (!result.ok) return std::nullopt;
    std::vector<Value> leaves;
    flatten(result.value, leaves);
    return leaves;
  }

  session::Session& session_;
  const FuzzOptions& options_;
  RelayFuzzReport& out_;
  std::set<std::string> reasons_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

RelayFuzzReport fuzz_relay(session::Session& session, const FuzzOptions& options) {
  RelayFuzzReport out;
  const Borrow borrow(session);
  try {
    RelayFuzzer(session, options, out).run();
  } catch (const support::Cancelled&) {
    support::acknowledge_cancel();  // results so far are kept, and reported
  }
  if (options.ranks) gather(*options.ranks, out);
  return out;
}

std::string to_string(const RelayFuzzReport& r) {
  std::string text = fmt::format("{} Relay programs, {} of them compared, {} with their translation to Relax: {}",
                                 r.programs, r.compared, r.translated, support::counted(r.findings.size(), "finding"));
  for (const RelayFuzzFinding& f : r.findings) {
    text += fmt::format("\n\nseed {}: {}\n", f.seed, f.text);
    if (!f.passes.empty()) text += "passes: " + f.passes + "\n";
    text += f.program;
  }
  if (!r.not_run.empty()) text += "\n\nnot run or not compared, each reason once:";
  for (const std::string& why : r.not_run) text += "\n  " + why;
  return text;
}

}  // namespace rldb::repro
