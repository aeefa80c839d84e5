#include "rldb/ui/prompt/editor_hooks.h"

#include <algorithm>
#include <memory>

#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/prompt/entry/complete.h"
#include "ui/prompt/entry/hint.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

template <class F>
auto guarded_hook(F hook) {
  return [hook](auto&&... args) {
    decltype(hook(args...)) answer{};
    (void)run_guarded([&] { answer = hook(args...); }, 0);
    return answer;
  };
}

// An open bracket would swallow every further line: two empty lines end the entry, and its error is reported.
bool is_given_up(std::string_view text, frontend::EntryTree& tree) {
  const std::string_view blank = text.substr(text.find_last_not_of(" \t\r\n") + 1);
  return std::count(blank.begin(), blank.end(), '\n') >= 2 && tree.close_brackets(text).has_value();
}

// Of a here-document the line with its mark ends it.
bool needs_more(std::string_view text, bool empty, frontend::EntryTree& tree) {
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view mark = here_document_mark(first);
  if (mark.empty() && frontend::begins_relay(text)) return wants_more(text, empty, tree);
  if (mark.empty()) return wants_more(text, empty, tree) && !(empty && is_given_up(text, tree));
  const auto last = text.rfind('\n');
  return last == std::string_view::npos || trim(text.substr(last + 1)) != mark;
}

}  // namespace

LineEditorHooks editor_hooks(Repl& repl, bool color) {
  LineEditorHooks hooks;
  const auto tree = std::make_shared<frontend::EntryTree>();
  hooks.wants_more = guarded_hook([tree](std::string_view text, bool empty) { return needs_more(text, empty, *tree); });
  hooks.styles = guarded_hook([tree](std::string_view text, std::size_t begin, std::size_t end) {
    return entry_styles(*tree, text, begin, end);
  });
  hooks.complete = guarded_hook([&repl](std::string_view text, std::size_t cursor, std::size_t& start) {
    return complete_entry(repl, text, cursor, start);
  });
  const auto hinter = std::make_shared<HintMaker>(repl, tree);
  hooks.hints = guarded_hook([&repl, hinter](std::string_view text, std::size_t cursor) {
    return repl.hints ? hinter->hints(text, cursor) : std::vector<HintLine>();
  });
  hooks.indent = guarded_hook([tree](std::string_view text) {
    return frontend::begins_relay(text) ? frontend::relay_indent(text) : tree->next_indent(text);
  });
  hooks.indent_of_line = guarded_hook([](std::string_view text) { return frontend::EntryTree::branch_indent(text); });
  hooks.clean = [](std::string_view text) {
    std::string cleaned(text);
    (void)run_guarded([&] { cleaned = clean_paste(text); }, 0);
    return cleaned;
  };
  hooks.suggests = [&repl, color] { return color && repl.suggestions; };
  return hooks;
}

}  // namespace rldb::ui
