// Expressions of the text -> Val, for both dialects. Calls of `R.f`, `T.f`, `I.f` go to a handler by name
// (calls.h), else to the operator registry or the intrinsics.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

Val eval(Reader& r, Node n);

// expr.cc, access.cc
Val eval_string(Reader& r, Node n);
Val eval_attribute(Reader& r, Node n);
Val eval_call(Reader& r, Node n);
Val eval_subscript(Reader& r, Node n);
Val eval_indexed(Reader& r, Node n);  // the part before `[`: a scalar of its own is a buffer there
Val eval_comprehension(Reader& r, Node n);

// `op` is the Python operator; "neg" and "~" take one operand. `at` is the operator or the whole expression.
Val apply_unary(Reader& r, std::string_view op, const Val& a, Node at);
Val apply_binary(Reader& r, std::string_view op, const Val& a, const Val& b, Node at);
Val apply_not(Reader& r, const Val& a, Node at);

// Items of a tuple, list or several-targets node, splats expanded.
std::vector<Val> eval_items(Reader& r, Node n);
// A name that may be read: a variable, function, namespace. Reports if there is none.
Val lookup(Reader& r, std::string_view name, Node at);
const Val* find_name(Reader& r, std::string_view name);
Val unknown_name(Reader& r, std::string_view name, Node at);
// "relax.nn.relu" for a dotted name under a namespace; nullopt for anything else. The root must not be shadowed.
struct Path {
  Space space = Space::None;
  std::string_view rest;  // after the namespace's prefix
  explicit operator bool() const { return space != Space::None; }
};
Path path_of(Reader& r, Node n);

}  // namespace rldb::frontend::script
