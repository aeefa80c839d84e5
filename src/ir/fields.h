// Fields of any node as a flat list: the basis of equality, hash, walks and free variables.
//
// `for_each_field(n, f)` calls f(const Field&) in the order of the struct's `fields`; definitions keep their role.
#pragma once

#include "ir/build/context_tables.h"
#include "rldb/ir/stmt.h"

namespace rldb::ir {

// f(const Struct*) for the struct that holds nodes of n's kind.
template <class F>
void visit_struct(const Node* n, F&& f) {
  switch (n->kind) {
#define RLDB_NODE(Kind, Struct, doc) \
  case NodeKind::Kind:               \
    return f(static_cast<const Struct*>(n));
#include "rldb/ir/node.def"
  }
}

enum class FieldRole : std::uint8_t {
#define RLDB_FIELD_ROLE(Role, doc) Role,
#include "ir/field_role.def"
};

// Which pointers `items` points at: spans of different node types may not be read through one another.
enum class FieldItems : std::uint8_t { One, Exprs, Stmts, Bindings, Blocks, Vars, Buffers };

struct Field {
  const char* name;
  FieldRole role;
  FieldItems items = FieldItems::One;
  const void* p = nullptr;  // One: the node, type, attr, value itself; else the first item of the span
  std::size_t n = 0;        // items of the span; 1 for One
  std::int64_t integer = 0;
  double floating = 0;

  template <class T>
  Span<T> span() const {
    return {static_cast<const T*>(p), n};
  }
  const Node* node(std::size_t i) const {
    switch (items) {
      case FieldItems::One:
        return static_cast<const Node*>(p);
      case FieldItems::Exprs:
        return static_cast<const Expr* const*>(p)[i];
      case FieldItems::Stmts:
        return static_cast<const Stmt* const*>(p)[i];
      case FieldItems::Bindings:
        return static_cast<const Binding* const*>(p)[i];
      case FieldItems::Blocks:
        return static_cast<const BindingBlock* const*>(p)[i];
      case FieldItems::Vars:
        return static_cast<const Var* const*>(p)[i];
      case FieldItems::Buffers:
        return static_cast<const Buffer* const*>(p)[i];
    }
    return nullptr;
  }
  const Type* type(std::size_t i) const {
    return role == FieldRole::UseTypes ? span<const Type*>()[i] : static_cast<const Type*>(p);
  }
  std::string_view text() const { return {static_cast<const char*>(p), n}; }
};

// Adapts the calls that a struct's `fields` makes to f(const Field&).
template <class F>
struct FieldReader {
  F& f;

  void one(const char* name, FieldRole role, const Node* n) { f(Field{name, role, FieldItems::One, n, 1}); }
  template <class T>
  void many(const char* name, FieldRole role, FieldItems items, Span<T> s) {
    f(Field{name, role, items, s.data(), s.size()});
  }

  void use(const char* name, const Expr* e) { one(name, FieldRole::Use, e); }
  void use(const char* name, const Stmt* s) { one(name, FieldRole::Use, s); }
  void use(const char* name, const Buffer* b) { one(name, FieldRole::Use, b); }
  void use(const char* name, const Type* t) { f(Field{name, FieldRole::UseType, FieldItems::One, t, 1}); }
  void use(const char* name, Span<const Expr*> s) { many(name, FieldRole::Use, FieldItems::Exprs, s); }
  void use(const char* name, Span<const Stmt*> s) { many(name, FieldRole::Use, FieldItems::Stmts, s); }
  void use(const char* name, Span<const Binding*> s) { many(name, FieldRole::Use, FieldItems::Bindings, s); }
  void use(const char* name, Span<const BindingBlock*> s) { many(name, FieldRole::Use, FieldItems::Blocks, s); }
  void use(const char* name, Span<const Type*> s) { many(name, FieldRole::UseTypes, FieldItems::One, s); }

  void def(const char* name, const Var* v) { one(name, FieldRole::DefVar, v); }
  void def(const char* name, const Buffer* b) { one(name, FieldRole::DefBuffer, b); }
  void def_params(const char* name, Span<const Var*> s) { many(name, FieldRole::DefParams, FieldItems::Vars, s); }
  void def_prim_params(const char* name, Span<PrimParam> s) {
    many(name, FieldRole::DefPrimParams, FieldItems::One, s);
  }
  void def_shape(const char* name, Span<const Expr*> s) { many(name, FieldRole::DefShape, FieldItems::Exprs, s); }
  void def_type(const char* name, const Type* t) { f(Field{name, FieldRole::DefType, FieldItems::One, t, 1}); }
  void def_iter_vars(const char* name, Span<IterVar> s) { many(name, FieldRole::DefIterVars, FieldItems::One, s); }
  void def_buffers(const char* name, Span<const Buffer*> s) {
    many(name, FieldRole::DefBuffers, FieldItems::Buffers, s);
  }
  void def_match_buffers(const char* name, Span<MatchBufferRegion> s) {
    many(name, FieldRole::DefMatchBuffers, FieldItems::One, s);
  }
  void use_regions(const char* name, Span<BufferRegion> s) { many(name, FieldRole::UseRegions, FieldItems::One, s); }

  void data(const char* name, std::string_view s) {
    f(Field{name, FieldRole::Text, FieldItems::One, s.data(), s.size()});
  }
  void data(const char* name, Span<std::string_view> s) { many(name, FieldRole::Texts, FieldItems::One, s); }
  void data(const char* name, std::int64_t v) { f(Field{name, FieldRole::Int, FieldItems::One, nullptr, 0, v}); }
  void data(const char* name, bool v) { data(name, std::int64_t(v)); }
  void data(const char* name, double v) { f(Field{name, FieldRole::Float, FieldItems::One, nullptr, 0, 0, v}); }
  void data(const char* name, DType t) { data(name, std::int64_t(dtype_bits(t))); }
  void data(const char* name, const runtime::Value* v) { f(Field{name, FieldRole::Value, FieldItems::One, v, 1}); }
  void data(const char* name, const ir::Attr* a) { f(Field{name, FieldRole::Attr, FieldItems::One, a, 1}); }
  void data(const char* name, Span<NamedAttr> s) { many(name, FieldRole::Attrs, FieldItems::One, s); }
};

template <class F>
void for_each_field(const Node* n, F&& f) {
  FieldReader<std::remove_reference_t<F>> reader{f};
  visit_struct(n, [&](const auto* s) { s->fields(reader); });
}

// A map from pointers with open addressing: the side tables of one comparison or walk.
template <class V>
class PointerMap {
 public:
  V* find(const void* key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (!slots_[i].key) return nullptr;
    }
  }
  V get(const void* key) {
    V* v = find(key);
    return v ? *v : V{};
  }
  // True if the key was not there before.
  bool set(const void* key, V value) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    std::size_t i = start(key);
    while (slots_[i].key && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    const bool fresh = !slots_[i].key;
    slots_[i] = {key, value};
    if (fresh) ++count_;
    return fresh;
  }
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    const void* key = nullptr;
    V value{};
  };
  std::size_t start(const void* key) const {
    return std::size_t((reinterpret_cast<std::uintptr_t>(key) >> 3) * 0x9e3779b97f4a7c15ull >> 20) &
           (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 32 : old.size() * 2, Slot{});
    count_ = 0;
    for (const Slot& s : old)
      if (s.key) set(s.key, s.value);
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace rldb::ir
