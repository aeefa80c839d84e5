// The language server without streams and threads: bytes of a client in, frames out, as `rldb lsp` answers each
// message, but nothing is cancelled. User: the fuzz target.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace rldb::protocol {

class LanguageServer {
 public:
  explicit LanguageServer(std::function<void(std::string_view frame)> write);
  ~LanguageServer();
  LanguageServer(const LanguageServer&) = delete;
  LanguageServer& operator=(const LanguageServer&) = delete;

  // Answers the messages that end within these bytes.
  void feed(std::string_view bytes);
  bool ended() const;  // by `exit`

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::protocol
