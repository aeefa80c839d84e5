// The interface to tree-sitter: parsing, reparsing after an edit, damage cut out.
#include "frontend/cst/parser.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "frontend/cst/code_lines.h"
#include "frontend/cst/copy_rows.h"
#include "frontend/cst/indentation.h"
#include "frontend/cst/scan.h"
#include "frontend/cst/short_text.h"
#include "frontend/cst/statements.h"
#include "frontend/cst/ts_language.h"
#include "frontend/cst/ts_parser.h"
#include "frontend/joined_edits.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"

extern "C" bool tree_sitter_tvmscript_within_limits(const char* text, std::size_t size, std::size_t* offset);
extern "C" bool tree_sitter_relay_within_limits(const char* text, std::size_t size, std::size_t* offset);

namespace rldb::frontend::cst {

std::string_view to_string(Kind kind) {
  switch (kind) {
#define RLDB_CST(K, name, ...) \
  case Kind::K:                \
    return name;
#include "frontend/cst/node_kinds.def"
    case Kind::Token:
      return "token";
    case Kind::Error:
      return "error";
    case Kind::Missing:
      return "missing";
    case Kind::TooDeep:
      return "too deep";
    case Kind::Kept:
      return "kept";
    case Kind::Other:
      return "other";
  }
  return "?";
}

StatementKind statement_kind(Kind kind) {
  if (kind == Kind::Error || kind == Kind::Missing || kind == Kind::TooDeep) return StatementKind::Damage;
#define RLDB_CST_STATEMENT(K, name, ...) \
  if (kind == Kind::K) return StatementKind::K;
#include "frontend/cst/node_kinds.def"
  return StatementKind::Other;
}

ExpressionKind expression_kind(Kind kind) {
  if (kind == Kind::Error || kind == Kind::Missing || kind == Kind::TooDeep) return ExpressionKind::Damage;
#define RLDB_CST_EXPRESSION(K, name) \
  if (kind == Kind::K) return ExpressionKind::K;
#include "frontend/cst/node_kinds.def"
  return ExpressionKind::Other;
}

bool within_limits(std::string_view text, std::size_t* offset, Grammar grammar) {
  switch (grammar) {
    case Grammar::TvmScript:
      return tree_sitter_tvmscript_within_limits(text.data(), text.size(), offset);
    case Grammar::Relay:
      return tree_sitter_relay_within_limits(text.data(), text.size(), offset);
  }
  RLDB_UNREACHABLE("grammar");
}

void ParserDeleter::operator()(TSParser* p) const { ts_parser_delete(p); }
void TreeDeleter::operator()(TSTree* t) const { ts_tree_delete(t); }

ParserPtr make_parser(Grammar grammar) {
  static const bool counted = [] {
    ts_set_allocator(support::counted_malloc, support::counted_calloc, support::counted_realloc, support::counted_free);
    return true;
  }();
  (void)counted;
  ParserPtr parser(ts_parser_new());
  const bool fits = ts_parser_set_language(parser.get(), language(grammar).ts);
  RLDB_CHECK(fits, "the grammar was generated for another tree-sitter ABI");
  ts_parser_set_cancellation_flag(parser.get(), support::cancel_word());
  return parser;
}

namespace {

// The runtime looks at its cancellation flag between tokens, but a token (a comment, blank lines) can be as long as the
// text: a piece that is asked for after the cancellation is the end.
const char* next_piece(void* payload, std::uint32_t begin, TSPoint, std::uint32_t* size) {
  constexpr std::size_t kPiece = std::size_t(1) << 16;
  const std::string_view text = *static_cast<const std::string_view*>(payload);
  const bool ends = begin >= text.size() || support::cancel_flag().load(std::memory_order_relaxed);
  const std::string_view piece = ends ? std::string_view() : text.substr(begin, kPiece);
  *size = static_cast<std::uint32_t>(piece.size());
  return piece.empty() ? "" : piece.data();
}

}  // namespace

TreePtr parse_or_cancel(TSParser* parser, const TSTree* old, std::string_view text) {
  TreePtr tree(ts_parser_parse(parser, old, {&text, next_piece, TSInputEncodingUTF8}));
  if (tree && !support::cancel_flag().load(std::memory_order_relaxed)) return tree;
  ts_parser_reset(parser);  // else it would continue with this text at the next call
  return nullptr;
}

namespace {

// `text` is within the limits.
TreePtr parse_within_limits(TSParser* parser, const TSTree* old, std::string_view text) {
  TreePtr tree = parse_or_cancel(parser, old, text);
  if (!tree) {
    support::poll();
    RLDB_UNREACHABLE("tree-sitter gave no tree and was not cancelled");
  }
  support::poll();
  return tree;
}

// The bytes that two texts share at their beginning, or at their end. Blocks are compared by words.
constexpr std::size_t kBlock = 1024;

std::size_t shared_head(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kBlock <= most && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) at += kBlock;
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

std::size_t shared_tail(std::string_view a, std::string_view b, std::size_t most) {
  const char *a_end = a.data() + a.size(), *b_end = b.data() + b.size();
  std::size_t n = 0;
  while (n + kBlock <= most && std::memcmp(a_end - n - kBlock, b_end - n - kBlock, kBlock) == 0) n += kBlock;
  while (n < most && *(a_end - n - 1) == *(b_end - n - 1)) ++n;
  return n;
}

// Where `text` has the offset `at`, counted from a place before it.
TSPoint advanced(TSPoint from, std::string_view text, std::size_t begin, std::size_t at) {
  std::size_t line = begin - from.column;
  for (std::size_t next; (next = text.find('\n', begin)) < at; begin = line) {
    line = next + 1;
    ++from.row;
  }
  return {from.row, static_cast<std::uint32_t>(at - line)};
}

}  // namespace

TreePtr parse_text(TSParser* parser, const TSTree* old, std::string_view text, Grammar grammar) {
  // Text that the runtime cannot hold is read as nothing; whoever has the whole text has diagnosed it (check_text).
  return parse_within_limits(parser, old, within_limits(text, nullptr, grammar) ? text : std::string_view());
}

static TSInputEdit edit_of(std::string_view before, std::string_view after, std::size_t begin, std::size_t old_end,
                           std::size_t new_end) {
  const TSPoint start = advanced({0, 0}, before, 0, begin);
  return {static_cast<std::uint32_t>(begin),       static_cast<std::uint32_t>(old_end),
          static_cast<std::uint32_t>(new_end),     start,
          advanced(start, before, begin, old_end), advanced(start, after, begin, new_end)};
}

TSInputEdit difference(std::string_view before, std::string_view after) {
  const std::size_t begin = shared_head(before, after);
  const std::size_t tail = shared_tail(before, after, std::min(before.size(), after.size()) - begin);
  return edit_of(before, after, begin, before.size() - tail, after.size() - tail);
}

static std::size_t column_of_line(std::string_view text, std::size_t at) {
  const std::size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  return std::min(text.find_first_not_of(" \t\r\f\v", begin), text.size()) - begin;
}

// Whether the first code behind a place stands in a block that begins between that and the last code before it.
static bool begins_block_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kSpace = " \t\r\f\v\n";
  const std::size_t last = text.substr(0, at).find_last_not_of(kSpace), next = text.find_first_not_of(kSpace, at);
  return last != std::string_view::npos && next != std::string_view::npos &&
         column_of_line(text, next) > column_of_line(text, last);
}

