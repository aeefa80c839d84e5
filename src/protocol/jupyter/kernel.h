// The kernel of a notebook: one session of the prompt, and the requests of Jupyter's protocol about it.
//
// A cell is a script of the prompt, written by the user who executes it. Knows no sockets: what it publishes and what
// it asks go through a Client, so that tests drive it directly. Source: "Messaging in Jupyter", protocol 5.3.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/jupyter/wire.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/prompt/editor_hooks.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::protocol::jupyter {

// The one who sent the request that is being answered, and those who listen.
class Client {
 public:
  virtual ~Client() = default;
  virtual void publish(std::string_view type, Json content) = 0;
  // The line with which the user answers; nullopt: nobody does.
  virtual std::optional<std::string> ask(const std::string& question) = 0;
  // Publishes what was written to the process's own standard output and error so far, by a shell or a library.
  virtual void publish_standard_streams() = 0;
};

Json kernel_info();

class Kernel {
 public:
  Kernel(const ui::CommandLine& line, Client& client);

  // The content of the reply. nullopt: no request of this type is known.
  std::optional<Json> answer(const Message& request);
  // The last cell failed, and its client wants those that it has sent already to be left out.
  bool leaves_out_others() const { return leaves_out_others_; }
  // The replies to a request that is left out, and to one that failed.
  static Json left_out();
  static Json failure(std::string_view name, const std::string& text);

 private:
  struct Cell {
    std::size_t count;
    std::string text, result;
  };
  // Passes nothing on: output is seen piece by piece.
  class Silent : public ui::Console {
   public:
    void write(std::string_view) override {}
    void error(std::string_view) override {}
  };

  Json execute(const Json& content);
  ui::Status run_cell(const std::string& code);
  Json evaluate(const Json& expressions);
  Json evaluate_one(const std::string& expression);
  Json complete(const Json& content);
  Json inspect(const Json& content);
  Json is_complete(const Json& content);
  Json history(const Json& content) const;

  Client& client_;
  Silent console_;
  std::unique_ptr<ui::Repl> repl_;
  ui::LineEditorHooks hooks_;
  std::vector<Cell> cells_;
  std::size_t count_ = 0;
  bool leaves_out_others_ = false;
};

}  // namespace rldb::protocol::jupyter
