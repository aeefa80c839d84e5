// The interface to tree-sitter: limits, kinds and fields by table, parsing, reparsing after an edit.
#include "frontend/cst/parser.h"

#include <tree_sitter/api.h>

#include <string>
#include <unordered_map>

#include "frontend/cst/ts_parser.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"

extern "C" const TSLanguage* tree_sitter_tvmscript(void);
extern "C" bool tree_sitter_tvmscript_within_limits(const char* text, std::size_t size, std::size_t* offset);
extern "C" const TSLanguage* tree_sitter_relay(void);
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

namespace {

// Symbols and fields of the generated parser, by their numbers.
struct Language {
  const TSLanguage* ts;
  std::vector<Kind> kinds;        // by TSSymbol
  std::vector<bool> punctuation;  // by TSSymbol: tokens that never fill a field
  std::vector<Field> fields;

  explicit Language(const TSLanguage* language) : ts(language) {
    std::unordered_map<std::string_view, Kind> by_name = {
#define RLDB_CST(K, name, ...) {name, Kind::K},
#include "frontend/cst/node_kinds.def"
    };
    const std::uint32_t symbols = ts_language_symbol_count(ts);
    kinds.resize(symbols, Kind::Other);
    punctuation.resize(symbols, false);
    for (std::uint32_t s = 0; s < symbols; ++s) {
      const auto symbol = static_cast<TSSymbol>(s);
      if (ts_language_symbol_type(ts, symbol) != TSSymbolTypeRegular) {
        kinds[s] = Kind::Token;
        const std::string_view name = ts_language_symbol_name(ts, symbol);
        for (const std::string_view p : {"(", ")", "[", "]", "{", "}", ",", ".", ":", ";", "=", "->"})
          if (name == p) punctuation[s] = true;
        continue;
      }
      if (auto it = by_name.find(ts_language_symbol_name(ts, symbol)); it != by_name.end()) kinds[s] = it->second;
    }
    std::unordered_map<std::string_view, Field> field_names = {
#define RLDB_FIELD(F, name) {name, Field::F},
#include "frontend/cst/fields.def"
    };
    const std::uint32_t count = ts_language_field_count(ts);
    fields.resize(count + 1, Field::None);
    for (std::uint32_t f = 1; f <= count; ++f) {
      const char* name = ts_language_field_name_for_id(ts, static_cast<TSFieldId>(f));
      if (auto it = field_names.find(name); it != field_names.end()) fields[f] = it->second;
    }
  }

