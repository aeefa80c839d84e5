// One walk with a cursor.
#include "frontend/cst/copy_rows.h"

#include <algorithm>

#include "frontend/cst/scan.h"
#include "frontend/cst/ts_language.h"
#include "frontend/cst/ts_parser.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::cst {

namespace {

// Copies what the script room reads into rows, using a cursor.
class Copier {
 public:
  Copier(TSNode root, const TreeOptions& options, const CutOut* cut_out, std::vector<NodeRow>& rows)
      : language_(language(options.grammar)),
        options_(options),
        cut_out_(cut_out && !cut_out->statements.empty() ? cut_out : nullptr),
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
    const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    put_blanked(begin);
    if (kind == Kind::ExpressionStatement)
      if (const Statement* cut = cut_in(begin, begin + 1); cut && !cut->header)
        return cut->unfinished ? put_unfinished(*cut) : put_in(*cut), kSkipped;
    if (const Statement* header = header_around(begin, end)) {
      if (header->begin != put_header_) put_header(*header);
      if (!is_name_of(*header, kind)) return kSkipped;
    }
    const bool damaged = (check_damage_ && ts_node_has_error(node)) || cut_in(begin, end);
    if (damaged && ts_node_is_missing(node)) kind = Kind::Missing;
    Field field = Field::None;
    if (!open_.empty()) field = language_.fields[ts_tree_cursor_current_field_id(&cursor_)];
    if (kind == Kind::Token && field == Field::None && !in_error()) return kSkipped;
    if (int(open_.size()) >= options_.max_depth) kind = Kind::TooDeep;
    if (options_.known && in_body() && is_kept({kind, begin, end}, damaged)) kind = Kind::Kept;
    rows_.push_back({kind, field, damaged, begin, end, 0});
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }
  bool is_kept(const KnownStatements::Statement& s, bool damaged) const {
    return damaged ? options_.known->keeps_damaged(s) : options_.known->keeps(s);
  }
  // The first statement cut out whose placeholder begins in a range.
  const Statement* cut_in(std::uint32_t begin, std::uint32_t end) const {
    if (!cut_out_) return nullptr;
    const std::vector<Statement>& all = cut_out_->statements;
    const auto at = std::lower_bound(all.begin(), all.end(), begin,
                                     [](const Statement& s, std::uint32_t o) { return s.placeholder_begin() < o; });
    return at != all.end() && at->placeholder_begin() < end ? &*at : nullptr;
  }

  // The header cut out whose placeholder a node is a part of.
  const Statement* header_around(std::uint32_t begin, std::uint32_t end) const {
    if (!cut_out_ || open_.empty()) return nullptr;
    const std::vector<Statement>& all = cut_out_->statements;
    auto at = std::upper_bound(all.begin(), all.end(), begin,
                               [](std::uint32_t offset, const Statement& s) { return offset < s.begin; });
    if (at == all.begin()) return nullptr;
    --at;
    return at->header && end <= at->end ? &*at : nullptr;
  }
  // The name of a function or class, which its placeholder has as well.
  bool is_name_of(const Statement& header, Kind kind) const {
    if (kind != Kind::Identifier || open_.empty() || open_.back() == kSkipped) return false;
    const TSNode name = ts_tree_cursor_current_node(&cursor_);
    const std::uint32_t begin = ts_node_start_byte(name), end = ts_node_end_byte(name);
    const std::string_view text = cut_out_->text.substr(begin, end - begin);
    return language_.fields[ts_tree_cursor_current_field_id(&cursor_)] == Field::Name && header.begin < begin &&
           std::all_of(text.begin(), text.end(), is_word_byte);
  }
  // The errors of the header's own tree, without their insides.
  void put_header(const Statement& header) {
    put_header_ = header.begin;
    const TreePtr tree = parse_statement(cut_out_->text, header.begin, header.end);
    std::vector<NodeRow> own;
    copy_rows(ts_tree_root_node(tree.get()), options_without_known(), nullptr, own);
    const std::uint32_t size = header.end - header.begin;
    const std::size_t before = rows_.size();
    for (std::uint32_t i = 0; i < own.size(); ++i) {
      const NodeRow& row = own[i];
      const bool error = row.kind == Kind::Error || row.kind == Kind::Missing || row.kind == Kind::TooDeep ||
                         row.kind == Kind::UnterminatedString;
      if (!error || row.begin > size) continue;
      add_error(row.kind, header.begin + row.begin, header.begin + std::min(row.end, size));
      i = row.next - 1;
    }
    if (rows_.size() == before) add_error(Kind::Error, header.begin, header.end);
  }
  void put_unfinished(const Statement& cut) {
    if (cut.echo) return;
    if (cut.misplaced)
      add_error(Kind::UnexpectedIndent, cut.begin, cut.end);
    else if (is_part(first_word(cut_out_->text.substr(cut.begin, cut.end - cut.begin))))
      add_error(Kind::Error, cut.begin, cut.end);
    else
      put_header(cut);
  }
  // Statements without a placeholder that end before a place.
  void put_blanked(std::uint32_t begin) {
    if (!cut_out_ || open_.empty()) return;
    const std::vector<Statement>& all = cut_out_->statements;
    for (; next_blanked_ < all.size() && all[next_blanked_].end <= begin; ++next_blanked_)
      if (const Statement& s = all[next_blanked_];
          s.blanked && (language_.kind_of(root_) == Kind::SourceFile || s.begin >= ts_node_start_byte(root_)))
        add_error(Kind::Error, s.begin, s.end);
  }
  void add_error(Kind kind, std::uint32_t begin, std::uint32_t end) {
    rows_.push_back({kind, Field::None, true, begin, end, static_cast<std::uint32_t>(rows_.size() + 1)});
  }

