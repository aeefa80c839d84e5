// Structural equality: both sides are walked in step with an explicit stack, so depth costs memory and not C stack.
//
// Equality is first decided without paths; only if the sides differ is the walk repeated with them.
#include "rldb/ir/equal.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "ir/compare/describe.h"
#include "ir/fields.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

constexpr std::uint32_t kNoPath = 0;

struct PathStep {
  std::uint32_t parent;
  std::string_view name;
  std::int64_t index;  // -1: no index
  bool key;            // ["name"]
};

enum class ItemKind : std::uint8_t { Node, Type, Attr, DefVar, DefBuffer, Value };

struct Item {
  ItemKind kind;
  bool defines;  // unknown variables in it are defined here
  std::uint32_t path;
  const void* a;
  const void* b;
};

bool same_value(const runtime::Value& a, const runtime::Value& b) {
  if (!a.is(runtime::ValueKind::Tensor) || !b.is(runtime::ValueKind::Tensor)) return a.kind() == b.kind();
  const runtime::Tensor &x = a.as_tensor(), &y = b.as_tensor();
  if (x.dtype() != y.dtype() || x.shape() != y.shape()) return false;
  return x.byte_size() == 0 || std::memcmp(x.data(), y.data(), x.byte_size()) == 0;
}

class Comparison {
 public:
  Comparison(const EqualOptions& options, bool with_paths) : options_(options), with_paths_(with_paths) {
    steps_.push_back({kNoPath, {}, -1, false});
  }

  bool run(const Node* a, const Node* b) {
    push(ItemKind::Node, a, b, kNoPath);
    return drain();
  }
  bool run(const Module* a, const Module* b);
  bool run(const Attr* a, const Attr* b) {
    push(ItemKind::Attr, a, b, kNoPath);
    return drain();
  }

  Difference take_difference();

 private:
  void push(ItemKind kind, const void* a, const void* b, std::uint32_t path, bool defines = false) {
    pending_.push_back({kind, defines, path, a, b});
  }
  std::uint32_t step(std::uint32_t parent, std::string_view name, std::int64_t index = -1, bool key = false) {
    if (!with_paths_) return kNoPath;
    steps_.push_back({parent, name, index, key});
    return std::uint32_t(steps_.size() - 1);
  }
  bool differ(std::uint32_t path, std::string left, std::string right) {
    difference_.path = path_text(path);
    difference_.left = std::move(left);
    difference_.right = std::move(right);
    return false;
  }
  bool differ(const Item& item, const Node* a, const Node* b) {
    difference_.left_node = a;
    difference_.right_node = b;
    return differ(item.path, describe(a), describe(b));
  }
  std::string path_text(std::uint32_t path) const;

  // Everything pushed so far, the last batch first in its own order.
  bool drain();
  bool compare(const Item& item);
  bool compare_node(const Item& item, const Node* a, const Node* b);
  bool compare_field(const Item& item, const Node* owner_a, const Node* owner_b, const Field& x, const Field& y);
  bool compare_var(const Item& item, const Var* a, const Var* b);
  bool compare_buffer(const Item& item, const Buffer* a, const Buffer* b);
  bool define_var(const Item& item, const Var* a, const Var* b);
  bool define_buffer(const Item& item, const Buffer* a, const Buffer* b);
  bool compare_type(const Item& item, const Type* a, const Type* b);
  bool compare_attr(const Item& item, const Attr* a, const Attr* b);
  bool compare_attrs(std::uint32_t path, std::string_view name, Span<NamedAttr> a, Span<NamedAttr> b);
  bool compare_sizes(std::uint32_t path, std::size_t a, std::size_t b);
  void push_dims(std::uint32_t path, std::string_view name, Span<const Expr*> a, Span<const Expr*> b, bool defines);
  void push_range(std::uint32_t path, const Range& a, const Range& b);
  bool push_region(std::uint32_t path, const BufferRegion& a, const BufferRegion& b);
  bool map(const Node* a, const Node* b);
  bool interchangeable(const Node* a) const {
    return identity_ && (!options_.map_free_vars || isa<Function>(a) || isa<PrimFunc>(a));
  }

