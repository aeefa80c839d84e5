#include "rldb/ui/render/storage_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/table.h"
#include "ui/render/draw/svg.h"

namespace rldb::ui {

using bytecode::Pc;
using debug::PlannedStorage;
using debug::StoragePlan;
using debug::Tenant;

namespace {

std::string label_of(const Tenant& t) { return t.binding.empty() ? fmt::format("%{}", t.reg) : t.binding; }

// Maps the instructions of a function to that many columns.
struct Scale {
  Pc begin;
  std::int64_t count;
  std::size_t columns;
  std::size_t of(Pc pc) const {
    const std::int64_t at = std::clamp<std::int64_t>(pc - begin, 0, std::max<std::int64_t>(count - 1, 0));
    return count <= std::int64_t(columns) ? std::size_t(at) : std::size_t(at * std::int64_t(columns) / count);
  }
};

std::string row_of(const Tenant& t, const Scale& scale, Pc now, bool ascii) {
  const std::size_t width = std::min<std::size_t>(scale.columns, std::size_t(scale.count));
  std::vector<std::string> cells(width, " ");
  const std::string waits = ascii ? "." : "·", kept = ascii ? "-" : "─", used = ascii ? "#" : "█";
  const std::size_t made = scale.of(t.made);
  const std::size_t cleared = t.cleared < 0 ? width - 1 : scale.of(t.cleared);
  const std::size_t written = t.written < 0 ? cleared : scale.of(t.written);
  const std::size_t last = t.last_use < 0 ? cleared : scale.of(t.last_use);
  if (now >= 0) cells[scale.of(now)] = ascii ? "|" : "│";
  for (std::size_t c = made; c <= cleared; ++c)
    cells[c] = c == written || c == last ? used : c < written || c > last ? waits : kept;
  std::string text;
  for (const std::string& cell : cells) text += cell;
  return text;
}

}  // namespace

std::string storage_text(const StoragePlan& plan, Pc now, bool ascii) {
  const Scale scale{plan.begin, plan.end - plan.begin, 64};
  Table table(
      {"", "", fmt::format("*{} to *{}{}", plan.begin, plan.end - 1, now < 0 ? "" : fmt::format(", now *{}", now))});
  for (const PlannedStorage& s : plan.storages) {
    std::string id = fmt::format("s{}", s.id);
    for (const Tenant& t : s.tenants) {
      support::poll();
      table.add({id, label_of(t), row_of(t, scale, now, ascii)});
      id.clear();
    }
  }
  return table.text();
}

std::string storage_svg(const StoragePlan& plan, Pc now) {
  constexpr double kLeft = 160, kTop = 40, kWidth = 760, kRow = 22;
  std::size_t rows = 0;
  for (const PlannedStorage& s : plan.storages) rows += std::max<std::size_t>(s.tenants.size(), 1);
  const double count = double(std::max<std::int64_t>(plan.end - plan.begin, 1));
  const auto x_of = [&](Pc pc) { return kLeft + kWidth * double(pc - plan.begin) / count; };
  Svg svg(kLeft + kWidth + 40, kTop + kRow * double(rows) + 40);
  svg.text(16, 24, fmt::format("storages of {}", plan.function));
  double y = kTop;
  for (const PlannedStorage& s : plan.storages) {
    const double height = kRow * double(std::max<std::size_t>(s.tenants.size(), 1));
    const double end = s.released < 0 ? kLeft + kWidth : x_of(s.released + 1);
    svg.box(x_of(s.allocated), y + 1, end - x_of(s.allocated), height - 2, "#bbb", "#f4f4f4");
    svg.text(16, y + 15, fmt::format("s{}  {}", s.id, s.size));
    for (const Tenant& t : s.tenants) {
      support::poll();
      const double stop = t.cleared < 0 ? kLeft + kWidth : x_of(t.cleared + 1);
      const double from = x_of(t.made);
      svg.rect(from, y + 4, stop - from, kRow - 8, "#c6dbef",
               fmt::format("{} {} at offset {}, made *{}, written *{}, last use *{}", label_of(t), t.shape, t.offset,
                           t.made, t.written, t.last_use));
      if (t.written >= 0) svg.rect(x_of(t.written), y + 4, x_of(t.last_use + 1) - x_of(t.written), kRow - 8, "#6baed6");
      svg.text(from + 4, y + 15, label_of(t));
      y += kRow;
    }
    if (s.tenants.empty()) y += kRow;
  }
  if (now >= 0) svg.line(x_of(now), kTop, x_of(now), y, "#d62728");
  svg.text(kLeft, y + 20, fmt::format("*{}", plan.begin));
  svg.text(kLeft + kWidth, y + 20, fmt::format("*{}", plan.end - 1), Svg::Anchor::End);
  return std::move(svg).finish();
}

}  // namespace rldb::ui
