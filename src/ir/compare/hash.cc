// Structural hash: over the pre-order sequence of a structure's parts, variables by the order of first occurrence.
//
// Independent of the process (no pointers, no std::hash): the kernel cache keeps hashes on disk.
#include <bit>
#include <cstring>

#include "ir/fields.h"
#include "rldb/ir/equal.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

class Hash {
 public:
  std::uint64_t run(const Node* n) {
    push(Kind::Node, n);
    drain();
    return h_;
  }
  std::uint64_t run(const Module* m);

 private:
  enum class Kind : std::uint8_t { Node, Type, Attr, DefVar, DefBuffer, Value };
  struct Item {
    Kind kind;
    const void* p;
  };

  void push(Kind kind, const void* p) { pending_.push_back({kind, p}); }
  void add(std::uint64_t v) { h_ = mix(h_, v); }
  void add_bytes(const void* data, std::size_t size);
  void add_text(std::string_view s) { add_bytes(s.data(), s.size()); }
  void add_attrs(Span<NamedAttr> attrs);
  void drain();
  void visit_node(const Node* n);
  void visit_field(const Field& f);
  void visit_buffer(const Buffer* b);
  void visit_type(const Type* t);
  void visit_attr(const Attr* a);
  void push_region(const BufferRegion& r);
  // The number of a variable or buffer; the first occurrence assigns it and returns true.
  bool number(const Node* n);

  std::uint64_t h_ = 0x52'4c'44'42'00'01ull;  // changes with the format of the hash
  std::uint64_t next_ = 1;
  PointerMap<std::uint64_t> numbers_;
  std::vector<Item> stack_;
  std::vector<Item> pending_;
};

void Hash::add_bytes(const void* data, std::size_t size) {
  add(size);
  const auto* p = static_cast<const char*>(data);
  for (; size >= 8; size -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    add(word);
  }
  if (size == 0) return;
  std::uint64_t word = 0;
  std::memcpy(&word, p, size);
  add(word);
}

void Hash::drain() {
  for (;;) {
    stack_.insert(stack_.end(), pending_.rbegin(), pending_.rend());
    pending_.clear();
    if (stack_.empty()) return;
    const Item item = stack_.back();
    stack_.pop_back();
    support::poll();
    switch (item.kind) {
      case Kind::Node:
        visit_node(static_cast<const Node*>(item.p));
        break;
      case Kind::Type:
        visit_type(static_cast<const Type*>(item.p));
        break;
      case Kind::Attr:
        visit_attr(static_cast<const Attr*>(item.p));
        break;
      case Kind::DefVar: {
        const auto* v = static_cast<const Var*>(item.p);
        add(std::uint64_t(v->kind));
        if (number(v)) push(Kind::Type, v->type);
        break;
      }
      case Kind::DefBuffer:
        visit_buffer(static_cast<const Buffer*>(item.p));
        break;
      case Kind::Value: {
        const auto& v = *static_cast<const runtime::Value*>(item.p);
        add(std::uint64_t(v.kind()));
        if (!v.is(runtime::ValueKind::Tensor)) break;
        const runtime::Tensor& t = v.as_tensor();
        add(dtype_bits(t.dtype()));
        for (std::int64_t d : t.shape()) add(std::uint64_t(d));
        add_bytes(t.data(), t.byte_size());
        break;
      }
    }
  }
}

bool Hash::number(const Node* n) {
  if (const std::uint64_t* known = numbers_.find(n)) {
    add(*known);
    return false;
  }
  numbers_.set(n, next_);
  add(next_++);
  return true;
}

void Hash::visit_node(const Node* n) {
  if (n == nullptr) return add(0);
  add(std::uint64_t(n->kind) + 1);
  if (isa<Var>(n)) {
    number(n);
  } else if (const auto* b = as<Buffer>(n)) {
    visit_buffer(b);
  } else {
    for_each_field(n, [&](const Field& f) { visit_field(f); });
  }
}

