// Where the panes of screen mode are on a terminal of any size. Arithmetic only.
//
// The command line has the full width at the bottom. Above it, from 110 columns up: code on the left, values above the
// shape heap on the right. From 70 columns up: code, and below it values and heap side by side. Below that: one above
// the other. Panes for which a low terminal has no room are left out, the heap first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rldb::ui {

// In the order in which the focus moves through them.
enum class PaneKind : std::uint8_t { Code, Instructions, Values, Heap, Command };
inline constexpr std::size_t kPaneKinds = 5;
std::string_view name_of(PaneKind kind);
std::optional<PaneKind> pane_named(std::string_view name);

struct Arrangement {
  std::array<bool, kPaneKinds> shown{true, false, true, true, true};  // the command line always is
  std::array<std::optional<int>, kPaneKinds> heights{};               // requested rows, without the title
  bool is_shown(PaneKind kind) const { return shown[std::size_t(kind)]; }
};

struct PaneBox {
  PaneKind kind = PaneKind::Command;
  int top = 0, left = 0, width = 0;
  int height = 0;  // includes the title, which is its first row
};

// Every row of the screen belongs to a pane; between panes side by side there is a column for a line. The last box is
// the command line.
std::vector<PaneBox> arrange(const Arrangement& wanted, int width, int height);

}  // namespace rldb::ui
