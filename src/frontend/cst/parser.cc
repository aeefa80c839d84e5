#include "frontend/cst/parser.h"

#include <tree_sitter/api.h>

#include <string>
#include <unordered_map>

#include "rldb/support/check.h"

extern "C" const TSLanguage* tree_sitter_tvmscript(void);
extern "C" bool tree_sitter_tvmscript_within_limits(const char* text, std::size_t size, std::size_t* offset);

namespace rldb::frontend::cst {

std::string_view to_string(Kind kind) {
  switch (kind) {
#define RLDB_CST(K, name) \
  case Kind::K:           \
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
    case Kind::Other:
      return "other";
  }
  return "?";
}

bool within_limits(std::string_view text, std::size_t* offset) {
  return tree_sitter_tvmscript_within_limits(text.data(), text.size(), offset);
}

namespace {

// Symbols and fields of the generated parser, by their numbers.
struct Language {
  const TSLanguage* ts = tree_sitter_tvmscript();
  std::vector<Kind> kinds;  // by TSSymbol
  std::vector<Field> fields;

  Language() {
    std::unordered_map<std::string_view, Kind> by_name = {
#define RLDB_CST(K, name) {name, Kind::K},
#include "frontend/cst/node_kinds.def"
    };
    const std::uint32_t symbols = ts_language_symbol_count(ts);
    kinds.resize(symbols, Kind::Other);
    for (std::uint32_t s = 0; s < symbols; ++s) {
      const auto symbol = static_cast<TSSymbol>(s);
      if (ts_language_symbol_type(ts, symbol) != TSSymbolTypeRegular) {
        kinds[s] = Kind::Token;
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

  Kind kind_of(TSNode node) const {
    const TSSymbol symbol = ts_node_symbol(node);
    return symbol < kinds.size() ? kinds[symbol] : Kind::Error;
  }
};

const Language& language() {
  static const Language instance;
  return instance;
}

struct ParserDeleter {
  void operator()(TSParser* p) const { ts_parser_delete(p); }
};
struct TreeDeleter {
  void operator()(TSTree* t) const { ts_tree_delete(t); }
};
using ParserPtr = std::unique_ptr<TSParser, ParserDeleter>;
using TreePtr = std::unique_ptr<TSTree, TreeDeleter>;

ParserPtr make_parser() {
  ParserPtr parser(ts_parser_new());
  const bool fits = ts_parser_set_language(parser.get(), language().ts);
  RLDB_CHECK(fits, "the grammar was generated for another tree-sitter ABI");
  return parser;
}

TreePtr parse_text(TSParser* parser, const TSTree* old, std::string_view text) {
  // What the runtime cannot hold is read as nothing; whoever has the whole text has diagnosed it (check_text).
  if (!within_limits(text)) text = {};
  return TreePtr(ts_parser_parse_string(parser, old, text.data(), static_cast<std::uint32_t>(text.size())));
}

// Copies what the script room reads into rows, with a cursor.
class Copier {
 public:
  Copier(const TSTree* tree, const TreeOptions& options, std::vector<NodeRow>& rows)
      : options_(options), rows_(rows), root_(ts_tree_root_node(tree)), cursor_(ts_tree_cursor_new(root_)) {
    check_damage_ = ts_node_has_error(root_);
  }
  ~Copier() { ts_tree_cursor_delete(&cursor_); }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  void run() {
    rows_.reserve(ts_node_end_byte(root_) / 4 + 16);
    // open_[d]: row of the kept node at tree depth d, or kSkipped for a dropped one.
    for (;;) {
      const std::uint32_t row = visit();
      const bool descend = row != kSkipped && rows_[row].kind != Kind::TooDeep && rows_[row].kind != Kind::Token;
      if (descend && ts_tree_cursor_goto_first_child(&cursor_)) {
        open_.push_back(row);
        continue;
      }
      close(row);
      if (!advance()) return;
    }
  }

 private:
  static constexpr std::uint32_t kSkipped = ~std::uint32_t(0);

  bool advance() {
    while (!ts_tree_cursor_goto_next_sibling(&cursor_)) {
      if (open_.empty()) return false;
      ts_tree_cursor_goto_parent(&cursor_);
      close(open_.back());
      open_.pop_back();
    }
    return true;
  }
  void close(std::uint32_t row) {
    if (row == kSkipped) return;
    rows_[row].next = static_cast<std::uint32_t>(rows_.size());
  }

  // Makes the row of the node under the cursor; kSkipped when it is not kept.
  std::uint32_t visit() {
    const TSNode node = ts_tree_cursor_current_node(&cursor_);
    Kind kind = language().kind_of(node);
    if (kind == Kind::Comment) return kSkipped;
    const bool damaged = check_damage_ && ts_node_has_error(node);
    if (damaged && ts_node_is_missing(node)) kind = Kind::Missing;
    Field field = Field::None;
    if (!open_.empty()) field = language().fields[ts_tree_cursor_current_field_id(&cursor_)];
    if (kind == Kind::Token && field == Field::None && !in_error()) return kSkipped;
    if (int(open_.size()) >= options_.max_depth) kind = Kind::TooDeep;
    rows_.push_back({kind, field, damaged, ts_node_start_byte(node), ts_node_end_byte(node), 0});
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  bool in_error() const {
    return check_damage_ && !open_.empty() && open_.back() != kSkipped && rows_[open_.back()].kind == Kind::Error;
  }

  const TreeOptions& options_;
  std::vector<NodeRow>& rows_;
  TSNode root_;
  TSTreeCursor cursor_;
  std::vector<std::uint32_t> open_;
  bool check_damage_ = false;
};

}  // namespace

Tree parse_tree(source::FileId file, std::string_view text, const TreeOptions& options) {
  thread_local ParserPtr parser = make_parser();
  Tree out;
  out.file = file;
  out.text = text;
  out.whole = {file, 0, static_cast<std::uint32_t>(text.size())};
  const TreePtr tree = parse_text(parser.get(), nullptr, text);
  Copier(tree.get(), options, out.rows).run();
  return out;
}

struct LiveTree::Impl {
  ParserPtr parser = make_parser();
  TreePtr tree;
  std::string_view text;
};

LiveTree::LiveTree() : impl_(std::make_unique<Impl>()) {}
LiveTree::~LiveTree() = default;

void LiveTree::reset(std::string_view text) {
  impl_->text = text;
  impl_->tree = parse_text(impl_->parser.get(), nullptr, text);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> LiveTree::edit(const Edit& edit, std::string_view text) {
  TSInputEdit e{};
  e.start_byte = edit.begin;
  e.old_end_byte = edit.old_end;
  e.new_end_byte = edit.new_end;
  const auto point = [](std::string_view t, std::uint32_t offset) {
    TSPoint p{0, 0};
    const std::string_view head = t.substr(0, offset);
    for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) ++p.row;
    const std::size_t line = head.rfind('\n');
    p.column = static_cast<std::uint32_t>(head.size() - (line == std::string_view::npos ? 0 : line + 1));
    return p;
  };
  e.start_point = point(text, edit.begin);
  e.old_end_point = point(impl_->text, edit.old_end);
  e.new_end_point = point(text, edit.new_end);
  ts_tree_edit(impl_->tree.get(), &e);
  TreePtr fresh = parse_text(impl_->parser.get(), impl_->tree.get(), text);
  std::uint32_t count = 0;
  TSRange* ranges = ts_tree_get_changed_ranges(impl_->tree.get(), fresh.get(), &count);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changed;
  for (std::uint32_t i = 0; i < count; ++i) changed.emplace_back(ranges[i].start_byte, ranges[i].end_byte);
  free(ranges);
  impl_->tree = std::move(fresh);
  impl_->text = text;
  return changed;
}

Tree LiveTree::copy(source::FileId file, const TreeOptions& options) const {
  Tree out;
  out.file = file;
  out.text = impl_->text;
  out.whole = {file, 0, static_cast<std::uint32_t>(impl_->text.size())};
  Copier(impl_->tree.get(), options, out.rows).run();
  return out;
}

}  // namespace rldb::frontend::cst
