// Requests between the two threads.
#include "protocol/dap/traffic.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "rldb/support/cancel.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::protocol::dap {

namespace {

constexpr RequestRow kRequests[] = {
#define RLDB_DAP_REQUEST(id, name, needs, while_running) {name, Needs::needs, WhileRunning::while_running},
#include "rldb/protocol/dap_request.def"
};

constexpr std::size_t kMaxWaiting = 1024;  // a client that only writes must not fill the memory
// For work that does not stop when the client has gone: a packed function that never returns.
constexpr std::chrono::seconds kGrace(5);

WhileRunning fate_of(const Request& request) {
  const RequestRow* row = find_request(request.command);
  return row ? row->while_running : WhileRunning::Waits;
}

}  // namespace

const RequestRow* find_request(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kRequests), std::end(kRequests), [&](const RequestRow& r) { return r.name == name; });
  return row == std::end(kRequests) ? nullptr : row;
}

bool Traffic::take(Message message) {
  try {
    auto request = message.fault ? support::Result<Request, Unreadable>(support::Failure(Unreadable{message.fault, {}}))
                                 : read_message(message.text);
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (request.ok())
      accept(std::move(*request));
    else if (!request.error().request.command.empty())
      channel_.fail(request.error().request, {request.error().message});
    else if (!request.error().message.empty())
      channel_.output("important", fmt::format("a message could not be read: {}\n", request.error().message));
  } catch (const std::bad_alloc&) {  // of the program under debug: the message is lost
  }
  return true;
}

void Traffic::accept(Request request) {
  if (request.command == "cancel") return cancel(request);
  // Otherwise it waits its turn: a run that was asked for before it may be about to begin.
  if (request.command == "pause" && (mode_ == Mode::Running || (mode_ == Mode::Working && is_entry_))) {
    run_.paused = mode_ == Mode::Running;
    interrupt();
    return channel_.reply(request, {});
  }
  if (waiting_.size() >= kMaxWaiting) return channel_.fail(request, {"too many requests are waiting"});
  if (mode_ == Mode::Running) return during_run(std::move(request));
  if (fate_of(request) == WhileRunning::Ends && mode_ == Mode::Working) interrupt();
  waiting_.push_back(std::move(request));
  changed_.notify_all();
}

void Traffic::interrupt() { support::request_cancel(support::CancelCause::Interrupt); }

void Traffic::during_run(Request request) {
  switch (fate_of(request)) {
    case WhileRunning::Threads:
      return channel_.reply(request, threads_);
    case WhileRunning::Refused:
      return channel_.fail(request, {"the program is running: pause it first", false});
    case WhileRunning::Between:
      run_.between = true;
      interrupt();
      break;
    case WhileRunning::Ends:
      run_.ending = true;
      interrupt();
      break;
    case WhileRunning::Waits:
      break;
  }
  waiting_.push_back(std::move(request));
}

// Of the work at hand, or of a request that waits.
void Traffic::cancel(const Request& request) {
  const auto id = request.arguments.find("requestId");
  const bool has_id = id != request.arguments.end() && id->is_number_integer();
  if (has_id) {
    const auto seq = id->get<std::int64_t>();
    const auto at =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Request& waiting) { return waiting.seq == seq; });
    if (at != waiting_.end()) {
      channel_.fail(*at, {"cancelled"});
      waiting_.erase(at);
    } else if (mode_ != Mode::Idle && current_ == seq) {
      interrupt();
    }
  } else if (mode_ != Mode::Idle && request.arguments.contains("progressId")) {
    run_.paused = mode_ == Mode::Running;
    interrupt();
  }
  channel_.reply(request, {});
}

void Traffic::end() {
  std::unique_lock lock(mutex_);
  ended_ = true;
  run_.ending = true;
  if (mode_ != Mode::Idle) interrupt();
  changed_.notify_all();
  if (!changed_.wait_for(lock, kGrace, [this] { return closed_ || mode_ == Mode::Idle; })) ::_exit(ui::kGood);
}

std::optional<Request> Traffic::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  Request request = std::move(waiting_.front());
  waiting_.pop_front();
  mode_ = Mode::Working;
  current_ = request.seq;
  is_entry_ = request.command == "evaluate" || request.command == "rldb/command";
  run_ = {};
  support::clear_cancel();
  return request;
}

void Traffic::done() {
  const std::lock_guard lock(mutex_);
  mode_ = Mode::Idle;
  changed_.notify_all();
}

void Traffic::begin_run(Json threads) {
  const std::lock_guard lock(mutex_);
  threads_ = std::move(threads);
  mode_ = Mode::Running;
  run_ = {};
  run_.ending = ended_;
  if (ended_) interrupt();
  for (std::deque<Request> before = std::exchange(waiting_, {}); !before.empty(); before.pop_front())
    accept(std::move(before.front()));
}

Traffic::RunEnd Traffic::end_run() {
  const std::lock_guard lock(mutex_);
  mode_ = Mode::Working;
  support::clear_cancel();
  return run_;
}

std::optional<Request> Traffic::next_between() {
  const std::lock_guard lock(mutex_);
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    if (fate_of(*it) != WhileRunning::Between) continue;
    Request request = std::move(*it);
    waiting_.erase(it);
    return request;
  }
  return std::nullopt;
}

void Traffic::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace rldb::protocol::dap
