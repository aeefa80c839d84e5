// The modules in an exported library: every length is bounded by what is left of the symbol's data.
#include "rldb/bytecode/exported_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rldb/bytecode/library_program.h"
#include "rldb/runtime/library_data.h"
#include "rldb/support/bytes.h"

namespace rldb::bytecode {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using support::ByteReader;

namespace {

// The symbol with the modules: since tvm-ffi, and in TVM's versions before.
constexpr std::string_view kModules = "__tvm_ffi__library_bin", kOldModules = "__tvm_dev_mblob";
// Kinds of modules: the machine code of the library itself, which has no bytes here, and in old libraries the tree.
constexpr std::string_view kCode = "_lib", kOldTree = "_import_tree";
// Executables of the Relax VM, under its present and its first name, and of the Relay VM.
constexpr std::array<std::string_view, 3> kExecutables = {"relax.VMExecutable", "relax.Executable", "VMExecutable"};

constexpr std::size_t kShownKind = 40;

bool is_executable_kind(std::string_view kind) {
  return std::find(kExecutables.begin(), kExecutables.end(), kind) != kExecutables.end();
}

// Skips a vector of words and returns their number.
std::uint64_t skip_words(ByteReader& in, const char* what) {
  const std::uint64_t n = in.count(8, what);
  in.raw(n * 8);
  return n;
}

// The import tree: for n modules n + 1 words, then indices of modules. Returns n.
std::uint64_t read_tree(ByteReader& in) {
  const std::uint64_t rows = skip_words(in, "modules");
  skip_words(in, "imports");
  return rows == 0 ? 0 : rows - 1;
}

struct Found {
  std::string_view bytes;
  std::string_view other;  // a module of another kind; empty: none
};

// Each module is its kind and, but for the code, its bytes.
Found read_modules(ByteReader& in) {
  Found found;
  const std::uint64_t n = read_tree(in);
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    const std::string_view kind = in.raw(in.u64());
    if (kind == kCode) continue;
    const std::string_view bytes = in.raw(in.u64());
    if (!is_executable_kind(kind))
      found.other = kind;
    else if (found.bytes.empty())
      found.bytes = bytes;
  }
  return found;
}

// Before tvm-ffi a module wrote itself: only executables have a length that is known.
Found read_old_modules(ByteReader& in) {
  Found found;
  const std::uint64_t n = in.u64();
  for (std::uint64_t i = 0; i < n && in.ok() && found.bytes.empty(); ++i) {
    const std::string_view kind = in.raw(in.u64());
    if (kind == kCode) continue;
    if (kind == kOldTree) {
      read_tree(in);
    } else if (is_executable_kind(kind)) {
      found.bytes = in.raw(in.u64());
    } else {
      found.other = kind;
      break;
    }
  }
  return found;
}

}  // namespace

Result<ExportedExecutable> executable_in_library(std::string_view elf, std::string_view path) {
  ExportedExecutable out;
  RLDB_TRY(out.bytes, runtime::library_section(elf, path, kProgramSection));
  out.abi = CodeAbi::Rldb;
  if (!out.bytes.empty()) return out;
  out.abi = CodeAbi::TvmFfi;
  RLDB_TRY(std::string_view data, runtime::library_data(elf, path, kModules));
  if (data.empty()) {
    RLDB_TRY(data, runtime::library_data(elf, path, kOldModules));
    out.abi = CodeAbi::BeforeTvmFfi;
  }
  if (data.empty())
    return fail(ErrorKind::BadFile, fmt::format("it is a shared library without `{}`, the modules that TVM exports; "
                                                "`--plugin` loads a library's functions",
                                                kModules));
  ByteReader head(data);
  const std::string_view modules = head.raw(head.u64());
  ByteReader in(modules);
  const Found found = out.abi == CodeAbi::TvmFfi ? read_modules(in) : read_old_modules(in);
  if (!head.ok()) return fail(ErrorKind::BadFile, "its modules are damaged at " + head.error());
  if (!in.ok()) return fail(ErrorKind::BadFile, "its modules are damaged at " + in.error());
  out.bytes = found.bytes;
  if (!out.bytes.empty()) return out;
  const std::string other = found.other.empty()
                                ? std::string()
                                : fmt::format(" (it has one of kind `{}`)", found.other.substr(0, kShownKind));
  return fail(ErrorKind::BadFile, "it has machine code, and no executable of a virtual machine" + other);
}

}  // namespace rldb::bytecode
