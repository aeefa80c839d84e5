// Output events and progress.
#include "protocol/dap/client_console.h"

#include <fmt/format.h>

#include <utility>

namespace rldb::protocol::dap {

void ClientConsole::write(std::string_view text) {
  if (!held_) return channel_.output(category_, text);
  kept_.text += text;
  if (kept_.text.size() > kMostHeld) channel_.output(category_, std::exchange(kept_.text, {}));
}

void ClientConsole::error(std::string_view text) {
  if (!held_ && !errors_held_) return channel_.output("stderr", text);
  kept_.errors += text;
  if (kept_.errors.size() > kMostHeld) channel_.output("stderr", std::exchange(kept_.errors, {}));
}

ClientConsole::Held ClientConsole::release() {
  held_ = false;
  return std::exchange(kept_, {});
}

std::string ClientConsole::release_errors() {
  errors_held_ = false;
  return held_ ? std::string() : std::exchange(kept_.errors, {});
}

void ClientConsole::doing(std::string_view what) {
  constexpr std::chrono::milliseconds kPatience(500), kBetween(200);
  const auto now = std::chrono::steady_clock::now();
  if (!progress_ || now - began_ < kPatience || now - told_ < kBetween) return;
  told_ = now;
  const bool first = progress_id_ == 0;
  if (first) progress_id_ = next_progress_++;
  Json body{{"progressId", fmt::format("{}", progress_id_)}};
  body[first ? "title" : "message"] = what;
  if (first) body["cancellable"] = true;
  channel_.event(first ? "progressStart" : "progressUpdate", std::move(body));
}

void ClientConsole::end_work() {
  if (progress_id_ != 0)
    channel_.event("progressEnd", {{"progressId", fmt::format("{}", std::exchange(progress_id_, 0))}});
}

}  // namespace rldb::protocol::dap
