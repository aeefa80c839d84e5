// Answers: requests of the live page, answered from a session of the prompt. docs/page.md lists them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "rldb/protocol/http.h"
#include "rldb/ui/page/compile_documents.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::protocol {

class Answers {
 public:
  explicit Answers(ui::Repl& repl) : repl_(repl), documents_(repl.session(), &repl.debugger()) {}

  // Whatever is asked for, there is a reply.
  HttpResponse answer(const HttpRequest& request);
  // The last entry was one that ends a session. Told once: a terminal may go on.
  bool take_quit() { return std::exchange(quit_, false); }
  // Grows with everything that the page should look at again.
  std::uint64_t revision() const { return revision_; }
  void changed() { ++revision_; }

 private:
  using Reply = std::optional<ui::Json>;  // nullopt: there is no such thing
  Reply get(const HttpRequest& request);
  Reply post(const HttpRequest& request, const ui::Json& body);
  ui::Json state();
  ui::Json stop(std::optional<std::size_t> first);
  ui::Json console(std::size_t since);
  Reply value(std::string_view expression, const HttpRequest& request);
  Reply why(std::string_view name);
  Reply enter(const std::string& entry);
  Reply toggle_breakpoint(const ui::Json& body);
  Reply profile(const std::string& words);

  ui::Repl& repl_;
  ui::CompileDocuments documents_;
  std::uint64_t revision_ = 1;
  bool quit_ = false;
};

}  // namespace rldb::protocol
