// Types, attributes, literals.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "relay/ir/print/printer_impl.h"

namespace rldb::relay::print_detail {

namespace {

std::string int_text(std::int64_t value, int bits) {
  return bits == 32 ? fmt::format("{}", value) : fmt::format("{}i{}", value, bits);
}

double read_as(const std::string& digits, int bits) {
  const double value = std::strtod(digits.c_str(), nullptr);
  if (bits == 64) return value;
  if (bits == 32) return double(std::strtof(digits.c_str(), nullptr));
  std::byte half[2];
  runtime::store_double(half, DType::Float(16), value);
  return runtime::load_as_double(half, DType::Float(16));
}

}  // namespace

// Six digits as in TVM, or as many as needed if they would read back as another number.
std::string float_text(double value, int bits, int read_bits) {
  const std::string suffix = bits == 32 ? "f" : fmt::format("f{}", bits);
  if (std::isinf(value)) return value < 0 ? "-inf" + suffix : "inf" + suffix;
  std::string digits;
  for (int precision = 6; precision <= 17; ++precision) {
    digits = fmt::format("{:.{}g}", value, precision);
    if (read_as(digits, read_bits) == value) break;
  }
  return digits + suffix;
}

std::string Values::literal(const runtime::Tensor& scalar) {
  if (scalar.ndim() != 0) return {};
  const DType t = scalar.dtype();
  if (t.is_bool()) return scalar.at(0) != 0 ? "True" : "False";
  if (t.is_int() && t.lanes == 1 && (t.bits == 16 || t.bits == 32 || t.bits == 64))
    return int_text(runtime::load_as_int(scalar.data(), t), t.bits);
  if (t.code != runtime::TypeCode::Float || t.lanes != 1) return {};
  const double value = scalar.at(0);
  // Neither `nan` nor an infinity of another width has a literal.
  if (std::isnan(value) || (std::isinf(value) && t.bits != 32)) return {};
  return float_text(value, t.bits, t.bits);
}

std::string Values::tensor(const TensorType& t) {
  const std::string dtype = runtime::to_string(t.dtype);
  if (t.shape.empty()) return dtype;
  std::string dims;
  for (const Dim& d : t.shape) {
    if (!dims.empty()) dims += ", ";
    switch (d.kind) {
      case DimKind::Known:
        dims += int_text(d.value, d.wide ? 64 : 32);
        break;
      case DimKind::Any:
        dims += '?';
        break;
      case DimKind::Symbol:
        dims += meta_.object(d.symbol);
        break;
    }
  }
  return "Tensor[(" + dims + "), " + dtype + "]";
}

std::string Values::type(const Type* t) {
  parts_ = 0;
  return part(t, 0);
}

std::string Values::part(const Type* t, int depth) {
  // Parts are shared: a few lines can describe a type that no text could hold.
  constexpr std::size_t kMostParts = 20000;
  constexpr int kMostDepth = 1000;
  if (++parts_ > kMostParts || depth > kMostDepth) return "...";
  const auto list = [&](Span<const Type*> types) {
    std::string text;
    for (const Type* x : types) text += (text.empty() ? "" : ", ") + part(x, depth + 1);
    return text;
  };
  switch (t->kind) {
    case TypeKind::Tensor:
      return tensor(*as<TensorType>(t));
    case TypeKind::Tuple:
      return "(" + list(as<TupleType>(t)->fields) + (as<TupleType>(t)->fields.size() == 1 ? ",)" : ")");
    case TypeKind::Function: {
      const auto& f = *as<FunctionType>(t);
      std::string params;
      for (const TypeVar* v : f.type_params) params += (params.empty() ? "" : ", ") + std::string(v->name);
      return "fn " + (params.empty() ? "" : "[" + params + "]") + "(" + list(f.params) + ") -> " +
             part(f.result, depth + 1);
    }
    case TypeKind::Variable:
      return std::string(as<TypeVar>(t)->name);
    case TypeKind::Named:
      return std::string(as<NamedType>(t)->name) + "[" + list(as<NamedType>(t)->args) + "]";
    case TypeKind::Reference:
      return "ref(" + part(as<ReferenceType>(t)->value, depth + 1) + ")";
    case TypeKind::Hole:
      return "_";
  }
  return {};
}

std::string Values::attr(const AttrValue* v) {
  switch (v->kind) {
    case AttrKind::None:
      return "None";
    case AttrKind::Int:
      return int_text(v->integer, v->bits);
    case AttrKind::Bool:
      return v->integer != 0 ? "True" : "False";
    case AttrKind::Float:
      return float_text(v->real, v->bits, 64);  // those of attributes are read without conversion
    case AttrKind::String:
      // The parser decodes no escapes, so a quote cannot occur in a string; all other characters are literal.
      return fmt::format("\"{}\"", v->text);
    case AttrKind::List: {
      std::string items;
      for (const AttrValue* x : v->items) items += (items.empty() ? "" : ", ") + attr(x);
      return "[" + items + "]";
    }
    case AttrKind::Object:
      return meta_.object(v->object);
    case AttrKind::Expression:
      if (const auto* c = as<Constant>(v->expr)) {
        std::string text = literal(*c->tensor);
        return text.empty() ? meta_.constant(c) : text;
      }
      if (const auto* g = as<GlobalVar>(v->expr)) return fmt::format("@{}", g->name);
      return expr_text_ ? expr_text_(v->expr) : std::string(to_string(v->expr->kind));
  }
  return {};
}

std::string Values::attrs(Span<NamedAttr> attrs) {
  std::string text;
  for (const NamedAttr& a : attrs) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", a.name, attr(a.value));
  return text;
}

std::string Values::attrs_of(const OpInfo& op, Span<NamedAttr> given) {
  std::vector<NamedAttr> made(given.begin(), given.end());
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  };
  for (const AttrField& field : info(op.attributes).fields) {
    const auto found = std::find_if(made.begin(), made.end(), [&](const NamedAttr& a) { return a.name == field.name; });
    if (found != made.end()) {
      add(field.name, attr(found->value));
      made.erase(found);
    } else if (field.always) {
      add(field.name, *field.fallback);
    }
  }
  for (const NamedAttr& a : made) add(a.name, attr(a.value));
  return text;
}

}  // namespace rldb::relay::print_detail

namespace rldb::relay {

std::string print_type(const Type* t) {
  print_detail::Values values;
  return values.type(t);
}

std::string print_attr(const AttrValue* value) {
  print_detail::Values values;
  return values.attr(value);
}

}  // namespace rldb::relay