// The tokens that end a line and its blocks have no width where a block ends: they stand where the padding of the next
// function begins, and the runtime, which looks for what it can reuse at a place, passes over that function while it
// looks for the line end. So an edit beside a line end takes in the blanks around it, as if they had been typed again,
// and the character before them, which gets what is typed. Not where a block begins: the runtime passes over blocks
// whose first token, which is in these blanks, is another one.
TSInputEdit difference_for_runtime(std::string_view before, std::string_view after) {
  constexpr std::string_view kBlanks = " \t\r\f\v", kSpace = " \t\r\f\v\n";
  std::size_t begin = shared_head(before, after);
  std::size_t tail = shared_tail(before, after, std::min(before.size(), after.size()) - begin);
  const std::string_view head = after.substr(0, begin);
  const std::size_t line_end = std::min(after.find_first_not_of(kBlanks, after.size() - tail), after.size());
  const std::size_t code = head.find_last_not_of(kBlanks);
  const bool ends_line = line_end == after.size() || after[line_end] == '\n';
  const bool begins_line = code == std::string_view::npos || head[code] == '\n';
  if (!ends_line && !begins_line) return edit_of(before, after, begin, before.size() - tail, after.size() - tail);
  if (ends_line && !begins_block_at(after, line_end) && !begins_block_at(before, before.size() - tail))
    tail = after.size() - std::min(after.find_first_not_of(kSpace, line_end), after.size());
  const std::size_t last = head.find_last_not_of(kSpace);
  if (last == std::string_view::npos)
    begin = 0;
  else if (!begins_block_at(after, begin) && !begins_block_at(before, begin))
    begin = last;
  return edit_of(before, after, begin, before.size() - tail, after.size() - tail);
}

