// The terminal editor: readline's editing and key bindings with a redisplay of ours, because readline's own shows one
// logical line and no colours. readline keeps its state in globals, so one editor is active at a time (g_active).
#include "ui/term/line_editor.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// clang-format off: readline wants stdio first
#include <readline/history.h>
#include <readline/readline.h>
// clang-format on

#include <algorithm>
#include <iostream>

#include "rldb/support/file.h"
#include "ui/term/history_file.h"
#include "ui/term/screen.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kContinuation = "...> ";

class ReadlineEditor;
ReadlineEditor* g_active = nullptr;
volatile std::sig_atomic_t g_cancel = 0;

void on_sigint(int) { g_cancel = 1; }

std::string_view buffer() { return {rl_line_buffer, std::size_t(rl_end)}; }

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), rl_outstream ? rl_outstream : stdout); }

class ReadlineEditor : public LineEditor {
 public:
  ReadlineEditor(LineEditorHooks hooks, std::string history_file, bool color)
      : hooks_(std::move(hooks)), history_file_(std::move(history_file)), color_(color) {
    rl_readline_name = "rldb";
    rl_catch_signals = 0;
    rl_catch_sigwinch = 1;
    rl_redisplay_function = redisplay;
    rl_variable_bind("enable-bracketed-paste", "on");
    rl_variable_bind("blink-matching-paren", "off");
    rl_initialize();
    rl_bind_key('\r', accept);
    rl_bind_key('\n', accept);
    rl_bind_key('\t', complete);
    rl_bind_keyseq("\\e\r", insert_newline);  // M-Enter
    rl_bind_keyseq("\\C-x\\C-e", open_editor);
    for (const char* up : {"\\e[A", "\\eOA"}) rl_bind_keyseq(up, line_up);
    for (const char* down : {"\\e[B", "\\eOB"}) rl_bind_keyseq(down, line_down);
    using_history();
    for (const std::string& entry : read_history_file(history_file_)) add_history(entry.c_str());
    stifle_history(int(kMaxHistory));
  }

  LineResult read(const std::string& prompt) override {
    g_active = this;
    prompt_ = prompt;
    result_ = {LineResult::Kind::End, {}};
    done_ = false;
    shown_rows_ = 0;
    g_cancel = 0;
    struct sigaction action {
    }, before{};
    action.sa_handler = on_sigint;  // no SA_RESTART: poll has to return
    ::sigaction(SIGINT, &action, &before);
    rl_callback_handler_install(prompt.c_str(), on_line);
    while (!done_) {
      struct pollfd input {
        STDIN_FILENO, POLLIN, 0
      };
      const int ready = ::poll(&input, 1, -1);
      if (g_cancel) {
        cancel();
        break;
      }
      if (ready > 0) rl_callback_read_char();
    }
    if (!done_) rl_callback_handler_remove();
    ::sigaction(SIGINT, &before, nullptr);
    g_active = nullptr;
    return std::move(result_);
  }

  void remember(const std::string& entry) override {
    const HIST_ENTRY* last = history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
    if (last && entry == last->line) return;
    add_history(entry.c_str());
    append_history_file(history_file_, entry);
  }

 private:
  // ---- what readline calls ----

  static void on_line(char* line) {
    g_active->finish_display();
    rl_callback_handler_remove();  // or readline shows the prompt once more
    g_active->done_ = true;
    if (line) {
      g_active->result_ = {LineResult::Kind::Entry, line};
      std::free(line);
    } else {
      put("\r\n");
    }
  }

  static int accept(int count, int key) {
    const std::string text(buffer());
    const auto last_break = text.rfind('\n');
    const bool last_empty =
        last_break != std::string::npos && text.find_first_not_of(" \t", last_break + 1) == std::string::npos;
    if (!g_active->hooks_.wants_more(text, last_empty)) {
      rl_point = rl_end;
      return rl_newline(count, key);
    }
    return insert_newline(count, key);
  }

