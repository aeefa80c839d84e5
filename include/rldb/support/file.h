// Files: the seam to the file system. Whole files only; writing replaces a file in one step, so that a failed write
// never loses what was there. Used by session, ui, tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rldb/support/result.h"

namespace rldb::support {

struct FileError {
  std::string path;
  std::string reason;      // strerror's words, lower case first letter
  bool too_large = false;  // the file has `size` bytes, over the limit given
  std::size_t size = 0;
};

// Reads a regular file (or a pipe), at most `limit` bytes.
Result<std::string, FileError> read_file(const std::string& path, std::size_t limit = std::size_t(1) << 40);
// The same for what is trusted because this user wrote it: refuses a file of another user, or one that anybody may
// write.
Result<std::string, FileError> read_own_file(const std::string& path, std::size_t limit = std::size_t(1) << 40);
// Writes to a file beside it and renames.
Result<Unit, FileError> write_file(const std::string& path, std::string_view bytes);
bool file_exists(const std::string& path);

}  // namespace rldb::support