namespace {

bool holds_error(const TreePtr& tree) { return ts_node_has_error(ts_tree_root_node(tree.get())); }

// A text as it was read: tree-sitter's tree, and the statements that were cut out so that it has no error.
struct Reading {
  TreePtr tree;
  std::string with_placeholders;  // the text of the tree; empty: the text itself
  CutOut cut_out;
  // None: not known, or too many are damaged.
  std::optional<std::vector<Statement>> statements;
  // Edits since these were found, in a text without errors.
  std::optional<TextEdit> since;

  std::string_view tree_text() const { return cut_out.statements.empty() ? cut_out.text : with_placeholders; }
  void find_sound_statements();
  void take_statements(Reading& before, const TextEdit& edit);
};

}  // namespace

// The line that has to follow statements that stand in a text of their own: the definition or the block that is
// missing, or just another line.
static std::string line_behind(std::string_view statements) {
  if (statements.starts_with('@')) return "\ndef _():\n    pass\n";
  if (begins_block(statements)) return "\n    pass\n";
  const std::string_view last = statements.substr(statements.rfind('\n') + 1);
  const std::size_t indent = std::min(last.find_first_not_of(' '), last.size());
  const std::string_view code = last.substr(indent);
  const bool ends_in_header = last.size() < statements.size() && !code.starts_with('@') && begins_block(code);
  return ends_in_header ? "\n" + std::string(indent + 4, ' ') + "pass\n" : "\nimport _\n";
}

TreePtr parse_statement(std::string_view text, std::uint32_t begin, std::uint32_t end, std::string* alone) {
  thread_local ParserPtr parser = make_parser();
  std::string own(text.substr(begin, end - begin));
  own += line_behind(own);
  TreePtr tree = parse_text(parser.get(), nullptr, own);
  if (alone) *alone = std::move(own);
  return tree;
}

namespace {

Parses by_itself(std::string_view text) {
  return [text](std::uint32_t begin, std::uint32_t end) { return !holds_error(parse_statement(text, begin, end)); };
}

// The tree of `text`, which is within the limits, from that of another one.
TreePtr parse_changed(TSParser* parser, const TSTree* tree, std::string_view old_text, std::string_view text) {
  // On a copy (which shares everything): a cancelled parse leaves the tree that fits the text.
  const TreePtr edited(ts_tree_copy(tree));
  const TSInputEdit edit = difference_for_runtime(old_text, text);
  ts_tree_edit(edited.get(), &edit);
  // (ts_tree_get_changed_ranges would tell where the syntax differs, in a time that grows with the text.)
  return parse_within_limits(parser, edited.get(), text);
}

bool is_cut_at(const std::optional<std::vector<Statement>>& statements, std::uint32_t begin) {
  return statements && std::any_of(statements->begin(), statements->end(),
                                   [&](const Statement& s) { return s.cut && s.begin == begin; });
}

// Whether each statement that was cut out parses together with those around it: then the grammar may have no error to
// find in the text as it is.
bool joins_all(const std::vector<Statement>& statements, const Parses& parses) {
  const auto joins = [&](std::size_t i, std::size_t before, std::size_t behind) {
    if (i < before || i + behind >= statements.size()) return false;
    return parses(statements[i - before].begin, statements[i + behind].end);
  };
  bool any = false;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (!statements[i].cut) continue;
    any = true;
    if (!joins(i, 0, 1) && !joins(i, 1, 0) && !joins(i, 1, 1) && !joins(i, 0, 2)) return false;
  }
  return any;
}