  EqualOptions options_;
  bool with_paths_;
  bool identity_ = true;  // every pair mapped so far is of a node with itself
  PointerMap<const Node*> left_;
  PointerMap<const Node*> right_;
  std::vector<Item> stack_;
  std::vector<Item> pending_;
  std::vector<PathStep> steps_;
  std::vector<Field> left_fields_;
  Difference difference_;
};

bool Comparison::drain() {
  for (;;) {
    stack_.insert(stack_.end(), pending_.rbegin(), pending_.rend());
    pending_.clear();
    if (stack_.empty()) return true;
    const Item item = stack_.back();
    stack_.pop_back();
    support::poll();
    if (!compare(item)) return false;
  }
}

bool Comparison::compare(const Item& item) {
  switch (item.kind) {
    case ItemKind::Node:
      return compare_node(item, static_cast<const Node*>(item.a), static_cast<const Node*>(item.b));
    case ItemKind::Type:
      return compare_type(item, static_cast<const Type*>(item.a), static_cast<const Type*>(item.b));
    case ItemKind::Attr:
      return compare_attr(item, static_cast<const Attr*>(item.a), static_cast<const Attr*>(item.b));
    case ItemKind::DefVar:
      return define_var(item, static_cast<const Var*>(item.a), static_cast<const Var*>(item.b));
    case ItemKind::DefBuffer:
      return define_buffer(item, static_cast<const Buffer*>(item.a), static_cast<const Buffer*>(item.b));
    case ItemKind::Value: {
      const auto *a = static_cast<const runtime::Value*>(item.a), *b = static_cast<const runtime::Value*>(item.b);
      if (a == b || same_value(*a, *b)) return true;
      return differ(item.path, runtime::describe(*a), runtime::describe(*b));
    }
  }
  return false;
}

bool Comparison::compare_node(const Item& item, const Node* a, const Node* b) {
  if (a == b && (a == nullptr || interchangeable(a))) return true;
  if (!a || !b || a->kind != b->kind) return differ(item, a, b);
  if (isa<Var>(a)) return compare_var(item, as<Var>(a), as<Var>(b));
  if (isa<Buffer>(a)) return compare_buffer(item, as<Buffer>(a), as<Buffer>(b));
  // A local function may call itself: its variable is known before its value is compared.
  if (const auto* x = as<Binding>(a), *y = as<Binding>(b); x && isa<Function>(x->value) && isa<Function>(y->value))
    map(x->var, y->var);
  left_fields_.clear();
  for_each_field(a, [&](const Field& f) { left_fields_.push_back(f); });
  std::size_t i = 0;
  bool same = true;
  for_each_field(b, [&](const Field& y) {
    if (!same) return;
    same = i < left_fields_.size() && left_fields_[i].role == y.role;
    same = same ? compare_field(item, a, b, left_fields_[i], y) : differ(item, a, b);
    ++i;
  });
  if (same && i != left_fields_.size()) return differ(item, a, b);
  if (!same && !difference_.left_node) {
    difference_.left_node = a;
    difference_.right_node = b;
  }
  if (const auto* x = as<ProducerLoad>(a); same && x && x->tensor != as<ProducerLoad>(b)->tensor)
    return differ(item, a, b);
  return same;
}

bool Comparison::compare_sizes(std::uint32_t path, std::size_t a, std::size_t b) {
  if (a == b) return true;
  return differ(path, fmt::format("{} items", a), fmt::format("{} items", b));
}