void Hash::visit_buffer(const Buffer* b) {
  if (b == nullptr) return add(0);
  if (!number(b)) return;
  push(Kind::DefVar, b->data);
  for_each_field(b, [&](const Field& f) { visit_field(f); });
}

void Hash::push_region(const BufferRegion& r) {
  push(Kind::Node, r.buffer);
  add(r.region.size());
  for (const Range& range : r.region) {
    push(Kind::Node, range.min);
    push(Kind::Node, range.extent);
  }
}

void Hash::visit_field(const Field& f) {
  switch (f.role) {
    case FieldRole::Use:
    case FieldRole::DefShape:
      if (f.items != FieldItems::One) add(f.n);
      for (std::size_t i = 0; i < f.n; ++i) push(Kind::Node, f.node(i));
      return;
    case FieldRole::UseType:
    case FieldRole::DefType:
      return push(Kind::Type, f.p);
    case FieldRole::UseTypes:
      add(f.n);
      for (std::size_t i = 0; i < f.n; ++i) push(Kind::Type, f.type(i));
      return;
    case FieldRole::DefVar:
      return push(Kind::DefVar, f.p);
    case FieldRole::DefBuffer:
      return push(Kind::DefBuffer, f.p);
    case FieldRole::DefParams:
      add(f.n);
      for (std::size_t i = 0; i < f.n; ++i) push(Kind::DefVar, f.node(i));
      return;
    case FieldRole::DefPrimParams:
      add(f.n);
      for (const PrimParam& p : f.span<PrimParam>()) push(Kind::DefVar, p.var);
      for (const PrimParam& p : f.span<PrimParam>())
        if (p.buffer) push(Kind::DefBuffer, p.buffer);
      return;
    case FieldRole::DefIterVars:
      add(f.n);
      for (const IterVar& v : f.span<IterVar>()) {
        add(std::uint64_t(v.kind));
        push(Kind::Node, v.dom.min);
        push(Kind::Node, v.dom.extent);
        push(Kind::DefVar, v.var);
      }
      return;
    case FieldRole::DefBuffers:
      add(f.n);
      for (std::size_t i = 0; i < f.n; ++i) push(Kind::DefBuffer, f.node(i));
      return;
    case FieldRole::DefMatchBuffers:
      add(f.n);
      for (const MatchBufferRegion& m : f.span<MatchBufferRegion>()) {
        push_region(m.source);
        push(Kind::DefBuffer, m.buffer);
      }
      return;
    case FieldRole::UseRegions:
      add(f.n);
      for (const BufferRegion& r : f.span<BufferRegion>()) push_region(r);
      return;
    case FieldRole::Text:
      return add_text(f.text());
    case FieldRole::Texts:
      add(f.n);
      for (std::string_view s : f.span<std::string_view>()) add_text(s);
      return;
    case FieldRole::Int:
      return add(std::uint64_t(f.integer));
    case FieldRole::Float:
      return add(f.floating != f.floating ? 1 : std::bit_cast<std::uint64_t>(f.floating));
    case FieldRole::Value:
      return push(Kind::Value, f.p);
    case FieldRole::Attr:
      return push(Kind::Attr, f.p);
    case FieldRole::Attrs:
      return add_attrs(f.span<NamedAttr>());
  }
}

// By name: their order does not count.
void Hash::add_attrs(Span<NamedAttr> attrs) {
  add(attrs.size());
  if (attrs.empty()) return;
  std::vector<NamedAttr> sorted(attrs.begin(), attrs.end());
  std::sort(sorted.begin(), sorted.end(), [](const NamedAttr& a, const NamedAttr& b) { return a.name < b.name; });
  for (const NamedAttr& a : sorted) {
    add_text(a.name);
    push(Kind::Attr, a.value);
  }
}

