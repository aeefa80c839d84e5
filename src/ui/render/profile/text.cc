// A profile as tables, sorted by time.
#include "rldb/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/profile_view.h"
#include "rldb/ui/render/table.h"
#include "ui/render/profile/numbers.h"

namespace rldb::ui {

using debug::CallKind;
using debug::Profile;
using debug::ProfileCounts;
using debug::ProfileRow;

namespace {

bool was_called(const ProfileRow& row) { return row.counts.calls > 0; }

// By time; without times by operations and bytes, then in the order of the code.
std::vector<const ProfileRow*> profile_order(const std::vector<ProfileRow>& rows, ProfileColumns columns) {
  std::vector<const ProfileRow*> order;
  for (const ProfileRow& row : rows)
    if (was_called(row)) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [&](const ProfileRow* a, const ProfileRow* b) {
    if (columns == ProfileColumns::All) return a->counts.self_ns > b->counts.self_ns;
    return std::pair(a->counts.operations, a->counts.bytes) > std::pair(b->counts.operations, b->counts.bytes);
  });
  return order;
}

std::string place_of(const ProfileRow& row) {
  std::string place = row.file.empty() ? std::string() : fmt::format("{}:{}", row.file, row.line);
  if (!row.node.empty()) place += fmt::format("{}{}", place.empty() ? "" : ", ", row.node);
  return place;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  const std::size_t shown = std::min(names.size(), kMost);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), " "),
                     shown < names.size() ? " ..." : "");
}

class ProfileTable {
 public:
  ProfileTable(const Profile& p, ProfileColumns columns, bool of_bindings)
      : p_(p), columns_(columns), of_bindings_(of_bindings), table_(header()) {}

  std::string text(const std::vector<ProfileRow>& rows) {
    ProfileCounts others;
    std::size_t left_out = 0;
    for (const ProfileRow* row : profile_order(rows, columns_)) {
      if (columns_ == ProfileColumns::All && double(row->counts.self_ns) < kLeastShare * double(p_.wall_ns)) {
        add(others, row->counts);
        ++left_out;
      } else {
        put(row->counts, row->name, *row);
      }
    }
    if (left_out > 0) put(others, fmt::format("({})", support::counted(left_out, "other")), ProfileRow());
    return table_.empty() ? std::string() : table_.text();
  }

 private:
  std::vector<std::string> header() const {
    std::vector<std::string> cells;
    if (columns_ == ProfileColumns::All) cells = {"time", "share", "with calls"};
    cells.insert(cells.end(), {"calls", "FLOP", "bytes"});
    if (columns_ == ProfileColumns::All) cells.insert(cells.end(), {"GFLOP/s", "GB/s", "roofline"});
    if (of_bindings_)
      cells.insert(cells.end(), {"binding", "by", "at"});
    else
      cells.insert(cells.end(), {"kind", "callee"});
    return cells;
  }

  static void add(ProfileCounts& to, const ProfileCounts& c) {
    to.calls += c.calls;
    to.builtin_calls += c.builtin_calls;
    to.self_ns += c.self_ns;
    to.operations += c.operations;
    to.bytes += c.bytes;
    to.costed_ns += c.costed_ns;
    to.moving_ns += c.moving_ns;
    to.attainable_ns += c.attainable_ns;
  }

  void put(const ProfileCounts& c, const std::string& name, const ProfileRow& row) {
    std::vector<std::string> cells;
    if (columns_ == ProfileColumns::All)
      cells = {format_duration(c.self_ns), percent(double(c.self_ns), double(p_.wall_ns)),
               c.total_ns > c.self_ns ? format_duration(c.total_ns) : ""};
    cells.push_back(fmt::format("{}", c.calls));
    cells.push_back(c.costed_ns == 0 && c.operations == 0 ? "" : c.operations == 0 ? "0" : scaled(c.operations));
    cells.push_back(scaled(c.bytes));
    if (columns_ == ProfileColumns::All) {
      cells.push_back(rate(c.operations, c.costed_ns));
      cells.push_back(rate(c.bytes, c.moving_ns));
      cells.push_back(c.attainable_ns > 0 ? percent(c.attainable_ns, double(c.costed_ns)) : "");
    }
    if (of_bindings_) {
      cells.insert(cells.end(), {name, first_names(row.callees), place_of(row)});
    } else {
      cells.emplace_back(row.name.empty() ? "" : to_string(row.kind));
      cells.push_back(name);
    }
    table_.add(std::move(cells));
  }