  static int insert_newline(int, int) {
    const std::string before(buffer().substr(0, std::size_t(rl_point)));
    rl_insert_text("\n");
    rl_insert_text(std::string(std::size_t(std::max(0, g_active->hooks_.indent(before))), ' ').c_str());
    return 0;
  }

  static int line_up(int count, int key) { return g_active->move_line(-1) ? 0 : rl_get_previous_history(count, key); }
  static int line_down(int count, int key) { return g_active->move_line(1) ? 0 : rl_get_next_history(count, key); }

  static int complete(int, int) {
    const std::string text(buffer());
    const auto point = std::size_t(rl_point);
    // At the start of a line Tab indents.
    const auto line_start = text.rfind('\n', point == 0 ? 0 : point - 1);
    const std::size_t begin = line_start == std::string::npos || point == 0 ? 0 : line_start + 1;
    if (begin > 0 && text.find_first_not_of(' ', begin) >= point) {
      rl_insert_text("    ");
      return 0;
    }
    std::size_t start = point;
    const std::vector<std::string> candidates = g_active->hooks_.complete(text, point, start);
    if (candidates.empty()) {
      rl_ding();
      return 0;
    }
    std::string common = candidates[0];
    for (const std::string& c : candidates)
      common.resize(
          std::size_t(std::mismatch(common.begin(), common.end(), c.begin(), c.end()).first - common.begin()));
    if (common.size() > point - start) {
      rl_insert_text(common.c_str() + (point - start));
      if (candidates.size() == 1 && !common.ends_with('/') && rl_point == rl_end) rl_insert_text(" ");
      return 0;
    }
    if (candidates.size() > 1) g_active->list(candidates);
    return 0;
  }

  static int open_editor(int, int) {
    const char* editor = std::getenv("VISUAL") ? std::getenv("VISUAL") : std::getenv("EDITOR");
    char path[] = "/tmp/rldb-entry-XXXXXX.py";
    const int fd = ::mkstemps(path, 3);
    if (fd < 0) return rl_ding();
    ::close(fd);
    (void)support::write_file(path, buffer());
    g_active->finish_display();
    rl_deprep_terminal();
    const std::string command = std::string(editor && *editor ? editor : "vi") + " " + path;
    const int status = std::system(command.c_str());
    rl_prep_terminal(1);
    auto text = support::read_file(path);
    ::unlink(path);
    if (status == 0 && text.ok()) {
      while (text->ends_with('\n')) text->pop_back();
      rl_replace_line(text->c_str(), 0);
      rl_point = rl_end;
    }
    g_active->shown_rows_ = 0;
    rl_forced_update_display();
    return 0;
  }

  static void redisplay() {
    if (g_active) g_active->show();
  }

  // ---- display ----

  // Everything is drawn anew from the prompt's row; entries are a few lines long.
  void show() {
    const int width = terminal_width();
    const std::string prompt = rl_display_prompt ? rl_display_prompt : prompt_;
    const std::string text(buffer());
    std::string out;
    if (cursor_row_ > 0) out += "\033[" + std::to_string(cursor_row_) + "A";
    out += "\r\033[J";
    out += color_ ? "\033[1m" + prompt + "\033[0m" : prompt;
    out += with_continuations(color_ && hooks_.paint ? hooks_.paint(text) : text);
    ScreenPosition end = advance({}, prompt, width);
    end = advance(end, with_continuations(text), width);
    ScreenPosition cursor = advance({}, prompt, width);
    cursor = advance(cursor, with_continuations(text.substr(0, std::size_t(rl_point))), width);
    if (end.column >= width) {  // the terminal has not wrapped yet
      out += "\r\n";
      ++end.row;
      end.column = 0;
    }
    if (cursor.column >= width) ++cursor.row, cursor.column = 0;
    if (end.row > cursor.row) out += "\033[" + std::to_string(end.row - cursor.row) + "A";
    out += "\r";
    if (cursor.column > 0) out += "\033[" + std::to_string(cursor.column) + "C";
    put(out);
    std::fflush(rl_outstream ? rl_outstream : stdout);
    cursor_row_ = cursor.row;
    shown_rows_ = end.row;
  }

