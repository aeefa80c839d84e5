#include "rldb/support/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rldb::support {

namespace fs = std::filesystem;

std::string new_temporary_folder(std::string_view name) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    errno = error.value();
    return {};
  }
  std::string path = (parent / fmt::format("rldb-{}-XXXXXX", name)).string();
  return ::mkdtemp(path.data()) ? path : std::string();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace rldb::support