// Whether the grammar, where it finds no error, reads the lines as they are meant.
bool stands_right(const Indentation& found) { return found.misplaced.empty() && found.lone_headers.empty(); }

// Reads a text with errors. `tree`: its tree, if it was read from the beginning. `before`: a reading without errors
// left, to start from. `header`: the text was not read as it is, because of what looks like a header there.
Reading read_damaged(TSParser* parser, std::string_view text, const Indentation& indentation, const KnownText& known,
                     TreePtr tree, const Reading* before, std::optional<std::uint32_t> header) {
  Reading r;
  r.cut_out.text = text;
  const Parses parses = by_itself(text);
  r.statements = find_statements(text, parses, known);
  // A text that is opened is read as it is first. One that had damage before is not, unless that may succeed.
  const bool may_be_sound = !tree && stands_right(indentation) && r.statements && joins_all(*r.statements, parses);
  if ((before && header && !is_cut_at(r.statements, *header)) || may_be_sound) {
    Reading sound;
    sound.tree = before ? parse_changed(parser, before->tree.get(), before->tree_text(), text)
                        : parse_text(parser, nullptr, text);
    sound.cut_out.text = text;
    if (!holds_error(sound.tree)) return sound;
  }
  if (r.statements) cut_misplaced(text, indentation.misplaced, *r.statements);
  if (r.statements)
    std::copy_if(r.statements->begin(), r.statements->end(), std::back_inserter(r.cut_out.statements),
                 [](const Statement& s) { return s.cut; });
  const bool cuts = !r.cut_out.statements.empty();
  // Without cuts, only from a text that had some: otherwise it was tried.
  if (cuts || (before && !before->cut_out.statements.empty())) {
    if (cuts) r.with_placeholders = with_placeholders(text, r.cut_out.statements);
    r.tree = before && within_limits(r.tree_text())
                 ? parse_changed(parser, before->tree.get(), before->tree_text(), r.tree_text())
                 : parse_text(parser, nullptr, r.tree_text());
    if (!holds_error(r.tree)) return r;
    r.cut_out.statements.clear();
    r.with_placeholders.clear();
  }
  // Errors of another kind. How the runtime recovers from them depends on what it could reuse; reports must not.
  r.tree = tree ? std::move(tree) : parse_text(parser, nullptr, text);
  return r;
}

Reading read_text(TSParser* parser, std::string_view text, const CodeLines& lines) {
  TreePtr tree = parse_text(parser, nullptr, text);
  const Indentation indentation = check_indentation(text, lines);
  if (holds_error(tree) || !stands_right(indentation))
    return read_damaged(parser, text, indentation, {}, std::move(tree), nullptr, std::nullopt);
  Reading r;
  r.tree = std::move(tree);
  r.cut_out.text = text;
  return r;
}

struct Cursor {
  explicit Cursor(TSNode node) : at(ts_tree_cursor_new(node)) {}
  ~Cursor() { ts_tree_cursor_delete(&at); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  TSTreeCursor at;
};

}  // namespace

namespace {

// False: the whole text has to be read.
bool read_by_shape(TSParser* parser, std::string_view text, const TreeOptions& options, std::vector<NodeRow>& rows) {
  RLDB_CHECK(!options.known, "statements that are kept are those of a LiveTree");
  thread_local KnownShapes of_thread;
  KnownShapes& shapes = options.shapes ? *options.shapes : of_thread;
  const auto shortened = shorten(text, shapes);
  if (!shortened) return false;
  std::vector<NodeRow> short_rows;
  {
    const TreePtr tree = parse_text(parser, nullptr, shortened->text);
    if (holds_error(tree) || !stands_right(check_indentation(text, code_lines(text)))) return false;
    copy_rows(ts_tree_root_node(tree.get()), options, nullptr, short_rows);
  }
  if (lengthen(text, *shortened, shapes, options.max_depth, short_rows, rows)) return true;
  rows.clear();
  return false;
}

}  // namespace