bool Comparison::compare_field(const Item& item, const Node* owner_a, const Node* owner_b, const Field& x,
                               const Field& y) {
  const auto here = [&] { return step(item.path, x.name); };
  const auto at = [&](std::size_t i) { return step(item.path, x.name, std::int64_t(i)); };
  switch (x.role) {
    case FieldRole::Use:
    case FieldRole::DefShape: {
      if (x.items == FieldItems::One) {
        push(ItemKind::Node, x.p, y.p, here(), item.defines);
        return true;
      }
      const bool defines = item.defines || x.role == FieldRole::DefShape;
      const std::size_t common = std::min(x.n, y.n);
      if (with_paths_) {
        // The first item that differs is more telling than the counts.
        for (std::size_t i = 0; i < common; ++i) push(ItemKind::Node, x.node(i), y.node(i), at(i), defines);
        if (x.n > y.n) push(ItemKind::Node, x.node(common), nullptr, at(common));
        if (x.n < y.n) push(ItemKind::Node, nullptr, y.node(common), at(common));
        return true;
      }
      if (x.n != y.n) return false;
      for (std::size_t i = 0; i < common; ++i) push(ItemKind::Node, x.node(i), y.node(i), kNoPath, defines);
      return true;
    }
    case FieldRole::UseType: {
      // A call's type is inferred; that of a scalar is its dtype and counts always.
      const bool inferred = owner_a->kind == NodeKind::Call || owner_a->kind == NodeKind::ExternFunc;
      const auto* t = static_cast<const Type*>(x.p);
      if (!options_.compare_types && inferred && t && t->kind != TypeKind::Prim) return true;
      // A variable that occurs only in the return type is first met here.
      const bool is_ret = isa<Function>(owner_a) || isa<PrimFunc>(owner_a);
      push(ItemKind::Type, x.p, y.p, here(), item.defines || is_ret);
      return true;
    }
    case FieldRole::UseTypes:
      if (!compare_sizes(item.path, x.n, y.n)) return false;
      for (std::size_t i = 0; i < x.n; ++i) push(ItemKind::Type, x.type(i), y.type(i), at(i), item.defines);
      return true;
    case FieldRole::DefVar:
      push(ItemKind::DefVar, x.p, y.p, here());
      return true;
    case FieldRole::DefBuffer:
      push(ItemKind::DefBuffer, x.p, y.p, here());
      return true;
    case FieldRole::DefParams:
      if (!compare_sizes(here(), x.n, y.n)) return false;
      for (std::size_t i = 0; i < x.n; ++i) push(ItemKind::DefVar, x.node(i), y.node(i), at(i), true);
      return true;
    case FieldRole::DefPrimParams: {
      if (!compare_sizes(here(), x.n, y.n)) return false;
      const auto p = x.span<PrimParam>(), q = y.span<PrimParam>();
      for (std::size_t i = 0; i < x.n; ++i) {
        if (!p[i].buffer != !q[i].buffer) return differ(at(i), describe(p[i].buffer), describe(q[i].buffer));
        push(ItemKind::DefVar, p[i].var, q[i].var, at(i), true);
      }
      // After all variables: a shape may mention a scalar parameter that comes later.
      for (std::size_t i = 0; i < x.n; ++i)
        if (p[i].buffer) push(ItemKind::DefBuffer, p[i].buffer, q[i].buffer, at(i), true);
      return true;
    }
    case FieldRole::DefType:
      push(ItemKind::Type, x.p, y.p, here(), true);
      return true;
    case FieldRole::DefIterVars: {
      if (!compare_sizes(here(), x.n, y.n)) return false;
      const auto p = x.span<IterVar>(), q = y.span<IterVar>();
      for (std::size_t i = 0; i < x.n; ++i) {
        const std::uint32_t path = at(i);
        if (p[i].kind != q[i].kind)
          return differ(path, fmt::format("axis kind {}", int(p[i].kind)), fmt::format("axis kind {}", int(q[i].kind)));
        push_range(path, p[i].dom, q[i].dom);
        push(ItemKind::DefVar, p[i].var, q[i].var, path);
      }
      return true;
    }
    case FieldRole::DefBuffers:
      if (!compare_sizes(here(), x.n, y.n)) return false;
      for (std::size_t i = 0; i < x.n; ++i) push(ItemKind::DefBuffer, x.node(i), y.node(i), at(i));
      return true;
    case FieldRole::DefMatchBuffers: {
      if (!compare_sizes(here(), x.n, y.n)) return false;
      const auto p = x.span<MatchBufferRegion>(), q = y.span<MatchBufferRegion>();
      for (std::size_t i = 0; i < x.n; ++i) {
        const std::uint32_t path = at(i);
        if (!push_region(path, p[i].source, q[i].source)) return false;
        push(ItemKind::DefBuffer, p[i].buffer, q[i].buffer, path, true);
      }
      return true;
    }
    case FieldRole::UseRegions: {
      if (!compare_sizes(here(), x.n, y.n)) return false;
      const auto p = x.span<BufferRegion>(), q = y.span<BufferRegion>();
      for (std::size_t i = 0; i < x.n; ++i)
        if (!push_region(at(i), p[i], q[i])) return false;
      return true;
    }
    case FieldRole::Text:
      if (x.text() == y.text()) return true;
      return differ(here(), fmt::format("\"{}\"", x.text()), fmt::format("\"{}\"", y.text()));
    case FieldRole::Texts: {
      const auto p = x.span<std::string_view>(), q = y.span<std::string_view>();
      if (std::equal(p.begin(), p.end(), q.begin(), q.end())) return true;
      return differ(item.path, fmt::format("{} with other texts", x.name), fmt::format("{}", y.name));
    }
    case FieldRole::Int:
      if (x.integer == y.integer) return true;
      if (isa<IntImm>(owner_a) || isa<DTypeImm>(owner_a)) return differ(here(), describe(owner_a), describe(owner_b));
      return differ(here(), std::to_string(x.integer), std::to_string(y.integer));
    case FieldRole::Float: {
      const bool both_nan = x.floating != x.floating && y.floating != y.floating;
      if (both_nan || std::bit_cast<std::uint64_t>(x.floating) == std::bit_cast<std::uint64_t>(y.floating)) return true;
      return differ(here(), fmt::format("{}", x.floating), fmt::format("{}", y.floating));
    }
    case FieldRole::Value:
      push(ItemKind::Value, x.p, y.p, here());
      return true;
    case FieldRole::Attr:
      push(ItemKind::Attr, x.p, y.p, here());
      return true;
    case FieldRole::Attrs:
      return compare_attrs(item.path, x.name, x.span<NamedAttr>(), y.span<NamedAttr>());
  }
  return false;
}

