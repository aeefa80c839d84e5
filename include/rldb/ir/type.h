// Types ("struct info" until 2026): what is known about a value before it runs.
//
// Interned by the Context: two types that are structurally equal (symbolic variables by identity, dims by structure
// after simplification of literals only) are the same pointer, so `==` on pointers is type equality. The checked part
// (kind, rank, dtype) and the shape part (RFC 0089 section 4.1: V0 symbolic, V1 an expression, V2 unknown until run
// time) are both here. Types have no span: a place in text belongs to the annotation, not to the type.
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/ir/node.h"
#include "rldb/runtime/dtype.h"

namespace rldb::ir {

using runtime::DType;
struct Expr;
struct Attr;

enum class TypeKind : std::uint8_t { Any, Prim, Shape, Tensor, DTensor, Tuple, Func, Pointer };

struct Type {
  TypeKind kind;
  std::uint32_t id;       // dense within the Context
  bool has_vars = false;  // mentions a variable somewhere: most do not, and need no walk
};

#define RLDB_TYPE_KIND(K) \
  static bool classof(const Type* t) { return t->kind == TypeKind::K; }

template <class T>
const T* as(const Type* t) {
  return t != nullptr && T::classof(t) ? static_cast<const T*>(t) : nullptr;
}

inline constexpr int kUnknownNdim = -1;

// A device that a module declares: I.vdevice(target, index, scope).
struct VDevice {
  std::string_view target_kind;  // "cuda", "llvm"
  const Attr* target = nullptr;  // the whole target if it is more than a kind, else null
  int device_id = 0;
  std::string_view memory_scope = "global";
  int global_index = -1;  // index in I.module_global_infos({"vdevice": ...}), -1 when written in place
};

struct AnyType : Type {
  RLDB_TYPE_KIND(Any)
};
struct PrimType : Type {
  RLDB_TYPE_KIND(Prim)
  DType dtype;
};
struct ShapeType : Type {
  RLDB_TYPE_KIND(Shape)
  int ndim;         // kUnknownNdim if unknown
  bool has_values;  // false: only the rank is known
  Span<const Expr*> values;
};
// Exactly one of: dims known (has_shape), shape held by a variable (shape_var), neither (only ndim or nothing).
struct TensorType : Type {
  RLDB_TYPE_KIND(Tensor)
  DType dtype;  // void: unknown
  int ndim;
  bool has_shape;
  Span<const Expr*> shape;
  const Expr* shape_var;  // a Relax variable of shape type: R.Tensor(s, ...)
  const VDevice* vdevice;
};
struct DTensorType : Type {
  RLDB_TYPE_KIND(DTensor)
  const TensorType* tensor;
  const Attr* device_mesh;  // as written: a string such as "mesh[0]" or R.device_mesh(...)
  std::string_view placement;
};
struct TupleType : Type {
  RLDB_TYPE_KIND(Tuple)
  Span<const Type*> fields;
};
struct FuncType : Type {
  RLDB_TYPE_KIND(Func)
  bool opaque;  // no parameters given: R.Callable, packed functions
  Span<const Type*> params;
  const Type* ret;  // never null; Any when opaque and not given
  bool pure;
  std::string_view derive_func;  // name of a registered derivation, or empty
};
// T.handle: element void for an untyped pointer.
struct PointerType : Type {
  RLDB_TYPE_KIND(Pointer)
  DType element;
  std::string_view scope;
};

}  // namespace rldb::ir
