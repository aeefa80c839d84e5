// Breakpoints of a client: set, placed, reported.
#include "protocol/dap/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/support/text.h"

namespace rldb::protocol::dap {

using debug::Breakpoint;

namespace {

// `5`, `>= 5`, `> 4`: from that hit on; `== 5`: that one; `% 5`: every fifth. Nullopt: none of these.
std::optional<debug::HitRule> read_rule(std::string_view text) {
  using When = debug::HitRule::When;
  text = support::trim(text);
  const auto behind = [&](std::string_view sign) {
    if (!text.starts_with(sign)) return false;
    text = support::trim(text.substr(sign.size()));
    return true;
  };
  debug::HitRule rule{When::AtLeast, 0};
  std::uint64_t more = 0;
  if (behind(">="))
    ;
  else if (behind(">"))
    more = 1;
  else if (behind("==") || behind("="))
    rule.when = When::Equal;
  else if (behind("%"))
    rule.when = When::Multiple;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rule.count);
  constexpr std::uint64_t kMost = std::uint64_t(1) << 62;
  if (error != std::errc() || end != text.data() + text.size() || rule.count > kMost) return std::nullopt;
  rule.count += more;
  return rule.count == 0 ? std::nullopt : std::optional(rule);
}

constexpr std::string_view kNotReadYet = "the file has changed since it was read: `restart` reads it again";

}  // namespace

std::string reason_in(const source::Diagnostics& diagnostics, std::string_view otherwise) {
  for (const source::Diagnostic& d : diagnostics.all())
    if (d.severity == source::Severity::Error)
      return d.hint.empty() ? d.message : fmt::format("{} ({})", d.message, d.hint);
  return std::string(otherwise);
}

const std::vector<FilterRow>& filters() {
  static const std::vector<FilterRow> rows{
      {"error", "Faults", "the program stops by itself", true, {}},
      {"shape", "Shape faults", "a shape, rank or dtype contradicts an annotation or a symbol", true, {}},
      {"bounds", "Accesses out of bounds", "a kernel reads or writes outside of a buffer", true, {}},
      {"storage",
       "Storage faults",
       "a tensor is read after its storage was given to another one (the function is run once more, to check)",
       false,
       {}},
      {"nan", "NaN", "a call has a result with NaN", false, "nan"},
      {"inf", "Infinity", "a call has a result with an infinity", false, "inf"},
  };
  return rows;
}

std::string_view filter_of(const runtime::Error& error) {
  using runtime::ErrorKind;
  if (error.kind == ErrorKind::TypeMismatch || error.kind == ErrorKind::ShapeMismatch) return "shape";
  if (error.kind == ErrorKind::OutOfBounds) return "bounds";
  return "error";
}

std::string address_of(bytecode::Pc pc) { return fmt::format("0x{:x}", kFirstAddress + pc.value()); }

