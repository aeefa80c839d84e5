// The terminal editor: readline's editing and key bindings with a redisplay of ours, because readline's own shows one
// logical line and no colours. readline keeps its state in globals, so one editor is active at a time (g_active).
#include "ui/term/line_editor.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// clang-format off: readline wants stdio first
#include <readline/history.h>
#include <readline/readline.h>
// clang-format on

#include <algorithm>
#include <optional>

#include "rldb/support/file.h"
#include "rldb/support/memory.h"
#include "ui/term/history_file.h"
#include "ui/term/incremental_search.h"
#include "ui/term/screen.h"
#include "ui/term/signals.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kContinuation = "...> ";

constexpr std::string_view kPasteEnd = "\033[201~";
constexpr std::size_t kMostPasted = std::size_t(16) << 20;

class ReadlineEditor;
ReadlineEditor* g_active = nullptr;

std::string_view buffer() { return {rl_line_buffer, std::size_t(rl_end)}; }

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), rl_outstream ? rl_outstream : stdout); }

// The buffer replaced as if by typing, so that undo has the right positions.
void replace_line(const std::string& text, std::size_t point) {
  rl_begin_undo_group();
  rl_delete_text(0, rl_end);
  rl_point = rl_mark = 0;
  rl_insert_text(text.c_str());
  rl_end_undo_group();
  rl_point = int(std::min(point, std::size_t(rl_end)));
}

// A function bound anywhere, in maps of key sequences too, is replaced.
void rebind(Keymap map, rl_command_func_t* from, rl_command_func_t* to, int depth = 0) {
  constexpr int kDeepest = 8;  // maps may hold themselves
  if (depth > kDeepest) return;
  for (int i = 0; i < KEYMAP_SIZE; ++i) {
    if (map[i].type == ISFUNC && map[i].function == from) map[i].function = to;
    if (map[i].type == ISKMAP && map[i].function)
      rebind(reinterpret_cast<Keymap>(map[i].function), from, to, depth + 1);
  }
}

class ReadlineEditor : public LineEditor {
 public:
  ReadlineEditor(LineEditorHooks hooks, std::string history_file, bool color)
      : hooks_(std::move(hooks)), history_file_(std::move(history_file)), color_(color) {
    rl_readline_name = "rldb";
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_redisplay_function = redisplay;
    rl_getc_function = read_byte;
    rl_variable_bind("enable-bracketed-paste", "on");
    rl_variable_bind("blink-matching-paren", "off");
    rl_initialize();
    bind_keys();
    using_history();
    for (const std::string& entry : read_history_file(history_file_)) add_history(entry.c_str());
    stifle_history(int(kMaxHistory));
  }

  LineResult read(const std::string& prompt) override {
    // No exception may pass readline: what is typed counts, but does not fail.
    const support::MemoryLimitExempt exempt;
    PromptSignals signals;
    signals_ = &signals;
    g_active = this;
    prompt_ = prompt;
    result_ = {LineResult::Kind::End, {}};
    done_ = false;
    cursor_row_ = shown_rows_ = 0;
    using_history();
    rl_callback_handler_install(prompt.c_str(), on_line);
    while (!done_) {
      switch (signals.wait()) {
        case PromptEvent::Input:
          feed();
          break;
        case PromptEvent::Interrupt:
          drop(LineResult::Kind::Cancelled);
          break;
        case PromptEvent::Suspend:
          suspend(signals);
          break;
        case PromptEvent::Resize:
          rl_resize_terminal();
          break;
        case PromptEvent::End:
          drop(LineResult::Kind::Terminated);
          break;
      }
    }
    g_active = nullptr;
    signals_ = nullptr;
    return std::move(result_);
  }

  std::string remember(const std::string& entry) override {
    const HIST_ENTRY* last = history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
    if (last && entry == last->line) return {};
    add_history(entry.c_str());
    return append_history_file(history_file_, entry);
  }

