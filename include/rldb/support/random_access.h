// RandomAccess: the bytes of a file or of a string, read by range. Opening an archive of gigabytes costs what is taken
// from it, not its size. Used by the readers of tensor files and of ONNX's external data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rldb/support/file.h"
#include "rldb/support/result.h"

namespace rldb::support {

class RandomAccess {
 public:
  // The string must live as long as this and the views taken from it.
  static RandomAccess of_memory(std::string_view bytes);
  // Keeps the file open. A pipe or device is read whole, at most `limit` bytes.
  static Result<RandomAccess, FileError> open(const std::string& path, std::size_t limit = std::size_t(1) << 40);

  RandomAccess(RandomAccess&& other) noexcept;
  RandomAccess& operator=(RandomAccess&&) = delete;
  ~RandomAccess();

  bool is_file() const { return fd_ >= 0; }
  std::uint64_t size() const { return size_; }
  bool has(std::uint64_t at, std::uint64_t size) const { return at <= size_ && size <= size_ - at; }
  // A range that `has`. Bytes of a file are put into `buffer`, and the view is of it; those of memory are not copied.
  // Fails when the file has become shorter. Can be cancelled.
  Result<std::string_view, FileError> read(std::uint64_t at, std::size_t size, std::string& buffer) const;
  // The same, into memory of the caller.
  Result<Unit, FileError> read(std::uint64_t at, std::span<std::byte> to) const;

 private:
  RandomAccess() = default;
  std::string_view in_memory() const { return whole_.empty() ? memory_ : std::string_view(whole_); }

  std::string path_;
  std::string whole_;        // of a pipe
  std::string_view memory_;  // without a file
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace rldb::support
