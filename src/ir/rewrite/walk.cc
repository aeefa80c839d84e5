// Walks over any node, derived from the fields of the structs.
#include "rldb/ir/walk.h"

#include <unordered_set>

#include "ir/fields.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

template <class F>
void attr_uses(const Attr* a, F&& f) {
  if (a == nullptr) return;
  if (a->node) f(a->node);
  for (const Attr* i : a->items) attr_uses(i, f);
  for (const NamedAttr& n : a->fields) attr_uses(n.value, f);
}

template <class F>
void region_uses(const BufferRegion& r, F&& f) {
  if (r.buffer) f(r.buffer);
  for (const Range& range : r.region) {
    f(range.min);
    f(range.extent);
  }
}

template <class F>
void field_uses(const Field& field, F&& f) {
  switch (field.role) {
    case FieldRole::Use:
      for (std::size_t i = 0; i < field.n; ++i)
        if (const Node* n = field.node(i)) f(n);
      return;
    case FieldRole::DefIterVars:
      for (const IterVar& v : field.span<IterVar>()) {
        f(v.dom.min);
        f(v.dom.extent);
      }
      return;
    case FieldRole::DefMatchBuffers:
      for (const MatchBufferRegion& m : field.span<MatchBufferRegion>()) region_uses(m.source, f);
      return;
    case FieldRole::UseRegions:
      for (const BufferRegion& r : field.span<BufferRegion>()) region_uses(r, f);
      return;
    case FieldRole::Attr:
      return attr_uses(static_cast<const Attr*>(field.p), f);
    case FieldRole::Attrs:
      for (const NamedAttr& a : field.span<NamedAttr>()) attr_uses(a.value, f);
      return;
    case FieldRole::UseType:
    case FieldRole::UseTypes:
#define RLDB_FIELD_DEFINITION(Role, ...) case FieldRole::Role:
#define RLDB_FIELD_DATA(Role, ...) case FieldRole::Role:
#include "ir/field_role.def"
      return;
  }
}

template <class F>
void uses(const Node* n, F&& f) {
  for_each_field(n, [&](const Field& field) { field_uses(field, f); });
}

// Variables that a node reads and those that it defines, types included.
class Variables {
 public:
  void run(const Node* n) {
    stack_.push_back(n);
    while (!stack_.empty()) {
      const Node* top = stack_.back();
      stack_.pop_back();
      support::poll();
      visit(top);
    }
  }
  std::vector<const Var*> free() {
    std::vector<const Var*> out;
    for (const Var* v : used_)
      if (!defined_.find(v)) out.push_back(v);
    return out;
  }

 private:
  void visit(const Node* n) {
    if (const auto* v = as<Var>(n)) return use(v);
    if (const auto* b = as<Buffer>(n)) return use_buffer(b);
    const std::size_t base = stack_.size();
    for_each_field(n, [&](const Field& f) {
      define(f);
      field_uses(f, [&](const Node* child) { stack_.push_back(child); });
    });
    std::reverse(stack_.begin() + std::ptrdiff_t(base), stack_.end());
  }
  void use(const Var* v) {
    if (seen_.set(v, true)) used_.push_back(v);
  }
  void use_dims(Span<const Expr*> dims) {
    for (const Expr* e : dims) {
      found_.clear();
      collect_vars(e, found_);
      for (const Var* v : found_) use(v);
    }
  }
  void use_type(const Type* t) {
    if (!t || !t->has_vars) return;
    found_.clear();
    collect_vars(t, found_);
    for (const Var* v : found_) use(v);
  }
  void use_buffer(const Buffer* b) {
    if (!buffers_.set(b, true)) return;
    use(b->data);
    use_dims(b->shape);
    use_dims(b->strides);
    if (b->elem_offset) use_dims(std::span<const Expr* const>(&b->elem_offset, 1));
  }
  void define_var(const Var* v) { defined_.set(v, true); }
  // Every variable of the type that was not met before is bound by it.
  void define_type(const Type* t) {
    if (!t || !t->has_vars) return;
    found_.clear();
    collect_vars(t, found_);
    for (const Var* v : found_)
      if (!seen_.find(v)) define_var(v);
  }
  void define_buffer(const Buffer* b, bool defines_shape) {
    if (defines_shape) {
      for (Span<const Expr*> dims : {b->shape, b->strides})
        for (const Expr* e : dims) {
          found_.clear();
          collect_vars(e, found_);
          for (const Var* v : found_)
            if (!seen_.find(v)) define_var(v);
        }
      if (const auto* v = as<Var>(b->elem_offset); v && !seen_.find(v)) define_var(v);
    }
    if (!seen_.find(b->data)) define_var(b->data);
    use_buffer(b);
  }
  void define(const Field& f) {
    switch (f.role) {
      case FieldRole::DefVar: {
        const auto* v = static_cast<const Var*>(f.p);
        define_var(v);
        return use_type(v->type);
      }
      case FieldRole::DefBuffer:
        return define_buffer(static_cast<const Buffer*>(f.p), false);
      case FieldRole::DefParams:
        for (const Var* v : f.span<const Var*>()) {
          define_type(v->type);
          define_var(v);
        }
        return;
      case FieldRole::DefPrimParams:
        for (const PrimParam& p : f.span<PrimParam>()) define_var(p.var);
        for (const PrimParam& p : f.span<PrimParam>())
          if (p.buffer) define_buffer(p.buffer, true);
        return;
      case FieldRole::DefType:
        return define_type(static_cast<const Type*>(f.p));
      case FieldRole::DefIterVars:
        for (const IterVar& v : f.span<IterVar>()) define_var(v.var);
        return;
      case FieldRole::DefBuffers:
        for (const Buffer* b : f.span<const Buffer*>()) define_buffer(b, false);
        return;
      case FieldRole::DefMatchBuffers:
        for (const MatchBufferRegion& m : f.span<MatchBufferRegion>()) define_buffer(m.buffer, true);
        return;
      case FieldRole::UseType:
        return use_type(static_cast<const Type*>(f.p));
      case FieldRole::UseTypes:
        for (const Type* t : f.span<const Type*>()) use_type(t);
        return;
      case FieldRole::Use:
      case FieldRole::DefShape:
      case FieldRole::UseRegions:
      case FieldRole::Attr:
      case FieldRole::Attrs:
#define RLDB_FIELD_DATA(Role, ...) case FieldRole::Role:
#include "ir/field_role.def"
        return;
    }
  }

