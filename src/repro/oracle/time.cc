// Measures runs on the machine by the processor time of the process.
#include "repro/oracle/time.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>

#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/session/prepare.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

constexpr int kMeasured = 3;  // times, of which the shortest counts
// The clock of a process may tick only a hundred times a second: short runs are repeated.
constexpr double kLeast = 0.05;  // seconds
constexpr int kMostRuns = 500;
constexpr double kLongest = 100'000;  // seconds
constexpr double kShortest = 1e-6;
constexpr double kLargestFactor = 0x1p20;
// Without a limit: the run before the first pass has to end, too.
constexpr double kUnlimited = 60;

std::atomic<bool> g_expired = false;

void on_expiry(int) {
  g_expired = true;
  support::request_cancel(support::CancelCause::Timeout);
}

void arm(double seconds) {
  const double whole = std::floor(seconds);
  const ::timeval first{::time_t(whole), ::suseconds_t((seconds - whole) * 1e6)};
  const ::itimerval timer{{0, 0}, first};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// One run, whose time is added to `spent`; copies of the arguments are not counted. False: it failed (`why`).
bool run_once(session::Session& session, const session::Build& build, const std::string& function,
              const std::vector<runtime::Value>& args, CpuClock::duration& spent, std::string& why) {
  const std::vector<runtime::Value> own = copies(args);
  source::Diagnostics found;
  auto machine = session.start(build, function, own, found);
  support::poll_cause();
  if (!machine) {
    why = found.first_error();
    return false;
  }
  vm::Hook nobody;
  const CpuClock::time_point begin = CpuClock::now();
  const vm::Outcome outcome = machine->run(nobody);
  spent += CpuClock::now() - begin;
  support::poll_cause();
  if (outcome.finished()) return true;
  why = outcome.faulted() ? outcome.fault->error.message : std::string("it does not end");
  return false;
}

}  // namespace

CpuLimit::CpuLimit(double seconds) : start_(CpuClock::now()) {
  g_expired = false;
  struct sigaction action {};
  action.sa_handler = on_expiry;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  arm(std::clamp(seconds, kShortest, kLongest));
}

// An expiry that nobody took concerned work that had already ended.
CpuLimit::~CpuLimit() {
  arm(0);
  take_expiry();
}

double CpuLimit::spent() const { return std::chrono::duration<double>(CpuClock::now() - start_).count(); }

bool CpuLimit::take_expiry() {
  if (!g_expired.exchange(false) || support::cancel_cause() != support::CancelCause::Timeout) return false;
  support::clear_cancel();
  return true;
}

std::optional<TimeLimit> parse_time_limit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  const std::string_view unit(end, std::size_t(text.data() + text.size() - end));
  if (unit == "x") return number >= 1 && number <= kLargestFactor ? std::optional(TimeLimit{0, number}) : std::nullopt;
  const double seconds = unit == "ms" ? number / 1000 : number;
  const bool known = unit.empty() || unit == "s" || unit == "ms";
  return known && seconds >= kShortest && seconds <= kLongest ? std::optional(TimeLimit{seconds, 1}) : std::nullopt;
}

std::string to_string(const TimeLimit& limit) {
  return limit.seconds > 0 ? fmt::format("{}s", limit.seconds) : fmt::format("{}x", limit.times);
}

MeasuredTime measure_time(session::Session& session, const ir::Module* module, const std::string& function,
                          const std::vector<runtime::Value>& args, double enough) {
  const Borrow borrow(session);
  session.set_program(module);
  if (session.options().engine == session::Engine::Eval) session.options().engine = session::Engine::Vm;
  source::Diagnostics found;
  MeasuredTime out;
  const auto build = session.build(found);
  support::poll_cause();
  if (!build) {
    out.why = found.first_error();
    return out;
  }
  session::prepare_kernels(*build, function);
  const double limit = enough > 0 ? enough * kHopeless : kUnlimited;
  for (int i = 0; i < kMeasured; ++i) {
    CpuLimit cap(std::max(limit, 2 * kLeast));
    int runs = 0;
    CpuClock::duration spent{};
    try {
      do {
        if (!run_once(session, *build, function, args, spent, out.why)) return out;
        ++runs;
      } while (cap.spent() < kLeast && runs < kMostRuns);
    } catch (const support::Cancelled&) {
      if (!cap.take_expiry()) throw;
      if (runs == 0) {
        out.stopped = true;
        out.seconds = cap.spent();
        return out;
      }
    }
    const double seconds = std::chrono::duration<double>(spent).count() / runs;
    out.seconds = std::min(out.seconds.value_or(seconds), seconds);
    if (enough > 0 && *out.seconds <= enough) break;
  }
  return out;
}

}  // namespace rldb::repro
