// Attr: a compile-time value that is not an expression of the program: operator attributes, function attributes,
// annotations. Immutable, arena-allocated, compared structurally (equal.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/ir/type.h"

namespace rldb::ir {

enum class AttrKind : std::uint8_t {
  None,
  Bool,
  Int,
  Float,
  String,
  DType,
  List,
  Dict,
  Expr,    // a scalar or Relax expression: T.int64(1), n, a buffer's data variable
  Type,    // a Relax type
  Node,    // any other node: Buffer (as in buffer annotations), Stmt
  Opaque,  // a constructor kept by name with its arguments: T.target({...}), R.device_mesh(...), T.Layout(...)
};

struct NamedAttr;

struct Attr {
  AttrKind kind;
  std::int64_t integer = 0;  // Bool, Int
  double floating = 0;
  std::string_view string;  // String; Opaque: the constructor as written ("T.target")
  DType dtype;
  Span<const Attr*> items;         // List; Opaque: positional arguments
  Span<NamedAttr> fields;          // Dict, Opaque: keyword arguments; in the order written
  const Node* node = nullptr;      // Expr, Node
  const ir::Type* type = nullptr;  // Type
  bool is_tuple = false;           // List that was written as a tuple: prints as one, compares as a list

  bool is(AttrKind k) const { return kind == k; }
};

struct NamedAttr {
  std::string_view name;
  const Attr* value;
};

// The attribute of that name, or null.
inline const Attr* find_attr(Span<NamedAttr> attrs, std::string_view name) {
  for (const NamedAttr& a : attrs)
    if (a.name == name) return a.value;
  return nullptr;
}

}  // namespace rldb::ir
