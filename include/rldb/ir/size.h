// Sizes of types and of the expressions in them, and their limits.
//
// Types and expressions share common parts, so a text of a few lines can denote one that is immense when
// written out (`t = (t, t)` a hundred times). Printing, checking at run time, memory planning and the file format
// write types out, so whoever makes bindings from a text checks here first. Users: the front end, passes, session.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/context.h"

namespace rldb::ir {

inline constexpr std::size_t kMaxDimSize = 1'000;         // operators and operands of one dimension
inline constexpr std::size_t kMaxTypeSize = 200'000;      // of one variable
inline constexpr int kMaxTypeDepth = 200;                 // tuples and functions within each other
inline constexpr std::size_t kMaxTypesSize = 10'000'000;  // of all bindings of a function

// Operators and operands of a scalar expression, counted at each occurrence; `limit` + 1 when there are more.
std::size_t expr_size(const Expr* e, std::size_t limit = kMaxDimSize);
// Does not fit into int64, even when each of its variables is 1: no tensor has such a dimension.
bool overflows(const Expr* dim);

// Adds up the types of the variables of one function.
class TypeBudget {
 public:
  // A description of what is too large in the type of `name`; nullopt when it is within the limits.
  std::optional<source::Message> add(std::string_view name, const Type* type);
  // Operators, operands and types inside a type, counted at each occurrence; at most 2^62.
  std::size_t size_of(const Type* type) { return extent_of(type).size; }

 private:
  std::optional<source::Message> check(std::string_view name, const Type* type);
  std::optional<source::Message> check_dims(std::string_view name, Span<const Expr*> dims);
  std::size_t dims_size(Span<const Expr*> dims);

  struct Extent {
    std::size_t size = 1;
    int depth = 1;
  };
  Extent extent_of(const Type* type);

  const Type* last_ = nullptr;  // neighbours often have the same type
  std::size_t last_size_ = 0;
  std::size_t total_ = 0;
  std::unordered_map<const Type*, Extent> extents_;  // of types that hold types
  std::unordered_set<const Type*> good_;             // checked, and within the limits
};

}  // namespace rldb::ir
