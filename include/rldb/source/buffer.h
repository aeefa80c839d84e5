// Buffers: the texts of a session, and the map from byte offsets to lines and columns.
//
// A Buffer never changes; an edit makes a new one, which replaces the old under its FileId. SourceManager
// owns them and hands out FileIds; it is owned by the session (or by a batch command). Texts over kMaxBytes are refused
// with a diagnostic by whoever reads the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/source/span.h"

namespace rldb::source {

inline constexpr std::size_t kMaxBytes = std::size_t(1) << 30;

enum class ColumnUnit { Bytes, CodePoints, Utf16 };

class Buffer {
 public:
  Buffer(std::string name, std::string text);
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::uint32_t line_count() const { return static_cast<std::uint32_t>(line_starts_.size()); }
  // Text of a 1-based line without its line break.
  std::string_view line(std::uint32_t line) const;
  std::uint32_t line_start(std::uint32_t line) const;
  LineColumn line_column(std::uint32_t offset, ColumnUnit unit = ColumnUnit::CodePoints) const;
  // The reverse: the offset of a 1-based line and column. A column past the end of its line means the line's end, one
  // inside a character (the second half of a UTF-16 pair) the character's start, a line past the last the text's
  // end.
  std::uint32_t offset(LineColumn place, ColumnUnit unit = ColumnUnit::CodePoints) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
};

class SourceManager {
 public:
  FileId add(std::string name, std::string text);
  // Gives the file another text. Moving spans into the old text is left to the caller. Returns the old buffer, for
  // views of it that are still held.
  std::unique_ptr<Buffer> replace(FileId file, std::string text);
  const Buffer& get(FileId file) const;
  const Buffer* find(FileId file) const;  // null for "no file"
  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace rldb::source
