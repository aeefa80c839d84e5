// Sources: the texts that a client can show and set breakpoints in: files, the IR after each pass, printed kernels,
// instructions of functions that have no text, texts entered at the prompt.
//
// A text without a file has a reference, for as long as the session lasts. The IR of a version is known again in a
// later session by its module, number, pass and hash (`adapterData`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/dap/fields.h"
#include "rldb/debug/version_text.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::protocol::dap {

enum class SourceKind : std::uint8_t {
  File,     // `name` is that of its buffer in the session
  Version,  // of the module
  Kernel,   // `name` is the kernel's
  Listing,  // instructions of the function `name`
};

struct SourceRef {
  SourceKind kind = SourceKind::File;
  std::string name;
  std::size_t version = 0;
  std::string hash;  // Version: of its text
};

class Sources {
 public:
  explicit Sources(ui::Repl& repl) : repl_(repl) {}

  // The client's `Source` objects.
  Json source_of(const SourceRef& ref);
  Json source_of_buffer(const source::Buffer& buffer);
  // The meaning of a client's object. A version of a text that has changed, a file that is not part of the program: a
  // failure.
  support::Result<SourceRef, Failure> find(const Json& source);
  // Its text.
  support::Result<std::string, Failure> text(const SourceRef& ref);
  support::Result<std::string, Failure> text_of_reference(std::int64_t reference);
  // The versions of the program on its way to the code, the newest last.
  std::vector<SourceRef> versions();
  // The code that the lines of versions are mapped to.
  std::shared_ptr<const session::Build> build();
  // Events about versions that have come or gone since the last time.
  void tell(Channel& channel);
  // Null: the program has no such version any more.
  std::shared_ptr<const debug::VersionText> version_text(const SourceRef& ref);
  // The line of an instruction in the listing of its function.
  static std::uint32_t line_in_listing(const bytecode::FunctionEntry& function, bytecode::Pc pc) {
    return std::uint32_t((pc - function.start) + 1);
  }
  // Of a file as the session knows it; empty: it is not part of the program.
  std::string buffer_name(const std::string& path) const;
  // The text that the program was read from; empty: it has no such file.
  std::string_view file_text(const std::string& path) const;
  // Its file has another text by now.
  bool is_written(const std::string& path) const;
  std::string listing(const bytecode::Executable& exe, const std::string& function) const;

 private:
  std::vector<debug::ModuleVersion> module_versions();
  std::string kernel_text(const std::string& name);
  int reference_of(const std::string& key, const SourceRef& ref);
  std::string module_name() const;

  ui::Repl& repl_;
  std::vector<SourceRef> known_;  // by reference - 1
  std::map<std::string, int> references_;
  std::map<int, Json> told_;                  // versions that the client knows, by reference
  std::map<std::string, std::string> texts_;  // of buffers and kernels by key, as shown
  struct Cached {
    std::shared_ptr<const session::Build> build;
    const ir::Module* module = nullptr;
    std::shared_ptr<const debug::VersionText> text;
    std::string hash;
  };
  const Cached& version(std::size_t index, const std::vector<debug::ModuleVersion>& versions);
  std::shared_ptr<const session::Build> build_;
  std::map<std::size_t, Cached> cached_;
};

}  // namespace rldb::protocol::dap
