// Runs work that may be cancelled, run out of memory or meet an internal error, and reports how it ended.
#include "rldb/ui/terminal/guarded.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>

#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::ui {

using support::CancelCause;

namespace {

Abandoned out_of_memory() {
  const support::MemoryLimitExempt exempt;
  return {source::message(diag::MemoryExhausted, size_text(support::memory_limit())), kFailed};
}

Abandoned cancelled(CancelCause cause, double seconds) {
  const support::MemoryLimitExempt exempt;
  switch (cause) {
    case CancelCause::Timeout:
      return {source::message(diag::TimedOut, seconds), kTimeout};
    case CancelCause::Memory:
      return out_of_memory();
    case CancelCause::None:
    case CancelCause::Interrupt:
      break;
  }
  return {source::message(diag::Interrupted), 128 + SIGINT};
}

void exit_timed_out() { ::_exit(kTimeout); }

bool g_second_ends = false;

void on_interrupt(int) {
  if (g_second_ends && support::cancel_flag()) ::_exit(128 + SIGINT);
  support::request_cancel(CancelCause::Interrupt);
}

}  // namespace

namespace {

// Whatever follows the work, first of all reporting it, is not cancelled with it.
struct Acknowledged {
  ~Acknowledged() { support::acknowledge_cancel(); }
};

}  // namespace

std::optional<Abandoned> run_guarded(const std::function<void()>& work, double seconds, bool exit_when_stuck) {
  support::clear_cancel();
  const Acknowledged at_end;
  const support::Deadline deadline(seconds, 2, exit_when_stuck ? exit_timed_out : nullptr);
  try {
    work();
    return std::nullopt;
  } catch (const support::Cancelled& stop) {
    return cancelled(stop.cause(), seconds);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    const support::MemoryLimitExempt exempt;
    return Abandoned{source::message(diag::InternalFault, error.what()), kInternal, true};
  }
}

void install_interrupt(bool second_ends) {
  g_second_ends = second_ends;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

std::optional<std::size_t> parse_size(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !(value > 0)) return std::nullopt;
  std::string_view unit = text.substr(std::size_t(parsed.ptr - text.data()));
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with("B"))
    unit.remove_suffix(1);
  if (unit.size() > 1) return std::nullopt;
  if (!unit.empty()) {
    const auto power = std::string_view("KMGT").find(unit[0] >= 'a' ? char(unit[0] - 'a' + 'A') : unit[0]);
    if (power == std::string_view::npos) return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) value *= 1024;
  }
  if (value < 1 || value > 1e18) return std::nullopt;
  return std::size_t(value);
}

std::string size_text(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = double(bytes);
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

}  // namespace rldb::ui
