// rldb lsp: a server of the Language Server Protocol on standard input and output.
#include <memory>
#include <string>

#include "protocol/lsp/server.h"
#include "protocol/lsp/traffic.h"
#include "protocol/message_frames.h"
#include "protocol/standard_streams.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/guarded.h"

namespace rldb::ui {

namespace {

using namespace protocol;
using lsp::Traffic;

// Seconds for a request without `--timeout`: runs of programs may take long.
constexpr double kUsualLimit = 120;
// Seconds without a message after which the user is taken to pause.
constexpr double kPause = 0.2;

class Loop {
 public:
  Loop(const CommandLine& line, Console& console)
      : console_(console),
        limit_(line.timeout > 0 ? line.timeout : kUsualLimit),
        server_(line, [this](const Json& message) { write(message); }),
        reader_(take_standard_input(), split_frames(kMaxMessageBytes),
                [this](const std::string& text) { traffic_.look(text); }) {}

  int run() {
    while (!server_.ended() && !console_.lost()) {
      if (!reader_.is_ready()) rest();
      const auto message = reader_.next();
      if (!message) break;
      take(*message);
    }
    return server_.exit_code();
  }

 private:
  void write(const Json& message) { console_.write(to_frame(message)); }
  void write(const Json& id, const Answer& answer) { console_.write(frame_of(reply_text(id, answer))); }

  // Nothing waits: tell what is known of the changed texts, then do what can be interrupted.
  void rest() {
    guarded([&] { server_.publish(); });
    if (reader_.is_ready(kPause) || !server_.has_background_work()) return;
    traffic_.set_background(true);
    // A message that has arrived since is not kept waiting.
    const bool done = reader_.is_ready() || guarded([&] { server_.work_in_background(); });
    traffic_.set_background(false);
    if (!done && !reader_.is_ready()) server_.give_background_up();
    guarded([&] { server_.publish(); });
  }

  void take(const Message& message) {
    if (message.fault) return write(error_reply(nullptr, {RpcCode::ParseError, message.fault}));
    Json id;
    auto request = read_request(message.text, id);
    if (!request.ok()) return write(error_reply(id, request.error()));
    if (!*request) return;  // a reply
    if ((*request)->id) return answer(**request);
    if ((*request)->method == "textDocument/didChange")
      traffic_.apply(message.text, lsp::text_at((*request)->params, {"textDocument", "uri"}));
    if (!guarded([&] { server_.notice(**request); })) server_.log("a notification could not be carried out: " + why_);
  }

  void answer(const Request& request) {
    const Json& id = *request.id;
    Traffic::Fate fate = traffic_.begin(id, lsp::text_at(request.params, {"textDocument", "uri"}));
    std::optional<RpcResult<Answer>> result;
    bool good = true;
    if (fate == Traffic::Fate::Goes) {
      good = guarded([&] { result = server_.answer(request); });
      fate = traffic_.end();
    }
    if (result && good) return result->ok() ? write(id, **result) : write(error_reply(id, result->error()));
    switch (fate) {
      case Traffic::Fate::Cancelled:
        return write(error_reply(id, {RpcCode::RequestCancelled, "the request was cancelled"}));
      case Traffic::Fate::Stale:
        return write(error_reply(id, {RpcCode::ContentModified, "the text has changed"}));
      case Traffic::Fate::Goes:
        return write(error_reply(id, {RpcCode::InternalError, why_}));
    }
  }

  // False: abandoned, `why_` says why.
  bool guarded(const std::function<void()>& work) {
    const auto abandoned = run_guarded(work, limit_);
    why_ = abandoned ? abandoned->message.text : std::string();
    return !abandoned;
  }

  Console& console_;
  double limit_;
  std::string why_;
  Traffic traffic_;
  lsp::Server server_;
  MessageReader reader_;
};

}  // namespace

int serve_lsp(const CommandLine& line, Console& console) {
  if (!line.files.empty()) return kUsage;
  return Loop(line, console).run();
}

}  // namespace rldb::ui
