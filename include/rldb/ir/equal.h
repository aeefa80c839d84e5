// Structural equality, hash and difference: variables are compared by where they are bound, not by name
// (TVM's structural equality with map_free_vars as an option). Works on any node, type, attribute or module.
#pragma once

#include <optional>
#include <string>

#include "rldb/ir/module.h"

namespace rldb::ir {

struct EqualOptions {
  bool map_free_vars = false;  // free variables correspond by order of first occurrence
  bool compare_types = true;   // inferred types of bindings and calls
  bool ignore_module_name = true;
};

// Where two structures first differ: a path such as `main.body.blocks[0].bindings[2].value.args[1]` and both sides.
struct Difference {
  std::string path;
  std::string left;
  std::string right;
  const Node* left_node = nullptr;
  const Node* right_node = nullptr;
};

std::optional<Difference> first_difference(const Node* a, const Node* b, const EqualOptions& options = {});
std::optional<Difference> first_difference(const Module* a, const Module* b, const EqualOptions& options = {});
bool structural_equal(const Node* a, const Node* b, const EqualOptions& options = {});
bool structural_equal(const Module* a, const Module* b, const EqualOptions& options = {});
bool attr_equal(const Attr* a, const Attr* b);  // expressions inside: by structure, variables by identity
// Equal structures have equal hashes; stable within and across processes (used for the kernel cache on disk).
std::uint64_t structural_hash(const Node* n);
std::uint64_t structural_hash(const Module* m);
// Scalar expressions, variables by identity: used for interning types.
bool expr_equal(const Expr* a, const Expr* b);
std::uint64_t expr_hash(const Expr* e);

}  // namespace rldb::ir