void Hash::visit_type(const Type* t) {
  if (t == nullptr) return add(0);
  add(std::uint64_t(t->kind) + 101);
  switch (t->kind) {
    case TypeKind::Any:
      return;
    case TypeKind::Prim:
      return add(dtype_bits(as<PrimType>(t)->dtype));
    case TypeKind::Shape: {
      const auto* s = as<ShapeType>(t);
      add(std::uint64_t(s->ndim) * 2 + (s->has_values ? 1 : 0));
      for (const Expr* e : s->values) push(Kind::Node, e);
      return;
    }
    case TypeKind::Tensor: {
      const auto* s = as<TensorType>(t);
      add(dtype_bits(s->dtype));
      add(std::uint64_t(s->ndim) * 2 + (s->has_shape ? 1 : 0));
      if (s->vdevice) {
        add_text(s->vdevice->target_kind);
        add_text(s->vdevice->memory_scope);
        add(std::uint64_t(s->vdevice->device_id));
      }
      if (s->shape_var) push(Kind::Node, s->shape_var);
      for (const Expr* e : s->shape) push(Kind::Node, e);
      return;
    }
    case TypeKind::DTensor: {
      const auto* s = as<DTensorType>(t);
      add_text(s->placement);
      push(Kind::Type, s->tensor);
      return push(Kind::Attr, s->device_mesh);
    }
    case TypeKind::Tuple: {
      const auto* s = as<TupleType>(t);
      add(s->fields.size());
      for (const Type* f : s->fields) push(Kind::Type, f);
      return;
    }
    case TypeKind::Func: {
      const auto* s = as<FuncType>(t);
      add(std::uint64_t(s->pure) * 2 + std::uint64_t(s->opaque));
      add_text(s->derive_func);
      add(s->params.size());
      for (const Type* p : s->params) push(Kind::Type, p);
      return push(Kind::Type, s->ret);
    }
    case TypeKind::Pointer: {
      const auto* s = as<PointerType>(t);
      add(dtype_bits(s->element));
      return add_text(s->scope);
    }
  }
}

void Hash::visit_attr(const Attr* a) {
  if (a == nullptr) return add(0);
  add(std::uint64_t(a->kind) + 201);
  switch (a->kind) {
    case AttrKind::None:
      return;
    case AttrKind::Bool:
    case AttrKind::Int:
      return add(std::uint64_t(a->integer));
    case AttrKind::Float: {
      const double v = a->floating == 0 ? 0 : a->floating;  // -0.0 equals 0.0
      return add(v != v ? 1 : std::bit_cast<std::uint64_t>(v));
    }
    case AttrKind::String:
      return add_text(a->string);
    case AttrKind::DType:
      return add(dtype_bits(a->dtype));
    case AttrKind::Expr:
    case AttrKind::Node:
      return push(Kind::Node, a->node);
    case AttrKind::Type:
      return push(Kind::Type, a->type);
    case AttrKind::Opaque:
      add_text(a->string);
      break;
    case AttrKind::List:
    case AttrKind::Dict:
      break;
  }
  add(a->items.size());
  for (const Attr* i : a->items) push(Kind::Attr, i);
  add_attrs(a->fields);
}

std::uint64_t Hash::run(const Module* m) {
  for (const ModuleEntry& e : m->entries) {
    add_text(e.name);
    push(Kind::Node, e.function);
    drain();
  }
  add_attrs(m->attrs);
  drain();
  std::vector<const GlobalInfo*> infos;
  for (const GlobalInfo& info : m->global_infos) infos.push_back(&info);
  std::sort(infos.begin(), infos.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
  for (const GlobalInfo* info : infos) {
    add_text(info->key);
    for (const Attr* a : info->items) push(Kind::Attr, a);
    drain();
  }
  return h_;
}

}  // namespace

std::uint64_t structural_hash(const Node* n) { return Hash().run(n); }
std::uint64_t structural_hash(const Module* m) { return Hash().run(m); }

}  // namespace rldb::ir
