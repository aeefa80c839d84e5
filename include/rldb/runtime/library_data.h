// Data in shared libraries, read from the file: nothing of it is loaded, and every offset is checked. Used by bytecode,
// for the executables in libraries that TVM exported.
#pragma once

#include <string_view>

#include "rldb/runtime/error.h"
#include "rldb/support/result.h"

namespace rldb::runtime {

bool is_library_file(std::string_view first_bytes);
// The data of an exported symbol, a part of `elf`; empty: it exports none of that name. Errors have kind BadFile and
// name `path`.
Result<std::string_view> library_data(std::string_view elf, std::string_view path, std::string_view name);
// The same of a section, also of a program that can be loaded anywhere.
Result<std::string_view> library_section(std::string_view elf, std::string_view path, std::string_view name);

}  // namespace rldb::runtime
