// Shared libraries that TVM exported by its export_library(): machine code of kernels, and the bytes of an executable
// in the data of one symbol. docs/formats.md has the layout. The library is read, not loaded.
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/runtime/error.h"

namespace rldb::bytecode {

// The calling convention of the machine code. Rldb: the library was made by `rldb build`, and describes its program
// (library_program.h); its code is called from outside only.
enum class CodeAbi : std::uint8_t { TvmFfi, BeforeTvmFfi, Rldb };

struct ExportedExecutable {
  std::string_view bytes;  // an .rlvm file, or an executable of the Relay VM; part of the library's bytes
  CodeAbi abi = CodeAbi::TvmFfi;
};
// Errors have kind BadFile.
runtime::Result<ExportedExecutable> executable_in_library(std::string_view elf, std::string_view path);

}  // namespace rldb::bytecode
