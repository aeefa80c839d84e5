// Reads one statement of a shape, and notes at which pieces its nodes begin and end.
#include "frontend/cst/known_shapes.h"

#include <algorithm>

#include "frontend/cst/copy_rows.h"
#include "frontend/cst/scan.h"

namespace rldb::frontend::cst {

namespace {

constexpr std::size_t kMostBytes = std::size_t(1) << 20;
constexpr std::size_t kBytesOfEntry = 128;  // of the table, and its key's head

enum class Form { Line, Block };

// A statement without a block.
bool is_simple(Kind kind) {
#define RLDB_CST_STATEMENT(K, name, form, ...) \
  if (kind == Kind::K) return Form::form == Form::Line;
#include "frontend/cst/node_kinds.def"
  return false;
}

std::optional<std::uint16_t> piece_at(const std::vector<Piece>& pieces, std::uint32_t Piece::*side, std::uint32_t at) {
  const auto found =
      std::lower_bound(pieces.begin(), pieces.end(), at, [&](const Piece& p, std::uint32_t o) { return p.*side < o; });
  if (found == pieces.end() || (*found).*side != at) return std::nullopt;
  return static_cast<std::uint16_t>(found - pieces.begin());
}

// Whether each token, also of those that have no row, is whole pieces: the grammar takes `isnot` for two.
bool has_whole_pieces(TSNode root, const ShapeScan& statement) {
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  bool whole = true;
  for (bool more = true; more && whole;) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const std::uint32_t begin = ts_node_start_byte(node), end = ts_node_end_byte(node);
    if (ts_tree_cursor_goto_first_child(&cursor)) continue;
    if (begin < end)
      whole = piece_at(statement.pieces(), &Piece::begin, begin + statement.begin()) &&
              piece_at(statement.pieces(), &Piece::end, end + statement.begin());
    while (!(more = ts_tree_cursor_goto_next_sibling(&cursor)) && ts_tree_cursor_goto_parent(&cursor)) {
    }
  }
  ts_tree_cursor_delete(&cursor);
  return whole;
}

int depth_of(const std::vector<NodeRow>& rows) {
  std::vector<std::uint32_t> open;
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    while (!open.empty() && open.back() <= i) open.pop_back();
    open.push_back(rows[i].next);
    most = std::max(most, open.size());
  }
  return int(most);
}

}  // namespace

const ShapedTree* KnownShapes::find(const ShapeScan& statement, std::string_view text) {
  const std::string_view shape = statement.shape();
  if (shape.empty()) return nullptr;
  const auto found = entries_.find(shape);
  if (found == entries_.end()) {
    if (bytes_ > kMostBytes) return nullptr;
    entries_.emplace(shape, Entry());
    bytes_ += kBytesOfEntry + shape.size();
    return nullptr;
  }
  Entry& e = found->second;
  if (!e.tried) {
    e.tree = read(statement, text);
    e.tried = true;
    if (e.tree) bytes_ += e.tree->rows.size() * sizeof(ShapedRow);
  }
  return e.tree ? &*e.tree : nullptr;
}

void KnownShapes::forget_if_many() {
  if (bytes_ <= kMostBytes) return;
  entries_.clear();
  bytes_ = 0;
}

std::optional<ShapedTree> KnownShapes::read(const ShapeScan& statement, std::string_view text) {
  if (!parser_) parser_ = make_parser();
  std::string alone(text.substr(statement.begin(), statement.end() - statement.begin()));
  // `else: w = x` by itself is the annotation of a name.
  if (is_part(first_word(alone))) return std::nullopt;
  alone += '\n';
  const TreePtr tree = parse_text(parser_.get(), nullptr, alone);
  const TSNode root = ts_tree_root_node(tree.get());
  if (ts_node_has_error(root) || !has_whole_pieces(root, statement)) return std::nullopt;
  std::vector<NodeRow> rows;
  copy_rows(root, {}, nullptr, rows);
  if (rows.size() < 2 || rows.size() > UINT16_MAX || rows[1].next != rows.size() || !is_simple(rows[1].kind))
    return std::nullopt;
  ShapedTree made;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const NodeRow& row = rows[i];
    const auto first = piece_at(statement.pieces(), &Piece::begin, row.begin + statement.begin());
    const auto last = piece_at(statement.pieces(), &Piece::end, row.end + statement.begin());
    if (!first || !last || row.damaged || row.kind == Kind::TooDeep) return std::nullopt;
    made.rows.push_back({row.kind, row.field, *first, *last, static_cast<std::uint16_t>(row.next - 1)});
  }
  const ShapedRow& whole = made.rows[0];
  if (whole.first != 0 || whole.last + std::size_t(1) != statement.pieces().size()) return std::nullopt;
  made.depth = depth_of(rows) - 1;
  return made;
}

}  // namespace rldb::frontend::cst