bool Comparison::map(const Node* a, const Node* b) {
  if (a != b) identity_ = false;
  left_.set(a, b);
  right_.set(b, a);
  return true;
}

// A use: the definitions must correspond. Without a definition: the same variable, or a fresh pair if allowed.
bool Comparison::compare_var(const Item& item, const Var* a, const Var* b) {
  const Node* to = left_.get(a);
  const Node* from = right_.get(b);
  if (to || from) return to == b && from == a ? true : differ(item, a, b);
  if (a == b && !item.defines && !options_.map_free_vars) return true;
  if (!item.defines && !options_.map_free_vars) return differ(item, a, b);
  if (a->type != b->type) push(ItemKind::Type, a->type, b->type, step(item.path, "type"), true);
  return map(a, b);
}

bool Comparison::compare_buffer(const Item& item, const Buffer* a, const Buffer* b) {
  const Node* to = left_.get(a);
  const Node* from = right_.get(b);
  if (to || from) return to == b && from == a ? true : differ(item, a, b);
  if (a == b) return true;
  if (!options_.map_free_vars) return differ(item, a, b);
  return define_buffer(item, a, b);
}

bool Comparison::define_var(const Item& item, const Var* a, const Var* b) {
  if (a == b && identity_ && !options_.map_free_vars && !left_.find(a)) return true;
  if (!a || !b || a->kind != b->kind) return differ(item, a, b);
  const bool is_inferred = !item.defines && a->type->kind != TypeKind::Prim;
  if (options_.compare_types || !is_inferred)
    push(ItemKind::Type, a->type, b->type, step(item.path, "type"), item.defines);
  return map(a, b);
}

