// rldb mcp [FOLDER...]: a server of the Model Context Protocol on standard input and output, a message a line.
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>

#include "protocol/mcp/server.h"
#include "protocol/message_lines.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::ui {

namespace {

using namespace protocol;

// The request that is being answered, which another message may cancel.
class Current {
 public:
  void begin(const Json& id) {
    const std::lock_guard lock(mutex_);
    id_ = id;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    id_ = nullptr;
  }
  void cancel(const Json& id) {
    const std::lock_guard lock(mutex_);
    if (!id_.is_null() && id_ == id) support::request_cancel(support::CancelCause::Interrupt);
  }

 private:
  std::mutex mutex_;
  Json id_;
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
std::optional<Json> reply_to(const MessageLines::Line& line, mcp::Server& server, Current& current) {
  if (line.too_long) return error_reply(nullptr, {RpcCode::InvalidRequest, "the message is too long"});
  if (line.text.find_first_not_of(" \t\r") == std::string::npos) return std::nullopt;
  Json id;
  auto request = read_request(line.text, id);
  if (!request.ok()) return error_reply(id, request.error());
  if (!*request || !(*request)->id) return std::nullopt;
  current.begin(*(*request)->id);
  auto result = server.answer(**request);
  current.end();
  return result.ok() ? reply(*(*request)->id, std::move(*result)) : error_reply(*(*request)->id, result.error());
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
  MessageLines lines(STDIN_FILENO, kMaxMessageBytes,
                     [&](const std::string& text) { look_for_cancellation(text, current); });
  while (const auto message = lines.next()) {
    support::clear_cancel();
    if (const auto answer = reply_to(*message, server, current)) console.write(to_line(*answer));
    if (console.lost()) break;
  }
  return kGood;
}

}  // namespace rldb::ui
