// `.rlvm` files: TVM's Relax VM binary layout (versions 1 and 2), then sections of ours. docs/formats.md has the bytes.
//
// `load` trusts nothing: every length is checked against what is left, and the result is verified. A file that TVM
// wrote (no sections of ours) loads too. Errors have kind BadFile and name the byte offset.
#pragma once

#include <string>
#include <string_view>

#include "rldb/bytecode/executable.h"

namespace rldb::bytecode {

// Raise with every change of our own sections; readers refuse newer ones. 2: the kernels' TensorIR. Version 1 has none
// and is read as such.
inline constexpr std::uint32_t kSectionsVersion = 2;

// Fails on a constant that the format cannot represent.
runtime::Result<std::string> serialise(const Executable& exe);
runtime::Result<Executable> load(std::string_view bytes);
// Also of a library, which may hold one (exported_library.h): no text begins like that.
bool is_executable_file(std::string_view first_bytes);

}  // namespace rldb::bytecode