  TreeOptions options_without_known() const {
    TreeOptions options = options_;
    options.known = nullptr;
    options.max_depth = std::max(1, options_.max_depth - int(open_.size()) + 1);
    return options;
  }

  // The statement's own tree in the place of the placeholder.
  void put_in(const Statement& cut) {
    const TreePtr tree = parse_statement(cut_out_->text, cut.begin, cut.end);
    std::vector<NodeRow> own;
    copy_rows(ts_tree_root_node(tree.get()), options_without_known(), nullptr, own);
    // Without what the line behind it left.
    const std::uint32_t size = cut.end - cut.begin;
    while (!own.empty() && own.back().begin > size) own.pop_back();
    // The root stands for the file, unless nothing fitted.
    const auto wrapper = static_cast<std::uint32_t>(rows_.size());
    if (cut.misplaced) rows_.push_back({Kind::UnexpectedIndent, Field::None, true, cut.begin, cut.end, 0});
    const std::uint32_t skipped = !own.empty() && own[0].kind == Kind::SourceFile ? 1 : 0;
    const auto base = static_cast<std::uint32_t>(rows_.size()) - skipped;
    const auto count = static_cast<std::uint32_t>(own.size());
    for (std::uint32_t i = skipped; i < count; ++i)
      rows_.push_back({own[i].kind, own[i].field, own[i].damaged, own[i].begin + cut.begin,
                       std::min(own[i].end, size) + cut.begin, std::min(own[i].next, count) + base});
    if (cut.misplaced) close(wrapper);
  }

  // At the top of the body of the copied node, or of a dataflow block there. Of Relay: of a definition of the file.
  bool in_body() const {
    const auto is = [&](std::size_t depth, Kind kind) {
      return open_[depth] != kSkipped && rows_[open_[depth]].kind == kind;
    };
    if (options_.grammar == Grammar::Relay) return open_.size() == 3 && is(2, Kind::Sequence);
    if (open_.size() == 2) return is(1, Kind::Block);
    return open_.size() == 4 && is(1, Kind::Block) && is(2, Kind::DataflowBlock) && is(3, Kind::Block);
  }
  bool in_error() const {
    return check_damage_ && !open_.empty() && open_.back() != kSkipped && rows_[open_.back()].kind == Kind::Error;
  }

  const Language& language_;
  const TreeOptions& options_;
  const CutOut* cut_out_;
  std::vector<NodeRow>& rows_;
  TSNode root_;
  TSTreeCursor cursor_;
  std::vector<std::uint32_t> open_;
  std::size_t next_blanked_ = 0;                  // of the statements cut out
  std::uint32_t put_header_ = ~std::uint32_t(0);  // where the last header begins whose errors were added
  bool check_damage_ = false;
  bool lost_ = false;
};

}  // namespace

bool copy_rows(TSNode root, const TreeOptions& options, const CutOut* cut_out, std::vector<NodeRow>& rows) {
  return Copier(root, options, cut_out, rows).run();
}

}  // namespace rldb::frontend::cst