bool Comparison::define_buffer(const Item& item, const Buffer* a, const Buffer* b) {
  if (!a || !b) return a == b ? true : differ(item, a, b);
  if (a == b && identity_ && !options_.map_free_vars) return true;
  // The buffer brings the data variable, unless it is that of a parameter or of another buffer.
  if (left_.find(a->data) || right_.find(b->data)) {
    push(ItemKind::Node, a->data, b->data, step(item.path, "data"));
  } else {
    push(ItemKind::DefVar, a->data, b->data, step(item.path, "data"));
  }
  // Only parameters and match_buffer define the variables of their shape.
  left_fields_.clear();
  for_each_field(a, [&](const Field& f) { left_fields_.push_back(f); });
  Item inner = item;
  inner.defines = item.defines || options_.map_free_vars;
  std::size_t i = 0;
  bool same = true;
  for_each_field(b, [&](Field y) {
    Field x = left_fields_[i++];
    if (x.role == FieldRole::DefShape) x.role = y.role = FieldRole::Use;
    same = same && compare_field(inner, a, b, x, y);
  });
  if (!same && !difference_.left_node) {
    difference_.left_node = a;
    difference_.right_node = b;
  }
  return same && map(a, b);
}

void Comparison::push_dims(std::uint32_t path, std::string_view name, Span<const Expr*> a, Span<const Expr*> b,
                           bool defines) {
  for (std::size_t i = 0; i < a.size(); ++i)
    push(ItemKind::Node, a[i], b[i], step(path, name, std::int64_t(i)), defines);
}
void Comparison::push_range(std::uint32_t path, const Range& a, const Range& b) {
  push(ItemKind::Node, a.min, b.min, step(path, "min"));
  push(ItemKind::Node, a.extent, b.extent, step(path, "extent"));
}
bool Comparison::push_region(std::uint32_t path, const BufferRegion& a, const BufferRegion& b) {
  push(ItemKind::Node, a.buffer, b.buffer, step(path, "buffer"));
  if (!compare_sizes(path, a.region.size(), b.region.size())) return false;
  for (std::size_t i = 0; i < a.region.size(); ++i)
    push_range(step(path, "region", std::int64_t(i)), a.region[i], b.region[i]);
  return true;
}

