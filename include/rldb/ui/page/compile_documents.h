// CompileDocuments: the way of a program from its text to its code, as the documents that a page shows: each version's
// text, the differences between two, graphs, kernels, instructions, memory.
//
// Documents are JSON (docs/page.md has their keys). Lines of different documents that have to do with each other carry
// the same numbers, `relatives`: those of the bindings of the text as it was loaded, or last edited by hand, that they
// came from by provenance. Nothing is run. Users: the live page, `rldb opt --html`.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/debug/debugger.h"
#include "rldb/session/session.h"

namespace rldb::ui {

class CompileDocuments {
 public:
  // Both must outlive it; `debugger` may be null. Follows the session's changes.
  CompileDocuments(session::Session& session, const debug::Debugger* debugger);
  ~CompileDocuments();

  // Graphviz has so long for the layouts of all graphs; later ones are simple ones.
  void limit_graphviz(double seconds);
  // Changes with the program: then everything below may differ.
  std::size_t number();
  // The versions, the functions, the kernels; `document` is the number.
  nlohmann::ordered_json program();
  // The text as it was written; nullopt: it was none (a model, code).
  std::optional<nlohmann::ordered_json> source();
  // nullopt: there is no such version, function or kernel.
  std::optional<nlohmann::ordered_json> text(std::size_t version);
  // Against the version before it; of version 0 nothing.
  std::optional<nlohmann::ordered_json> diff(std::size_t version);
  std::optional<nlohmann::ordered_json> graph(std::size_t version, std::string_view function);
  // Where the boxes of that graph stand. `view` and `open` as docs/page.md has them.
  std::optional<nlohmann::ordered_json> layout(std::size_t version, std::string_view function, std::string_view view,
                                               std::string_view open);
  std::optional<nlohmann::ordered_json> memory(std::size_t version);
  // TensorIR, LLVM and assembly; what cannot be had is null, with the reason in `problem`.
  std::optional<nlohmann::ordered_json> kernel(const std::string& name);
  std::optional<nlohmann::ordered_json> instructions();
  // Where a breakpoint for a line of a version belongs, as entries of `:break` take it. Empty: no line at or below it
  // has code.
  std::vector<std::string> places(std::size_t version, std::uint32_t line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::ui
