// The tree of an entry, and highlighting by grammar/queries/highlights.scm, which is linked in verbatim.
#include "frontend/cst/query.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>

#include "frontend/cst/parser.h"
#include "frontend/cst/ts_language.h"
#include "frontend/cst/ts_parser.h"
#include "rldb/frontend/entry_tree.h"
#include "rldb/support/cancel.h"

extern "C" const TSLanguage* tree_sitter_tvmscript(void);

// The assembler looks for the file along the include directories; src/ is one of them.
__asm__(
    ".pushsection .rodata\n"
    "rldb_highlights_begin:\n"
    ".incbin \"../grammar/queries/highlights.scm\"\n"
    "rldb_highlights_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" {
extern const char rldb_highlights_begin[];
extern const char rldb_highlights_end[];
}

namespace rldb::frontend::cst {

namespace {

// One condition on a capture: #eq?, #any-of?, #match?.
struct Predicate {
  enum class Kind : std::uint8_t { AnyOf, Match } kind = Kind::AnyOf;
  std::uint32_t capture = 0;
  std::vector<std::string> words;
  std::regex pattern;

  bool holds(std::string_view text) const {
    // std::regex recurses once per character.
    if (kind == Kind::Match) return text.size() < 1000 && std::regex_search(text.begin(), text.end(), pattern);
    return std::find(words.begin(), words.end(), text) != words.end();
  }
};

class HighlightQuery {
 public:
  HighlightQuery() {
    const std::string_view source(rldb_highlights_begin, std::size_t(rldb_highlights_end - rldb_highlights_begin));
    std::uint32_t offset = 0;
    TSQueryError error = TSQueryErrorNone;
    query_.reset(ts_query_new(tree_sitter_tvmscript(), source.data(), static_cast<std::uint32_t>(source.size()),
                              &offset, &error));
    if (!query_) return;  // a query naming something the grammar lacks: no highlighting (a test guards it)
    predicates_.resize(ts_query_pattern_count(query_.get()));
    for (std::uint32_t p = 0; p < predicates_.size(); ++p) read_predicates(p);
    for (std::uint32_t c = 0; c < ts_query_capture_count(query_.get()); ++c) {
      std::uint32_t length = 0;
      const char* name = ts_query_capture_name_for_id(query_.get(), c, &length);
      names_.emplace_back(name, length);
    }
  }
  const TSQuery* get() const { return query_.get(); }
  std::string_view name(std::uint32_t capture) const { return names_[capture]; }

  bool holds(const TSQueryMatch& match, std::string_view text) const {
    for (const Predicate& p : predicates_[match.pattern_index])
      for (std::uint16_t i = 0; i < match.capture_count; ++i) {
        if (match.captures[i].index != p.capture) continue;
        const TSNode n = match.captures[i].node;
        if (!p.holds(text.substr(ts_node_start_byte(n), ts_node_end_byte(n) - ts_node_start_byte(n)))) return false;
      }
    return true;
  }

 private:
  std::string string_of(std::uint32_t id) const {
    std::uint32_t length = 0;
    const char* s = ts_query_string_value_for_id(query_.get(), id, &length);
    return std::string(s, length);
  }

  void read_predicates(std::uint32_t pattern) {
    std::uint32_t count = 0;
    const TSQueryPredicateStep* steps = ts_query_predicates_for_pattern(query_.get(), pattern, &count);
    for (std::uint32_t i = 0; i < count;) {
      std::uint32_t end = i;
      while (end < count && steps[end].type != TSQueryPredicateStepTypeDone) ++end;
      if (end - i >= 3 && steps[i].type == TSQueryPredicateStepTypeString &&
          steps[i + 1].type == TSQueryPredicateStepTypeCapture) {
        Predicate p;
        p.capture = steps[i + 1].value_id;
        for (std::uint32_t k = i + 2; k < end; ++k) p.words.push_back(string_of(steps[k].value_id));
        if (string_of(steps[i].value_id) == "match?") {
          p.kind = Predicate::Kind::Match;
          p.pattern = std::regex(p.words[0], std::regex::ECMAScript | std::regex::optimize);
        }
        predicates_[pattern].push_back(std::move(p));
      }
      i = end + 1;
    }
  }

  struct Deleter {
    void operator()(TSQuery* q) const { ts_query_delete(q); }
  };
  std::unique_ptr<TSQuery, Deleter> query_;
  std::vector<std::vector<Predicate>> predicates_;
  std::vector<std::string> names_;
};

struct Capture {
  std::uint32_t begin, end, pattern, capture;
};

const HighlightQuery& highlight_query() {
  static const HighlightQuery query;
  return query;
}

std::vector<Capture> captures_of(const HighlightQuery& query, TSNode root, std::string_view text, std::size_t begin,
                                 std::size_t end) {
  const std::unique_ptr<TSQueryCursor, decltype(&ts_query_cursor_delete)> cursor(ts_query_cursor_new(),
                                                                                 ts_query_cursor_delete);
  ts_query_cursor_set_byte_range(cursor.get(), static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  ts_query_cursor_exec(cursor.get(), query.get(), root);
  std::vector<Capture> captures;
  TSQueryMatch match;
  while (ts_query_cursor_next_match(cursor.get(), &match)) {
    support::poll();
    if (!query.holds(match, text)) continue;
    for (std::uint16_t i = 0; i < match.capture_count; ++i) {
      const TSQueryCapture& c = match.captures[i];
      if (query.name(c.index).starts_with("_")) continue;
      captures.push_back({ts_node_start_byte(c.node), ts_node_end_byte(c.node), match.pattern_index, c.index});
    }
  }
  // Wide before narrow, early patterns before late ones: what is painted last stays.
  std::stable_sort(captures.begin(), captures.end(), [](const Capture& a, const Capture& b) {
    const std::uint32_t x = a.end - a.begin, y = b.end - b.begin;
    return x != y ? x > y : a.pattern < b.pattern;
  });
  return captures;
}

}  // namespace

}  // namespace rldb::frontend::cst

namespace rldb::frontend {

struct EntryTree::State {
  cst::ParserPtr parser = cst::make_parser();
  cst::TreePtr tree;
  std::string text;  // that `tree` belongs to

  // Null: the text is over the runtime's limits.
  const TSTree* follow(std::string_view now) {
    if (!cst::within_limits(now)) return nullptr;
    if (tree && text == now) return tree.get();
    // In any event, the tree belongs to the named text or there is none.
    auto old = std::move(tree);
    if (old) {
      const TSInputEdit edit = cst::difference(text, now);
      ts_tree_edit(old.get(), &edit);
    }
    text = now;
    tree = cst::parse_or_cancel(parser.get(), old.get(), now);
    support::poll();
    return tree.get();
  }
};

EntryTree::EntryTree() : state_(std::make_unique<State>()) {}
EntryTree::~EntryTree() = default;

Completeness EntryTree::completeness(std::string_view text) {
  const TSTree* tree = state_->follow(text);
  return tree ? cst::completeness(ts_tree_root_node(tree), text) : Completeness::Complete;
}

int EntryTree::next_indent(std::string_view text) {
  const TSTree* tree = state_->follow(text);
  return tree ? cst::next_indent(ts_tree_root_node(tree), text) : 0;
}

std::optional<int> EntryTree::branch_indent(std::string_view text) { return cst::branch_indent(text); }

std::optional<ClosedEntry> EntryTree::close_brackets(std::string_view text) {
  const TSTree* tree = state_->follow(text);
  return tree ? cst::close_brackets(ts_tree_root_node(tree), text) : std::nullopt;
}

OpenCall EntryTree::open_call(std::string_view text, std::size_t cursor) {
  const TSTree* tree = state_->follow(text);
  return tree ? cst::open_call(ts_tree_root_node(tree), text, std::min(cursor, text.size())) : OpenCall{};
}

std::vector<Highlight> EntryTree::highlight(std::string_view text, std::size_t begin, std::size_t end) {
  const cst::HighlightQuery& query = cst::highlight_query();
  end = std::min(end, text.size());
  if (!query.get() || begin >= end) return {};
  const TSTree* tree = state_->follow(text);
  if (!tree) return {};
  constexpr std::uint32_t kNone = ~std::uint32_t(0);
  std::vector<std::uint32_t> paint(end - begin, kNone);
  for (const cst::Capture& c : cst::captures_of(query, ts_tree_root_node(tree), text, begin, end)) {
    support::poll();
    const std::size_t from = std::max<std::size_t>(c.begin, begin), to = std::min<std::size_t>(c.end, end);
    if (from < to) std::fill(paint.begin() + (from - begin), paint.begin() + (to - begin), c.capture);
  }
  std::vector<Highlight> out;
  for (std::size_t i = 0; i < paint.size();) {
    std::size_t next = i + 1;
    while (next < paint.size() && paint[next] == paint[i]) ++next;
    if (paint[i] != kNone)
      out.push_back(
          {static_cast<std::uint32_t>(begin + i), static_cast<std::uint32_t>(begin + next), query.name(paint[i])});
    i = next;
  }
  return out;
}

}  // namespace rldb::frontend
