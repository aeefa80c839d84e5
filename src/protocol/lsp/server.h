// The language server: what the Language Server Protocol asks about texts of TVMScript and Relay. Source:
// microsoft.github.io/language-server-protocol, version 3.17.
//
// The methods are rows of method.def; each is a function of the open texts and its parameters, in a file by topic. A
// message that is wrong is answered by an error, or, if it has no reply, noted in the client's log. Users: serve_lsp,
// the tests and the fuzz target, which need no threads and no streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/json_rpc.h"
#include "protocol/lsp/params.h"
#include "protocol/lsp/text_file.h"
#include "rldb/ui/command_line/cli.h"

namespace rldb::protocol::lsp {

// The abilities of the client, and its settings.
struct Client {
  source::ColumnUnit unit = source::ColumnUnit::Utf16;
  bool markdown = false;  // in hovers
  bool pulls = false;     // asks for diagnostics; they are not pushed then
  bool refreshes_diagnostics = false;
  bool document_changes = false;  // edits with versions
  bool nested_symbols = false;
  bool related_information = false;
  bool shows_results = false;  // of rldb.run and its like, itself; otherwise they are shown as messages
  bool debugs = false;         // has a command rldb.debug
  std::string passes;          // setting: a pipeline for texts that name none
  bool hints = true;           // setting: inlay hints
  bool lenses = true;          // setting: code lenses
};

class Server {
 public:
  // `send`: takes what the server says of its own accord.
  Server(const ui::CommandLine& line, std::function<void(const Json&)> send);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  RpcResult<Answer> answer(const Request& request);
  void notice(const Request& notification);
  // Nothing waits at the moment: publishes what changed.
  void publish();
  // Work that can wait until the user pauses; false: there is none.
  bool has_background_work() const;
  void work_in_background();
  // It took too long: not tried again before the next change.
  void give_background_up();
  bool ended() const { return state_ == State::Ended; }
  // 0 after `shutdown`, as the protocol asks.
  int exit_code() const { return shut_down_ ? 0 : 1; }

  // ---- for the methods ----
  const ui::CommandLine& line() const { return line_; }
  const Client& client() const { return client_; }
  RpcResult<TextFile*> file_of(const Json& params);
  TextFile* find_file(const std::string& uri);
  const std::map<std::string, std::unique_ptr<TextFile>>& files() const { return files_; }
  // The offset of `params.position`.
  RpcResult<std::uint32_t> offset_of(const TextFile& file, const Json& params) const;
  RpcResult<frontend::TextRange> range_of(const TextFile& file, const Json& params) const;
  Json location(const TextFile& file, frontend::TextRange range) const;
  Json range(const TextFile& file, frontend::TextRange range) const {
    return write_range(file.buffer(), range, client_.unit);
  }
  void notify(std::string_view method, Json params) const;
  void request(std::string_view method);  // nobody waits for the reply
  void log(std::string_view text) const;

 private:
  enum class State : std::uint8_t { New, Running, ShutDown, Ended };

  RpcResult<Answer> initialize(const Json& params);
  void read_settings(const Json& settings);
  void open(const Json& params);
  void change(const Json& params);
  void close(const Json& params);
  void publish(TextFile& file);

  ui::CommandLine line_;
  std::function<void(const Json&)> send_;
  Client client_;
  State state_ = State::New;
  bool shut_down_ = false;
  std::map<std::string, std::unique_ptr<TextFile>> files_;
  std::uint64_t requests_ = 0;
};

}  // namespace rldb::protocol::lsp