Tree parse_tree(source::FileId file, std::string_view text, const TreeOptions& options) {
  thread_local ParserPtr script = make_parser();
  thread_local ParserPtr relay = make_parser(Grammar::Relay);
  Tree out;
  out.file = file;
  out.text = text;
  out.whole = {file, 0, static_cast<std::uint32_t>(text.size())};
  Reading r;
  if (options.grammar == Grammar::Relay) {
    r.tree = parse_text(relay.get(), nullptr, text, options.grammar);
  } else if (options.by_shape && read_by_shape(script.get(), text, options, out.rows)) {
    return out;
  } else {
    r = read_text(script.get(), text, code_lines(text));
  }
  copy_rows(ts_tree_root_node(r.tree.get()), options, &r.cut_out, out.rows);
  return out;
}

struct LiveTree::Impl {
  explicit Impl(Grammar g) : grammar(g), parser(make_parser(g)) {}
  Grammar grammar;
  ParserPtr parser;
  Reading reading;
  CodeLines lines;  // of its text

  std::string_view text() const { return reading.cut_out.text; }
  bool is_sound() const { return !holds_error(reading.tree) && reading.cut_out.statements.empty(); }
  TSNode root() const { return ts_tree_root_node(reading.tree.get()); }
  TSNode find(Kind kind, std::uint32_t begin, Place& place) const;
  Tree empty_tree(source::FileId file) const {
    Tree out;
    out.file = file;
    out.text = text();
    out.whole = {file, 0, static_cast<std::uint32_t>(text().size())};
    return out;
  }
};

LiveTree::LiveTree(Grammar grammar) : impl_(std::make_unique<Impl>(grammar)) {}
LiveTree::~LiveTree() = default;

void LiveTree::reset(std::string_view text) {
  if (impl_->grammar == Grammar::TvmScript) {
    impl_->lines = code_lines(text);
    impl_->reading = read_text(impl_->parser.get(), text, impl_->lines);
    // Edits follow: the first that damages the text is to be as quick as the next.
    if (impl_->is_sound()) impl_->reading.find_sound_statements();
    return;
  }
  Reading r;
  r.tree = parse_text(impl_->parser.get(), nullptr, text, impl_->grammar);
  r.cut_out.text = text;
  impl_->reading = std::move(r);
}

namespace {

// The line around a place, from its first character of code on.
std::string_view line_of(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view line = text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
  return line.substr(std::min(line.size(), line.find_first_not_of(" \t")));
}

// Looks at the lines of a text when it is asked first.
using FindIndentation = std::function<const Indentation&()>;

// Whether lines that stand where they cannot come into a text that has none.
bool misplaces(const LiveTree::Edit& edit, std::string_view before, std::string_view after,
               const FindIndentation& indentation) {
  const std::size_t line = edit.begin == 0 ? std::string_view::npos : after.rfind('\n', edit.begin - 1);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  return may_misplace(before.substr(edit.begin, edit.old_end - edit.begin),
                      after.substr(edit.begin, edit.new_end - edit.begin), line_of(before, edit.begin),
                      line_of(after, edit.begin), after.substr(begin, edit.begin - begin)) &&
         !indentation().misplaced.empty();
}

// From its first character of code on, the first line behind `at` that has any.
std::string_view code_below(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::string_view line = line_of(text, at);
    if (line.find_first_not_of("\r\f") != std::string_view::npos && line[0] != '#') return line;
    at = static_cast<std::size_t>(line.data() - text.data()) + line.size() + 1;
  }
  return {};
}

