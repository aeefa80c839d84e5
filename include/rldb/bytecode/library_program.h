// The program in a library that `rldb build` made: its bytecode and debug information, for debuggers. The library runs
// machine code that was made of it.
//
// The large constants are left out, since the library has their data; in their place are objects that describe them.
// Written by aot; read by session (the library as a file) and attach (the library in a process).
#pragma once

#include <string>
#include <string_view>

#include "rldb/bytecode/executable.h"

namespace rldb::bytecode {

inline constexpr std::string_view kProgramSection = ".rldb_program";  // of the ELF file
// The first bytes of struct Library (src/aot/runtime/aot.h), in the memory of whoever uses it. They change with it.
inline constexpr std::string_view kLibraryMark = "rldb.aot.lib.v01";

runtime::Result<std::string> library_program(const Executable& exe);
runtime::Result<Executable> load_library_program(std::string_view bytes);

}  // namespace rldb::bytecode
