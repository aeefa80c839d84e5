#include "rldb/bytecode/exported_library.h"

#include <doctest/doctest.h>

#include "bytecode/library_image.h"
#include "rldb/bytecode/serialise.h"

using namespace rldb;
using namespace rldb::testing;
using bytecode::CodeAbi;
using bytecode::executable_in_library;

namespace {

std::string why_not(const std::string& elf) {
  const auto found = executable_in_library(elf, "x.so");
  return found.ok() ? std::string() : found.error().message;
}

}  // namespace

TEST_CASE("exported library: the executable's bytes") {
  const std::string now = exported_library({{"relax.VMExecutable", "the bytes"}, {"_lib", ""}});
  CHECK(bytecode::is_executable_file(now));
  auto found = executable_in_library(now, "x.so");
  REQUIRE(found.ok());
  CHECK(found->bytes == "the bytes");
  CHECK(found->abi == CodeAbi::TvmFfi);

  // Beside modules of other kinds; the first of several.
  const std::string several = exported_library(
      {{"metadata", "m"}, {"_lib", ""}, {"relax.VMExecutable", "first"}, {"relax.VMExecutable", "second"}});
  found = executable_in_library(several, "x.so");
  REQUIRE(found.ok());
  CHECK(found->bytes == "first");

  for (const std::string kind : {"relax.Executable", "VMExecutable"}) {
    const std::string before = old_library({{kind, "old bytes"}, {"_lib", ""}});
    found = executable_in_library(before, "x.so");
    REQUIRE(found.ok());
    CHECK(found->bytes == "old bytes");
    CHECK(found->abi == CodeAbi::BeforeTvmFfi);
  }
}

TEST_CASE("exported library: why there is none") {
  CHECK(why_not("text") == "`x.so`: not a shared library (no ELF header)");
  CHECK(why_not(library_image("__tvm_ffi_add", "data")) ==
        "it is a shared library without `__tvm_ffi__library_bin`, the modules that TVM exports; `--plugin` loads a "
        "library's functions");
  CHECK(why_not(exported_library({{"_lib", ""}})) == "it has machine code, and no executable of a virtual machine");
  CHECK(why_not(exported_library({{"cuda", "x"}, {"_lib", ""}})) ==
        "it has machine code, and no executable of a virtual machine (it has one of kind `cuda`)");
  // The end of a module that wrote itself is not known.
  CHECK(why_not(old_library({{"metadata", "x"}, {"relax.Executable", "y"}})) ==
        "it has machine code, and no executable of a virtual machine (it has one of kind `metadata`)");
  CHECK(why_not(library_image("__tvm_ffi__library_bin", std::string(8, '\xff'))) ==
        "its modules are damaged at byte 8: the file ends too early");
  CHECK(why_not(library_image("__tvm_ffi__library_bin", std::string(8, '\0'))) ==
        "its modules are damaged at byte 0: the file ends too early");
}

TEST_CASE("exported library: damaged and truncated files are errors, never crashes") {
  const std::string whole = exported_library({{"relax.VMExecutable", std::string(50, 'x')}, {"_lib", ""}});
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK_FALSE(why_not(whole.substr(0, n)).empty());
  std::size_t survived = 0;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = char(static_cast<unsigned char>(damaged[i]) ^ flip);
      survived += why_not(damaged).empty() ? 1 : 0;
    }
  CHECK(survived > 0);
}
