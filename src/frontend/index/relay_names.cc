// Names of Relay text: globals, locals by scope, graph variables, types and their constructors.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "frontend/index/index_tree.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend {

using cst::Field;
using cst::Kind;
using cst::Node;

// Locals and graph variables open with a function or a block and end with it; a name hides its namesakes from there on.
class RelayNames {
 public:
  RelayNames(const cst::Tree& tree, TextIndex& out) : tree_(tree), out_(out) {}

  void walk_file() {
    if (tree_.rows.empty()) return;
    const Node root(&tree_, 0);
    out_.regions_.push_back({0, tree_.rows[0].end});
    for (Node n : root.children()) {
      const Node name = n.child(Field::Name);
      if (n.is(Kind::FunctionDefinition))
        globals_.emplace(name.text(), add(NameKind::RelaxFunction, name, name.text(), n));
      if (n.is(Kind::TypeDefinition)) {
        types_.emplace(name.text(), add(NameKind::Module, name, name.text(), n));
        for (Node c : n.child(Field::Body).children())
          if (c.is(Kind::Constructor))
            types_.emplace(c.child(Field::Name).text(),
                           add(NameKind::Constant, c.child(Field::Name), c.child(Field::Name).text(), c));
      }
    }
    scopes_.emplace_back();
    walk_children(root);
    for (NameMark& m : out_.marks_)
      if (m.name != kNoName && m.at == out_.definitions_[m.name].at) m.kind = MarkKind::Definition;
    std::stable_sort(out_.marks_.begin(), out_.marks_.end(),
                     [](const NameMark& a, const NameMark& b) { return a.at.begin < b.at.begin; });
  }

 private:
  static TextRange range_of(Node n) { return {n.row().begin, n.row().end}; }

  std::uint32_t add(NameKind kind, Node at, std::string_view name, Node whole) {
    const auto made = static_cast<std::uint32_t>(out_.definitions_.size());
    const std::uint32_t end = owner_ == kNoName ? tree_.rows[0].end : out_.definitions_[owner_].whole.end;
    out_.definitions_.push_back({kind,
                                 std::string(name),
                                 range_of(at),
                                 range_of(whole),
                                 {owner_ == kNoName ? 0 : range_of(at).end, end},
                                 owner_,
                                 made});
    return made;
  }
  void define(NameKind kind, Node at, Node whole) {
    if (!at) return;
    const std::uint32_t made = add(kind, at, at.text(), whole);
    scopes_.back()[at.text()] = made;
    mark(at, MarkKind::Definition, made);
  }
  void mark(Node at, MarkKind kind, std::uint32_t name = kNoName) { out_.marks_.push_back({range_of(at), kind, name}); }
  void use(Node at) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto it = scope->find(at.text()); it != scope->end()) return mark(at, MarkKind::Read, it->second);
    for (const auto* table : {&globals_, &types_})
      if (const auto it = table->find(at.text()); it != table->end()) return mark(at, MarkKind::Read, it->second);
    mark(at, at.is(Kind::Local) || at.is(Kind::Graph) || at.is(Kind::Global) ? MarkKind::Read : MarkKind::Builtin);
  }

  void walk_children(Node n) {
    for (Node c : n.children()) walk(c);
  }
  void walk_scope(Node n) {
    scopes_.emplace_back();
    walk_children(n);
    scopes_.pop_back();
  }

  void walk(Node n) {
    support::poll();
    if (n.is(Kind::FunctionDefinition)) {
      const auto made = globals_.find(n.child(Field::Name).text());
      owner_ = made == globals_.end() ? kNoName : made->second;
      walk_scope(n);
      owner_ = kNoName;
    } else if (n.is(Kind::Function) || n.is(Kind::Block) || n.is(Kind::Arm) || n.is(Kind::TypeDefinition)) {
      walk_scope(n);
    } else if (n.is(Kind::TypeParameters)) {
      for (Node c : n.children()) define(NameKind::Symbol, c, c);
    } else if (n.is(Kind::Parameter) || n.is(Kind::VariablePattern) || n.is(Kind::FreeVariable)) {
      walk(n.child(Field::Type));
      define(NameKind::Parameter, n.child(Field::Name), n);
    } else if (n.is(Kind::LetBinding)) {
      // The value of a let may be a function that calls itself.
      if (n.child(Field::Type)) walk(n.child(Field::Type));
      const bool recursive = n.child(Field::Value).is(Kind::Function);
      if (recursive) define(NameKind::Variable, n.child(Field::Name), n);
      walk(n.child(Field::Value));
      if (!recursive) define(NameKind::Variable, n.child(Field::Name), n);
    } else if (n.is(Kind::GraphBinding)) {
      walk(n.child(Field::Value));
      define(NameKind::Variable, n.child(Field::Name), n);
    } else if (n.is(Kind::Local) || n.is(Kind::Graph) || n.is(Kind::Global) || n.is(Kind::Name)) {
      use(n);
    } else if (n.is(Kind::Identifier)) {
      n.field() == Field::DType ? mark(n, MarkKind::Type) : use(n);
    } else if (n.is(Kind::Attribute)) {
      mark(n.child(Field::Name), MarkKind::Keyword);
      walk(n.child(Field::Value));
    } else if (n.is(Kind::Number)) {
      mark(n, MarkKind::Number);
    } else if (n.is(Kind::String)) {
      mark(n, MarkKind::String);
    } else if (n) {
      walk_children(n);
    }
  }

  const cst::Tree& tree_;
  TextIndex& out_;
  std::unordered_map<std::string_view, std::uint32_t> globals_, types_;
  std::vector<std::unordered_map<std::string_view, std::uint32_t>> scopes_;
  std::uint32_t owner_ = kNoName;
};

TextIndex relay_index_of(TextIndex::Tree tree) {
  TextIndex index;
  RelayNames(tree.tree, index).walk_file();
  tree.note_lines();
  index.tree_ = std::make_unique<TextIndex::Tree>(std::move(tree));
  return index;
}

TextIndex TextIndex::of_relay(std::string_view text) {
  if (!cst::within_limits(text, nullptr, cst::Grammar::Relay)) return {};
  cst::TreeOptions options;
  options.grammar = cst::Grammar::Relay;
  return relay_index_of({cst::parse_tree({}, text, options), {}});
}

}  // namespace rldb::frontend
