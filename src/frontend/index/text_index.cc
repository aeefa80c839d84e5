// Questions to a TextIndex about places.
#include "rldb/frontend/text_index.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/index/index_tree.h"
#include "frontend/index/name_walk.h"

namespace rldb::frontend {

TextIndex::TextIndex() = default;
TextIndex::~TextIndex() = default;
TextIndex::TextIndex(TextIndex&&) noexcept = default;
TextIndex& TextIndex::operator=(TextIndex&&) noexcept = default;

void TextIndex::Tree::note_lines() {
  for (std::size_t at = tree.text.find('\n'); at != std::string_view::npos; at = tree.text.find('\n', at + 1))
    line_ends.push_back(static_cast<std::uint32_t>(at));
  tree.text = {};
}

TextIndex index_of(TextIndex::Tree tree) {
  TextIndex index;
  NameWalk(tree.tree, index).walk_file();
  tree.note_lines();
  index.tree_ = std::make_unique<TextIndex::Tree>(std::move(tree));
  return index;
}

TextIndex TextIndex::of(std::string_view text) {
  if (!cst::within_limits(text)) return {};
  return index_of({cst::parse_tree({}, text), {}});
}

bool TextIndex::is_script(std::uint32_t offset) const {
  return std::any_of(regions_.begin(), regions_.end(), [&](const TextRange& r) { return r.touches(offset); });
}

const NameMark* TextIndex::mark_at(std::uint32_t offset) const {
  auto after = std::upper_bound(marks_.begin(), marks_.end(), offset,
                                [](std::uint32_t o, const NameMark& m) { return o < m.at.begin; });
  // A token that begins here is meant before one that ends here.
  const NameMark* ends = nullptr;
  while (after != marks_.begin()) {
    --after;
    if (after->at.end > offset) return &*after;
    if (after->at.end == offset && !ends) ends = &*after;
    if (after->at.end < offset) break;
  }
  return ends;
}

std::vector<NameMark> TextIndex::uses_of(std::uint32_t name) const {
  std::vector<NameMark> out;
  for (const NameMark& m : marks_)
    if (m.name == name && name != kNoName) out.push_back(m);
  return out;
}

std::uint32_t TextIndex::owner_at(std::uint32_t offset) const {
  std::uint32_t best = kNoName;
  for (std::uint32_t i = 0; i < definitions_.size(); ++i) {
    const NameDefinition& d = definitions_[i];
    if ((is_function(d.kind) || d.kind == NameKind::Module) && d.whole.touches(offset) &&
        (best == kNoName || definitions_[best].whole.contains(d.whole)))
      best = i;
  }
  return best;
}

std::uint32_t TextIndex::function_at(std::uint32_t offset) const {
  std::uint32_t at = owner_at(offset), function = kNoName;
  for (; at != kNoName; at = definitions_[at].owner)
    if (is_function(definitions_[at].kind)) function = at;
  return function;
}

std::vector<std::uint32_t> TextIndex::visible_at(std::uint32_t offset) const {
  std::vector<std::uint32_t> out;
  std::unordered_set<std::string_view> seen;
  for (std::uint32_t i = static_cast<std::uint32_t>(definitions_.size()); i-- > 0;) {
    const NameDefinition& d = definitions_[i];
    if (d.kind != NameKind::Block && d.visible.begin <= offset && offset <= d.visible.end && seen.insert(d.name).second)
      out.push_back(i);
  }
  return out;
}

std::uint32_t TextIndex::meant_at(std::uint32_t offset, std::string_view name) const {
  for (std::uint32_t i = static_cast<std::uint32_t>(definitions_.size()); i-- > 0;) {
    const NameDefinition& d = definitions_[i];
    if (d.visible.begin <= offset && offset <= d.visible.end && d.kind != NameKind::Block && d.name == name) return i;
  }
  return kNoName;
}

std::vector<TextRange> TextIndex::enclosing(std::uint32_t offset) const {
  std::vector<TextRange> out;
  if (!tree_) return out;
  const std::vector<cst::NodeRow>& rows = tree_->tree.rows;
  for (std::uint32_t i = 0; i < rows.size();) {
    const TextRange range{rows[i].begin, rows[i].end};
    if (!range.touches(offset) || range.begin == range.end) {
      i = rows[i].next;
      continue;
    }
    if (out.empty() || !(out.back() == range)) {
      // Of two neighbours that touch the offset the second is meant.
      while (!out.empty() && !out.back().contains(range)) out.pop_back();
      out.push_back(range);
    }
    ++i;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<TextRange> TextIndex::folds() const {
  std::vector<TextRange> out;
  if (!tree_) return out;
  const auto line_of = [&](std::uint32_t offset) {
    return std::lower_bound(tree_->line_ends.begin(), tree_->line_ends.end(), offset) - tree_->line_ends.begin();
  };
  constexpr cst::Kind kFolds[] = {
      cst::Kind::Module,        cst::Kind::RelaxFunction, cst::Kind::PrimFunc,           cst::Kind::PythonFunction,
      cst::Kind::SBlock,        cst::Kind::InitBlock,     cst::Kind::WithStatement,      cst::Kind::MacroDefinition,
      cst::Kind::Loop,          cst::Kind::WhileLoop,     cst::Kind::IfStatement,        cst::Kind::DataflowBlock,
      cst::Kind::ElifClause,    cst::Kind::ElseClause,    cst::Kind::Arguments,          cst::Kind::Parameters,
      cst::Kind::Tuple,         cst::Kind::List,          cst::Kind::Dictionary,         cst::Kind::String,
      cst::Kind::Match,         cst::Kind::Arm,           cst::Kind::FunctionDefinition, cst::Kind::Function,
      cst::Kind::TypeDefinition};
  std::ptrdiff_t last = -1;
  for (const cst::NodeRow& row : tree_->tree.rows) {
    if (std::find(std::begin(kFolds), std::end(kFolds), row.kind) == std::end(kFolds)) continue;
    const std::ptrdiff_t first = line_of(row.begin);
    if (row.end <= row.begin || first == line_of(row.end - 1) || first == last || !is_script(row.begin)) continue;
    out.push_back({row.begin, row.end});
    last = first;  // one fold a line
  }
  return out;
}

}  // namespace rldb::frontend
