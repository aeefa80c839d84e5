#include "ui/prompt/repro_file/verdict_lines.h"

#include <algorithm>

namespace rldb::ui {

namespace {

constexpr std::size_t kMostLines = 3;
// Lines about what was looked at, not about the fault.
constexpr std::string_view kAside[] = {"not run: ", "note: ", "not compared: ", "not well-formed from "};
constexpr std::string_view kCounts = "can be run";

}  // namespace

std::vector<std::string> verdict_lines(std::string_view report) {
  std::vector<std::string> out;
  while (!report.empty() && out.size() < kMostLines) {
    const auto end = std::min(report.find('\n'), report.size());
    const std::string_view line = report.substr(0, end);
    report.remove_prefix(std::min(end + 1, report.size()));
    const bool aside =
        std::any_of(std::begin(kAside), std::end(kAside), [&](std::string_view a) { return line.starts_with(a); });
    if (!line.empty() && !aside && !line.ends_with(kCounts)) out.emplace_back(line);
  }
  return out;
}

}  // namespace rldb::ui
