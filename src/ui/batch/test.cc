// rldb test FILE.session...: runs dialogues and compares each reply with the `#| ` lines below its command.
//
// Each file is run by a process of its own, `-j` at a time: one that crashes fails, and the others continue.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/entry_flags.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/text_diff.h"
#include "ui/batch/child_work.h"
#include "ui/batch/git_bisect.h"
#include "ui/batch/script_verdict.h"

namespace rldb::ui {

namespace {

using Json = nlohmann::ordered_json;

struct SessionResult {
  std::string blessed;   // the correct contents of the file
  std::string failures;  // rendered
  bool expectations_hold = true;
  bool interrupted = false;
  bool seen = false;  // an `:expect not` failed: the recorded fault has come back
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

constexpr std::string_view kDiffers = "the reply to this entry differs";

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void copy_lines(std::string& out, const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && i < lines.size(); ++i) out += std::string(lines[i]) + "\n";
}

// A line `...` matches any number of lines.
bool replies_match(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  constexpr std::string_view kAny = "...";
  std::size_t e = 0, g = 0;
  std::optional<std::pair<std::size_t, std::size_t>> retry;  // after the last `...`, and the next line that it absorbs
  while (g < got.size()) {
    if (e < expected.size() && expected[e] == kAny) {
      retry = {++e, g};
    } else if (e < expected.size() && expected[e] == got[g]) {
      ++e, ++g;
    } else if (retry) {
      e = retry->first;
      g = ++retry->second;
    } else {
      return false;
    }
  }
  while (e < expected.size() && expected[e] == kAny) ++e;
  return e == expected.size();
}

bool expects_not(std::string_view entry) {
  const std::vector<std::string> words = split_words(trim(entry));
  return words.size() > 1 && is_entry_of(entry, kChecks) && words[1] == "not";
}

// Does the script describe the fault? Then any other failure is not that fault.
bool names_fault(std::string_view text) {
  ScriptReader reader(text);
  while (const auto entry = reader.next())
    if (expects_not(entry->text)) return true;
  return false;
}

bool interrupted() { return support::cancel_cause() == support::CancelCause::Interrupt; }

// A script whose results are all checked by `:expect`: its replies are not recorded.
bool has_only_expectations(std::string_view text) {
  ScriptReader reader(text);
  bool any = false;
  while (const auto entry = reader.next()) {
    if (!entry->expected.empty()) return false;
    any = any || is_entry_of(entry->text, kChecks);
  }
  return any;
}

SessionResult run_session(const CommandLine& line, const std::string& path, std::string_view text) {
  CapturedConsole captured;
  CommandLine quiet = line;
  quiet.files.clear();
  Repl repl(quiet, captured);
  repl.script_path = path;
  SessionResult result;
  std::string failed_output;
  ScriptReader reader(text);
  const bool silent = has_only_expectations(text);
  std::optional<std::uint32_t> failed;  // the line of an entry that failed; `:expect error` may follow
  const auto tell_failed = [&] {
    if (failed) result.failures += fmt::format("{}:{}: the entry failed\n{}", path, *failed, failed_output);
    failed.reset();
  };
  std::size_t copied = 0;  // lines of the file that are in `blessed`
  while (auto entry = reader.next()) {
    const Status status = repl.execute(entry->text);
    std::vector<std::string> got = split_output(captured.take());
    const std::string said = silent ? join_lines(got) : std::string();  // not in the file, so that it has to be shown
    if (silent) {
      if (!is_entry_of(entry->text, kChecks)) {
        tell_failed();
        if (repl.last().failed) failed = entry->line, failed_output = join_lines(got);
      } else if (!repl.last().failed) {
        failed.reset();
      }
      got.clear();
    }
    copy_lines(result.blessed, reader.lines(), copied, entry->end_line);
    const bool matches = replies_match(entry->expected, got);
    const bool failed_check = is_entry_of(entry->text, kChecks) && status != Status::Good;
    for (const std::string& g : matches || failed_check ? entry->expected : got)
      result.blessed += g.empty() ? "#|\n" : "#| " + g + "\n";
    copied = entry->expected_end;
    if (failed_check) result.expectations_hold = false;
    if (status != Status::Good && expects_not(entry->text)) result.seen = true;
    if (failed_check)
      result.failures +=
          fmt::format("{}:{}: the expectation failed\n{}", path, entry->line, silent ? said : join_lines(got));
    else if (!matches)
      result.failures += fmt::format("{}:{}: {}\n{}", path, entry->line, kDiffers,
                                     text_diff(join_lines(entry->expected), join_lines(got), "expected", "got"));
    if (status == Status::Quit || interrupted()) break;
  }
  tell_failed();
  result.interrupted = interrupted();
  copy_lines(result.blessed, reader.lines(), copied, reader.lines().size());
  return result;
}

}  // namespace

ScriptVerdict verdict_of_script(const CommandLine& line, const std::string& path) {
  const auto text = support::read_regular_file(path);
  if (!text.ok()) return {};
  const SessionResult result = run_session(line, path, *text);
  return {result.seen, result.blessed};
}

namespace {

// Converts a result to bytes and back: the child process that runs a file shares no memory with this one.
std::string to_bytes(const SessionResult& r) {
  const auto flag = [](bool v) { return v ? '1' : '0'; };
  return fmt::format("{}{}{}{} {}{}", flag(r.expectations_hold), flag(r.interrupted), flag(r.seen), r.blessed.size(),
                     r.blessed, r.failures);
}

std::optional<SessionResult> from_bytes(const std::string& bytes) {
  SessionResult r;
  const auto blank = bytes.find(' ');
  if (blank == std::string::npos || blank < 4) return std::nullopt;
  std::size_t size = 0;
  const auto parsed = std::from_chars(bytes.data() + 3, bytes.data() + blank, size);
  if (parsed.ec != std::errc() || blank + 1 + size > bytes.size()) return std::nullopt;
  r.expectations_hold = bytes[0] == '1';
  r.interrupted = bytes[1] == '1';
  r.seen = bytes[2] == '1';
  r.blessed = bytes.substr(blank + 1, size);
  r.failures = bytes.substr(blank + 1 + size);
  return r;
}

// A file being run, or waiting for its result to be printed: results are printed in command-line order.
struct Running {
  std::string path, text;
  std::unique_ptr<ChildWork> child;
  bool ended = false;
};

class Tests {
 public:
  Tests(const CommandLine& line, Console& console) : line_(line), console_(console) {}

