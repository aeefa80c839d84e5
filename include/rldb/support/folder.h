// Folders: temporary ones, and the entries of one in order. Users: repro, the conformance tests.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::support {

// A new folder `rldb-NAME-XXXXXX` in the system's folder for temporary files; empty: it could not be made (errno).
std::string new_temporary_folder(std::string_view name);

// One that is removed with its contents at the end of the scope. `path` is empty if it could not be made.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view name) : path_(new_temporary_folder(name)) {}
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// By name; none: there is nothing, or it cannot be read.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder);

}  // namespace rldb::support
