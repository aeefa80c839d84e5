// The programs that an agent has open, each a session of the prompt of its own, and the texts that were too long to
// send.
//
// Entries are executed as those of a script that the user did not name: what would act outside of the session (a shell,
// a library, writing files) is refused where there is nobody to ask. Kernels run on the evaluator, never as machine
// code.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json_rpc.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::protocol::mcp {

constexpr std::size_t kMaxPrograms = 8;

// A text that can be read in parts: IR, a long result.
struct Resource {
  std::string uri;
  std::string name;
  std::string mime_type;
  std::string text;
};

class Program {
 public:
  Program(std::string handle, const ui::CommandLine& line);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::string& handle() const { return handle_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The reply to one entry, as docs/json.md describes it.
  Json execute(const std::string& entry);
  // The run, `r1` and so on; empty: none has been started. A new one ends the one before.
  std::string run() const;
  void begin_run() { ++runs_; }
  bool is_stopped() const { return repl_->debugger().active(); }
  // Keeps the text, and forgets the oldest ones.
  const Resource& keep(std::string name, std::string mime_type, std::string text);
  // The text of the module as it is now.
  Resource module_text();
  const Resource* find(std::string_view uri) const;
  const std::vector<Resource>& kept() const { return kept_; }

 private:
  std::string handle_;
  std::string name_;
  ui::CapturedConsole console_;
  std::unique_ptr<ui::Repl> repl_;
  std::vector<Resource> kept_;
  std::size_t kept_count_ = 0;
  std::size_t runs_ = 0;
};

class Programs {
 public:
  explicit Programs(const ui::CommandLine& line);

  RpcResult<Program*> open();  // an error: there are too many
  RpcResult<Program*> find(const std::string& handle);
  void close(const std::string& handle) { programs_.erase(handle); }
  std::vector<Program*> all() const;
  const Resource* find_resource(std::string_view uri) const;

 private:
  ui::CommandLine line_;
  std::map<std::string, std::unique_ptr<Program>> programs_;
  std::size_t opened_ = 0;
};

}  // namespace rldb::protocol::mcp
