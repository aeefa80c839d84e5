// An edit within one binding of a Relax function: its own marks and nodes are made again, everything else moves.
#include <algorithm>

#include "frontend/cst/parser.h"
#include "frontend/index/index_tree.h"
#include "frontend/index/name_walk.h"

namespace rldb::frontend {

using cst::Kind;

namespace {

bool is_variable(NameKind kind) { return kind == NameKind::Variable || kind == NameKind::DataflowVariable; }

// Moves what stands behind the edit. An end where the statement ended is where it ends now.
class Moved {
 public:
  Moved(const TextEdit& edit, TextRange before, std::uint32_t end) : edit_(edit), before_(before), end_(end) {}
  std::uint32_t begin(std::uint32_t at) const { return at <= edit_.begin ? at : behind(at); }
  std::uint32_t end(std::uint32_t at) const { return at == before_.end ? end_ : at <= edit_.begin ? at : behind(at); }
  void operator()(TextRange& r) const { r = {begin(r.begin), end(r.end)}; }

 private:
  std::uint32_t behind(std::uint32_t at) const { return edit_.moved(at); }
  const TextEdit& edit_;
  TextRange before_;
  std::uint32_t end_;
};

// The binding that a line is, at its place in the text; no rows: it is something else. Whether the line can be told by
// itself from those around it is known from the statement that it was.
cst::Tree binding_of(std::string_view text, TextRange line) {
  const std::string_view code = text.substr(line.begin, line.end - line.begin);
  for (const std::string_view other : {"\\", "\"\"\"", "'''", ";", "match_"})
    if (code.find(other) != std::string_view::npos) return {};
  std::string own(code);
  own += '\n';
  cst::Tree tree = cst::parse_tree({}, own);
  const bool lone = tree.rows.size() > 2 && tree.rows[1].kind == Kind::Binding && !tree.rows[0].damaged &&
                    tree.rows[1].next == tree.rows.size();
  if (!lone) return {};
  for (cst::NodeRow& row : tree.rows) {
    row.begin += line.begin;
    row.end += line.begin;
  }
  tree.text = text;
  return tree;
}

std::uint32_t line_begin_of(std::string_view text, std::uint32_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : static_cast<std::uint32_t>(before + 1);
}

}  // namespace

std::uint32_t TextIndex::Tree::find_binding(TextRange at) const {
  const std::vector<cst::NodeRow>& rows = tree.rows;
  for (std::uint32_t i = 0; i < rows.size();) {
    if (rows[i].begin == at.begin && rows[i].kind == Kind::Binding) return rows[i].end == at.end ? i : 0;
    i = rows[i].begin <= at.begin && at.end <= rows[i].end ? i + 1 : rows[i].next;
  }
  return 0;
}

// `binding` has the rows of a file.
void TextIndex::Tree::replace(std::uint32_t at, const cst::Tree& binding) {
  std::vector<cst::NodeRow>& rows = tree.rows;
  const std::uint32_t next = rows[at].next;
  const auto made = static_cast<std::uint32_t>(binding.rows.size() - 1);
  const std::int64_t grows = std::int64_t(made) - std::int64_t(next - at);
  const cst::Field field = rows[at].field;
  for (cst::NodeRow& row : rows)
    if (row.next >= next) row.next = static_cast<std::uint32_t>(row.next + grows);
  rows.erase(rows.begin() + at, rows.begin() + next);
  rows.insert(rows.begin() + at, binding.rows.begin() + 1, binding.rows.end());
  rows[at].field = field;
  for (std::uint32_t i = at; i < at + made; ++i) rows[i].next += at - 1;
}

bool TextIndex::follow(const TextEdit& edit, std::string_view text) {
  if (!tree_ || edit.new_end > text.size()) return false;
  const std::string_view added = text.substr(edit.begin, edit.new_end - edit.begin);
  if (added.find('\n') != std::string_view::npos || added.find('\r') != std::string_view::npos) return false;
  // The statement before the edit: it is on one line, alone, and defines one name.
  const auto line_end = std::lower_bound(tree_->line_ends.begin(), tree_->line_ends.end(), edit.begin);
  if (line_end == tree_->line_ends.end() || *line_end < edit.old_end) return false;
  const std::uint32_t begin = line_begin_of(text, edit.begin);
  std::uint32_t name = kNoName;
  for (std::uint32_t i = 0; i < definitions_.size(); ++i) {
    const NameDefinition& d = definitions_[i];
    if (d.at.begin < begin || d.at.begin > *line_end) continue;
    if (name != kNoName) return false;
    name = i;
  }
  if (name == kNoName || !is_variable(definitions_[name].kind)) return false;
  const TextRange before = definitions_[name].whole;
  const std::uint32_t owner = definitions_[name].owner;
  if (before.begin < begin || before.end > *line_end || edit.begin <= before.begin || edit.old_end > before.end ||
      owner == kNoName || definitions_[owner].kind != NameKind::RelaxFunction)
    return false;
  // And after it.
  const auto new_line_end = static_cast<std::uint32_t>(*line_end + edit.delta());
  const cst::Tree binding = binding_of(text, {before.begin, new_line_end});
  if (binding.rows.empty()) return false;
  const cst::Node node(&binding, 1);
  const cst::Node target = node.child(cst::Field::Target);
  if (!target.is(Kind::Identifier) || target.text() != definitions_[name].name ||
      target.row().begin != definitions_[name].at.begin)
    return false;
  if (node.child(cst::Field::Value).is(Kind::Identifier)) return false;  // it may name the module: `cls = Module`
  const TextRange after{node.row().begin, node.row().end};

  TextIndex changed;
  changed.definitions_ = definitions_;
  changed.surroundings_ = surroundings_;
  const Moved moved(edit, before, after.end);
  for (NameDefinition& d : changed.definitions_) {
    moved(d.at);
    moved(d.whole);
    moved(d.visible);
  }
  NameDefinition& mine = changed.definitions_[name];
  mine.at = {target.row().begin, target.row().end};
  mine.whole = after;
  mine.visible.begin = after.end + 1;
  NameWalk(binding, changed).walk_alone(node, owner);
  const auto own = static_cast<std::uint32_t>(definitions_.size());
  if (changed.definitions_.size() != own + 1 || !is_variable(changed.definitions_[own].kind)) return false;
  const std::uint32_t row = tree_->find_binding(before);
  if (row == 0) return false;

  for (NameMark& m : changed.marks_)
    if (m.name == own) m.name = changed.definitions_[name].joined;
  changed.definitions_.pop_back();
  definitions_ = std::move(changed.definitions_);
  const auto first = std::lower_bound(marks_.begin(), marks_.end(), before.begin,
                                      [](const NameMark& m, std::uint32_t at) { return m.at.begin < at; });
  const auto last = std::lower_bound(first, marks_.end(), before.end,
                                     [](const NameMark& m, std::uint32_t at) { return m.at.begin < at; });
  const auto kept = first - marks_.begin();
  marks_.erase(first, last);
  for (auto m = marks_.begin() + kept; m != marks_.end(); ++m) moved(m->at);
  marks_.insert(marks_.begin() + kept, changed.marks_.begin(), changed.marks_.end());
  for (TextRange& r : regions_) moved(r);
  for (cst::NodeRow& r : tree_->tree.rows) r.begin = moved.begin(r.begin), r.end = moved.end(r.end);
  tree_->replace(row, binding);
  for (std::uint32_t& end : tree_->line_ends)
    if (end >= edit.old_end) end = static_cast<std::uint32_t>(end + edit.delta());
  return true;
}

}  // namespace rldb::frontend
