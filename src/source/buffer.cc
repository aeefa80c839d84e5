// Buffers: lines and columns by offset; SourceManager, which owns them.
#include "rldb/source/buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rldb/support/check.h"
#include "source/utf8.h"

namespace rldb::source {

namespace {

std::vector<std::uint32_t> find_line_starts(std::string_view text) {
  std::vector<std::uint32_t> starts{0};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* p = begin; p != end;) {
    const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    if (!newline) break;
    p = newline + 1;
    starts.push_back(static_cast<std::uint32_t>(p - begin));
  }
  return starts;
}

std::uint32_t count_units(std::string_view text, ColumnUnit unit) {
  switch (unit) {
    case ColumnUnit::Bytes:
      return static_cast<std::uint32_t>(text.size());
    case ColumnUnit::CodePoints:
    case ColumnUnit::Utf16:
      break;
  }
  std::uint32_t units = 0;
  for (std::size_t at = 0; at < text.size();) {
    // Eight ASCII bytes at a time: a column far into a long line is still quick.
    std::uint64_t word = 0;
    if (text.size() - at >= sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080) == 0) {
        units += sizeof word;
        at += sizeof word;
        continue;
      }
    }
    const CodePoint c = decode(text, at);
    at += c.bytes;
    units += unit == ColumnUnit::Utf16 && c.value > 0xFFFF ? 2 : 1;
  }
  return units;
}

}  // namespace

Buffer::Buffer(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  RLDB_CHECK(text_.size() <= kMaxBytes, "whoever reads a file refuses longer texts: " + name_);
  line_starts_ = find_line_starts(text_);
}

std::uint32_t Buffer::line_start(std::uint32_t line) const {
  if (line == 0) return 0;
  if (line > line_starts_.size()) return static_cast<std::uint32_t>(text_.size());
  return line_starts_[line - 1];
}

std::string_view Buffer::line(std::uint32_t line) const {
  if (line == 0 || line > line_starts_.size()) return {};
  const std::uint32_t begin = line_start(line);
  std::string_view text = std::string_view(text_).substr(begin, line_start(line + 1) - begin);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

LineColumn Buffer::line_column(std::uint32_t offset, ColumnUnit unit) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const std::uint32_t begin = *std::prev(after);
  const auto line = static_cast<std::uint32_t>(after - line_starts_.begin());
  const std::string_view before = std::string_view(text_).substr(begin, offset - begin);
  return {line, count_units(before, unit) + 1};
}

std::uint32_t Buffer::offset(LineColumn place, ColumnUnit unit) const {
  if (place.line == 0) return 0;
  if (place.line > line_count()) return static_cast<std::uint32_t>(text_.size());
  const std::string_view text = line(place.line);
  std::size_t at = 0;
  for (std::uint32_t column = 1; column < place.column && at < text.size();) {
    const CodePoint c = decode(text, at);
    const std::uint32_t units = unit == ColumnUnit::Bytes                       ? c.bytes
                                : unit == ColumnUnit::Utf16 && c.value > 0xFFFF ? 2U
                                                                                : 1U;
    if (column + units > place.column) break;
    column += units;
    at += c.bytes;
  }
  return line_start(place.line) + static_cast<std::uint32_t>(at);
}

FileId SourceManager::add(std::string name, std::string text) {
  buffers_.push_back(std::make_unique<Buffer>(std::move(name), std::move(text)));
  return FileId{static_cast<std::uint32_t>(buffers_.size())};
}

std::unique_ptr<Buffer> SourceManager::replace(FileId file, std::string text) {
  RLDB_CHECK(find(file), "a FileId of another SourceManager, or no file");
  std::unique_ptr<Buffer>& place = buffers_[file.value - 1];
  return std::exchange(place, std::make_unique<Buffer>(place->name(), std::move(text)));
}

const Buffer* SourceManager::find(FileId file) const {
  if (file.value == 0 || file.value > buffers_.size()) return nullptr;
  return buffers_[file.value - 1].get();
}

const Buffer& SourceManager::get(FileId file) const {
  const Buffer* buffer = find(file);
  RLDB_CHECK(buffer, "a FileId of another SourceManager, or no file");
  return *buffer;
}

}  // namespace rldb::source