  std::vector<const Node*> stack_;
  std::vector<const Var*> used_;
  std::vector<const Var*> found_;
  PointerMap<bool> seen_;
  PointerMap<bool> defined_;
  PointerMap<bool> buffers_;
};

// Variables in order of first occurrence; a set once there are many and many queries.
class Collected {
 public:
  explicit Collected(std::vector<const Var*>& out) : out_(out) {}
  void add(const Var* v) {
    if (out_.size() < kFew || ++scans_ < kFew) {
      if (std::find(out_.begin(), out_.end(), v) == out_.end()) out_.push_back(v);
      return;
    }
    for (; known_ < out_.size(); ++known_) seen_.insert(out_[known_]);
    if (seen_.insert(v).second) {
      out_.push_back(v);
      ++known_;
    }
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<const Var*>& out_;
  std::size_t scans_ = 0;  // of a long `out_`
  std::size_t known_ = 0;  // of `out_` that are in `seen_`
  std::unordered_set<const Var*> seen_;
};

void collect(const Expr* e, Collected& out) {
  if (e == nullptr || isa<IntImm>(e)) return;
  if (const auto* v = as<Var>(e)) return out.add(v);
  std::vector<const Node*> stack{e};
  while (!stack.empty()) {
    const Node* top = stack.back();
    stack.pop_back();
    if (const auto* v = as<Var>(top)) {
      out.add(v);
      continue;
    }
    const std::size_t base = stack.size();
    uses(top, [&](const Node* child) { stack.push_back(child); });
    std::reverse(stack.begin() + std::ptrdiff_t(base), stack.end());
  }
}

// A type that occurs at several places within a type adds nothing the second time.
using SeenTypes = std::unordered_set<const Type*>;

void collect(const Type* t, Collected& out, SeenTypes& seen) {
  if (t == nullptr || !t->has_vars) return;
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return;
    case TypeKind::Shape:
      for (const Expr* e : as<ShapeType>(t)->values) collect(e, out);
      return;
    case TypeKind::Tensor:
      if (as<TensorType>(t)->shape_var) collect(as<TensorType>(t)->shape_var, out);
      for (const Expr* e : as<TensorType>(t)->shape) collect(e, out);
      return;
    case TypeKind::DTensor:
      return collect(as<DTensorType>(t)->tensor, out, seen);
    case TypeKind::Tuple:
      if (!seen.insert(t).second) return;
      for (const Type* f : as<TupleType>(t)->fields) collect(f, out, seen);
      return;
    case TypeKind::Func:
      if (!seen.insert(t).second) return;
      for (const Type* p : as<FuncType>(t)->params) collect(p, out, seen);
      return collect(as<FuncType>(t)->ret, out, seen);
  }
}

}  // namespace

void for_each_use(const Node* n, const std::function<void(const Node*)>& f) {
  if (n) uses(n, f);
}

void walk(const Node* n, const std::function<bool(const Node*)>& f) {
  if (n == nullptr) return;
  std::vector<const Node*> stack{n};
  while (!stack.empty()) {
    const Node* top = stack.back();
    stack.pop_back();
    support::poll();
    if (!f(top)) continue;
    const std::size_t base = stack.size();
    uses(top, [&](const Node* child) { stack.push_back(child); });
    std::reverse(stack.begin() + std::ptrdiff_t(base), stack.end());
  }
}

void collect_vars(const Expr* e, std::vector<const Var*>& out) {
  if (e == nullptr || isa<IntImm>(e)) return;
  Collected collected(out);
  collect(e, collected);
}

void collect_vars(const Type* t, std::vector<const Var*>& out) {
  if (t == nullptr || !t->has_vars) return;
  Collected collected(out);
  SeenTypes seen;
  collect(t, collected, seen);
}

std::vector<const Var*> free_vars(const Node* n) {
  Variables v;
  if (n) v.run(n);
  return v.free();
}

}  // namespace rldb::ir