// Where the last line with code begins before the line that holds `at`; `at`: there is none near.
std::size_t code_above(std::string_view text, std::size_t at) {
  constexpr int kMostLines = 16;
  const auto begin_of = [&](std::size_t i) { return i == 0 ? 0 : text.rfind('\n', i - 1) + 1; };
  std::size_t line = begin_of(at);
  for (int i = 0; i < kMostLines && line > 0; ++i) {
    line = begin_of(line - 1);
    if (!code_of(line_of(text, line)).empty()) return line;
  }
  return at;
}

// Where a header that lacks its `:` and its block, as while it is typed, or a decorator without its definition begins
// among the lines that were edited or above them. The runtime may take half a second to recover from one in a long
// block, only for it to be cut out.
std::optional<std::uint32_t> unfinished_header(const LiveTree::Edit& edit, std::string_view text,
                                               const FindIndentation& indentation) {
  constexpr int kMostLines = 32;
  std::size_t at = code_above(text, edit.begin);
  bool looks_so = false;
  for (int i = 0; i < kMostLines && !looks_so && at <= edit.new_end && at < text.size(); ++i) {
    const std::string_view line = line_of(text, at), code = code_of(line);
    looks_so = begins_block(line) && (line.starts_with('@') || !has_header_colon(code));
    at = static_cast<std::size_t>(line.data() + line.size() - text.data()) + 1;
  }
  if (!looks_so) return std::nullopt;
  const std::vector<std::uint32_t>& headers = indentation().lone_headers;
  const auto first = std::lower_bound(headers.begin(), headers.end(), code_above(text, edit.begin));
  return first != headers.end() && *first <= edit.new_end ? std::optional(*first) : std::nullopt;
}

// The same placeholder may stand for statements that were cut out for different reasons, whose trees differ.
void cover_changed_cuts(const std::vector<Statement>& before, const std::vector<Statement>& now,
                        const LiveTree::Edit& edit, LiveTree::Changed& changed) {
  const auto cover = [&](std::uint32_t begin, std::uint32_t end) {
    changed = {std::min(changed.begin, begin), std::max(changed.end, end)};
  };
  const auto moved = [&](std::uint32_t at) {
    return at >= edit.old_end ? at - edit.old_end + edit.new_end : std::min(at, edit.new_end);
  };
  const auto kind = [](const Statement& s) {
    return std::tuple(s.header, s.sound, s.unfinished, s.echo, s.blanked, s.misplaced, s.joined);
  };
  std::size_t at = 0;
  for (const Statement& s : before) {
    const std::uint32_t begin = moved(s.begin), end = moved(s.end);
    for (; at < now.size() && now[at].begin < begin; ++at) cover(now[at].begin, now[at].end);
    const bool same = at < now.size() && now[at].begin == begin && now[at].end == end && kind(now[at]) == kind(s);
    if (same)
      ++at;
    else
      cover(begin, std::max(begin, end));
  }
  for (; at < now.size(); ++at) cover(now[at].begin, now[at].end);
}

}  // namespace

// Of a text without errors all statements parse, except for halves: the grammar lets a line that cannot be an end
// (`x =`, `for i in`) go on in the next one.
void Reading::find_sound_statements() {
  if (statements && !since) return;
  const std::string_view text = cut_out.text;
  const auto parses = [&, alone = by_itself(text)](std::uint32_t begin, std::uint32_t end) {
    const std::string_view statement = text.substr(begin, end - begin);
    const bool one_line = statement.find('\n') == std::string_view::npos;
    const bool whole = begins_block(statement) ? code_of(statement).ends_with(':') : may_end(statement);
    const bool halves = may_go_on(statement) || may_go_on(code_below(text, end + 1));
    return (one_line && whole && !halves) || alone(begin, end);
  };
  const KnownText known =
      statements && since ? KnownText{&*statements, since->begin, since->old_end, since->new_end} : KnownText{};
  statements = find_statements(text, parses, known);
  since.reset();
}