 private:
  // What readline itself has for these reads keys on its own, waiting for them where no signal is seen; its search
  // reads through a null pointer after ^R ^X.
  static void bind_keys() {
    rl_bind_key('\r', accept);
    rl_bind_key('\n', accept);
    rl_bind_key('\t', complete);
    rl_bind_keyseq("\\e\r", insert_newline);  // M-Enter
    rl_bind_keyseq("\\e\n", insert_newline);
    rl_bind_keyseq("\\C-x\\C-e", open_editor);
    rl_bind_keyseq("\\e[200~", begin_paste);
    for (const char* up : {"\\e[A", "\\eOA"}) rl_bind_keyseq(up, line_up);
    for (const char* down : {"\\e[B", "\\eOB"}) rl_bind_keyseq(down, line_down);
    struct Replacement {
      rl_command_func_t *from, *to;
    };
    const Replacement replacements[] = {
        {rl_reverse_search_history, search_backwards},
        {rl_noninc_reverse_search, search_backwards},
        {rl_forward_search_history, search_forwards},
        {rl_noninc_forward_search, search_forwards},
        {rl_bracketed_paste_begin, begin_paste},
        {rl_complete, complete},
        {rl_possible_completions, complete},
        {rl_insert_completions, complete},
        {rl_menu_complete, complete},
        {rl_backward_menu_complete, complete},
        {rl_old_menu_complete, complete},
        {rl_re_read_init_file, read_init_file},
    };
    for (const char* name : {"emacs-standard", "vi-command", "vi-insert"})
      for (const Replacement& r : replacements) rebind(rl_get_keymap_by_name(name), r.from, r.to);
  }

  // ---- what readline calls ----

  // readline asks when there is a byte, but for keys of several bytes also when there is none yet.
  static int read_byte(std::FILE*) {
    while (g_active) {
      switch (g_active->signals_->wait()) {
        case PromptEvent::Input:
          break;
        case PromptEvent::Interrupt:
          g_active->dropped_ = LineResult::Kind::Cancelled;
          return EOF;
        case PromptEvent::End:
          g_active->dropped_ = LineResult::Kind::Terminated;
          return EOF;
        case PromptEvent::Suspend:
          g_active->suspend(*g_active->signals_);
          continue;
        case PromptEvent::Resize:
          rl_resize_terminal();
          continue;
      }
      unsigned char c = 0;
      const ssize_t n = ::read(STDIN_FILENO, &c, 1);
      if (n == 1) return c;
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      g_active->dropped_ = LineResult::Kind::Terminated;  // the terminal is gone
      return EOF;
    }
    return EOF;
  }

  static int read_init_file(int count, int key) {
    const int result = rl_re_read_init_file(count, key);
    bind_keys();
    return result;
  }

  static int search_backwards(int, int) { return g_active->begin_search(true); }
  static int search_forwards(int, int) { return g_active->begin_search(false); }

