#include "rldb/support/cpu.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "rldb/support/file.h"
#include "rldb/support/text.h"

namespace rldb::support {

namespace {

std::string cpu_text() {
  const auto text = read_file("/proc/cpuinfo");
  return text.ok() ? *text : std::string();
}

// The value of the first line with this key.
std::string cpu_line(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t colon = text.find(':', at), end = std::min(text.find('\n', at + 1), text.size());
  return colon < end ? std::string(trim(text.substr(colon + 1, end - colon - 1))) : std::string();
}

}  // namespace

std::string cpu_model() {
  const std::string text = cpu_text();
  for (const std::string_view key : {"model name", "CPU part", "Hardware"})
    if (std::string name = cpu_line(text, key); !name.empty()) return name;
  return "unknown CPU";
}

std::vector<std::string> cpu_features() {
  const std::string text = cpu_text();
  std::string line = cpu_line(text, "\nflags");
  if (line.empty()) line = cpu_line(text, "\nFeatures");
  std::vector<std::string> features;
  std::istringstream words(line);
  for (std::string word; words >> word;) features.push_back(word);
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

}  // namespace rldb::support
