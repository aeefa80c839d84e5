// Files: reading and writing of whole files. Writing replaces a file in one step, so that a failed write never loses
// the old contents. The system calls go through file_system.h. Used by session, codegen/llvm, ui, tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rldb/support/result.h"

namespace rldb::support {

// $HOME; empty when it is not set or not an absolute path.
std::string home_folder();

struct FileError {
  std::string path;
  std::string reason;      // strerror's words, lower case first letter
  bool too_large = false;  // the file has `size` bytes, over the limit given
  std::size_t size = 0;
};

// Reads a file that the user named, at most `limit` bytes. Waiting for a pipe can be cancelled; pipes and devices,
// whose size nobody knows, give at most kMostOfPipe.
constexpr std::size_t kMostOfPipe = std::size_t(1) << 30;
Result<std::string, FileError> read_file(const std::string& path, std::size_t limit = std::size_t(1) << 40);
// The same for files that nobody named (found in a folder, named in a program): regular ones only.
Result<std::string, FileError> read_regular_file(const std::string& path, std::size_t limit = std::size_t(1) << 40);
// The same for files trusted because this user wrote them: refuses also a file of another user, or one that anybody
// may write.
Result<std::string, FileError> read_own_file(const std::string& path, std::size_t limit = std::size_t(1) << 40);

// Yes: the contents are on the disk when the call returns. No: for files that can be recreated (a cache); after a power
// failure the file may be empty or old. Such a file is always created anew, for this user alone.
enum class Durable : bool { No, Yes };

// Writes to a temporary file in the same folder and renames it over `path`: a reader sees all of the old file or
// all of the new one, and when any step fails the old one is kept and the temporary removed. Permissions of an
// existing file are kept, a symbolic link is followed, a device or pipe is written in place. Temporary files left over
// from killed processes are removed from the folder.
Result<Unit, FileError> write_file(const std::string& path, std::string_view bytes, Durable durable = Durable::Yes);
bool file_exists(const std::string& path);
// The first bytes of a regular file, at most `size`, from which its kind can be told. Empty for a pipe or a device:
// bytes read from one cannot be read again.
std::string first_bytes(const std::string& path, std::size_t size);
// `a/b` of `a/b/c`, `/` of `/c`, `.` of `c`.
std::string folder_of(const std::string& path);

}  // namespace rldb::support
