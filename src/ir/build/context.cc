// Context: memory, names, attributes and the side tables of nodes. Makers of expressions: context_relax.cc and
// context_scalar.cc; of statements: context_stmt.cc; types: type_intern.cc.
#include "rldb/ir/context.h"

#include <array>

#include "ir/build/context_tables.h"

namespace rldb::ir {

std::string_view to_string(NodeKind kind) {
  static constexpr std::array kNames = std::to_array<std::string_view>({
#define RLDB_NODE(Kind, Struct, doc) #Kind,
#include "rldb/ir/node.def"
  });
  return kNames[static_cast<std::size_t>(kind)];
}

Context::Context() : tables_(std::make_unique<Tables>()) {
  any_ = arena_.make<AnyType>(Type{TypeKind::Any, next_type_id_++});
}
Context::~Context() = default;

std::string_view Context::str(std::string_view text) {
  if (text.empty()) return {};
  auto found = tables_->strings.find(text);
  if (found != tables_->strings.end()) return *found;
  const std::string_view kept = arena_.copy_string(text);
  tables_->strings.insert(kept);
  return kept;
}

// ---- attributes ----

const Attr* Context::make_attr(Attr a) { return arena_.make<Attr>(a); }

const Attr* Context::attr_none() {
  if (!tables_->none) tables_->none = make_attr({.kind = AttrKind::None});
  return tables_->none;
}
const Attr* Context::attr(bool v) {
  const Attr*& slot = tables_->bools[v ? 1 : 0];
  if (!slot) slot = make_attr({.kind = AttrKind::Bool, .integer = v ? 1 : 0});
  return slot;
}
const Attr* Context::attr(std::int64_t v) { return make_attr({.kind = AttrKind::Int, .integer = v}); }
const Attr* Context::attr(double v) { return make_attr({.kind = AttrKind::Float, .floating = v}); }
const Attr* Context::attr(std::string_view v) { return make_attr({.kind = AttrKind::String, .string = str(v)}); }
const Attr* Context::attr(DType v) { return make_attr({.kind = AttrKind::DType, .dtype = v}); }
const Attr* Context::attr(const Expr* v) {
  RLDB_CHECK(v != nullptr, "attribute without an expression");
  // A text does not distinguish it from a plain number.
  if (const auto* i = as<IntImm>(v); i != nullptr && i->dtype() == DType::Int(32)) return attr(i->value);
  return make_attr({.kind = AttrKind::Expr, .node = v});
}
const Attr* Context::attr(const Type* v) {
  RLDB_CHECK(v != nullptr, "attribute without a type");
  return make_attr({.kind = AttrKind::Type, .type = v});
}
const Attr* Context::attr_node(const Node* v) {
  RLDB_CHECK(v != nullptr, "attribute without a node");
  return make_attr({.kind = isa<Expr>(v) ? AttrKind::Expr : AttrKind::Node, .node = v});
}
const Attr* Context::attr_list(std::span<const Attr* const> items, bool is_tuple) {
  return make_attr({.kind = AttrKind::List, .items = list(items), .is_tuple = is_tuple});
}
const Attr* Context::attr_ints(std::span<const std::int64_t> items) {
  std::vector<const Attr*> attrs;
  attrs.reserve(items.size());
  for (std::int64_t v : items) attrs.push_back(attr(v));
  return attr_list(attrs);
}
const Attr* Context::attr_dict(std::span<const NamedAttr> fields) {
  return make_attr({.kind = AttrKind::Dict, .fields = list(fields)});
}
const Attr* Context::attr_opaque(std::string_view constructor, std::span<const Attr* const> items,
                                 std::span<const NamedAttr> fields) {
  return make_attr(
      {.kind = AttrKind::Opaque, .string = str(constructor), .items = list(items), .fields = list(fields)});
}

Span<NamedAttr> Context::with_attr(Span<NamedAttr> attrs, std::string_view name, const Attr* value) {
  std::vector<NamedAttr> out;
  out.reserve(attrs.size() + 1);
  bool placed = false;
  for (const NamedAttr& a : attrs) {
    if (a.name != name) {
      out.push_back(a);
    } else if (value && !placed) {
      out.push_back({a.name, value});
      placed = true;
    }
  }
  if (value && !placed) out.push_back(named(name, value));
  return list(out);
}

// ---- facts about nodes ----

void Context::set_origin(const Node* made, const Node* from) {
  if (made == nullptr || from == nullptr || made == from) return;
  const Span<std::uint32_t> old = origins_.get(made);
  if (old.empty()) {
    origins_.set(made, list({from->id}));
    return;
  }
  std::vector<std::uint32_t> ids(old.begin(), old.end());
  if (std::find(ids.begin(), ids.end(), from->id) != ids.end()) return;
  ids.push_back(from->id);
  origins_.set(made, list(ids));
}

source::Span Context::span_of(const Node* n) const {
  if (n == nullptr) return {};
  if (source::Span s = spans_.get(n)) return s;
  std::vector<std::uint32_t> queue{n->id};
  std::unordered_set<std::uint32_t> seen{n->id};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (source::Span s = spans_.get(queue[i])) return s;
    for (std::uint32_t id : origins_.get(queue[i]))
      if (seen.insert(id).second) queue.push_back(id);
  }
  return {};
}

}  // namespace rldb::ir
