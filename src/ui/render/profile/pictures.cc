// A profile as pictures: call paths (a flame graph, from the top down), and memory over time.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/profile_view.h"
#include "rldb/ui/render/table.h"
#include "ui/render/draw/svg.h"
#include "ui/render/profile/numbers.h"

namespace rldb::ui {

using debug::CallKind;
using debug::Profile;
using debug::ProfileNode;

namespace {

constexpr double kWidth = 1200, kMargin = 10, kRow = 18, kTitle = 34, kLetter = 7.3;
constexpr std::size_t kMostBoxes = 20'000;

std::string_view flame_colour(CallKind kind) {
  switch (kind) {
    case CallKind::Function:
      return "#f2c14e";
    case CallKind::Kernel:
      return "#f78154";
    case CallKind::Builtin:
      return "#9fc5a8";
    case CallKind::Packed:
      return "#b4a7d6";
  }
  return "#ccc";
}

class FlamePicture {
 public:
  explicit FlamePicture(const Profile& p) : p_(p), children_(p.tree.size()) {
    for (std::size_t i = 1; i < p.tree.size(); ++i) children_[std::size_t(p.tree[i].parent)].push_back(int(i));
    for (auto& list : children_)
      std::stable_sort(list.begin(), list.end(), [&](int a, int b) { return total(a) > total(b); });
    place(0, kMargin, kWidth - 2 * kMargin, 0);
  }

  double height() const { return kTitle + double(depth_ + 1) * kRow + kMargin; }

  void draw(Svg& svg, double y) const {
    svg.text(kMargin, y + 20,
             fmt::format("{} on {}: {}{}", p_.function, p_.engine, format_duration(p_.wall_ns),
                         p_.rank > 0 ? fmt::format(", rank {}", p_.rank) : ""));
    for (const Box& b : boxes_) {
      support::poll();
      const ProfileNode& n = p_.tree[std::size_t(b.node)];
      const double top = y + kTitle + double(b.depth) * kRow;
      const CallKind kind = n.callee < 0 ? CallKind::Function : p_.callees[std::size_t(n.callee)].kind;
      svg.rect(b.x, top, std::max(b.width - 0.5, 0.3), kRow - 1, flame_colour(kind), hint(n));
      const auto room = std::size_t(std::max(0.0, b.width - 6) / kLetter);
      if (room >= 3) svg.text(b.x + 3, top + 13, cut(label(n), room));
    }
  }

 private:
  struct Box {
    int node;
    double x, width;
    std::size_t depth;
  };

  std::uint64_t total(int node) const { return p_.tree[std::size_t(node)].total_ns; }

  std::string label(const ProfileNode& n) const {
    return n.callee < 0 ? "the run" : p_.callees[std::size_t(n.callee)].name;
  }

  std::string hint(const ProfileNode& n) const {
    std::string text = label(n);
    if (n.binding >= 0) text += fmt::format(" of {}", p_.bindings[std::size_t(n.binding)].name);
    return fmt::format("{}: {}, {} of it itself, {} calls, {}", text, format_duration(n.total_ns),
                       format_duration(n.self_ns), n.calls, percent(double(n.total_ns), double(p_.wall_ns)));
  }

  // Paths thinner than a hair are left out; a recursive path may take longer than the one that it is folded into.
  void place(int node, double x, double width, std::size_t depth) {
    constexpr double kHair = 0.3;
    if (width < kHair || boxes_.size() >= kMostBoxes) return;
    boxes_.push_back({node, x, width, depth});
    depth_ = std::max(depth_, depth);
    const double whole = std::max(1.0, double(total(node)));
    double used = 0;
    for (const int child : children_[std::size_t(node)]) {
      const double part = std::min(width - used, width * double(total(child)) / whole);
      if (part <= 0) return;
      place(child, x + used, part, depth + 1);
      used += part;
    }
  }

  const Profile& p_;
  std::vector<std::vector<int>> children_;
  std::vector<Box> boxes_;
  std::size_t depth_ = 0;
};

constexpr double kChartHeight = 220, kAxis = 90;

void draw_memory(Svg& svg, const Profile& p, double y) {
  svg.text(kMargin, y + 20,
           fmt::format("memory of {} on {}{}: at most {} B", p.function, p.engine,
                       p.rank > 0 ? fmt::format(", rank {}", p.rank) : "",
                       p.peak_bytes == 0 ? "0" : scaled(double(p.peak_bytes))));
  const double left = kMargin + kAxis, width = kWidth - left - kMargin, top = y + kTitle, bottom = top + kChartHeight;
  const double most = std::max(1.0, double(p.peak_bytes)), end = std::max(1.0, double(p.wall_ns));
  svg.line(left, bottom, left + width, bottom, "#555");
  svg.line(left, top, left, bottom, "#555");
  const auto x = [&](std::uint64_t ns) { return left + width * double(ns) / end; };
  const auto height = [&](std::uint64_t bytes) { return bottom - kChartHeight * double(bytes) / most; };
  std::string points = fmt::format("{:.1f},{:.1f}", left, bottom);
  double last = bottom;
  for (const debug::MemoryPoint& m : p.memory) {  // it holds until the next one
    points += fmt::format(" {:.1f},{:.1f} {:.1f},{:.1f}", x(m.ns), last, x(m.ns), height(m.bytes));
    last = height(m.bytes);
  }
  points += fmt::format(" {:.1f},{:.1f}", left + width, last);
  svg.polyline(points, "#2a78b8");
  svg.text(left - 6, top + 10, scaled(most) + " B", Svg::Anchor::End);
  svg.text(left - 6, bottom, "0", Svg::Anchor::End);
  svg.text(left + width, bottom + 16, format_duration(p.wall_ns), Svg::Anchor::End);
  if (p.peak_binding >= 0 && p.peak_bytes > 0) {
    const bool right = x(p.peak_at_ns) > left + width / 2;
    svg.text(x(p.peak_at_ns), top - 3, p.bindings[std::size_t(p.peak_binding)].name,
             right ? Svg::Anchor::End : Svg::Anchor::Start, "#b82a2a");
  }
}

}  // namespace

std::string flame_svg(const std::vector<Profile>& ranks) {
  std::vector<FlamePicture> pictures;
  double height = 0;
  for (const Profile& p : ranks) height += pictures.emplace_back(p).height();
  Svg svg(kWidth, std::max(height, kRow));
  double y = 0;
  for (const FlamePicture& picture : pictures) {
    picture.draw(svg, y);
    y += picture.height();
  }
  return std::move(svg).finish();
}

std::string memory_timeline_svg(const std::vector<Profile>& ranks) {
  constexpr double kEach = kTitle + kChartHeight + 30;
  Svg svg(kWidth, std::max(kEach * double(ranks.size()), kRow));
  for (std::size_t i = 0; i < ranks.size(); ++i) draw_memory(svg, ranks[i], kEach * double(i));
  return std::move(svg).finish();
}

}  // namespace rldb::ui