// Of an edit that leaves the text without errors. The statements between two edits are looked for again.
void Reading::take_statements(Reading& before, const TextEdit& edit) {
  constexpr std::uint32_t kFar = 64 << 10;
  const TextEdit both = before.since ? joined(*before.since, edit) : edit;
  const bool is_far = before.statements && both.old_end - both.begin > kFar;
  if (is_far) before.find_sound_statements();
  statements = std::move(before.statements);
  if (statements) since = is_far ? edit : both;
}

LiveTree::Changed LiveTree::edit(const Edit& edit, std::string_view text) {
  const Reading& old = impl_->reading;
  TSParser* parser = impl_->parser.get();
  const auto whole = static_cast<std::uint32_t>(text.size());
  if (impl_->grammar == Grammar::Relay) {
    Reading now;
    if (!holds_error(old.tree)) now.tree = parse_changed(parser, old.tree.get(), old.cut_out.text, text);
    if (!now.tree || holds_error(now.tree)) now.tree = parse_text(parser, nullptr, text, impl_->grammar);
    now.cut_out.text = text;
    impl_->reading = std::move(now);
    return {edit.begin, edit.new_end};
  }
  CodeLines lines = code_lines(text, impl_->lines, edit.begin, edit.old_end, edit.new_end);
  std::optional<Indentation> of_lines;
  const FindIndentation indentation = [&]() -> const Indentation& {
    if (!of_lines) of_lines = check_indentation(text, lines);
    return *of_lines;
  };
  const bool had_error = holds_error(old.tree), was_sound = impl_->is_sound();
  // (From a tree with errors the runtime may take seconds, and what it makes of the text depends on it.)
  std::optional<std::uint32_t> header;
  if (was_sound && !misplaces(edit, old.cut_out.text, text, indentation) &&
      !(header = unfinished_header(edit, text, indentation))) {
    Reading sound;
    sound.tree = parse_changed(parser, old.tree.get(), old.cut_out.text, text);
    if (!holds_error(sound.tree)) {
      sound.cut_out.text = text;
      sound.take_statements(impl_->reading, {edit.begin, edit.old_end, edit.new_end});
      impl_->reading = std::move(sound);
      impl_->lines = std::move(lines);
      return {edit.begin, edit.new_end};
    }
  }
  if (was_sound) impl_->reading.find_sound_statements();
  const KnownText before{old.statements ? &*old.statements : nullptr, edit.begin, edit.old_end, edit.new_end};
  Reading now = read_damaged(parser, text, indentation(), before, nullptr, had_error ? nullptr : &old, header);
  Changed changed{edit.begin, edit.new_end};
  if (had_error || holds_error(now.tree)) {
    // Without cuts now and before, damage is where it was before, or in the edit.
    if (!now.cut_out.statements.empty() || !old.cut_out.statements.empty()) changed = {0, whole};
  } else {
    const TSInputEdit d = difference(old.tree_text(), now.tree_text());
    changed = {std::min(changed.begin, d.start_byte), std::max(changed.end, d.new_end_byte)};
    cover_changed_cuts(old.cut_out.statements, now.cut_out.statements, edit, changed);
  }
  impl_->reading = std::move(now);
  impl_->lines = std::move(lines);
  return changed;
}

LiveParts parts_of(const LiveTree& tree) { return {tree.impl_->root(), tree.impl_->reading.cut_out.statements}; }

Tree LiveTree::copy(source::FileId file, const TreeOptions& options) const {
  Tree out = impl_->empty_tree(file);
  copy_rows(impl_->root(), options, &impl_->reading.cut_out, out.rows);
  return out;
}

TSNode LiveTree::Impl::find(Kind kind, std::uint32_t begin, Place& place) const {
  Cursor cursor(root());
  for (;;) {
    const TSNode node = ts_tree_cursor_current_node(&cursor.at);
    place.kind = language(grammar).kind_of(node);
    place.begin = ts_node_start_byte(node);
    if (place.kind == kind && place.begin == begin) {
      place.end = ts_node_end_byte(node);
      const TSNode body = ts_node_child_by_field_name(node, "body", 4);
      place.body = ts_node_is_null(body) ? place.end : ts_node_start_byte(body);
      return node;
    }
    place.sibling_counts.push_back(ts_node_child_count(node));
    ++place.depth;
    if (!goto_child(&cursor.at, begin)) return {};
  }
}

