// The verdict of a report, for the head of a script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

// Its first three lines, without those that count what was passed by.
std::vector<std::string> verdict_lines(std::string_view report);

}  // namespace rldb::ui