  int run() {
    std::size_t next = 0;
    while (next < line_.files.size() || !running_.empty()) {
      while (next < line_.files.size() && at_work() < line_.jobs)
        if (!start(line_.files[next++])) return line_.test.git_bisect ? kCannotTell : kUsage;
      wait();
      while (!running_.empty() && running_.front().ended) {
        if (const int code = finish(running_.front()); code != kGood) return code;
        running_.pop_front();
      }
    }
    if (json()) {
      console_.print("{}\n", rows_.dump(2, ' ', false, Json::error_handler_t::replace));
      return failed_ == 0 ? kGood : kFailed;
    }
    const bool replies = !line_.test.bless && !line_.test.update_only_output && !line_.test.git_bisect;
    if (differs_ && replies) console_.print_error("run `rldb test --bless` to accept the new replies\n");
    console_.print("{} passed, {} failed\n", passed_, failed_);
    if (line_.test.git_bisect) return faults_ > 0 ? kFailed : failed_ > 0 ? kCannotTell : kGood;
    return failed_ == 0 ? kGood : kFailed;
  }

 private:
  bool json() const { return line_.format == Format::Json; }

  void tell_failure(const std::string& path, const std::string& failures) {
    ++failed_;
    if (json()) {
      rows_.push_back({{"file", path}, {"ok", false}, {"failures", failures}});
      return;
    }
    console_.error(failures);
    console_.print("FAIL  {}\n", path);
  }

  std::size_t at_work() const {
    return std::size_t(std::count_if(running_.begin(), running_.end(), [](const Running& r) { return !r.ended; }));
  }