  static int begin_paste(int, int) {
    g_active->paste_.emplace();
    return 0;
  }

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
    const int indent = g_active->hooks_.indent(before);
    rl_insert_text(std::string(std::size_t(std::max(0, indent)), ' ').c_str());
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
      replace_line(*text, text->size());
    }
    g_active->cursor_row_ = g_active->shown_rows_ = 0;
    rl_forced_update_display();
    return 0;
  }

  static void redisplay() {
    if (g_active) g_active->show();
  }

  // ---- keys ----

  void feed() {
    dropped_.reset();
    if (paste_)
      paste_byte(rl_read_key());
    else if (search_)
      search_key(rl_read_key());
    else
      rl_callback_read_char();
    // Instead of the rest of a key there was a signal; what readline made of that does not count.
    if (dropped_) drop(*dropped_);
  }

  int begin_search(bool backwards) {
    std::vector<std::string> entries;
    if (HIST_ENTRY** const list = history_list())
      for (HIST_ENTRY** entry = list; *entry; ++entry) entries.emplace_back((*entry)->line);
    search_.emplace(std::move(entries), std::string(buffer()), std::size_t(rl_point), backwards);
    return 0;
  }

  void search_key(int key) {
    const auto outcome = search_->key(key);
    if (outcome == IncrementalSearch::Outcome::Goes) {
      show();
      return;
    }
    if (outcome == IncrementalSearch::Outcome::Taken && search_->text() != buffer())
      replace_line(search_->text(), search_->point());
    else if (outcome == IncrementalSearch::Outcome::Taken)
      rl_point = int(std::min(search_->point(), std::size_t(rl_end)));
    search_.reset();
    show();
    if (outcome == IncrementalSearch::Outcome::Abandoned || key < 0) return;
    rl_stuff_char(key);
    rl_callback_read_char();
  }

  // A paste without its end goes on until ^C.
  void paste_byte(int byte) {
    if (byte < 0) return;
    *paste_ += char(byte);
    if (!paste_->ends_with(kPasteEnd)) {
      if (paste_->size() > kMostPasted) paste_->erase(0, paste_->size() / 2);
      return;
    }
    paste_->resize(paste_->size() - kPasteEnd.size());
    std::string text;
    for (std::size_t i = 0; i < paste_->size(); ++i) {
      const char c = (*paste_)[i];
      if (c == '\r') text += '\n';
      if (c == '\n' && i > 0 && (*paste_)[i - 1] == '\r') continue;
      if (c != '\r' && c != '\0') text += c;
    }
    paste_.reset();
    rl_insert_text(text.c_str());
    show();
  }

  void suspend(PromptSignals& signals) {
    if (done_) return;
    finish_display();
    rl_deprep_terminal();
    signals.stop();
    rl_prep_terminal(1);
    show();
  }

  // ---- display ----

  // Everything is drawn anew from the prompt's row; entries are a few lines long.
  void show() {
    const int width = terminal_width();
    const std::string prompt = displayable(search_             ? search_->prompt()
                                           : rl_display_prompt ? std::string(rl_display_prompt)
                                                               : prompt_);
    const std::string typed = search_ ? search_->text() : std::string(buffer());
    const std::size_t point = std::min(search_ ? search_->point() : std::size_t(rl_point), typed.size());
    const std::string text = displayable(typed);
    const std::string painted = color_ && hooks_.paint ? hooks_.paint(text) : text;
    std::string out;
    if (cursor_row_ > 0) out += "\033[" + std::to_string(cursor_row_) + "A";
    out += "\r\033[J";
    out += color_ ? "\033[1m" + prompt + "\033[0m" : prompt;
    out += with_continuations(painted);
    ScreenPosition end = advance({}, prompt, width);
    end = advance(end, with_continuations(text), width);
    ScreenPosition cursor = advance({}, prompt, width);
    cursor = advance(cursor, with_continuations(displayable(typed.substr(0, point))), width);
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

  // The entry is given up.
  void drop(LineResult::Kind kind) {
    if (!done_) {
      search_.reset();
      paste_.reset();
      finish_display();
      g_active = nullptr;  // readline shows the empty line, but nothing of it is to be seen
      rl_free_line_state();
      rl_callback_sigcleanup();
      rl_clear_pending_input();
      rl_replace_line("", 1);
      rl_callback_handler_remove();
    }
    done_ = true;
    result_ = {kind, {}};
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
      set_point(text, std::min(previous_start + column, start - 1));
      return true;
    }
    const auto end = text.find('\n', point);
    if (end == std::string::npos) return false;
    const auto next_end = text.find('\n', end + 1);
    set_point(text, std::min(end + 1 + column, next_end == std::string::npos ? text.size() : next_end));
    return true;
  }

  // Never into the middle of a character.
  static void set_point(const std::string& text, std::size_t point) {
    while (point > 0 && point < text.size() && (static_cast<unsigned char>(text[point]) & 0xC0) == 0x80) --point;
    rl_point = int(point);
  }

  LineEditorHooks hooks_;
  std::string history_file_;
  bool color_;
  std::string prompt_;
  std::optional<IncrementalSearch> search_;
  std::optional<std::string> paste_;         // being pasted
  PromptSignals* signals_ = nullptr;         // while an entry is read
  std::optional<LineResult::Kind> dropped_;  // a signal came where a byte was wanted
  LineResult result_;
  bool done_ = false;
  int cursor_row_ = 0;
  int shown_rows_ = 0;
};

}  // namespace

std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color) {
  const char* term = std::getenv("TERM");
  const bool dumb = !term || !*term || std::string_view(term) == "dumb";
  if (dumb || !::isatty(STDOUT_FILENO)) return make_plain_editor(std::move(hooks));
  return std::make_unique<ReadlineEditor>(std::move(hooks), std::move(history_file), color);
}

}  // namespace rldb::ui