  static std::string with_continuations(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n')
        out += "\r\n" + std::string(kContinuation);
      else
        out += c;
    }
    return out;
  }

  // Leaves the cursor on the row below the entry.
  void finish_display() {
    if (shown_rows_ > cursor_row_) put("\033[" + std::to_string(shown_rows_ - cursor_row_) + "B");
    put("\r\n");
    std::fflush(rl_outstream ? rl_outstream : stdout);
    cursor_row_ = shown_rows_ = 0;
  }

  void cancel() {
    finish_display();
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_replace_line("", 1);
    put("\033[?2004l");
    result_ = {LineResult::Kind::Cancelled, {}};
  }

  void list(const std::vector<std::string>& candidates) {
    finish_display();
    const int width = terminal_width();
    std::size_t longest = 0;
    for (const std::string& c : candidates) longest = std::max(longest, c.size());
    const std::size_t columns = std::max<std::size_t>(1, std::size_t(width) / (longest + 2));
    constexpr std::size_t kMost = 120;
    for (std::size_t i = 0; i < candidates.size() && i < kMost; ++i) {
      std::string cell = candidates[i];
      cell.resize(longest + 2, ' ');
      put(cell);
      if ((i + 1) % columns == 0) put("\r\n");
    }
    if (candidates.size() > kMost) put("... and " + std::to_string(candidates.size() - kMost) + " more");
    put("\r\n");
    rl_forced_update_display();
  }

  // Up and down inside a multi-line entry. False: at its edge.
  bool move_line(int direction) {
    const std::string text(buffer());
    const auto point = std::size_t(rl_point);
    const auto before = point == 0 ? std::string::npos : text.rfind('\n', point - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    const std::size_t column = point - start;
    if (direction < 0) {
      if (start == 0) return false;
      const auto previous = start < 2 ? std::string::npos : text.rfind('\n', start - 2);
      const std::size_t previous_start = previous == std::string::npos ? 0 : previous + 1;
      rl_point = int(std::min(previous_start + column, start - 1));
      return true;
    }
    const auto end = text.find('\n', point);
    if (end == std::string::npos) return false;
    const auto next_end = text.find('\n', end + 1);
    rl_point = int(std::min(end + 1 + column, next_end == std::string::npos ? text.size() : next_end));
    return true;
  }

  LineEditorHooks hooks_;
  std::string history_file_;
  bool color_;
  std::string prompt_;
  LineResult result_;
  bool done_ = false;
  int cursor_row_ = 0;
  int shown_rows_ = 0;
};

// For dumb terminals: lines as they come, a prompt for each.
class PlainEditor : public LineEditor {
 public:
  explicit PlainEditor(LineEditorHooks hooks) : hooks_(std::move(hooks)) {}
  LineResult read(const std::string& prompt) override {
    std::string text, line;
    std::fputs(prompt.c_str(), stdout);
    std::fflush(stdout);
    while (std::getline(std::cin, line)) {
      text += (text.empty() ? "" : "\n") + line;
      if (!hooks_.wants_more(text, line.find_first_not_of(" \t") == std::string::npos))
        return {LineResult::Kind::Entry, text};
      std::fputs(std::string(kContinuation).c_str(), stdout);
      std::fflush(stdout);
    }
    return text.empty() ? LineResult{LineResult::Kind::End, {}} : LineResult{LineResult::Kind::Entry, text};
  }

 private:
  LineEditorHooks hooks_;
};

}  // namespace

std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color) {
  const char* term = std::getenv("TERM");
  const bool dumb = !term || !*term || std::string_view(term) == "dumb";
  if (dumb || !::isatty(STDOUT_FILENO)) return std::make_unique<PlainEditor>(std::move(hooks));
  return std::make_unique<ReadlineEditor>(std::move(hooks), std::move(history_file), color);
}

}  // namespace rldb::ui