namespace {

TSNode field_of(TSNode node, std::string_view name) {
  return ts_node_child_by_field_name(node, name.data(), static_cast<std::uint32_t>(name.size()));
}

LiveTree::Part part_of(TSNode node, Kind kind) {
  LiveTree::Part part;
  part.kind = kind;
  part.begin = ts_node_start_byte(node);
  part.end = ts_node_end_byte(node);
  if (const TSNode name = field_of(node, "name"); !ts_node_is_null(name)) {
    part.name_begin = ts_node_start_byte(name);
    part.name_end = ts_node_end_byte(name);
  }
  const TSNode body = field_of(node, "body");
  part.body = ts_node_is_null(body) ? part.end : ts_node_start_byte(body);
  part.plain = ts_node_is_null(field_of(node, "decorator")) && ts_node_is_null(field_of(node, "superclasses"));
  return part;
}

std::vector<LiveTree::Part> parts_in(TSNode parent, Grammar grammar) {
  std::vector<LiveTree::Part> out;
  Cursor cursor(parent);
  if (!ts_tree_cursor_goto_first_child(&cursor.at)) return out;
  do {
    const TSNode node = ts_tree_cursor_current_node(&cursor.at);
    const Kind kind = language(grammar).kind_of(node);
    if (ts_node_is_named(node) && kind != Kind::Comment) out.push_back(part_of(node, kind));
  } while (ts_tree_cursor_goto_next_sibling(&cursor.at));
  return out;
}

}  // namespace

std::vector<LiveTree::Part> LiveTree::parts() const { return parts_in(impl_->root(), impl_->grammar); }

std::vector<LiveTree::Part> LiveTree::parts(const Part& of_class) const {
  Place place;
  const TSNode node = impl_->find(of_class.kind, of_class.begin, place);
  const TSNode body = ts_node_is_null(node) ? node : field_of(node, "body");
  return ts_node_is_null(body) ? std::vector<Part>() : parts_in(body, impl_->grammar);
}

std::optional<std::vector<LiveTree::DamagedStatement>> LiveTree::damaged_statements() const {
  if (ts_node_has_error(impl_->root())) return std::nullopt;
  std::vector<DamagedStatement> damaged;
  for (const Statement& s : impl_->reading.cut_out.statements) damaged.push_back({s.begin, s.end, s.misplaced});
  return damaged;
}

bool LiveTree::has_error() const {
  return !impl_->reading.cut_out.statements.empty() || ts_node_has_error(impl_->root());
}

bool LiveTree::has_deep_lines() const {
  const auto any_deep = [](const std::vector<Part>& parts) {
    return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.kind == Kind::UnexpectedIndent; });
  };
  const std::vector<Part> of_file = parts();
  return any_deep(of_file) || std::any_of(of_file.begin(), of_file.end(),
                                          [&](const Part& p) { return p.kind == Kind::Module && any_deep(parts(p)); });
}

bool LiveTree::has_cut_header(std::uint32_t begin, std::uint32_t end) const {
  const std::vector<Statement>& all = impl_->reading.cut_out.statements;
  return std::any_of(all.begin(), all.end(),
                     [&](const Statement& s) { return s.header && s.begin >= begin && s.begin < end; });
}

std::optional<LiveTree::Place> LiveTree::find(Kind kind, std::uint32_t begin) const {
  Place place;
  if (ts_node_is_null(impl_->find(kind, begin, place))) return std::nullopt;
  return place;
}

Tree LiveTree::copy_node(source::FileId file, Kind kind, std::uint32_t begin, const TreeOptions& options) const {
  Tree out = impl_->empty_tree(file);
  Place place;
  const TSNode node = impl_->find(kind, begin, place);
  if (!ts_node_is_null(node) && !copy_rows(node, options, &impl_->reading.cut_out, out.rows)) out.rows.clear();
  return out;
}

}  // namespace rldb::frontend::cst
