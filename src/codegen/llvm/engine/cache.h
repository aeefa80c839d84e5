// Compiled kernels on disk: one file per kernel, named by the hash of its key. Shared by processes: a file is replaced
// in one step, and one that is cut, damaged, of another key or of another user is ignored.
//
// The folder is created, private, when the first kernel is written. It is bounded: when it exceeds its limit, the files
// that have not been used for the longest time are removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::codegen {

class KernelCache {
 public:
  // An empty folder: nothing is kept.
  // `limit`: on the size of the folder in bytes.
  KernelCache(std::string folder, std::uint64_t limit);

  bool enabled() const { return !folder_.empty(); }
  // The key of a kernel with the identity of this program in it: another build of rldb may generate other code for it.
  std::string full_key(std::string_view key) const;
  std::optional<std::string> read(std::string_view full_key) const;
  bool has(std::string_view full_key) const;  // a file of that name, whatever is in it
  // A failure to write costs time later, nothing else.
  void write(std::string_view full_key, std::string_view blob);

 private:
  std::string path(std::string_view full_key) const;
  void trim() const;

  std::string folder_;
  std::string program_;
  std::uint64_t limit_;
  std::uint64_t since_trim_;  // bytes written; a process that writes little checks the folder once
};

}  // namespace rldb::codegen
