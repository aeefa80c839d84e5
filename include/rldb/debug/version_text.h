// The versions of a program's module on its way to the code (as loaded, after each pass, after each pass of the build)
// as texts whose lines can be broken at.
//
// A line of a version has code if an instruction comes from the binding on it, by provenance. Lines inside a TensorIR
// function have code if the build still has that function as it is in the version. User: the debug adapter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct ModuleVersion {
  std::string pass;  // that made it; empty: loaded, or edited
  bool by_build = false;
  const ir::Module* module = nullptr;
};
// Of a Relax program, in the order of the pipeline: up to the current version, then those of the build. Passes that
// changed nothing have none. `build`: null: only the program's own.
std::vector<ModuleVersion> module_versions(const session::Session& session, const session::Build* build);

class VersionText {
 public:
  // `index` into `versions`, those of `build`.
  VersionText(session::Session& session, std::vector<ModuleVersion> versions, std::size_t index,
              std::shared_ptr<const session::Build> build);  // null: no line has code

  const std::string& text() const { return text_; }
  // The line of an instruction's binding; 0: none.
  std::uint32_t line_of(Pc pc) const;
  struct Place {
    std::uint32_t line = 0;
    std::vector<std::string> specs;  // of breakpoints
  };
  // The nearest line at or after the given one that has code, in the same function.
  std::optional<Place> place_at(std::uint32_t line) const;

 private:
  struct Row {
    std::uint32_t line;
    const ir::Node* node;
    std::size_t function;  // index into the module's entries
  };
  class Lines;
  // At the first question about code.
  void map() const;
  void map_code() const;
  void map_kernels() const;

  session::Session& session_;
  std::vector<ModuleVersion> versions_;
  std::size_t index_;
  std::shared_ptr<const session::Build> build_;
  std::string text_;
  std::vector<Row> rows_;  // of bindings and statements, ascending
  struct Extent {
    std::uint32_t first = 0, last = 0;
  };
  std::vector<Extent> functions_;  // by entry of the module
  mutable bool mapped_ = false;
  mutable std::vector<std::uint32_t> line_of_;                       // by pc
  mutable std::vector<std::pair<std::uint32_t, std::string>> code_;  // line, spec; ascending
};

}  // namespace rldb::debug
