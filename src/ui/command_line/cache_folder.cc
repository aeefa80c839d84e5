#include "rldb/ui/command_line/cache_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include "rldb/support/file.h"

namespace rldb::ui {

bool make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && !support::file_exists(part)) return false;
    if (at == std::string::npos) return true;
  }
}

std::string cache_folder(std::string_view kind) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return fmt::format("{}/rldb/{}", cache, kind);
  const std::string home = support::home_folder();
  return home.empty() ? home : fmt::format("{}/.cache/rldb/{}", home, kind);
}

std::string peak_rates_folder(std::string_view cache) {
  if (cache.empty() || cache == "off") return {};
  const std::string folder = cache_folder("machine");
  return !folder.empty() && make_folders(folder) ? folder : std::string();
}

namespace {

constexpr std::size_t kMostReports = 50;  // of a kind

// Names begin with the time, so that the oldest come first. Files that cannot be removed stay.
void drop_old_reports(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> reports;
  for (fs::directory_iterator it(folder, ignored), end; it != end && !ignored; it.increment(ignored))
    if (it->is_directory(ignored) && it->path().filename().string().starts_with("20")) reports.push_back(it->path());
  if (reports.size() < kMostReports) return;
  std::sort(reports.begin(), reports.end());
  for (std::size_t i = 0; i + kMostReports <= reports.size(); ++i) fs::remove_all(reports[i], ignored);
}

}  // namespace

std::string new_report_folder(std::string_view kind) {
  std::string folder = cache_folder(kind);
  if (folder.empty()) folder = fmt::format("/tmp/rldb/{}", kind);
  char when[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::strftime(when, sizeof when, "%Y-%m-%dT%H-%M-%S", &parts);
  if (!make_folders(folder)) return {};
  drop_old_reports(folder);
  for (int i = 0; i < 1000; ++i) {
    std::string path = fmt::format("{}/{}-{}{}", folder, when, ::getpid(), i == 0 ? "" : fmt::format("-{}", i));
    if (::mkdir(path.c_str(), 0700) == 0) return path;
  }
  return {};
}

}  // namespace rldb::ui
