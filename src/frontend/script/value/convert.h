// Val -> the form that a place of the text needs. Every function reports failure (except for Poison) and returns null.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// A scalar expression. Python numbers become literals: ints of dtype `ints` (void: the dialect's default), floats
// float32 in TensorIR and Relax alike.
const ir::Expr* to_scalar(Reader& r, const Val& v, Node at, ir::DType ints = ir::DType::Void());
// A scalar usable in arithmetic: not a pointer, not a call without a value.
const ir::Expr* to_number(Reader& r, const Val& v, Node at, ir::DType ints = ir::DType::Void());
// An operand of an intrinsic, an attribute or an expression statement: a scalar, a string, a dtype, or (in TensorIR) a
// value that is none of these and is checked where it is used.
const ir::Expr* to_operand(Reader& r, const Val& v, Node at);
// A Relax expression; tuples become ir::Tuple of leaves, numbers scalars, strings StringImm.
const ir::Expr* to_relax(Reader& r, const Val& v, Node at);
// The same, as a leaf: anything else is bound to a new variable first.
const ir::Expr* to_leaf(Reader& r, const Val& v, Node at);
const ir::Expr* as_leaf(Reader& r, const ir::Expr* e, Node at);
// An operand that others follow: what it computes is bound before what they compute, as in TVM's normal form.
Val settled(Reader& r, Val v, Node at);
const ir::Attr* to_attr(Reader& r, const Val& v, Node at);
const ir::Type* to_type(Reader& r, const Val& v, Node at);
std::optional<ir::DType> to_dtype(Reader& r, const Val& v, Node at);
std::optional<ir::DType> try_dtype(const Val& v);  // no report
std::optional<std::int64_t> to_int(Reader& r, const Val& v, Node at);
std::optional<bool> to_bool(Reader& r, const Val& v, Node at);
std::optional<std::string_view> to_str(Reader& r, const Val& v, Node at);
// A shape: a tuple or list of dims, or (TensorIR) one dim. nullopt after a report.
std::optional<std::vector<const ir::Expr*>> to_dims(Reader& r, const Val& v, Node at, ir::DType ints);
std::vector<ir::NamedAttr> to_fields(Reader& r, const Val& dict, Node at);  // of a Dict with string keys

bool is_relax_value(const Val& v);              // an expression that is not a scalar
bool is_scalar_expr(const ir::Expr* e);         // of PrimType or PointerType
std::string describe(Reader& r, const Val& v);  // for messages: "an integer", "`R.Tensor((2,), ...)`"

// "inf", "-inf", "nan" and "-nan": floats that Python has no literals for.
std::optional<double> named_float(std::string_view text);

}  // namespace rldb::frontend::script
