// The time that a run would take if its devices cost what the user says.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/profile_view.h"
#include "rldb/ui/render/table.h"
#include "ui/render/profile/numbers.h"

namespace rldb::ui {

using debug::DeviceCosts;
using debug::Profile;
using debug::ProfileRow;
using debug::SimulatedTime;

namespace {

// As much as the type holds is shown for more.
std::string time_or_nothing(double ns) {
  constexpr double kMost = 1.8e19;
  if (!(ns > 0)) return {};
  return ns < kMost ? format_duration(std::uint64_t(ns + 0.5)) : "more than " + format_duration(std::uint64_t(kMost));
}

// `500 GB/s`; empty for 0.
std::string with_unit(double v, std::string_view unit) {
  std::string text = scaled(v);
  if (text.empty()) return text;
  if (text.back() < 'A') text += ' ';
  return text.append(unit);
}

std::string costs_text(const DeviceCosts& d) {
  std::string text;
  for (const std::string& cost : {with_unit(d.operations, "FLOP/s"), with_unit(d.bytes, "B/s of its memory"),
                                  with_unit(d.link, "B/s of copies from and to it"),
                                  d.latency_ns > 0 ? time_or_nothing(d.latency_ns) + " for each call and copy" : ""})
    if (!cost.empty()) text += (text.empty() ? "" : ", ") + cost;
  return fmt::format("{}: {}{}", to_string(d.device), text, d.used ? "" : "; nothing ran there");
}

class WhatIf {
 public:
  explicit WhatIf(const Profile& p) : p_(p), all_(simulated_time(p)), copies_(simulated_copies(p)) {}

  std::string text() {
    std::string out = fmt::format("\nwhat if: {} would take {}", p_.function, time_or_nothing(all_.total()));
    if (p_.runs > 1) out += fmt::format(" in {} runs", p_.runs);
    out += fmt::format(", instead of {} as measured\n", format_duration(p_.wall_ns));
    for (const DeviceCosts& d : p_.devices) out += "  " + costs_text(d) + "\n";
    add_bindings();
    return table_.empty() ? out : out + table_.text();
  }

 private:
  void add_bindings() {
    std::vector<const ProfileRow*> rows;
    SimulatedTime rest = outside();
    for (const ProfileRow& row : p_.bindings)
      if (row.counts.simulated.total() >= kLeastShare * all_.total())
        rows.push_back(&row);
      else
        rest.add(row.counts.simulated);
    std::stable_sort(rows.begin(), rows.end(), [](const ProfileRow* a, const ProfileRow* b) {
      return a->counts.simulated.total() > b->counts.simulated.total();
    });
    for (const ProfileRow* row : rows) add(row->counts.simulated, row->name);
    if (copies_.total() > 0) add(copies_, fmt::format("copies from and to {}", to_string(p_.kernel_devices)));
    if (rest.total() > 0.5) add(rest, "all others");
  }

  // Of calls that belong to no binding. Without what is only the rounding of two sums.
  SimulatedTime outside() const {
    SimulatedTime all, known;
    for (const ProfileRow& row : p_.callees) all.add(row.counts.simulated);
    for (const ProfileRow& row : p_.bindings) known.add(row.counts.simulated);
    const auto more = [](double a, double b) { return a - b > 1e-9 * a ? a - b : 0; };
    return {more(all.operations, known.operations), more(all.memory, known.memory), more(all.link, known.link),
            more(all.latency, known.latency), more(all.measured, known.measured)};
  }

  void add(const SimulatedTime& t, std::string name) {
    table_.add({time_or_nothing(t.total()), percent(t.total(), all_.total()), time_or_nothing(t.operations),
                time_or_nothing(t.memory), time_or_nothing(t.link), time_or_nothing(t.latency),
                time_or_nothing(t.measured), std::move(name)});
  }

  const Profile& p_;
  SimulatedTime all_, copies_;
  Table table_{{"time", "share", "computing", "memory", "link", "latency", "as measured", "binding"}};
};

}  // namespace

std::string simulation_text(const Profile& p) { return WhatIf(p).text(); }

}  // namespace rldb::ui
