// The editor for dumb terminals: lines as they come, a prompt for each.
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "rldb/ui/terminal/line_editor.h"
#include "rldb/ui/terminal/signals.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kContinuation = "...> ";

void show(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

class PlainEditor : public LineEditor {
 public:
  explicit PlainEditor(LineEditorHooks hooks) : hooks_(std::move(hooks)) {}

  LineResult read(const std::string& at_first) override {
    PromptSignals signals;
    std::string text, prompt = at_first;
    bool first = true;
    show(prompt);
    while (true) {
      std::string line;
      while (!take_line(line)) {
        const auto stopped = more(signals, prompt);
        if (!stopped) continue;
        // The input may end without a line break.
        const bool ended = *stopped == LineResult::Kind::End;
        if (ended && !pending_.empty())
          pending_ += '\n';
        else if (ended && !first)
          return {LineResult::Kind::Entry, text};
        else
          return {*stopped, {}};
      }
      text += (first ? "" : "\n") + line;
      first = false;
      if (!hooks_.wants_more(text, line.find_first_not_of(" \t") == std::string::npos))
        return {LineResult::Kind::Entry, text};
      show(prompt = kContinuation);
    }
  }

 private:
  bool take_line(std::string& line) {
    const auto end = pending_.find('\n');
    if (end == std::string::npos) return false;
    line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return true;
  }

  // Reads the available input. Returns how reading ended, if it did.
  std::optional<LineResult::Kind> more(PromptSignals& signals, std::string& prompt) {
    switch (signals.wait(-1, hooks_.other_input ? hooks_.other_input() : -1)) {
      case PromptEvent::Input:
        break;
      case PromptEvent::Other:
        show("\n");
        if (std::string now = hooks_.on_other_input(); prompt != kContinuation) prompt = std::move(now);
        show(prompt);
        return std::nullopt;
      case PromptEvent::Interrupt:
        pending_.clear();
        show("\n");
        return LineResult::Kind::Cancelled;
      case PromptEvent::Suspend:
        signals.stop();
        show(prompt);
        return std::nullopt;
      case PromptEvent::Continue:
        show(prompt);
        return std::nullopt;
      case PromptEvent::Pause:
      case PromptEvent::Resize:
        return std::nullopt;
      case PromptEvent::End:
        return LineResult::Kind::Terminated;
    }
    char chunk[4096];
    const ssize_t n = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (n > 0) pending_.append(chunk, std::size_t(n));
    if (n == 0) {
      show("\n");  // ^D is not echoed
      return LineResult::Kind::End;
    }
    if (n < 0 && errno != EINTR && errno != EAGAIN) return LineResult::Kind::Terminated;
    return std::nullopt;
  }

  LineEditorHooks hooks_;
  std::string pending_;  // read, but not a complete line yet
};

}  // namespace

std::unique_ptr<LineEditor> make_plain_editor(LineEditorHooks hooks) {
  return std::make_unique<PlainEditor>(std::move(hooks));
}

}  // namespace rldb::ui
