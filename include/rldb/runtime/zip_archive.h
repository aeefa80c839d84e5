// ZipArchive: the members of a zip archive (stored and deflated ones, zip64), each read when it is asked for. Opening
// reads the directory only.
//
// Trusts nothing: places and sizes are checked against the file and the memory limit before memory is allocated, and a
// member whose size cannot come out of its packed bytes is refused. Users: .npz files, archives of PyTorch (onnx).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/runtime/error.h"
#include "rldb/support/random_access.h"

namespace rldb::runtime {

struct ZipMember {
  std::string name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t crc = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t local_offset = 0;
};

class ZipArchive {
 public:
  // `name` and `kind` (".npz file") are for messages.
  static Result<ZipArchive> open(support::RandomAccess bytes, std::string_view name, std::string_view kind);

  // In the order of the directory. A damaged file may give a name twice; `find` takes the first.
  const std::vector<ZipMember>& members() const { return members_; }
  std::optional<std::size_t> find(std::string_view name) const;
  // Inflated, and its checksum compared. A stored member of an archive in memory is not copied: the view is of that
  // memory. Otherwise it is of `buffer`.
  Result<std::string_view> read(std::size_t index, std::string& buffer) const;

 private:
  ZipArchive(support::RandomAccess bytes, std::string_view name) : bytes_(std::move(bytes)), name_(name) {}

  support::RandomAccess bytes_;
  std::string name_;
  std::vector<ZipMember> members_;
  std::unordered_map<std::string, std::size_t> index_;  // the first of each name
};

}  // namespace rldb::runtime
