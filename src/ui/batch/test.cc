// rldb test FILE.session...: runs dialogues and compares each reply with the `#| ` lines below its command.
#include <fmt/format.h>

#include <csignal>

#include "rldb/source/diagnostic_general.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "ui/batch/batch.h"
#include "ui/repl/entry/reader.h"
#include "ui/repl/entry/state.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

struct SessionResult {
  std::string blessed;   // the file as it should be
  std::string failures;  // rendered
  bool expectations_hold = true;
};

std::vector<std::string> split_output(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void copy_lines(std::string& out, const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && i < lines.size(); ++i) out += std::string(lines[i]) + "\n";
}

bool interrupted() { return support::cancel_cause() == support::CancelCause::Interrupt; }

SessionResult run_session(const CommandLine& line, const std::string& path, std::string_view text) {
  CapturedConsole captured;
  CommandLine quiet = line;
  quiet.files.clear();
  Repl repl(quiet, captured);
  SessionResult result;
  ScriptReader reader(text);
  std::size_t copied = 0;  // lines of the file that are in `blessed`
  while (auto entry = reader.next()) {
    const Status status = repl.execute(entry->text);
    const std::vector<std::string> got = split_output(captured.take());
    copy_lines(result.blessed, reader.lines(), copied, entry->end_line);
    for (const std::string& g : got) result.blessed += g.empty() ? "#|\n" : "#| " + g + "\n";
    copied = entry->expected_end;
    const bool expectation = trim(entry->text).starts_with(":expect");
    if (expectation && status != Status::Good) result.expectations_hold = false;
    if (got != entry->expected)
      result.failures += fmt::format("{}:{}: the reply to this entry differs\n{}", path, entry->line,
                                     unified_diff(join_lines(entry->expected), join_lines(got), "expected", "got"));
    else if (expectation && status != Status::Good)
      result.failures += fmt::format("{}:{}: the expectation failed\n", path, entry->line);
    if (status == Status::Quit || interrupted()) break;
  }
  copy_lines(result.blessed, reader.lines(), copied, reader.lines().size());
  return result;
}

}  // namespace

int batch_test(const CommandLine& line, Console& console) {
  std::size_t passed = 0, failed = 0;
  for (const std::string& path : line.files) {
    auto text = support::read_file(path, source::kMaxBytes);
    if (!text.ok()) {
      source::Diagnostics d;
      d.add({}, source::message(diag::FileNotFound, path, text.error().reason));
      console.diagnose(d, {});
      return kUsage;
    }
    const SessionResult result = run_session(line, path, *text);
    if (interrupted()) {
      console.print_error("interrupted in {}\n", path);
      return 128 + SIGINT;
    }
    if (line.bless && result.blessed != *text) {
      if (!write_output(path, result.blessed, console)) return kUsage;
      console.print("blessed {}\n", path);
    }
    // Blessing accepts replies, never a failed expectation.
    if (result.failures.empty() || (line.bless && result.expectations_hold)) {
      ++passed;
    } else {
      ++failed;
      console.error(result.failures);
      console.print("FAIL  {}\n", path);
    }
  }
  if (failed > 0 && !line.bless) console.print_error("run `rldb test --bless` to accept the new replies\n");
  console.print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? kGood : kFailed;
}

}  // namespace rldb::ui
