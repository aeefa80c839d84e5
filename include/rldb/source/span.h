// Spans: places in texts. Offsets are bytes into the UTF-8 text of a source::Buffer.
//
// A Span with no file is "no place" (built-in or generated things). Line and column are computed on demand by
// LineIndex, never stored.
#pragma once

#include <cstdint>

namespace rldb::source {

struct FileId {
  std::uint32_t value = 0;  // 0: no file
  explicit operator bool() const { return value != 0; }
  friend bool operator==(FileId, FileId) = default;
};

struct Span {
  FileId file;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // exclusive
  explicit operator bool() const { return bool(file); }
  friend bool operator==(const Span&, const Span&) = default;
};

// 1-based line and 1-based column, columns counted in the unit requested from LineIndex.
struct LineColumn {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

}  // namespace rldb::source
