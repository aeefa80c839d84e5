// Symbolic variables: strings in annotations ("n", "n * 2"), `n = T.int64()` lines, TypeVars, PEP 695 parameters.
//
// A signature declares its variables first (all parameters are scanned before any type is made), so the order
// of parameters does not matter. A variable has function scope and dtype int64 unless a line of the body overrides it.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// A parameter or symbolic variable of the current signature: that of its last reading, if it has the same type.
const ir::Var* signature_variable(Reader& r, std::string_view name, const ir::Type* type, Node at);
// The variable of that name of the current signature; created if missing.
const ir::Var* declare_symbol(Reader& r, std::string_view name, Node at);
// A string in a dim position: an identifier names (or declares) a variable, anything else is an expression.
const ir::Expr* symbol_expr(Reader& r, const Val& string, Node at, ir::DType ints);
// The value of a string read as an expression; Poison after errors.
Val eval_inner(Reader& r, const Val& string, Node at);
// Runs f over the string's tree; for types in strings.
Val with_inner_tree(Reader& r, const Val& string, Node at, const std::function<Val(Node)>& f);
// Declares the variables that a signature's annotations name as plain strings (and, in the RFC's spelling, bare).
void collect_signature_symbols(Reader& r, Node function);
// `n = T.int32()` lines at the top level of a body: dtypes of the signature's variables.
void collect_symbol_dtypes(Reader& r, Node body);

bool is_identifier(std::string_view s);

}  // namespace rldb::frontend::script