bool Comparison::compare_type(const Item& item, const Type* x, const Type* y) {
  if (x == y && (!x || !x->has_vars || (identity_ && !options_.map_free_vars))) return true;
  const auto no = [&] { return differ(item.path, describe(x), describe(y)); };
  if (!x || !y || x->kind != y->kind) return no();
  switch (x->kind) {
    case TypeKind::Any:
      return true;
    case TypeKind::Prim:
      return as<PrimType>(x)->dtype == as<PrimType>(y)->dtype ? true : no();
    case TypeKind::Shape: {
      const auto *a = as<ShapeType>(x), *b = as<ShapeType>(y);
      if (a->ndim != b->ndim || a->has_values != b->has_values) return no();
      push_dims(item.path, "values", a->values, b->values, item.defines);
      return true;
    }
    case TypeKind::Tensor: {
      const auto *a = as<TensorType>(x), *b = as<TensorType>(y);
      if (a->dtype != b->dtype || a->ndim != b->ndim || a->has_shape != b->has_shape) return no();
      if (!a->shape_var != !b->shape_var || !a->vdevice != !b->vdevice) return no();
      if (const VDevice* p = a->vdevice, *q = b->vdevice; p && p != q) {
        if (p->target_kind != q->target_kind || p->device_id != q->device_id || p->memory_scope != q->memory_scope)
          return no();
        if (p->target || q->target) push(ItemKind::Attr, p->target, q->target, step(item.path, "vdevice"));
      }
      if (a->shape_var) push(ItemKind::Node, a->shape_var, b->shape_var, step(item.path, "shape"), item.defines);
      push_dims(item.path, "shape", a->shape, b->shape, item.defines);
      return true;
    }
    case TypeKind::DTensor: {
      const auto *a = as<DTensorType>(x), *b = as<DTensorType>(y);
      if (a->placement != b->placement) return no();
      push(ItemKind::Type, a->tensor, b->tensor, item.path, item.defines);
      push(ItemKind::Attr, a->device_mesh, b->device_mesh, step(item.path, "device_mesh"));
      return true;
    }
    case TypeKind::Tuple: {
      const auto *a = as<TupleType>(x), *b = as<TupleType>(y);
      if (a->fields.size() != b->fields.size()) return no();
      for (std::size_t i = 0; i < a->fields.size(); ++i)
        push(ItemKind::Type, a->fields[i], b->fields[i], step(item.path, "fields", std::int64_t(i)), item.defines);
      return true;
    }
    case TypeKind::Func: {
      const auto *a = as<FuncType>(x), *b = as<FuncType>(y);
      if (a->opaque != b->opaque || a->pure != b->pure || a->derive_func != b->derive_func ||
          a->params.size() != b->params.size())
        return no();
      // The parameters of a function type define the variables that they mention.
      for (std::size_t i = 0; i < a->params.size(); ++i)
        push(ItemKind::Type, a->params[i], b->params[i], step(item.path, "params", std::int64_t(i)), true);
      push(ItemKind::Type, a->ret, b->ret, step(item.path, "ret"), true);
      return true;
    }
    case TypeKind::Pointer: {
      const auto *a = as<PointerType>(x), *b = as<PointerType>(y);
      return a->element == b->element && a->scope == b->scope ? true : no();
    }
  }
  return no();
}

bool Comparison::compare_attr(const Item& item, const Attr* a, const Attr* b) {
  const auto no = [&] { return differ(item.path, describe(a), describe(b)); };
  if (a == b && !a) return true;
  if (!a || !b || a->kind != b->kind) return no();
  switch (a->kind) {
    case AttrKind::None:
      return true;
    case AttrKind::Bool:
    case AttrKind::Int:
      return a->integer == b->integer ? true : no();
    case AttrKind::Float:
      return a->floating == b->floating || (a->floating != a->floating && b->floating != b->floating) ? true : no();
    case AttrKind::String:
      return a->string == b->string ? true : no();
    case AttrKind::DType:
      return a->dtype == b->dtype ? true : no();
    case AttrKind::Expr:
    case AttrKind::Node:
      push(ItemKind::Node, a->node, b->node, item.path);
      return true;
    case AttrKind::Type:
      push(ItemKind::Type, a->type, b->type, item.path);
      return true;
    case AttrKind::Opaque:
      if (a->string != b->string) return no();
      break;
    case AttrKind::List:
    case AttrKind::Dict:
      break;
  }
  if (a->items.size() != b->items.size()) return no();
  for (std::size_t i = 0; i < a->items.size(); ++i)
    push(ItemKind::Attr, a->items[i], b->items[i], step(item.path, {}, std::int64_t(i)));
  return compare_attrs(item.path, {}, a->fields, b->fields);
}

// Attributes correspond by name, in any order.
bool Comparison::compare_attrs(std::uint32_t path, std::string_view name, Span<NamedAttr> a, Span<NamedAttr> b) {
  if (a.data() == b.data() && a.size() == b.size() && identity_ && !options_.map_free_vars) return true;
  const std::uint32_t inside = name.empty() ? path : step(path, name);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Attr* other = i < b.size() && b[i].name == a[i].name ? b[i].value : find_attr(b, a[i].name);
    if (!other) return differ(step(inside, a[i].name, -1, true), describe(a[i].value), "nothing");
    push(ItemKind::Attr, a[i].value, other, step(inside, a[i].name, -1, true));
  }
  for (const NamedAttr& f : b)
    if (!find_attr(a, f.name)) return differ(step(inside, f.name, -1, true), "nothing", describe(f.value));
  return true;
}

