// rldb mcp [FOLDER...]: a server of the Model Context Protocol on standard input and output, a message a line.
#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <string>

#include "protocol/mcp/server.h"
#include "protocol/message_lines.h"
#include "protocol/standard_streams.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::ui {

namespace {

using namespace protocol;

// The request that is being answered, which another message may cancel, and those that were cancelled while they
// waited.
class Current {
 public:
  // False: it was cancelled before its turn.
  bool begin(const Json& id) {
    const std::lock_guard lock(mutex_);
    const auto before = std::find(cancelled_.begin(), cancelled_.end(), id);
    if (before != cancelled_.end()) {
      cancelled_.erase(before);
      return false;
    }
    id_ = id;
    return true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    id_ = nullptr;
  }
  void cancel(const Json& id) {
    const std::lock_guard lock(mutex_);
    if (id.is_null()) return;
    if (id_ == id) return support::request_cancel(support::CancelCause::Interrupt);
    if (cancelled_.size() == kMaxCancelled) cancelled_.pop_front();  // of requests that were answered long ago
    cancelled_.push_back(id);
  }

 private:
  static constexpr std::size_t kMaxCancelled = 64;
  std::mutex mutex_;
  Json id_;
  std::deque<Json> cancelled_;
};

// Called in the thread that reads.
void look_for_cancellation(const std::string& line, Current& current) {
  if (line.find("notifications/cancelled") == std::string::npos) return;
  Json ignored;
  const auto request = read_request(line, ignored);
  if (request.ok() && *request && (*request)->method == "notifications/cancelled")
    current.cancel((*request)->params.value("requestId", Json()));
}

// None: no reply is due.
std::optional<Json> reply_to(const Message& line, mcp::Server& server, Current& current) {
  if (line.fault) return error_reply(nullptr, {RpcCode::InvalidRequest, line.fault});
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return std::nullopt;
  Json id;
  auto request = read_request(line.text, id);
  if (!request.ok()) return error_reply(id, request.error());
  if (!*request || !(*request)->id) return std::nullopt;
  if (!current.begin(*(*request)->id)) return std::nullopt;
  auto result = server.answer(**request);
  current.end();
  return result.ok() ? reply(*(*request)->id, std::move(*result)) : error_reply(*(*request)->id, result.error());
}

// A message for which the memory does not suffice does not end the others.
std::optional<Json> reply_within_memory(const Message& line, mcp::Server& server, Current& current) {
  try {
    return reply_to(line, server, current);
  } catch (const std::bad_alloc&) {
    current.end();
    return error_reply(nullptr, {RpcCode::InternalError, "out of memory"});
  }
}

}  // namespace

int serve_mcp(const CommandLine& line, Console& console) {
  std::string missing;
  mcp::Roots roots(line.files, missing);
  if (!missing.empty()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::BadArgument, "`" + missing + "` does not exist"));
    console.diagnose(diagnostics, {});
    return kUsage;
  }
  mcp::Server server(line, std::move(roots));
  Current current;
  MessageReader lines(take_standard_input(), split_lines(kMaxMessageBytes),
                      [&](const std::string& text) { look_for_cancellation(text, current); });
  while (const auto message = lines.next()) {
    support::clear_cancel();
    if (const auto answer = reply_within_memory(*message, server, current)) console.write(to_line(*answer));
    if (console.lost()) break;
  }
  return kGood;
}

}  // namespace rldb::ui
