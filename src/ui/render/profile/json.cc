// A profile as JSON (docs/json.md), and as a trace.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/profile_view.h"

namespace rldb::ui {

using debug::MemoryPoint;
using debug::Profile;
using debug::ProfileCounts;
using debug::ProfileNode;
using debug::ProfileRow;
using debug::ProfileSpan;
using ProfileJson = nlohmann::ordered_json;

namespace {

ProfileJson text_or_null(const std::string& text) { return text.empty() ? ProfileJson() : ProfileJson(text); }

ProfileJson simulated_json(const debug::SimulatedTime& t) {
  return {{"nanoseconds", t.total()}, {"computing", t.operations}, {"memory", t.memory},
          {"link", t.link},           {"latency", t.latency},      {"as_measured", t.measured}};
}

void add_counts(ProfileJson& row, const Profile& p, const ProfileCounts& c) {
  row["calls"] = c.calls;
  row["nanoseconds"] = c.self_ns;
  row["nanoseconds_with_calls"] = c.total_ns;
  row["share"] = p.wall_ns > 0 ? double(c.self_ns) / double(p.wall_ns) : 0.0;
  row["operations"] = c.costed_ns > 0 || c.operations > 0 ? ProfileJson(c.operations) : ProfileJson();
  row["bytes"] = c.bytes;
  row["operations_per_second"] =
      c.costed_ns > 0 ? ProfileJson(1e9 * c.operations / double(c.costed_ns)) : ProfileJson();
  row["bytes_per_second"] = c.moving_ns > 0 ? ProfileJson(1e9 * c.bytes / double(c.moving_ns)) : ProfileJson();
  row["roofline"] =
      c.costed_ns > 0 && c.attainable_ns > 0 ? ProfileJson(c.attainable_ns / double(c.costed_ns)) : ProfileJson();
  if (!p.devices.empty()) row["what_if"] = simulated_json(c.simulated);
}

ProfileJson binding_row_json(const Profile& p, const ProfileRow& r) {
  ProfileJson row{{"name", r.name},
                  {"function", r.function},
                  {"calls_of", r.callees},
                  {"file", text_or_null(r.file)},
                  {"line", r.line == 0 ? ProfileJson() : ProfileJson(r.line)},
                  {"node", text_or_null(r.node)}};
  add_counts(row, p, r.counts);
  return row;
}

ProfileJson callee_row_json(const Profile& p, const ProfileRow& r) {
  ProfileJson row{{"name", r.name}, {"kind", to_string(r.kind)}, {"left_out", text_or_null(r.unknown)}};
  add_counts(row, p, r.counts);
  return row;
}

ProfileJson name_or_null(const std::vector<ProfileRow>& rows, int i) {
  return i < 0 || std::size_t(i) >= rows.size() ? ProfileJson() : ProfileJson(rows[std::size_t(i)].name);
}

ProfileJson one_profile_json(const Profile& p) {
  ProfileJson bindings = ProfileJson::array(), callees = ProfileJson::array(), paths = ProfileJson::array(),
              memory = ProfileJson::array();
  for (const ProfileRow& r : p.bindings)
    if (r.counts.calls > 0) bindings.push_back(binding_row_json(p, r));
  for (const ProfileRow& r : p.callees)
    if (r.counts.calls > 0) callees.push_back(callee_row_json(p, r));
  for (const ProfileNode& n : p.tree)
    paths.push_back({{"parent", n.parent < 0 ? ProfileJson() : ProfileJson(n.parent)},
                     {"callee", name_or_null(p.callees, n.callee)},
                     {"binding", name_or_null(p.bindings, n.binding)},
                     {"calls", n.calls},
                     {"nanoseconds", n.self_ns},
                     {"nanoseconds_with_calls", n.total_ns}});
  for (const MemoryPoint& m : p.memory) memory.push_back({{"nanosecond", m.ns}, {"bytes", m.bytes}});
  ProfileJson made{{"function", p.function},
                   {"engine", p.engine},
                   {"rank", p.rank},
                   {"runs", p.runs},
                   {"bounds_checked", p.bounds_checked},
                   {"stopped", text_or_null(p.stopped)},
                   {"nanoseconds", p.wall_ns},
                   {"instructions", p.instructions},
                   {"calls", p.calls},
                   {"overhead_nanoseconds", p.overhead_ns},
                   {"machine",
                    {{"cpu", p.peaks.cpu},
                     {"float32_operations_per_second", p.peaks.f32_operations},
                     {"float64_operations_per_second", p.peaks.f64_operations},
                     {"bytes_per_second", p.peaks.bytes}}},
                   {"bindings", std::move(bindings)},
                   {"callees", std::move(callees)},
                   {"paths", std::move(paths)},
                   {"peak",
                    {{"bytes", p.peak_bytes},
                     {"held_before", p.arguments_bytes},
                     {"nanosecond", p.peak_at_ns},
                     {"binding", name_or_null(p.bindings, p.peak_binding)}}},
                   {"memory", std::move(memory)}};
  made["devices"] = ProfileJson::array();
  for (const runtime::DeviceUse& d : p.traffic)
    made["devices"].push_back({{"device", to_string(d.device)},
                               {"most_bytes", d.peak},
                               {"copies_in", d.copies_in},
                               {"bytes_in", d.bytes_in},
                               {"nanoseconds_in", d.ns_in},
                               {"copies_out", d.copies_out},
                               {"bytes_out", d.bytes_out},
                               {"nanoseconds_out", d.ns_out}});
  if (!p.devices.empty()) {
    made["what_if"] = simulated_json(simulated_time(p));
    made["what_if"]["copies"] = simulated_copies(p).total();
  }
  return made;
}

// ---- the trace ----

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Times of the format are microseconds.
std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class TraceWriter {
 public:
  void add(const Profile& p) {
    put(fmt::format(R"({{"ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":{}}}}})", p.rank,
                    json_quoted(fmt::format("{} on {}, rank {}", p.function, p.engine, p.rank))));
    for (const ProfileSpan& s : p.spans) span(p, s);
    for (const MemoryPoint& m : p.memory)
      put(fmt::format(R"({{"ph":"C","pid":{},"tid":0,"name":"memory","ts":{},"args":{{"bytes":{}}}}})", p.rank,
                      microseconds(m.ns), m.bytes));
    if (p.spans_left_out > 0)
      put(fmt::format(R"({{"ph":"i","s":"p","pid":{},"tid":0,"ts":{},"name":{}}})", p.rank, microseconds(p.wall_ns),
                      json_quoted(fmt::format("{} more calls are not in this trace", p.spans_left_out))));
  }

  std::string finish() && { return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + out_ + "\n]}\n"; }

 private:
  void put(const std::string& event) {
    support::poll();
    if (!out_.empty()) out_ += ",\n";
    out_ += event;
  }

  void span(const Profile& p, const ProfileSpan& s) {
    const ProfileRow& callee = p.callees[std::size_t(s.callee)];
    std::string args;
    const auto add = [&](std::string_view key, const std::string& text) {
      if (!text.empty()) args += fmt::format(R"({}"{}":{})", args.empty() ? "" : ",", key, json_quoted(text));
    };
    if (s.binding >= 0) {
      const ProfileRow& b = p.bindings[std::size_t(s.binding)];
      add("binding", b.name);
      add("at", b.file.empty() ? std::string() : fmt::format("{}:{}", b.file, b.line));
      add("node", b.node);
    }
    if (s.shapes >= 0) add("arguments", p.shapes[std::size_t(s.shapes)]);
    put(fmt::format(R"({{"ph":"X","pid":{},"tid":0,"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})", p.rank,
                    microseconds(s.begin_ns), microseconds(s.length_ns), json_quoted(callee.name),
                    to_string(callee.kind), args));
  }

  std::string out_;
};

}  // namespace

ProfileJson profile_json(const std::vector<Profile>& ranks) {
  ProfileJson list = ProfileJson::array();
  for (const Profile& p : ranks) list.push_back(one_profile_json(p));
  return list;
}

std::string profile_trace(const std::vector<Profile>& ranks) {
  TraceWriter writer;
  for (const Profile& p : ranks) writer.add(p);
  return std::move(writer).finish();
}

}  // namespace rldb::ui