  Kind kind_of(TSSymbol symbol) const { return symbol < kinds.size() ? kinds[symbol] : Kind::Error; }
  Kind kind_of(TSNode node) const { return kind_of(ts_node_symbol(node)); }
  bool is_punctuation(TSSymbol symbol) const { return symbol < punctuation.size() && punctuation[symbol]; }
};

const Language& language(Grammar grammar = Grammar::TvmScript) {
  static const Language script(tree_sitter_tvmscript());
  static const Language relay(tree_sitter_relay());
  return grammar == Grammar::Relay ? relay : script;
}

struct ParserDeleter {
  void operator()(TSParser* p) const { ts_parser_delete(p); }
};
struct TreeDeleter {
  void operator()(TSTree* t) const { ts_tree_delete(t); }
};
using ParserPtr = std::unique_ptr<TSParser, ParserDeleter>;
using TreePtr = std::unique_ptr<TSTree, TreeDeleter>;

ParserPtr make_parser(Grammar grammar = Grammar::TvmScript) {
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

TreePtr parse_text(TSParser* parser, const TSTree* old, std::string_view text, Grammar grammar = Grammar::TvmScript) {
  // Text that the runtime cannot hold is read as nothing; whoever has the whole text has diagnosed it (check_text).
  if (!within_limits(text, nullptr, grammar)) text = {};
  TreePtr tree(parse_or_cancel(parser, old, text));
  if (!tree) {
    support::poll();
    RLDB_UNREACHABLE("tree-sitter gave no tree and was not cancelled");
  }
  support::poll();
  return tree;
}

// To the child that holds the byte. The runtime counts a child that ends there (a line end's token) as holding it: it
// is queried for the next byte.
bool goto_child(TSTreeCursor* cursor, std::uint32_t begin) {
  return ts_tree_cursor_goto_first_child_for_byte(cursor, begin + 1) >= 0;
}

// Copies what the script room reads into rows, using a cursor.
class Copier {
 public:
  Copier(TSNode root, const TreeOptions& options, std::vector<NodeRow>& rows)
      : language_(language(options.grammar)),
        options_(options),
        rows_(rows),
        root_(root),
        cursor_(ts_tree_cursor_new(root_)) {
    check_damage_ = ts_node_has_error(root_);
  }
  ~Copier() { ts_tree_cursor_delete(&cursor_); }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  // False when the tree does not match the known statements.
  bool run() {
    const std::size_t bytes = ts_node_end_byte(root_) - ts_node_start_byte(root_);
    rows_.reserve(bytes / (options_.known ? 64 : 4) + 16);
    // open_[d]: row of the kept node at tree depth d, or kSkipped for a dropped one.
    for (;;) {
      support::poll();
      const std::uint32_t row = visit();
      const bool descend = row != kSkipped && has_children(rows_[row].kind);
      if (descend && ts_tree_cursor_goto_first_child(&cursor_)) {
        open_.push_back(row);
        continue;
      }
      close(row);
      const bool more = row != kSkipped && rows_[row].kind == Kind::Kept ? advance_behind_known() : advance();
      if (!more) return !lost_;
    }
  }

 private:
  static constexpr std::uint32_t kSkipped = ~std::uint32_t(0);

  // Kinds that are one token, or whose inside is not needed.
  static bool has_children(Kind kind) {
    return kind != Kind::Token && kind != Kind::Identifier && kind != Kind::Integer && kind != Kind::Float &&
           kind != Kind::String && kind != Kind::TooDeep && kind != Kind::Kept;
  }

  bool advance() {
    while (!ts_tree_cursor_goto_next_sibling(&cursor_)) {
      if (open_.empty()) return false;
      ts_tree_cursor_goto_parent(&cursor_);
      close(open_.back());
      open_.pop_back();
    }
    return true;
  }
  // The statements that are known to follow get their rows without being visited.
  bool advance_behind_known() {
    KnownStatements::Statement s{};
    bool any = false;
    while (options_.known->next(s)) {
      const auto next = static_cast<std::uint32_t>(rows_.size() + 1);
      rows_.push_back({Kind::Kept, Field::None, false, s.begin, s.end, next});
      any = true;
    }
    if (any) {
      ts_tree_cursor_goto_parent(&cursor_);
      if (!goto_child(&cursor_, s.begin)) lost_ = true;
      const TSNode last = ts_tree_cursor_current_node(&cursor_);
      lost_ = lost_ || language().kind_of(last) != s.kind || ts_node_start_byte(last) != s.begin ||
              ts_node_end_byte(last) != s.end;
      if (lost_) return false;
    }
    return advance();
  }
  void close(std::uint32_t row) {
    if (row == kSkipped) return;
    rows_[row].next = static_cast<std::uint32_t>(rows_.size());
  }

  // Makes the row of the node under the cursor; kSkipped when it is not kept.
  std::uint32_t visit() {
    const TSNode node = ts_tree_cursor_current_node(&cursor_);
    const TSSymbol symbol = ts_node_symbol(node);
    Kind kind = language_.kind_of(symbol);
    if (kind == Kind::Comment) return kSkipped;
    // Half of all nodes: the cursor is not queried for them.
    if (!check_damage_ && language_.is_punctuation(symbol)) return kSkipped;
    const bool damaged = check_damage_ && ts_node_has_error(node);
    if (damaged && ts_node_is_missing(node)) kind = Kind::Missing;
    Field field = Field::None;
    if (!open_.empty()) field = language_.fields[ts_tree_cursor_current_field_id(&cursor_)];
    if (kind == Kind::Token && field == Field::None && !in_error()) return kSkipped;
    if (int(open_.size()) >= options_.max_depth) kind = Kind::TooDeep;
    const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    if (options_.known && !damaged && in_body() && options_.known->keeps({kind, begin, end})) kind = Kind::Kept;
    rows_.push_back({kind, field, damaged, begin, end, 0});
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  // At the top of the body of the copied node, or of a dataflow block there.
  bool in_body() const {
    const auto is = [&](std::size_t depth, Kind kind) {
      return open_[depth] != kSkipped && rows_[open_[depth]].kind == kind;
    };
    if (open_.size() == 2) return is(1, Kind::Block);
    return open_.size() == 4 && is(1, Kind::Block) && is(2, Kind::DataflowBlock) && is(3, Kind::Block);
  }
  bool in_error() const {
    return check_damage_ && !open_.empty() && open_.back() != kSkipped && rows_[open_.back()].kind == Kind::Error;
  }

  const Language& language_;
  const TreeOptions& options_;
  std::vector<NodeRow>& rows_;
  TSNode root_;
  TSTreeCursor cursor_;
  std::vector<std::uint32_t> open_;
  bool check_damage_ = false;
  bool lost_ = false;
};

}  // namespace

Tree parse_tree(source::FileId file, std::string_view text, const TreeOptions& options) {
  thread_local ParserPtr script = make_parser();
  thread_local ParserPtr relay = make_parser(Grammar::Relay);
  TSParser* parser = options.grammar == Grammar::Relay ? relay.get() : script.get();
  Tree out;
  out.file = file;
  out.text = text;
  out.whole = {file, 0, static_cast<std::uint32_t>(text.size())};
  const TreePtr tree = parse_text(parser, nullptr, text, options.grammar);
  Copier(ts_tree_root_node(tree.get()), options, out.rows).run();
  return out;
}

namespace {

struct Cursor {
  explicit Cursor(TSNode node) : at(ts_tree_cursor_new(node)) {}
  ~Cursor() { ts_tree_cursor_delete(&at); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  TSTreeCursor at;
};

}  // namespace

struct LiveTree::Impl {
  ParserPtr parser = make_parser();
  TreePtr tree;
  std::string_view text;

  TSNode find(Kind kind, std::uint32_t begin, Place& place) const;
  Tree empty_tree(source::FileId file) const {
    Tree out;
    out.file = file;
    out.text = text;
    out.whole = {file, 0, static_cast<std::uint32_t>(text.size())};
    return out;
  }
};

LiveTree::LiveTree() : impl_(std::make_unique<Impl>()) {}
LiveTree::~LiveTree() = default;

void LiveTree::reset(std::string_view text) {
  impl_->tree = parse_text(impl_->parser.get(), nullptr, text);
  impl_->text = text;
}

void LiveTree::edit(const Edit& edit, std::string_view text) {
  TSInputEdit e{};
  // On a copy (which shares everything): a cancelled parse leaves the tree that fits the text.
  const TreePtr edited(ts_tree_copy(impl_->tree.get()));
  e.start_byte = edit.begin;
  e.old_end_byte = edit.old_end;
  e.new_end_byte = edit.new_end;
  e.start_point = {edit.begin_point.row, edit.begin_point.column};
  e.old_end_point = {edit.old_end_point.row, edit.old_end_point.column};
  e.new_end_point = {edit.new_end_point.row, edit.new_end_point.column};
  ts_tree_edit(edited.get(), &e);
  // (ts_tree_get_changed_ranges would tell where the syntax differs, in a time that grows with the text.)
  TreePtr made = parse_text(impl_->parser.get(), edited.get(), text);
  // How the runtime recovers from an error depends on what it could reuse; error reports must not.
  if (ts_node_has_error(ts_tree_root_node(made.get()))) made = parse_text(impl_->parser.get(), nullptr, text);
  impl_->tree = std::move(made);
  impl_->text = text;
}

Tree LiveTree::copy(source::FileId file, const TreeOptions& options) const {
  Tree out = impl_->empty_tree(file);
  Copier(ts_tree_root_node(impl_->tree.get()), options, out.rows).run();
  return out;
}

TSNode LiveTree::Impl::find(Kind kind, std::uint32_t begin, Place& place) const {
  Cursor cursor(ts_tree_root_node(tree.get()));
  for (;;) {
    const TSNode node = ts_tree_cursor_current_node(&cursor.at);
    place.kind = language().kind_of(node);
    place.begin = ts_node_start_byte(node);
    if (place.kind == kind && place.begin == begin) {
      place.end = ts_node_end_byte(node);
      return node;
    }
    place.sibling_counts.push_back(ts_node_child_count(node));
    ++place.depth;
    if (!goto_child(&cursor.at, begin)) return {};
  }
}

bool LiveTree::has_error() const { return ts_node_has_error(ts_tree_root_node(impl_->tree.get())); }

std::optional<LiveTree::Place> LiveTree::find(Kind kind, std::uint32_t begin) const {
  Place place;
  if (ts_node_is_null(impl_->find(kind, begin, place))) return std::nullopt;
  return place;
}

Tree LiveTree::copy_node(source::FileId file, Kind kind, std::uint32_t begin, const TreeOptions& options) const {
  Tree out = impl_->empty_tree(file);
  Place place;
  const TSNode node = impl_->find(kind, begin, place);
  if (!ts_node_is_null(node) && !Copier(node, options, out.rows).run()) out.rows.clear();
  return out;
}

TSTree* parse_or_cancel(TSParser* parser, const TSTree* old, std::string_view text) {
  TSTree* const tree = ts_parser_parse(parser, old, {&text, next_piece, TSInputEncodingUTF8});
  if (tree && !support::cancel_flag().load(std::memory_order_relaxed)) return tree;
  if (tree) ts_tree_delete(tree);
  ts_parser_reset(parser);  // else it would continue with this text at the next call
  return nullptr;
}

TSParser* new_parser() { return make_parser().release(); }

}  // namespace rldb::frontend::cst
