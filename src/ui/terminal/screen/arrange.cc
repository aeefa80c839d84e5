// Computes the rectangles of the panes for any width and height.
#include "rldb/ui/terminal/arrange.h"

#include <algorithm>

namespace rldb::ui {

namespace {

constexpr std::string_view kNames[kPaneKinds] = {"code", "instructions", "values", "heap", "command"};
constexpr int kWide = 110, kSideBySide = 70;
constexpr int kLeast = 2;         // rows of a pane: its title and one line
constexpr int kLeastCommand = 3;  // its title, a line of output, the entry

// Panes one above the other, as parts of a height; panes side by side are one part.
struct Part {
  std::vector<PaneKind> kinds;
  int weight = 1;
  std::optional<int> wanted;
  int height = 0;
};

int weight_of(PaneKind kind) {
  switch (kind) {
    case PaneKind::Code:
      return 4;
    case PaneKind::Instructions:
    case PaneKind::Values:
      return 3;
    case PaneKind::Heap:
      return 2;
    case PaneKind::Command:
      return 0;  // its height was set before the others
  }
  return 1;
}

// First the requested heights, as far as they leave the others their minimum; the rest by weight.
void share(std::vector<Part>& parts, int height) {
  int left = height, weights = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].wanted) {
      weights += parts[i].weight;
      continue;
    }
    const int others = int(parts.size() - 1) * kLeast;
    parts[i].height = std::clamp(*parts[i].wanted + 1, kLeast, std::max(kLeast, height - others));
    left -= parts[i].height;
  }
  for (Part& part : parts) {
    if (part.wanted) continue;
    part.height = std::max(kLeast, weights > 0 ? left * part.weight / weights : 0);
    left -= part.height;
    weights -= part.weight;
  }
  // Excess or shortage goes to the first; the others shrink once it has none left.
  parts.front().height += left;
  for (std::size_t i = parts.size(); i-- > 1 && parts.front().height < kLeast;) {
    const int given = std::min(parts[i].height - kLeast, kLeast - parts.front().height);
    parts[i].height -= given;
    parts.front().height += given;
  }
}

struct Area {
  int top, left, width, height;
};

void place(std::vector<Part> parts, Area area, std::vector<PaneBox>& out) {
  while (!parts.empty() && int(parts.size()) * kLeast > area.height) parts.pop_back();
  if (parts.empty()) return;
  share(parts, area.height);
  int top = area.top;
  for (const Part& part : parts) {
    const int count = int(part.kinds.size());
    int left = area.left;
    for (int i = 0; i < count; ++i) {
      // Side by side, the first takes three fifths.
      const bool last = i + 1 == count;
      const int width = last ? area.left + area.width - left : (area.width - 1) * 3 / 5;
      out.push_back({part.kinds[std::size_t(i)], top, left, width, part.height});
      left += width + 1;
    }
    top += part.height;
  }
}

std::vector<Part> parts_of(const Arrangement& wanted, std::initializer_list<std::initializer_list<PaneKind>> rows) {
  std::vector<Part> parts;
  for (const auto& row : rows) {
    Part part;
    part.weight = 0;
    for (const PaneKind kind : row) {
      if (!wanted.is_shown(kind)) continue;
      part.kinds.push_back(kind);
      part.weight = std::max(part.weight, weight_of(kind));
      if (const auto asked = wanted.heights[std::size_t(kind)]) part.wanted = asked;
    }
    if (!part.kinds.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

int command_height(const Arrangement& wanted, int height) {
  const int rows = wanted.heights[std::size_t(PaneKind::Command)].value_or(height / 3 - 1) + 1;
  return std::min(height, std::clamp(rows, kLeastCommand, std::max(kLeastCommand, height - kLeast)));
}

}  // namespace

std::string_view name_of(PaneKind kind) { return kNames[std::size_t(kind)]; }

std::optional<PaneKind> pane_named(std::string_view name) {
  for (std::size_t i = 0; i < kPaneKinds; ++i)
    if (kNames[i] == name) return PaneKind(i);
  return std::nullopt;
}

std::vector<PaneBox> arrange(const Arrangement& wanted, int width, int height) {
  using enum PaneKind;
  std::vector<PaneBox> boxes;
  int command = command_height(wanted, height);
  const int above = height - command;
  const std::vector<Part> code = parts_of(wanted, {{Code}, {Instructions}});
  const std::vector<Part> data = parts_of(wanted, {{Values}, {Heap}});
  if (above < kLeast || (code.empty() && data.empty())) {
    command = height;
  } else if (width >= kWide && !code.empty() && !data.empty()) {
    const int left = (width - 1) * 3 / 5;
    place(code, {0, 0, left, above}, boxes);
    place(data, {0, left + 1, width - left - 1, above}, boxes);
  } else if (width >= kSideBySide) {
    place(parts_of(wanted, {{Code}, {Instructions}, {Values, Heap}}), {0, 0, width, above}, boxes);
  } else {
    place(parts_of(wanted, {{Code}, {Instructions}, {Values}, {Heap}}), {0, 0, width, above}, boxes);
  }
  boxes.push_back({Command, height - command, 0, width, command});
  return boxes;
}

}  // namespace rldb::ui
