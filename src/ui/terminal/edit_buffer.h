// EditBuffer: the text of an entry, the cursor in it, and its undo steps. Knows no keys and no terminal.
//
// `point` is a byte offset at a character boundary. Every change goes through `replace`; changes that belong together
// are one undo step: those of a Group, and letters typed in a row up to the end of a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

class EditBuffer {
 public:
  static constexpr std::size_t kMostBytes = std::size_t(16) << 20;

  const std::string& text() const { return text_; }
  std::size_t point() const { return point_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }

  // A new text with nothing to undo; the cursor at its end.
  void reset(std::string text);
  void move_to(std::size_t point);
  // Leaves the cursor after the inserted text. False, with nothing changed: the entry would be too long.
  bool replace(std::size_t begin, std::size_t end, std::string_view by);
  bool insert(std::string_view text) { return replace(point_, point_, text); }
  // Types a letter: undone together with those before it.
  bool type(std::string_view text);
  void erase(std::size_t begin, std::size_t end) { replace(begin, end, {}); }
  bool undo();
  bool undo_all();

  class Group {
   public:
    explicit Group(EditBuffer& buffer) : buffer_(buffer) { ++buffer_.depth_; }
    ~Group() {
      if (--buffer_.depth_ == 0) ++buffer_.step_;
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    EditBuffer& buffer_;
  };

  // Positions. A word is letters, digits and underscores; a line ends before its line break.
  std::size_t line_start(std::size_t at) const;
  std::size_t line_end(std::size_t at) const;
  bool on_first_line() const { return line_start(point_) == 0; }
  bool on_last_line() const { return line_end(point_) == text_.size(); }
  std::size_t next(std::size_t at) const;
  std::size_t previous(std::size_t at) const;
  std::size_t word_end(std::size_t at) const;    // forward: past the end of this word or the next one
  std::size_t word_start(std::size_t at) const;  // backward: the start of this word or the one before
  std::size_t blank_word_start(std::size_t at) const;
  // The position of screen column `column` on the line that begins at `line`.
  std::size_t at_column(std::size_t line, int column) const;
  int column_of(std::size_t at) const;

 private:
  struct Change {
    std::size_t at;
    std::string removed, inserted;
    std::size_t point;  // before
    unsigned step;
    bool typed;
  };
  std::string text_;
  std::size_t point_ = 0;
  std::vector<Change> changes_;
  unsigned step_ = 0;
  int depth_ = 0;
};

bool is_word_character(char c);
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace rldb::ui