  bool start(const std::string& path) {
    auto text = read(path);
    if (!text.ok()) {
      tell(source::message(diag::FileNotFound, path, text.error().reason));
      return false;
    }
    Running& r = running_.emplace_back(Running{path, std::move(*text), nullptr, false});
    r.child = std::make_unique<ChildWork>([&] { return to_bytes(run_session(line_, r.path, r.text)); });
    return true;
  }

  // A pipe to which nobody writes counts against the limit of an entry.
  support::Result<std::string, support::FileError> read(const std::string& path) {
    try {
      const support::Deadline deadline(line_.timeout);
      return support::read_file(path, source::kMaxBytes);
    } catch (const support::Cancelled& stop) {
      if (stop.cause() != support::CancelCause::Timeout) throw;
      support::clear_cancel();
      return support::Failure(support::FileError{path, source::message(diag::TimedOut, line_.timeout).text});
    }
  }

  // Waits until one of the children has sent something.
  void wait() {
    std::vector<::pollfd> waited;
    std::vector<Running*> whose;
    for (Running& r : running_) {
      if (r.ended) continue;
      waited.push_back({r.child->descriptor(), POLLIN, 0});
      whose.push_back(&r);
    }
    constexpr int kLook = 100;  // milliseconds between checks for signals
    support::poll();
    if (::poll(waited.data(), waited.size(), kLook) <= 0) return;
    for (std::size_t i = 0; i < waited.size(); ++i)
      if (waited[i].revents != 0 || waited[i].fd < 0) whose[i]->ended = whose[i]->child->read();
  }

  // Prints the result of a file. Not kGood: stop running files.
  int finish(Running& r) {
    const auto bytes = r.child->result();
    const std::optional<SessionResult> result = bytes ? from_bytes(*bytes) : std::nullopt;
    if (!result) {
      faults_ += !names_fault(r.text);
      source::Diagnostics d;
      d.add({}, source::message(diag::SessionProcessEnded, r.path, r.child->ended_by()));
      source::RenderOptions options;
      options.color = console_.color() && !json();
      tell_failure(r.path, source::render(d, {}, options));
      return kGood;
    }
    if (result->interrupted) {
      console_.print_error("interrupted in {}\n", r.path);
      return 128 + SIGINT;
    }
    const bool rewrite = line_.test.bless || (line_.test.update_only_output && result->expectations_hold);
    const bool silent = has_only_expectations(r.text);
    if (line_.test.bless && silent && !json())
      console_.print("note: {} has `:expect` and no line with `#|`: no replies are written to it\n", r.path);
    if (rewrite && !silent && result->blessed != r.text) {
      if (!write_output(r.path, result->blessed, console_)) return kUsage;
      if (!json()) console_.print("blessed {}\n", r.path);
    }
    // Blessing accepts replies, but never a failed expectation.
    if (result->failures.empty() || (rewrite && result->expectations_hold)) {
      ++passed_;
      rows_.push_back({{"file", r.path}, {"ok", true}, {"failures", ""}});
    } else {
      // Other replies of a file whose expectations fail follow from that.
      differs_ = differs_ || (result->expectations_hold && result->failures.find(kDiffers) != std::string::npos);
      faults_ += result->seen || !names_fault(r.text);
      tell_failure(r.path, result->failures);
    }
    return kGood;
  }

  void tell(source::Message message) {
    source::Diagnostics d;
    d.add({}, std::move(message));
    console_.diagnose(d, {});
  }

  const CommandLine& line_;
  Console& console_;
  std::deque<Running> running_;  // references to its elements stay valid
  std::size_t passed_ = 0, failed_ = 0;
  bool differs_ = false;  // a recorded reply
  Json rows_ = Json::array();
  std::size_t faults_ = 0;  // failed files that show the fault they were written for
};

}  // namespace

int batch_test(const CommandLine& line, Console& console) {
  if (line.test_command.empty()) return Tests(line, console).run();
  if (line.test.git_bisect) return git_bisect(line, console);
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::TestWantsGitBisect));
  console.diagnose(diagnostics, {});
  return kUsage;
}

}  // namespace rldb::ui
