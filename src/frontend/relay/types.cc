// Types of Relay texts.
#include <optional>

#include "frontend/relay/reader.h"
#include "rldb/source/diagnostic_relay.h"

namespace rldb::frontend::relay_text {

namespace {

// The kinds of nodes that types consist of.
bool is_type(Kind kind) {
  return kind == Kind::TensorType || kind == Kind::TupleType || kind == Kind::FunctionType ||
         kind == Kind::ReferenceType || kind == Kind::IncompleteType || kind == Kind::NamedType;
}

// TVM takes every word with this beginning for a dtype.
bool begins_as_dtype(std::string_view word) {
  return word.starts_with("int") || word.starts_with("uint") || word.starts_with("float") || word.starts_with("bool");
}

// `int`, `uint` and `float` have 32 bits.
std::optional<runtime::DType> dtype_of(std::string_view word) {
  if (word == "int" || word == "uint" || word == "float") return runtime::parse_dtype(std::string(word) + "32");
  return runtime::parse_dtype(word);
}

}  // namespace

const relay::Type* Reader::type(Node n) {
  if (n.is(Kind::TensorType)) return tensor_type(n);
  if (n.is(Kind::NamedType)) return named_type(n);
  if (n.is(Kind::TupleType)) return ctx_.tuple_type(types_of(n));
  if (n.is(Kind::FunctionType)) return function_type(n);
  if (n.is(Kind::ReferenceType)) error(n, diag::RelayNoType, "the type of a reference");
  return ctx_.hole();  // `_`
}

const relay::Type* Reader::function_type(Node n) {
  if (n.child(Field::TypeParameters)) {
    error(n, diag::RelayNoType, "a function type with type parameters");
    return ctx_.hole();
  }
  const relay::Type* result = type(n.child(Field::ReturnType));
  return ctx_.function_type({}, types_of(n, Field::ReturnType), result);
}

std::vector<const relay::Type*> Reader::types_of(Node n, Field except) {
  std::vector<const relay::Type*> types;
  for (const Node c : n.children())
    if (is_type(c.kind()) && (except == Field::None || c.field() != except)) types.push_back(type(c));
  return types;
}

const relay::Type* Reader::tensor_type(Node n) {
  std::vector<relay::Dim> dims;
  for (const Node d : n.child(Field::Shape).children()) dims.push_back(dim(d));
  const Node word = n.child(Field::DType);
  const auto dtype = dtype_of(word.text());
  if (!dtype || word.text().empty()) {
    error(word, diag::RelayDType, word.text());
    return ctx_.hole();
  }
  return ctx_.tensor(dims, *dtype);
}

relay::Dim Reader::dim(Node n) {
  if (n.is(Kind::AnyDim)) return {};
  if (n.is(Kind::Meta)) {
    const relay::MetaEntry* entry = meta(n);
    if (entry && entry->object) return {relay::DimKind::Symbol, false, 0, entry->object};
    if (entry) error(n, diag::RelayMetaKind, n.text(), "no dim");
    return {};
  }
  Number number;
  if (n.is(Kind::Number)) {
    if (!read_number(n, number, out_)) return {};
    if (!number.is_float && number.integer >= 0)
      return {relay::DimKind::Known, number.bits == 64, number.integer, nullptr};
  }
  error(n, diag::RelayDim, n.text());
  return {};
}

const relay::Type* Reader::named_type(Node n) {
  const Node word = n.child(Field::Name);
  const std::string_view name = word.text();
  if (begins_as_dtype(name)) {
    const auto dtype = dtype_of(name);
    if (dtype) return ctx_.scalar(*dtype);
    error(word, diag::RelayDType, name);
    return ctx_.hole();
  }
  const std::vector<const relay::Type*> args = types_of(n);
  if (const relay::TypeVar* v = type_vars_.find(name)) {
    if (!args.empty()) error(n, diag::RelayTypeArguments, name);
    return v;
  }
  // A name without a definition is an opaque type, as in TVM.
  return ctx_.named(name, args);
}

std::vector<const relay::TypeVar*> Reader::type_params(Node n) {
  std::vector<const relay::TypeVar*> params;
  for (const Node c : n.children()) {
    if (!c.is(Kind::Identifier)) continue;
    const relay::TypeVar* v = ctx_.type_var(c.text());
    type_vars_.bind(v->name, v);
    params.push_back(v);
  }
  return params;
}

}  // namespace rldb::frontend::relay_text