bool Comparison::run(const Module* a, const Module* b) {
  if (a == b) return true;
  if (!options_.ignore_module_name && a->name != b->name)
    return differ(step(kNoPath, "name"), std::string(a->name), std::string(b->name));
  std::size_t i = 0, j = 0;
  while (i < a->entries.size() || j < b->entries.size()) {
    const ModuleEntry* x = i < a->entries.size() ? &a->entries[i] : nullptr;
    const ModuleEntry* y = j < b->entries.size() ? &b->entries[j] : nullptr;
    const int order = !x ? 1 : !y ? -1 : x->name.compare(y->name);
    if (order != 0) {
      const ModuleEntry& only = order < 0 ? *x : *y;
      (order < 0 ? difference_.left_node : difference_.right_node) = only.function;
      const std::string text = describe(only.function);
      return order < 0 ? differ(step(kNoPath, only.name), text, "nothing")
                       : differ(step(kNoPath, only.name), "nothing", text);
    }
    if (x->function != y->function) push(ItemKind::Node, x->function, y->function, step(kNoPath, x->name));
    ++i;
    ++j;
  }
  // Functions first, then the attributes of the whole.
  if (!drain() || !compare_attrs(kNoPath, "attrs", a->attrs, b->attrs)) return false;
  const std::uint32_t path = step(kNoPath, "global_infos");
  if (!compare_sizes(path, a->global_infos.size(), b->global_infos.size())) return false;
  for (const GlobalInfo& info : a->global_infos) {
    const auto other = std::find_if(b->global_infos.begin(), b->global_infos.end(),
                                    [&](const GlobalInfo& o) { return o.key == info.key; });
    const std::uint32_t at = step(path, info.key, -1, true);
    if (other == b->global_infos.end()) return differ(at, "present", "nothing");
    if (!compare_sizes(at, info.items.size(), other->items.size())) return false;
    for (std::size_t k = 0; k < info.items.size(); ++k)
      push(ItemKind::Attr, info.items[k], other->items[k], step(at, {}, std::int64_t(k)));
  }
  return drain();
}

std::string Comparison::path_text(std::uint32_t path) const {
  std::vector<std::uint32_t> chain;
  for (; path != kNoPath; path = steps_[path].parent) chain.push_back(path);
  std::string out;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const PathStep& s = steps_[*it];
    if (s.key) {
      out += fmt::format("[\"{}\"]", s.name);
      continue;
    }
    if (!out.empty() && !s.name.empty()) out += '.';
    out += s.name;
    if (s.index >= 0) out += fmt::format("[{}]", s.index);
  }
  return out;
}

Difference Comparison::take_difference() { return std::move(difference_); }

template <class T>
std::optional<Difference> difference_of(const T* a, const T* b, const EqualOptions& options) {
  if (Comparison(options, false).run(a, b)) return std::nullopt;
  Comparison again(options, true);
  const bool same = again.run(a, b);
  RLDB_CHECK(!same, "a difference was found once and not again");
  return again.take_difference();
}

}  // namespace

std::optional<Difference> first_difference(const Node* a, const Node* b, const EqualOptions& options) {
  return difference_of(a, b, options);
}
std::optional<Difference> first_difference(const Module* a, const Module* b, const EqualOptions& options) {
  return difference_of(a, b, options);
}
bool structural_equal(const Node* a, const Node* b, const EqualOptions& options) {
  return Comparison(options, false).run(a, b);
}
bool structural_equal(const Module* a, const Module* b, const EqualOptions& options) {
  return Comparison(options, false).run(a, b);
}

}  // namespace rldb::ir
