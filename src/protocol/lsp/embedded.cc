// The language server as a function of bytes.
#include "protocol/lsp/server.h"
#include "protocol/message_frames.h"
#include "rldb/protocol/lsp.h"

namespace rldb::protocol {

struct LanguageServer::State {
  std::function<void(std::string_view)> write;
  lsp::Server server;
  std::unique_ptr<MessageSplitter> splitter = split_frames(kMaxMessageBytes);

  explicit State(std::function<void(std::string_view)> to)
      : write(std::move(to)), server({}, [this](const Json& message) { send(message); }) {}
  void send(const Json& message) { write(to_frame(message)); }
  void take(const Message& message) {
    if (message.fault) return send(error_reply(nullptr, {RpcCode::ParseError, message.fault}));
    Json id;
    const auto request = read_request(message.text, id);
    if (!request.ok()) return send(error_reply(id, request.error()));
    if (!*request) return;
    if (!(*request)->id) return server.notice(**request);
    const Json& to = *(*request)->id;
    const auto result = server.answer(**request);
    if (!result.ok()) return send(error_reply(to, result.error()));
    write(frame_of(reply_text(to, *result)));
  }
};

LanguageServer::LanguageServer(std::function<void(std::string_view)> write)
    : state_(std::make_unique<State>(std::move(write))) {}
LanguageServer::~LanguageServer() = default;

void LanguageServer::feed(std::string_view bytes) {
  std::vector<Message> messages;
  state_->splitter->feed(bytes, messages);
  for (const Message& m : messages) state_->take(m);
  state_->server.publish();
}

bool LanguageServer::ended() const { return state_->server.ended(); }

}  // namespace rldb::protocol
