// Little-endian words in byte strings (support/bytes.h), sizes that do not overflow, and the messages about a damaged
// file. Used by the tensor file readers.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/error.h"
#include "rldb/support/bytes.h"

namespace rldb::runtime {

using support::append_little;
using support::read_little;

// `name`: the file or the member of an archive.
inline support::Failure<Error> bad_file(std::string_view name, std::string_view what) {
  return fail(ErrorKind::BadFile, fmt::format("`{}`: {}", name, what));
}

// Bytes of a compact array, or nullopt on overflow or a negative dimension.
inline std::optional<std::size_t> byte_count(const std::vector<std::int64_t>& shape, std::size_t element) {
  std::size_t bytes = element;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return {};
    empty |= dim == 0;
  }
  if (empty) return 0;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes)) return {};
  }
  return bytes;
}

}  // namespace rldb::runtime
