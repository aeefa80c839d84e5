// The editor of a real terminal: reads bytes and signals, passes them to EntryEditor, and shows the entry. ^C is a key
// until the entry is accepted.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "rldb/support/file.h"
#include "rldb/support/file_system.h"
#include "rldb/support/memory.h"
#include "rldb/ui/terminal/characters.h"
#include "rldb/ui/terminal/full_screen.h"
#include "rldb/ui/terminal/history_file.h"
#include "rldb/ui/terminal/layout.h"
#include "rldb/ui/terminal/line_editor.h"
#include "rldb/ui/terminal/raw_mode.h"
#include "rldb/ui/terminal/redisplay.h"
#include "rldb/ui/terminal/signals.h"
#include "rldb/ui/terminal/typed_ahead.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/terminal/entry_editor.h"
#include "ui/terminal/inputrc.h"
#include "ui/terminal/terminal_output.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kBold = "1";
// Until a terminal being resized has its final size. While its border is dragged, the reported size may not be the
// actual one: tmux reports one size every 250 ms.
constexpr int kSettleMs = 300;

bool input_waits() {
  int bytes = 0;
  return ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

class TerminalEditor : public LineEditor {
 public:
  TerminalEditor(LineEditorHooks hooks, std::string history_file, bool color, FullScreen* full)
      : full_(full),
        hooks_(std::move(hooks)),
        history_file_(std::move(history_file)),
        color_(color),
        history_(read_history_file(history_file_)),
        keys_(user_key_bindings()),
        editor_(hooks_, history_, keys_) {}

  LineResult read(const std::string& prompt) override {
    // Typed text counts as memory, but an entry does not fail for it.
    const support::MemoryLimitExempt exempt;
    std::fflush(stdout);
    PromptSignals signals;
    RawMode raw(keys_.bracketed_paste);
    const InterruptAsKey in_order;
    raw_ = &raw;
    fill_panes();
    begin_row();
    editor_.begin(prompt);
    styled_.reset();
    hinted_ = {};
    result_.reset();
    serve();
    feed(take_typed_ahead());
    if (!result_) show();
    while (!result_) step(signals);
    if (result_->kind == LineResult::Kind::Entry) take_rest();
    return std::move(*result_);
  }

  std::string remember(const std::string& entry) override {
    return history_.add(entry) ? append_history_file(history_file_, entry) : std::string();
  }

 private:
  void step(PromptSignals& signals) {
    const int other = hooks_.other_input ? hooks_.other_input() : -1;
    const PromptEvent event = signals.wait(resized_ ? kSettleMs : editor_.waits() ? keys_.key_timeout_ms : -1, other);
    if (event != PromptEvent::Resize) settle();
    switch (event) {
      case PromptEvent::Input:
        read_keys(signals);
        break;
      case PromptEvent::Other:
        lend_terminal([&] { editor_.set_prompt(hooks_.on_other_input()); });
        fill_panes();
        begin_row();
        show();
        break;
      case PromptEvent::Pause:
        if (editor_.waits()) editor_.no_more_bytes();
        serve();
        if (!result_) show();
        break;
      case PromptEvent::Interrupt:
        cancel();
        break;
      case PromptEvent::Suspend:
        lend_terminal([&] { signals.stop(); });
        show();
        break;
      case PromptEvent::Continue:  // another program may have used the terminal meanwhile
        take_terminal_again();
        show();
        break;
      case PromptEvent::Resize:
        resized_ = true;
        if (full_on()) settle();
        break;
      case PromptEvent::End:
        end(LineResult::Kind::Terminated);
        break;
    }
  }

  // An entry, of whomever, may have moved the run or turned screen mode on or off.
  void fill_panes() {
    if (full_ && !full_->follow() && full_->on()) full_->fill();
  }

  void cancel() {
    if (full_on()) full_->lost();  // with what the kernel threw away
    end(LineResult::Kind::Cancelled);
  }

  // One byte at a time: bytes after the entry or after a ^C belong to the next one. The screen is updated when no more
  // bytes are waiting.
  void read_keys(const PromptSignals& signals) {
    while (!result_) {
      char c = 0;
      if (signals.arrived() || !read_byte(c)) break;
      if (InterruptAsKey::is(c)) return cancel();
      const bool more = input_waits();
      editor_.byte(c, more);
      serve();
      if (!result_ && editor_.waits_for_paste()) read_paste(signals);
      if (result_) return;
      if (!more && !input_waits()) break;
    }
    if (!result_ && !editor_.waits_for_paste()) show();
  }

  void read_paste(const PromptSignals& signals) {
    while (!result_ && editor_.waits_for_paste() && !signals.arrived()) {
      char c = 0;
      if (!read_byte(c)) return;
      if (InterruptAsKey::is(c)) return cancel();
      editor_.byte(c, input_waits());
      serve();
    }
  }

  bool read_byte(char& c) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno != EINTR && errno != EAGAIN) end(LineResult::Kind::Terminated);
    return n > 0;  // poll reports a closed terminal
  }

  // Takes keys that others have read.
  void feed(const std::string& keys) {
    std::size_t i = 0;
    while (i < keys.size() && !result_) {
      editor_.byte(keys[i], i + 1 < keys.size());
      ++i;
      serve();
    }
    typed_ahead() = keys.substr(i) + typed_ahead();
  }

  // Handles the request of the last key.
  void serve() {
    while (!result_ && editor_.request() != EntryEditor::Request::None) {
      const EntryEditor::Request request = editor_.request();
      editor_.answered();
      switch (request) {
        case EntryEditor::Request::None:
          return;
        case EntryEditor::Request::Accept:
          return end(LineResult::Kind::Entry);
        case EntryEditor::Request::End:
          return end(LineResult::Kind::End);
        case EntryEditor::Request::ClearScreen:
          clear_screen();
          break;
        case EntryEditor::Request::EditInEditor:
          edit_in_editor();
          break;
        case EntryEditor::Request::ReadInitFile:
          keys_ = user_key_bindings();
          break;
      }
    }
  }

  void finish() {
    raw_->end_pastes();
    if (full_on()) return full_->accept(frame(true));
    write_terminal(display_.finish(frame(true), size_.width, size_.height, color_));
  }

  void end(LineResult::Kind kind) {
    finish();
    result_ = {kind, kind == LineResult::Kind::Entry ? editor_.text() : std::string(), editor_.typed()};
  }

  // Keys that are there when the entry ends are the next one's, unless a ^C is among them: as in any terminal, that
  // takes back what was typed before it. It is looked for while it is a key: later, when it is a signal, this one would
  // be nobody's. A shell command is given its keys by the terminal.
  void take_rest() {
    constexpr std::size_t kMost = 4096;  // what a terminal holds
    const std::size_t first = result_->text.find_first_not_of(" \t");
    if (first != std::string::npos && result_->text[first] == '!') return;
    std::string& rest = typed_ahead();
    char c = 0;
    for (std::size_t i = 0; i < kMost && input_waits() && read_byte(c); ++i) {
      rest += c;
      if (!InterruptAsKey::is(c)) continue;
      rest.clear();
      result_->kind = LineResult::Kind::TakenBack;
    }
  }

  void edit_in_editor() {
    const char* editor = std::getenv("VISUAL");
    if (!editor || !*editor) editor = std::getenv("EDITOR");
    char path[] = "/tmp/rldb-entry-XXXXXX.py";
    const int fd = ::mkstemps(path, 3);
    if (fd < 0) return editor_.ring();
    const int error = support::write_all(fd, editor_.text() + "\n");
    ::close(fd);
    int status = -1;
    if (error == 0) {
      lend_terminal(
          [&] { status = std::system((std::string(editor && *editor ? editor : "vi") + " " + path).c_str()); });
    }
    auto text = support::read_file(path, EditBuffer::kMostBytes);
    ::unlink(path);
    if (status != 0 || !text.ok()) return editor_.ring();
    while (text->ends_with('\n')) text->pop_back();
    editor_.replace_text(*text);
  }

  // ---- the screen ----

  bool full_on() const { return full_ && full_->on(); }

  // Another program uses the restored terminal.
  template <class Work>
  void lend_terminal(Work work) {
    const bool full = full_on();
    if (full) {
      raw_->end_pastes();
      full_->leave();
    } else {
      finish();
    }
    {
      const CookedMode cooked(*raw_);
      work();
    }
    if (full) full_->enter();
    size_ = window_size();
  }

  void take_terminal_again() {
    const bool full = full_on();
    if (full) full_->leave();
    raw_->leave();
    raw_->enter();
    if (full) full_->enter();
    begin_row();
  }

  void clear_screen() {
    if (full_on()) return full_->lost();
    write_terminal("\033[H\033[2J");
    display_.forget();
  }

  // The keys or the previous entry have turned screen mode on or off.
  void follow_screen() {
    if (!full_ || full_->screen().on == full_->on()) return;
    if (!full_->on()) write_terminal(display_.finish(frame(true), size_.width, size_.height, color_));
    full_->follow();
    if (!full_->on()) begin_row();
  }

  // Earlier output may have left its last line open. Blanks up to the last column but one stay on an empty row and
  // leave a row that is not empty.
  void begin_row() {
    size_ = window_size();
    if (full_on()) return;
    write_terminal(std::string(std::size_t(std::max(0, size_.width - 1)), ' ') + '\r');
    display_.forget();
  }

  // Of the text being edited, everything that can be on the screen; the rest has no colours until it is accepted.
  void colour(const EntryView& view, bool whole) {
    std::size_t begin = view.point, end = view.point;
    for (int i = 0; i < size_.height && begin > 0; ++i) {
      const auto line = view.text.rfind('\n', begin - 1);
      begin = line == std::string_view::npos ? 0 : line;
    }
    for (int i = 0; i < size_.height && end < view.text.size(); ++i)
      end = std::min(view.text.find('\n', end + 1), view.text.size());
    if (whole) begin = 0, end = view.text.size();
    if (styled_ && styled_->text == view.text && styled_->begin <= begin && end <= styled_->end) return;
    styled_ = {std::string(view.text), begin, end, hooks_.styles(view.text, begin, end)};
  }

  // Recomputed when the text or the cursor has changed. Empty where the entry leaves no room for them.
  const std::vector<HintLine>& hints_of(const EntryView& view) {
    constexpr int kLeast = 6;  // rows of a screen with enough room
    if (!hooks_.hints || rows() < kLeast / (full_on() ? 2 : 1) || size_.width < 4 * kLeast) {
      hinted_.lines.clear();
    } else if (hinted_.text != view.text || hinted_.point != view.point) {
      hinted_ = {std::string(view.text), view.point, hooks_.hints(view.text, view.point)};
    }
    return hinted_.lines;
  }

  static std::string_view style_of(HintLine::Kind kind) {
    switch (kind) {
      case HintLine::Kind::Signature:
      case HintLine::Kind::Type:
        return "2";
      case HintLine::Kind::Problem:
        return "31";
    }
    return {};
  }

  // Rows of the terminal, or of its part that is the command line.
  int rows() const { return full_on() ? full_->screen().command_rows() : size_.height; }

  // A signature in one row, a type or an error in up to three, broken at blanks; `...` where there is more.
  static void add_rows(const HintLine& hint, int width, std::vector<LineBelow>& rows) {
    constexpr std::string_view kMore = "...";
    std::string_view rest = std::string_view(hint.text).substr(0, hint.text.find('\n'));
    for (int left = hint.kind == HintLine::Kind::Signature ? 1 : 3; left > 0 && !rest.empty(); --left) {
      std::string_view part = cut_to(rest, width);
      if (part.size() < rest.size() && left == 1) {
        rows.push_back(
            {std::string(cut_to(rest, width - int(kMore.size()))) + std::string(kMore), style_of(hint.kind)});
        return;
      }
      const auto blank = part.size() < rest.size() ? part.rfind(' ') : std::string_view::npos;
      if (blank != std::string_view::npos && blank > 0) part = part.substr(0, blank);
      rows.push_back({std::string(part), style_of(hint.kind)});
      rest.remove_prefix(part.size());
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
  }

  // One row of it, cut if it is longer.
  static std::string_view cut_to(std::string_view text, int width) {
    std::size_t at = 0;
    int columns = 0;
    while (at < text.size() && text[at] != '\n') {
      const std::size_t next = next_character(text, at);
      columns += shown_character(text.substr(at, next - at)).columns;
      if (columns > width) break;
      at = next;
    }
    return text.substr(0, at);
  }

  // `final`: the entry in its final form, without the list below it.
  Frame frame(bool final) {
    const EntryView view = editor_.view();
    Entry entry{view.prompt, kBold, view.text, view.point, nullptr, nullptr};
    if (color_ && hooks_.styles) {
      colour(view, final);
      entry.styles = &styled_->styles;
    }
    if (!final && color_) entry.suggested = cut_to(view.suggested, size_.width - 1);
    std::vector<LineBelow> below;
    if (!final && view.candidates) {
      below = menu_lines(*view.candidates, view.selected, size_.width - 1, std::max(1, rows() - (full_on() ? 2 : 4)));
      entry.below = &below;
    } else if (!final && view.hints) {
      for (const HintLine& hint : hints_of(view)) add_rows(hint, size_.width - 1, below);
      entry.below = &below;
    }
    return lay_out(entry, size_.width);
  }

  void show() {
    if (editor_.take_bell()) ring();
    follow_screen();
    if (full_on()) return full_->draw(frame(false), size_);
    write_terminal(display_.draw(frame(false), size_.width, size_.height, color_));
  }

  // Our lines stay as the terminal wraps them until its size is settled: cursor movements computed for a wrong width
  // would leave rows behind.
  void settle() {
    if (!std::exchange(resized_, false)) return;
    const WindowSize now = window_size();
    if (now.width == size_.width && now.height == size_.height) return;
    size_ = now;
    if (full_on()) return full_->draw(frame(false), size_);
    write_terminal(display_.redraw(frame(false), size_.width, size_.height, color_));
  }

  void ring() {
    switch (keys_.bell) {
      case BellStyle::None:
        return;
      case BellStyle::Audible:
        return write_terminal("\a");
      case BellStyle::Visible:
        return write_terminal("\033[?5h\033[?5l");
    }
  }

  FullScreen* full_;
  LineEditorHooks hooks_;
  std::string history_file_;
  bool color_;
  EntryHistory history_;
  KeyBindings keys_;
  EntryEditor editor_;
  Redisplay display_;
  RawMode* raw_ = nullptr;  // while an entry is being read
  WindowSize size_;
  bool resized_ = false;  // and not drawn for that size yet
  std::optional<LineResult> result_;
  struct Styled {
    std::string text;
    std::size_t begin = 0, end = 0;
    std::vector<TextStyle> styles;
  };
  std::optional<Styled> styled_;
  struct Hinted {
    std::string text;
    std::size_t point = 0;
    std::vector<HintLine> lines;
  };
  Hinted hinted_;
};

}  // namespace

std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color,
                                                 FullScreen* full) {
  const char* term = std::getenv("TERM");
  const bool dumb = !term || !*term || std::string_view(term) == "dumb";
  if (dumb || !::isatty(STDOUT_FILENO)) return make_plain_editor(std::move(hooks));
  return std::make_unique<TerminalEditor>(std::move(hooks), std::move(history_file), color, full);
}

}  // namespace rldb::ui
