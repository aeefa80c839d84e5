// Program: what a session holds, whatever its kind (program_kind.def): Relax text, Relay text, an executable of either
// VM. It knows its functions and their parameters, its text, the versions that passes made of it, and the code that
// runs. Commands are written once, on this interface; one that needs more asks for an ability first.
//
// A copy shares everything immutable: snapshots and comparisons take one. Made by Session::load_file; users: debug,
// repro, ui.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/printer.h"
#include "rldb/pipeline/history.h"
#include "rldb/runtime/value.h"
#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic.h"

namespace rldb::bytecode {
struct DebugInfo;
}
namespace rldb::onnx {
struct Translation;
}

namespace rldb::session {

using source::Diagnostics;

struct Build;

struct Parameter {
  std::string name;
  const ir::Type* type = nullptr;  // null: not known (an executable without debug information has only the name)
  const ir::Var* var = nullptr;    // of a scalar: a shape may mention it
  const ir::Type* cast = nullptr;  // the type to which the function casts it first; null: none that is more precise
};

// A version: number 0 is the program as loaded, each pass and each edit makes one.
struct Version {
  enum class By : std::uint8_t { Load, Pass, Edit } by = By::Load;
  std::string pass;
  std::vector<std::string> changed;  // functions added, removed or changed by the pass
  std::uint64_t nanoseconds = 0;
};
using Bookmarks = std::vector<std::pair<std::string, std::size_t>>;

// The purpose of a text: a reader, a comparison with another version, or a file that is read back, with all constants.
enum class TextFor : std::uint8_t { Reading, Comparing, Saving };

class Program;
// Those of a program; of Relax where there is none.
const pipeline::PassTable& passes_of(const Program* program);

class Program {
 public:
  Program(Session& session, std::string path) : session_(session), path_(std::move(path)) {}
  virtual ~Program() = default;
  virtual ProgramKind kind() const = 0;
  virtual std::unique_ptr<Program> copy() const = 0;
  const std::string& path() const { return path_; }  // empty: entered at the prompt
  // Of a module that was an ONNX model; null for others.
  virtual const onnx::Translation* onnx() const { return nullptr; }
  // The same of a module that passes made of one: its initialisers are the default values of parameters.
  virtual const onnx::Translation* initialisers() const { return onnx(); }

  // ---- functions ----
  virtual std::vector<std::string> function_names() const = 0;  // runnable ones
  // Null, not diagnosed: there is no such function. `not_runnable`: it is there, and why it cannot be run.
  virtual std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) = 0;
  // A given value in the form in which a run takes it. Errors: it is none that a run takes.
  virtual runtime::Result<runtime::Value> as_argument(runtime::Value given, const Parameter&) const { return given; }

  // ---- versions (Ability::Versions; without it there are none) ----
  const pipeline::History& history() const { return history_; }
  std::size_t version_count() const { return history_.size(); }
  std::size_t position() const { return history_.position(); }
  Version version(std::size_t v) const;
  const Bookmarks& bookmarks() const { return history_.bookmarks(); }
  bool is_same(std::size_t a, std::size_t b) const { return history_.module_at(a) == history_.module_at(b); }
  std::vector<std::string> changed(std::size_t a, std::size_t b) const {
    return changed_between(history_.module_at(a), history_.module_at(b));
  }
  // Of a version, or of one of its functions; nullopt: there is no such function.
  std::optional<std::string> text(std::size_t v, TextFor purpose, std::string_view function = {}) const {
    return text_of(history_.module_at(v), purpose, function);
  }
  // The same of any module of the program's kind; functions that only one of two has, or that differ between them.
  virtual std::optional<std::string> text_of(pipeline::ModuleRef, TextFor, std::string_view = {}) const {
    return std::nullopt;
  }
  virtual std::vector<std::string> changed_between(pipeline::ModuleRef, pipeline::ModuleRef) const { return {}; }
  virtual std::vector<std::string> functions_of(pipeline::ModuleRef) const { return {}; }  // all of them
  virtual std::string_view extension() const { return {}; }                                // of files with its text
  // Later versions stay until the next pass or edit. False: there is no such version.
  bool go_to(std::size_t v) { return history_.rewind(v); }
  void add_bookmark(std::string name) { history_.bookmark(std::move(name)); }
  void push_edit(pipeline::ModuleRef module) { history_.push_edit(module); }  // a version made by hand
  // One version per pass, after the present one; those that followed it are dropped. False: a pass failed, or its
  // result is malformed, which is diagnosed; the versions before it stay.
  bool run_passes(std::string_view passes, Diagnostics& out, const pipeline::Instruments& instruments = {});
  bool run_passes(const std::vector<pipeline::Invocation>& passes, Diagnostics& out,
                  const pipeline::Instruments& instruments = {}) {
    return run(passes, out, instruments);
  }
  // The passes that apply to the versions; of an executable those that it was built with.
  virtual const pipeline::PassTable& passes() const;
  // The pass of the minimum build that follows those applied since the program was loaded or edited; empty: none.
  std::string next_pass() const;
  std::string version_name(std::size_t version) const;  // `version 3 (FuseOps)`

  // ---- code ----
  // Null: diagnosed. Whoever keeps a machine keeps this too: it owns the kernels.
  virtual std::shared_ptr<const Build> runnable(Diagnostics& out) = 0;
  // For inspection only: of an executable nothing but its bytecode is read.
  virtual std::shared_ptr<const Build> viewable(Diagnostics& out) = 0;
  // The bytes of an .rlvm file. `names`: debug information in place of the build's own.
  virtual std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) = 0;
  virtual std::string listing(const Build& build) const;

 protected:
  Program(const Program&) = default;
  virtual bool run(const std::vector<pipeline::Invocation>&, Diagnostics&, const pipeline::Instruments&) {
    return false;
  }
  Session& session_;
  std::string path_;
  pipeline::History history_;
};

}  // namespace rldb::session
