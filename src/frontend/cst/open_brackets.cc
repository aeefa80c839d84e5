// A walk over the leaves before a place; sound nodes that end before it are stepped over.
#include "frontend/cst/open_brackets.h"

#include "frontend/cst/ts_language.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::cst {

namespace {

class BracketWalk {
 public:
  BracketWalk(TSNode root, std::string_view text, std::size_t place)
      : text_(text), place_(place), cursor_(ts_tree_cursor_new(root)) {}
  ~BracketWalk() { ts_tree_cursor_delete(&cursor_); }
  BracketWalk(const BracketWalk&) = delete;
  BracketWalk& operator=(const BracketWalk&) = delete;

  OpenBrackets run() {
    do {
      support::poll();
      const TSNode node = ts_tree_cursor_current_node(&cursor_);
      if (ts_node_start_byte(node) >= place_) break;
      const bool whole = ts_node_end_byte(node) < place_ && !ts_node_has_error(node);
      if (ts_node_child_count(node) == 0 || whole) {
        if (!ts_node_is_missing(node) && language().kind_of(node) != Kind::Comment) leaf(node);
        if (!ts_tree_cursor_goto_next_sibling(&cursor_) && !up()) break;
      } else {
        ts_tree_cursor_goto_first_child(&cursor_);
      }
    } while (true);
    return std::move(out_);
  }

 private:
  bool up() {
    while (ts_tree_cursor_goto_parent(&cursor_))
      if (ts_tree_cursor_goto_next_sibling(&cursor_)) return true;
    return false;
  }

  void leaf(TSNode node) {
    const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    if (begin == end) return;
    if (language().kind_of(node) == Kind::UnterminatedString) {
      const std::size_t quote = text_.find_first_of("\"'", begin);
      out_.in_long_string = quote + 2 < text_.size() && text_[quote + 1] == text_[quote] &&
                            text_[quote + 2] == text_[quote] && end >= place_;
    }
    if (end - begin != 1 || ts_node_is_named(node)) return;
    const char c = text_[begin];
    if (c == '(' || c == '[' || c == '{') out_.open.push_back({begin, c, 0});
    if (c == ',' && !out_.open.empty()) ++out_.open.back().commas;
    if (c == ')' || c == ']' || c == '}') close(c);
  }

  void close(char c) {
    const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
    // The end of something that began before the text, say: what is open stays open.
    if (out_.open.empty() || out_.open.back().text != opener)
      out_.stray = true;
    else
      out_.open.pop_back();
  }

  std::string_view text_;
  std::size_t place_;
  TSTreeCursor cursor_;
  OpenBrackets out_;
};

}  // namespace

OpenBrackets open_brackets(TSNode root, std::string_view text, std::size_t place) {
  return BracketWalk(root, text, place).run();
}

}  // namespace rldb::frontend::cst
