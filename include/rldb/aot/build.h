// Libraries and programs of their own: from a session's program to files that need neither rldb nor LLVM.
//
// In: a program for the Relax VM. Out: a shared library with tvm-ffi symbols `__tvm_ffi_<function>` and a C header, an
// object file with the same, or a program; beside each the text of its kernels, for debuggers. All that the runtime in
// C does not have is refused by name before anything is written. docs/aot.md. Users: ui/batch, tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::aot {

enum class Form : std::uint8_t { Executable, SharedLibrary, Object, Program };  // Executable: .rlvm, not made here
// Of a file's name: .rlvm, .so, .o; nullopt: it says none.
std::optional<Form> form_of_name(std::string_view path);
// rlvm, so, o, program.
std::optional<Form> form_of_word(std::string_view word);

struct Request {
  Form form = Form::SharedLibrary;
  std::string output;
  // For debuggers, in place of the executable's own (debug/file_names.h).
  std::optional<bytecode::DebugInfo> names = std::nullopt;
  std::string linker;  // a command; empty: the first of cc, gcc, clang, ld.lld, ld that is found and can do it
};

// The files that were written; nullopt: diagnosed, and nothing was written.
std::optional<std::vector<std::string>> build(session::Session& session, const Request& request,
                                              source::Diagnostics& out);

// `model` of `/a/libmodel.so`: the prefix of a library's symbols.
std::string library_name(std::string_view path);

}  // namespace rldb::aot