  const Profile& p_;
  ProfileColumns columns_;
  bool of_bindings_;
  Table table_;
};

std::string profile_heading(const Profile& p, bool one, ProfileColumns columns) {
  std::string text = one ? std::string() : fmt::format("rank {}: ", p.rank);
  text += fmt::format("{} on {}: {}", p.function, p.engine, support::counted(p.runs, "run"));
  if (columns == ProfileColumns::All) text += fmt::format(" in {}", format_duration(p.wall_ns));
  text += fmt::format(", {}", support::counted(p.calls, "call"));
  if (p.engine == "jit" && !p.bounds_checked) text += ", bounds were not checked";
  text += "\n";
  if (!p.stopped.empty()) text += fmt::format("ended by an error: {}\n", p.stopped);
  if (columns == ProfileColumns::Counts) return text;
  text += fmt::format("profiling overhead: about {} of that ({}), estimated from the number of events\n",
                      format_duration(p.overhead_ns), percent(double(p.overhead_ns), double(p.wall_ns)));
  if (p.peaks.bytes > 0)
    text += fmt::format("roofline of one thread, measured: {} GFLOP/s in float32, {} in float64, {} GB/s ({})\n",
                        rate(p.peaks.f32_operations, 1'000'000'000), rate(p.peaks.f64_operations, 1'000'000'000),
                        rate(p.peaks.bytes, 1'000'000'000), p.peaks.cpu);
  return text;
}

// `4.19 MB`, `200 B`.
std::string byte_text(std::int64_t bytes) {
  const std::string text = bytes == 0 ? "0" : scaled(double(bytes));
  return text + (text.back() >= 'A' ? "B" : " B");
}

std::string memory_line(const Profile& p, ProfileColumns columns) {
  if (p.peak_bytes == 0) return "memory: nothing was allocated\n";
  const bool known = p.peak_binding >= 0 && std::size_t(p.peak_binding) < p.bindings.size();
  const std::string where = known ? fmt::format(" at {}", p.bindings[std::size_t(p.peak_binding)].name) : "";
  if (columns == ProfileColumns::Counts)
    return fmt::format("peak memory allocated: {}{}\n", byte_text(std::int64_t(p.peak_bytes)), where);
  return fmt::format("peak memory allocated: {}{}, {} after the start; {} of arguments\n",
                     byte_text(std::int64_t(p.peak_bytes)), where, format_duration(p.peak_at_ns),
                     byte_text(std::int64_t(p.arguments_bytes)));
}

std::string left_out_lines(const Profile& p) {
  std::string text;
  for (const ProfileRow& row : p.callees)
    if (was_called(row) && !row.unknown.empty())
      text += fmt::format("note: the operation count of {} is not exact: it has {}\n", row.name, row.unknown);
  return text;
}

// Memory of a device, and copies from and to it.
std::string traffic_line(const runtime::DeviceUse& d, ProfileColumns columns) {
  const auto copies = [&](std::size_t count, std::size_t bytes, std::uint64_t ns, std::string_view way) {
    std::string text = fmt::format("; {} {} {}", count, count == 1 ? "copy" : "copies", way);
    if (count == 0) return text;
    text += fmt::format(": {}", byte_text(std::int64_t(bytes)));
    if (columns == ProfileColumns::All) text += fmt::format(" in {}", format_duration(ns));
    return text;
  };
  return fmt::format("{}: at most {} in use{}{}\n", to_string(d.device), byte_text(std::int64_t(d.peak)),
                     copies(d.copies_in, d.bytes_in, d.ns_in, "to it"),
                     copies(d.copies_out, d.bytes_out, d.ns_out, "from it"));
}

}  // namespace

std::string profile_text(const std::vector<Profile>& ranks, ProfileColumns columns) {
  std::string text;
  for (const Profile& p : ranks) {
    if (!text.empty()) text += "\n";
    text += profile_heading(p, ranks.size() == 1, columns);
    for (const bool of_bindings : {true, false}) {
      const std::string table = ProfileTable(p, columns, of_bindings).text(of_bindings ? p.bindings : p.callees);
      if (!table.empty()) text += "\n" + table;
    }
    text += "\n" + memory_line(p, columns) + left_out_lines(p);
    if (&p == &ranks.back())  // of the process
      for (const runtime::DeviceUse& d : p.traffic) text += traffic_line(d, columns);
    if (!p.devices.empty()) text += simulation_text(p);
  }
  return text;
}

}  // namespace rldb::ui