std::optional<std::int64_t> read_address(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Points::Points(ui::Repl& repl, Sources& sources, Channel& channel) : repl_(repl), sources_(sources), channel_(channel) {
  for (const FilterRow& row : filters())
    if (row.by_default) caught_.emplace_back(row.name);
}

bool Points::catches(std::string_view filter) const {
  return std::find(caught_.begin(), caught_.end(), filter) != caught_.end();
}

// ---- reading ----

Points::Point Points::read(Fields& fields, PointGroup group, std::string key) const {
  Point p;
  p.group = group;
  p.key = std::move(key);
  p.condition = fields.text_or("condition");
  p.hit = fields.text_or("hitCondition");
  p.log = fields.text_or("logMessage");
  return p;
}

Answer Points::set_source(const Json& arguments) {
  Fields fields(arguments);
  const Json& source = fields.object("source");
  const Json& list = fields.list("breakpoints");
  std::vector<Point> wanted;
  for (const Json& one : list) {
    Fields row(one);
    const std::int64_t line = row.integer("line");
    wanted.push_back(read(row, PointGroup::Source, {}));
    wanted.back().line = std::uint32_t(std::clamp<std::int64_t>(line + 1 - std::int64_t(line_base_), 1, 0x7fffffff));
    if (row.failure()) fields.fail(row.failure()->message);
  }
  if (fields.failure()) return support::Failure(*fields.failure());
  auto where = sources_.find(source);
  Fields names(source);
  const std::string path = names.text_or("path");
  std::string key = where.ok() && where->kind != SourceKind::File
                        ? fmt::format("{}:{}:{}", int(where->kind), where->name, where->hash)
                        : "file:" + path;
  if (!where.ok() && path.empty()) key = source.dump();
  for (Point& p : wanted) {
    p.key = key;
    if (where.ok())
      p.source = *where;
    else
      p.message = where.error().message;
  }
  drop(PointGroup::Source, &key);
  if (where.ok() && where->kind == SourceKind::File) {
    const bool written = sources_.is_written(path);
    const bool is_of_next = written || fields.flag("sourceModified");
    for (Point& p : wanted) {
      if (is_of_next) p.text_before = sources_.file_text(path);
      if (written) p.message = kNotReadYet;
    }
  }
  return answer(std::move(wanted));
}

Answer Points::set_functions(const Json& arguments) {
  Fields fields(arguments);
  std::vector<Point> wanted;
  for (const Json& one : fields.list("breakpoints")) {
    Fields row(one);
    std::string name = row.text("name");
    wanted.push_back(read(row, PointGroup::Function, std::string(support::trim(name))));
    if (row.failure()) fields.fail(row.failure()->message);
  }
  if (fields.failure()) return support::Failure(*fields.failure());
  drop(PointGroup::Function, nullptr);
  return answer(std::move(wanted));
}

Answer Points::set_instructions(const Json& arguments) {
  Fields fields(arguments);
  std::vector<Point> wanted;
  for (const Json& one : fields.list("breakpoints")) {
    Fields row(one);
    const std::string reference = row.text("instructionReference");
    const std::int64_t offset = row.integer_or("offset", 0);
    if (row.failure()) {
      fields.fail(row.failure()->message);
      continue;
    }
    const auto address = read_address(reference);
    constexpr std::int64_t kFar = std::int64_t(1) << 40;
    const bool near = address && *address < kFar && offset > -kFar && offset < kFar;
    const std::int64_t pc = near ? *address + offset - kFirstAddress : -1;
    wanted.push_back(read(row, PointGroup::Instruction, pc < 0 ? std::string() : fmt::format("*{}", pc)));
    if (pc < 0) wanted.back().message = fmt::format("there is no instruction at `{}`", reference);
  }
  if (fields.failure()) return support::Failure(*fields.failure());
  drop(PointGroup::Instruction, nullptr);
  return answer(std::move(wanted));
}

// A watchpoint belongs to one activation: one that stays is not made again.
Answer Points::set_data(const Json& arguments) {
  Fields fields(arguments);
  std::vector<Point> wanted;
  for (const Json& one : fields.list("breakpoints")) {
    Fields row(one);
    std::string id = row.text("dataId");
    const std::string access = row.text_or("accessType", "write");
    wanted.push_back(read(row, PointGroup::Data, std::move(id)));
    if (access != "write") wanted.back().message = fmt::format("`{}` is not watched, only writing is", access);
    if (row.failure()) fields.fail(row.failure()->message);
  }
  if (fields.failure()) return support::Failure(*fields.failure());
  std::vector<Point> old;
  for (auto it = points_.begin(); it != points_.end();) {
    if (it->group != PointGroup::Data) {
      ++it;
      continue;
    }
    old.push_back(std::move(*it));
    it = points_.erase(it);
  }
  Json shown_points = Json::array();
  for (Point& p : wanted) {
    const auto same = std::find_if(old.begin(), old.end(), [&](const Point& o) {
      return o.key == p.key && o.condition == p.condition && o.hit == p.hit && !o.numbers.empty() &&
             repl_.debugger().find_breakpoint(o.numbers[0]);
    });
    if (same != old.end() && p.message.empty()) {
      shown_points.push_back(same->shown);
      points_.push_back(std::move(*same));
      old.erase(same);
    } else {
      shown_points.push_back(add(std::move(p)));
    }
  }
  for (Point& p : old) remove(p);
  return Json{{"breakpoints", std::move(shown_points)}};
}

Answer Points::set_exceptions(const Json& arguments) {
  Fields fields(arguments);
  std::vector<Point> wanted;
  const auto want = [&](const std::string& name, std::string condition, bool known) {
    Point p;
    p.group = PointGroup::Exception;
    p.key = name;
    p.condition = std::move(condition);
    if (!known) p.message = fmt::format("there is no exception filter `{}`", name);
    wanted.push_back(std::move(p));
  };
  const auto find = [](const std::string& name) {
    return std::find_if(filters().begin(), filters().end(), [&](const FilterRow& row) { return row.name == name; });
  };
  for (const std::string& name : fields.texts("filters")) want(name, {}, find(name) != filters().end());
  for (const Json& one : fields.list("filterOptions")) {
    Fields row(one);
    const std::string name = row.text("filterId");
    want(name, row.text_or("condition"), find(name) != filters().end());
    if (row.failure()) fields.fail(row.failure()->message);
  }
  if (fields.failure()) return support::Failure(*fields.failure());
  drop(PointGroup::Exception, nullptr);
  caught_.clear();
  for (Point& p : wanted) {
    const auto row = find(p.key);
    if (row == filters().end()) continue;
    if (row->event.empty() && !p.condition.empty())
      p.message = fmt::format("the filter `{}` takes no condition", p.key);
    else
      caught_.push_back(p.key);
  }
  return answer(std::move(wanted));
}

Answer Points::answer(std::vector<Point> wanted) {
  Json list = Json::array();
  for (Point& p : wanted) list.push_back(add(std::move(p)));
  return Json{{"breakpoints", std::move(list)}};
}

// ---- placing ----

std::vector<std::string> Points::specs_of(Point& p) {
  if (p.group != PointGroup::Source) return {p.key};
  if (!p.source) return {};
  switch (p.source->kind) {
    case SourceKind::File: {
      const std::string name = sources_.buffer_name(p.source->name);
      const session::Program* program = repl_.session().program();
      if (name.empty() && program) {
        p.message = fmt::format("`{}` is not part of the program", p.source->name);
        return {};
      }
      return {fmt::format("{}:{}", name.empty() ? p.source->name : name, p.line)};
    }
    case SourceKind::Version: {
      const auto text = sources_.version_text(*p.source);
      const auto place = text ? text->place_at(p.line) : std::nullopt;
      p.build = sources_.build();
      if (!text) p.message = "the program has no such version any more";
      if (text && !place)
        p.message = fmt::format("no code comes from line {} or what follows it in its function", p.line);
      return place ? place->specs : std::vector<std::string>();
    }
    case SourceKind::Kernel:
      return {fmt::format("{}:{}", p.source->name, p.line)};
    case SourceKind::Listing: {
      source::Diagnostics ignored;
      const vm::Machine* machine = repl_.debugger().machine();
      const auto build = machine ? nullptr : repl_.session().viewable(ignored);
      const bytecode::Executable* exe = machine ? &machine->executable() : build ? build->executable.get() : nullptr;
      const bytecode::FunctionIndex f = exe ? exe->find_function(p.source->name) : bytecode::FunctionIndex(-1);
      if (f < 0) {
        p.message = fmt::format("the program has no function `{}` any more", p.source->name);
        return {};
      }
      const bytecode::FunctionEntry& entry = exe->functions[std::size_t(f)];
      return {fmt::format("*{}", std::min(entry.start + std::int64_t(p.line - 1), entry.end - 1))};
    }
  }
  RLDB_UNREACHABLE("kind of source");
}

// Condition, hit rule and text. False: one of them cannot be read.
bool Points::dress(Point& p, int number) {
  source::Diagnostics diagnostics;
  debug::Debugger& debugger = repl_.debugger();
  if (!debugger.set_condition(number, p.condition, diagnostics) ||
      (!p.log.empty() && !debugger.set_log(number, p.log, diagnostics))) {
    p.message = reason_in(diagnostics, "it cannot be set");
    return false;
  }
  if (p.hit.empty()) return true;
  const auto rule = read_rule(p.hit);
  if (!rule) {
    p.message = fmt::format("`{}` is not a hit count: 5, >= 5, > 5, == 5 or % 5", p.hit);
    return false;
  }
  debugger.find_breakpoint(number)->rule = *rule;
  return true;
}

void Points::add_one(Point& p, const std::string& spec) {
  source::Diagnostics diagnostics;
  const FilterRow* filter = nullptr;
  for (const FilterRow& row : filters())
    if (p.group == PointGroup::Exception && row.name == p.key) filter = &row;
  const Breakpoint* made = filter ? repl_.debugger().add_catchpoint(filter->event, diagnostics)
                                  : repl_.debugger().add_breakpoint(spec, false, diagnostics);
  if (!made) {
    p.message = reason_in(diagnostics, "it cannot be set");
    return;
  }
  p.numbers.push_back(made->number);
  if (!dress(p, made->number)) remove(p);
}

// The key says in which frame, counted from the outermost: `0:lv1[3]`.
void Points::watch(Point& p) {
  const auto colon = p.key.find(':');
  const auto depth = colon == std::string::npos ? std::nullopt : read_address(std::string_view(p.key).substr(0, colon));
  if (!depth) {
    p.message = "no such data id: `dataBreakpointInfo` gives them";
    return;
  }
  const vm::Machine* machine = repl_.debugger().machine();
  const int count = machine ? int(machine->frames().size()) : 0;
  int frame = 0;
  const std::vector<debug::FrameInfo> frames = repl_.debugger().frames();
  for (const debug::FrameInfo& f : frames)
    if (count - 1 - repl_.debugger().machine_frame(f.number) == int(*depth)) frame = f.number;
  source::Diagnostics diagnostics;
  const Breakpoint* made =
      repl_.debugger().add_watchpoint(std::string_view(p.key).substr(colon + 1), frame, false, diagnostics);
  if (!made) {
    p.message = reason_in(diagnostics, "it cannot be set");
    return;
  }
  p.numbers.push_back(made->number);
  if (!dress(p, made->number)) remove(p);
}

void Points::place(Point& p) {
  if (!p.message.empty()) return;
  if (p.group == PointGroup::Data) return watch(p);
  if (p.group == PointGroup::Exception) {
    const auto row =
        std::find_if(filters().begin(), filters().end(), [&](const FilterRow& r) { return r.name == p.key; });
    if (row != filters().end() && !row->event.empty()) add_one(p, {});
    return;
  }
  for (const std::string& spec : specs_of(p)) {
    add_one(p, spec);
    if (!p.message.empty()) return remove(p);
  }
}

void Points::remove(Point& p) {
  for (const int number : p.numbers) repl_.debugger().remove_breakpoint(number);
  p.numbers.clear();
}

void Points::remove_all() {
  for (Point& p : points_) remove(p);
  points_.clear();
}

void Points::drop(PointGroup group, const std::string* key) {
  std::erase_if(points_, [&](Point& p) {
    if (p.group != group || (key && p.key != *key)) return false;
    remove(p);
    return true;
  });
}

Json Points::add(Point p) {
  p.id = next_id_++;
  place(p);
  p.shown = shown(p);
  points_.push_back(std::move(p));
  return points_.back().shown;
}

// ---- reporting ----

void Points::put_line(Json& out, const Point& p) const {
  const Breakpoint* b = p.numbers.empty() ? nullptr : repl_.debugger().find_breakpoint(p.numbers[0]);
  if (!b) return;
  if (p.source && p.source->kind == SourceKind::Version) {
    const auto text = sources_.version_text(*p.source);
    const auto place = text ? text->place_at(p.line) : std::nullopt;
    out["source"] = sources_.source_of(*p.source);
    if (place) out["line"] = place->line - 1 + line_base_;
    return;
  }
  if (b->in_kernel && !b->kernel_lines.empty()) {
    const std::uint32_t line = b->kernel_lines[0];
    if (b->kernel_file.empty()) {
      out["source"] = sources_.source_of({SourceKind::Kernel, b->kernel, 0, {}});
    } else if (p.source && p.source->kind == SourceKind::File) {
      out["source"] = {{"path", p.source->name}};
    }
    out["line"] = line - 1 + line_base_;
    return;
  }
  if (b->sites.empty()) return;
  out["instructionReference"] = address_of(b->sites[0].pc);
  if (p.source && p.source->kind == SourceKind::Listing) {
    out["source"] = sources_.source_of(*p.source);
    out["line"] = p.line - 1 + line_base_;
    return;
  }
  const debug::Position at = repl_.debugger().position_at(b->sites[0]);
  const source::Buffer* buffer = repl_.session().sources().find(at.span.file);
  if (!buffer) return;
  out["source"] = p.source && p.source->kind == SourceKind::File ? Json{{"path", p.source->name}}
                                                                 : sources_.source_of_buffer(*buffer);
  // The return of a function belongs to its last binding, above the line that was asked for.
  const std::uint32_t line = buffer->line_column(at.span.begin).line;
  out["line"] = (p.group == PointGroup::Source ? std::max(line, std::uint32_t(p.line)) : line) - 1 + line_base_;
}

Json Points::shown(const Point& p) const {
  Json out{{"id", p.id}, {"verified", false}};
  std::string message = p.message;
  if (p.group == PointGroup::Exception) {
    out["verified"] = message.empty();
  } else if (!p.numbers.empty()) {
    bool placed = false;
    for (const int number : p.numbers) {
      const Breakpoint* b = repl_.debugger().find_breakpoint(number);
      placed = placed || (b && (b->kind != debug::PointKind::Break || !b->sites.empty() || b->in_kernel));
    }
    out["verified"] = placed;
    if (!placed && message.empty()) message = "it has no place in the program now";
    put_line(out, p);
  } else if (message.empty()) {
    message = "it has no place in the program now";
  }
  if (!message.empty()) out["message"] = message;
  if (!out.contains("line") && p.group == PointGroup::Source) out["line"] = p.line - 1 + line_base_;
  return out;
}

// Breakpoints that the user set or deleted in the console.
void Points::follow_console() {
  const auto& all = repl_.debugger().breakpoints();
  const auto is_known = [&](int number) {
    return std::any_of(points_.begin(), points_.end(), [&](const Point& p) {
      return std::find(p.numbers.begin(), p.numbers.end(), number) != p.numbers.end();
    });
  };
  for (const auto& [number, b] : all) {
    if (is_known(number)) continue;
    Point p;
    p.id = next_id_++;
    p.group = PointGroup::Console;
    p.key = b.spec;
    p.numbers = {number};
    p.shown = shown(p);
    channel_.event("breakpoint", {{"reason", "new"}, {"breakpoint", p.shown}});
    points_.push_back(std::move(p));
  }
  std::erase_if(points_, [&](Point& p) {
    if (p.numbers.empty()) return false;
    std::erase_if(p.numbers, [&](int number) { return !all.contains(number); });
    if (!p.numbers.empty()) return false;
    channel_.event("breakpoint", {{"reason", "removed"}, {"breakpoint", {{"id", p.id}, {"verified", false}}}});
    return true;
  });
}

void Points::refresh() {
  follow_console();
  for (Point& p : points_) {
    const bool by_version = p.source && p.source->kind == SourceKind::Version;
    // Instructions have other numbers in other code.
    if (by_version && p.build != sources_.build()) {
      remove(p);
      p.message.clear();
      place(p);
    }
    if (p.text_before && *p.text_before != sources_.file_text(p.source->name)) {
      p.text_before.reset();
      remove(p);
      p.message.clear();
      place(p);
    }
    Json now = shown(p);
    if (now == p.shown) continue;
    p.shown = std::move(now);
    channel_.event("breakpoint", {{"reason", "changed"}, {"breakpoint", p.shown}});
  }
}

void Points::set_found(const std::vector<std::pair<std::string, std::string>>& places) {
  std::erase_if(points_, [&](Point& p) {
    if (!p.found.empty()) remove(p);
    return !p.found.empty();
  });
  for (const auto& [where, what] : places) {
    Point p;
    p.id = next_id_++;
    p.group = PointGroup::Exception;
    p.key = "storage";
    p.found = what;
    source::Diagnostics ignored;
    if (const Breakpoint* b = repl_.debugger().add_breakpoint(where, false, ignored)) p.numbers = {b->number};
    p.shown = shown(p);
    points_.push_back(std::move(p));
  }
}

std::optional<Points::Hit> Points::hit(const std::vector<int>& numbers) const {
  Hit hit;
  for (const int number : numbers)
    for (const Point& p : points_) {
      if (std::find(p.numbers.begin(), p.numbers.end(), number) == p.numbers.end()) continue;
      if (hit.ids.empty()) {
        hit.group = p.group;
        if (p.group == PointGroup::Exception) hit.filter = p.key;
        hit.detail = p.found;
        if (p.source && p.source->kind == SourceKind::Version) hit.version = p.source;
      }
      hit.ids.push_back(p.id);
    }
  return hit.ids.empty() ? std::nullopt : std::optional(hit);
}

}  // namespace rldb::protocol::dap
