// The tree of an entry, and highlighting by grammar/queries/highlights.scm, which is linked in verbatim.
#include "frontend/cst/query.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>

#include "frontend/cst/indentation.h"
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
  cst::LiveTree tree;
  std::unique_ptr<const std::string> text;  // of the tree, which points into it; null: there is none

  // Null: it is no text for the runtime.
  const cst::LiveTree* follow(std::string_view now) {
    if (text && *text == now) return &tree;
    if (!cst::within_limits(now) || cst::find_many_without_block(now)) return nullptr;
    auto next = std::make_unique<const std::string>(now);
    if (text) {
      const TSInputEdit edit = cst::difference_for_runtime(*text, *next);
      tree.edit({edit.start_byte, edit.old_end_byte, edit.new_end_byte}, *next);
    } else {
      tree.reset(*next);
    }
    text = std::move(next);
    return &tree;
  }
};

EntryTree::EntryTree() : state_(std::make_unique<State>()) {}
EntryTree::~EntryTree() = default;

Completeness EntryTree::completeness(std::string_view text) {
  const cst::LiveTree* tree = state_->follow(text);
  return tree ? cst::completeness(*tree, text) : Completeness::Complete;
}

int EntryTree::next_indent(std::string_view text) { return cst::next_indent(text); }

std::optional<int> EntryTree::branch_indent(std::string_view text) { return cst::branch_indent(text); }

std::optional<ClosedEntry> EntryTree::close_brackets(std::string_view text) { return cst::close_brackets(text); }

OpenCall EntryTree::open_call(std::string_view text, std::size_t cursor) {
  return cst::open_call(text, std::min(cursor, text.size()));
}

namespace {

// The colour of each byte of a part of a text.
class Paint {
 public:
  Paint(const cst::HighlightQuery& query, std::size_t begin, std::size_t end)
      : query_(query), begin_(begin), end_(end), bytes_(end - begin, kNone) {}

  // Of a text that stands at `offset`; nothing outside of [from, to) is painted.
  void add(TSNode root, std::string_view text, std::size_t offset, std::size_t from, std::size_t to,
           const std::vector<cst::Statement>& without) {
    from = std::max(from, begin_);
    to = std::min(to, end_);
    if (from >= to) return;
    for (const cst::Capture& c : cst::captures_of(query_, root, text, from - offset, to - offset)) {
      support::poll();
      if (is_placeholder(c, without)) continue;
      const std::size_t first = std::max<std::size_t>(c.begin + offset, from);
      const std::size_t last = std::min<std::size_t>(c.end + offset, to);
      for (std::size_t i = first; i < last; ++i) bytes_[i - begin_] = c.capture;
    }
  }

  std::vector<Highlight> highlights() const {
    std::vector<Highlight> out;
    for (std::size_t i = 0; i < bytes_.size();) {
      std::size_t next = i + 1;
      while (next < bytes_.size() && bytes_[next] == bytes_[i]) ++next;
      if (bytes_[i] != kNone)
        out.push_back({static_cast<std::uint32_t>(begin_ + i), static_cast<std::uint32_t>(begin_ + next),
                       query_.name(bytes_[i])});
      i = next;
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);
  static bool is_placeholder(const cst::Capture& c, const std::vector<cst::Statement>& cut_out) {
    auto s = std::upper_bound(cut_out.begin(), cut_out.end(), c.begin,
                              [](std::uint32_t at, const cst::Statement& s) { return at < s.end; });
    return s != cut_out.end() && c.end <= s->end && c.begin >= (s->misplaced ? std::min(s->blank, s->begin) : s->begin);
  }

  const cst::HighlightQuery& query_;
  std::size_t begin_, end_;
  std::vector<std::uint32_t> bytes_;
};

}  // namespace

// A statement that is cut out has the colours of its own tree.
std::vector<Highlight> EntryTree::highlight(std::string_view text, std::size_t begin, std::size_t end) {
  const cst::HighlightQuery& query = cst::highlight_query();
  end = std::min(end, text.size());
  if (!query.get() || begin >= end) return {};
  const cst::LiveTree* tree = state_->follow(text);
  if (!tree) return {};
  const cst::LiveParts parts = cst::parts_of(*tree);
  Paint paint(query, begin, end);
  paint.add(parts.root, text, 0, begin, end, parts.cut_out);
  for (const cst::Statement& s : parts.cut_out) {
    if (s.end <= begin || s.begin >= end) continue;
    std::string alone;
    const cst::TreePtr own = cst::parse_statement(text, s.begin, s.end, &alone);
    paint.add(ts_tree_root_node(own.get()), alone, s.begin, s.begin, s.end, {});
  }
  return paint.highlights();
}

}  // namespace rldb::frontend
