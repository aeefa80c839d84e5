// Ranges of a tensor file, within the memory limit. Used by the readers of archives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rldb/runtime/tensor_archive.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/random_access.h"

namespace rldb::runtime {

// Fails when `bytes` more would exceed the memory limit. `where`: the file or its member.
Result<support::Unit> check_memory(std::uint64_t bytes, std::string_view where);

// A range that the file has; see RandomAccess::read.
Result<std::string_view> take(const support::RandomAccess& bytes, std::uint64_t at, std::uint64_t size,
                              std::string_view where, std::string& buffer);

// The file at `path`; a pipe is read at once, within the memory limit.
Result<support::RandomAccess> open_file(const std::string& path);

Result<NamedTensors> read_all(const TensorArchive& archive);

}  // namespace rldb::runtime
