// Types of Relay. Interned by the Context, so that equal types are one pointer; type variables and holes are equal only
// to themselves. A type variable's name is for readers only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rldb/runtime/dtype.h"

namespace rldb::relay {

using runtime::DType;
template <class T>
using Span = std::span<const T>;

struct MetaObject;

enum class DimKind : std::uint8_t {
  Known,
  Any,     // `?`
  Symbol,  // a variable of the metadata, which has no other text
};
struct Dim {
  DimKind kind = DimKind::Any;
  bool wide = false;       // Known: written `2i64`, a dim that TVM distinguishes from `2`
  std::int64_t value = 0;  // Known
  const MetaObject* symbol = nullptr;
  friend bool operator==(const Dim&, const Dim&) = default;
};

enum class TypeKind : std::uint8_t { Tensor, Tuple, Function, Variable, Named, Reference, Hole };

struct Type {
  TypeKind kind;
  std::uint32_t id;  // order of creation
};

struct TensorType : Type {
  static constexpr TypeKind kKind = TypeKind::Tensor;
  Span<Dim> shape;
  DType dtype;
};
struct TupleType : Type {
  static constexpr TypeKind kKind = TypeKind::Tuple;
  Span<const Type*> fields;
};
struct TypeVar : Type {
  static constexpr TypeKind kKind = TypeKind::Variable;
  std::string_view name;
};
struct FunctionType : Type {
  static constexpr TypeKind kKind = TypeKind::Function;
  Span<const TypeVar*> type_params;
  Span<const Type*> params;
  const Type* result;
};
// An algebraic data type, or one of which only the name is known, applied to its parameters.
struct NamedType : Type {
  static constexpr TypeKind kKind = TypeKind::Named;
  std::string_view name;
  Span<const Type*> args;
};
struct ReferenceType : Type {
  static constexpr TypeKind kKind = TypeKind::Reference;
  const Type* value;
};
// `_`, or a type to be inferred.
struct HoleType : Type {
  static constexpr TypeKind kKind = TypeKind::Hole;
};

template <class T>
const T* as(const Type* t) {
  return t && t->kind == T::kKind ? static_cast<const T*>(t) : nullptr;
}

}  // namespace rldb::relay
