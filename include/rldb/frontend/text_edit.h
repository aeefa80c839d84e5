// TextEdit: one change of a text, by bytes. Users: Document, TextIndex, and whoever keeps places of a text.
#pragma once

#include <cstdint>

namespace rldb::frontend {

// A replacement of bytes [begin, old_end) by others, which are then [begin, new_end).
struct TextEdit {
  std::uint32_t begin = 0;
  std::uint32_t old_end = 0;
  std::uint32_t new_end = 0;
  std::int64_t delta() const { return std::int64_t(new_end) - std::int64_t(old_end); }
  // Where a place of the old text is in the new one. Of a range that was removed: where it was.
  std::uint32_t moved(std::uint32_t offset) const;
};

}  // namespace rldb::frontend
