// `for i in range(3):` over entries.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

struct Loop {
  std::string variable;
  std::string bounds;  // of range, as written
  std::string body;    // without its indentation
};

// Lines without the indentation of the first; nullopt: one is indented less.
std::optional<std::string> without_indent(std::string_view lines) {
  std::string out;
  std::optional<std::size_t> indent;
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const auto code = line.find_first_not_of(" \t");
    if (code == std::string_view::npos) {
      out += '\n';
      continue;
    }
    if (!indent) indent = code;
    if (code < *indent || *indent == 0) return std::nullopt;
    out += std::string(line.substr(*indent)) + "\n";
  }
  return out;
}

// The colon behind the bracket that `from` is in; npos: there is none.
std::size_t colon_behind(std::string_view text, std::size_t from) {
  int open = 1;
  for (std::size_t i = from; i < text.size(); ++i) {
    open += (text[i] == '(') - (text[i] == ')');
    if (open == 0) return i + 1 < text.size() && text[i + 1] == ':' ? i + 1 : std::string_view::npos;
  }
  return std::string_view::npos;
}

// Empty `why`: read. A body of one entry may stand behind the colon, as in Python.
std::optional<Loop> read_loop(std::string_view text, std::string& why) {
  constexpr std::string_view kFor = "for ", kIn = " in range(";
  const auto header_end = text.find('\n');
  const std::string_view header = trim(text.substr(0, header_end));
  const auto in = header.find(kIn);
  Loop loop;
  if (in != std::string_view::npos) loop.variable = trim(header.substr(kFor.size(), in - kFor.size()));
  const std::size_t from = in == std::string_view::npos ? header.size() : in + kIn.size();
  const std::size_t colon = colon_behind(header, from);
  const std::string_view behind = colon == std::string_view::npos ? std::string_view() : trim(header.substr(colon + 1));
  const std::string_view lines = header_end == std::string_view::npos ? "" : text.substr(header_end + 1);
  const bool on_line = !behind.empty() && !behind.starts_with('#');
  if (colon == std::string_view::npos || !is_one_name(loop.variable) || (on_line && !trim(lines).empty())) {
    why = "with its body on the following lines, or one entry behind the colon";
    return std::nullopt;
  }
  loop.bounds = trim(header.substr(from, colon - 1 - from));
  auto body = on_line ? std::optional(std::string(behind) + "\n") : without_indent(lines);
  if (!body || trim(*body).empty()) {
    why = body ? "and its body is missing" : "with all lines of its body indented alike";
    return std::nullopt;
  }
  loop.body = std::move(*body);
  return loop;
}

struct Range {
  std::int64_t from = 0, to = 0, step = 1;
  bool done(std::int64_t i) const { return step > 0 ? i >= to : i <= to; }
};

}  // namespace

// Each turn executes the entries of the body. One that fails ends the loop.
Status Repl::run_loop(std::string_view text) {
  std::string why;
  const auto loop = read_loop(text, why);
  if (!loop) return fail(source::message(diag::LoopRefused, why));
  source::Diagnostics diagnostics;
  const auto bounds = debugger_->evaluate(fmt::format("({},)", loop->bounds), frame_, diagnostics);
  if (report(diagnostics) == Status::Failed || !bounds) return Status::Failed;
  std::vector<std::int64_t> numbers;
  if (bounds->is(runtime::ValueKind::Tuple))
    for (const runtime::Value& v : bounds->as_tuple().fields)
      if (v.is(runtime::ValueKind::Int)) numbers.push_back(v.as_int());
  Range range;
  if (numbers.size() == 1) range.to = numbers[0];
  if (numbers.size() >= 2) range.from = numbers[0], range.to = numbers[1];
  if (numbers.size() == 3) range.step = numbers[2];
  if (numbers.empty() || numbers.size() > 3 || range.step == 0)
    return fail(source::message(diag::LoopRefused, "with one to three whole numbers, the last not 0"));
  for (std::int64_t i = range.from; !range.done(i); i += range.step) {
    support::poll();
    session_->set_value(loop->variable, runtime::Value::of_int(i));
    ScriptReader reader(loop->body);
    while (const auto entry = reader.next()) {
      const Status status = run_target(target_of(entry->text));
      if (status != Status::Good) return status;
    }
  }
  return Status::Good;
}

}  // namespace rldb::ui
