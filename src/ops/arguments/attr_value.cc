// Conversions of attributes and expressions to the declared kind of a row's parameter.
#include "ops/arguments/attr_value.h"

#include <charconv>

#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/arguments.h"

namespace rldb::ops {

using ir::Attr;
using ir::AttrKind;

std::optional<std::int64_t> int_of(const Attr* a) {
  if (a->is(AttrKind::Int) || a->is(AttrKind::Bool)) return a->integer;
  if (a->is(AttrKind::Expr))
    if (const auto* i = ir::as<ir::IntImm>(a->node)) return i->value;
  return std::nullopt;
}

std::optional<double> float_of(const Attr* a) {
  if (a->is(AttrKind::Float)) return a->floating;
  if (a->is(AttrKind::Expr))
    if (const auto* f = ir::as<ir::FloatImm>(a->node)) return f->value;
  if (auto i = int_of(a)) return double(*i);
  return std::nullopt;
}

namespace {

// The items of a list-like attribute; a lone value is a list of one.
std::vector<const Attr*> items_of(const Attr* a) {
  if (a->is(AttrKind::List)) return {a->items.begin(), a->items.end()};
  return {a};
}

const Attr* convert_ints(ir::Context& ctx, const Attr* value, std::size_t want) {
  std::vector<std::int64_t> ints;
  for (const Attr* item : items_of(value)) {
    auto i = int_of(item);
    if (!i) return nullptr;
    ints.push_back(*i);
  }
  if (want != 0) {
    if (ints.size() == 1) ints.resize(want, ints[0]);
    if (ints.size() != want) return nullptr;
  }
  return ctx.attr_ints(ints);
}

const Attr* convert_dims(ir::Context& ctx, const Attr* value, std::size_t want) {
  std::vector<const Attr*> dims;
  for (const Attr* item : items_of(value)) {
    if (auto i = int_of(item)) {
      dims.push_back(ctx.attr(*i));
      continue;
    }
    const auto* e = item->is(AttrKind::Expr) ? static_cast<const ir::Expr*>(item->node) : nullptr;
    if (!e || !ir::as<ir::PrimType>(e->type) || !e->dtype().is_integral()) return nullptr;
    dims.push_back(item);
  }
  if (dims.size() == 1) dims.resize(want, dims[0]);
  return dims.size() == want ? ctx.attr_list(dims) : nullptr;
}

// One int: every side; one per axis: begin and end alike; two per axis: all begins, then all ends.
const Attr* convert_pads(ir::Context& ctx, const Attr* value, std::size_t axes) {
  std::vector<std::int64_t> ints;
  for (const Attr* item : items_of(value)) {
    auto i = int_of(item);
    if (!i) return nullptr;
    ints.push_back(*i);
  }
  if (ints.size() == 1) ints.resize(axes, ints[0]);
  if (ints.size() == axes) {
    for (std::size_t i = 0; i < axes; ++i) ints.push_back(ints[i]);
  }
  if (ints.size() != 2 * axes) return nullptr;
  return ctx.attr_ints(ints);
}

const Attr* convert_scalar(ir::Context& ctx, const Attr* value) {
  if (value->is(AttrKind::Expr) && ir::isa<ir::FloatImm>(value->node)) return value;
  auto f = float_of(value);
  return f ? ctx.attr(static_cast<const ir::Expr*>(ctx.float_imm(ir::DType::Float(32), *f))) : nullptr;
}

const Attr* convert_list(ir::Context& ctx, const Attr* value, const Attr* (*convert)(ir::Context&, const Attr*)) {
  std::vector<const Attr*> items;
  for (const Attr* item : items_of(value)) {
    const Attr* c = convert(ctx, item);
    if (!c) return nullptr;
    items.push_back(c);
  }
  return ctx.attr_list(items);
}

const Attr* convert_float(ir::Context& ctx, const Attr* value) {
  if (value->is(AttrKind::Float)) return value;
  auto f = float_of(value);
  return f ? ctx.attr(*f) : nullptr;
}

const Attr* convert_dtype(ir::Context& ctx, bool nullable, const Attr* value) {
  std::optional<ir::DType> t;
  if (value->is(AttrKind::DType)) t = value->dtype;
  if (value->is(AttrKind::String)) t = runtime::parse_dtype(value->string);
  if (value->is(AttrKind::Expr))
    if (const auto* d = ir::as<ir::DTypeImm>(value->node)) t = d->value;
  if (!t) return nullptr;
  if (t->is_void()) return nullable ? ctx.attr_none() : nullptr;
  return value->is(AttrKind::DType) ? value : ctx.attr(*t);
}

}  // namespace

const Attr* convert_attr(ir::Context& ctx, AttrType type, bool nullable, const Attr* value) {
  if (value->is(AttrKind::None)) return nullable || type == AttrType::Any ? value : nullptr;
  switch (type) {
    case AttrType::Bool: {
      if (value->is(AttrKind::Bool)) return value;
      auto i = int_of(value);
      return i && (*i == 0 || *i == 1) ? ctx.attr(*i == 1) : nullptr;
    }
    case AttrType::Int: {
      if (value->is(AttrKind::Int)) return value;
      auto i = int_of(value);
      return i ? ctx.attr(*i) : nullptr;
    }
    case AttrType::Float:
      return convert_float(ctx, value);
    case AttrType::String:
      if (value->is(AttrKind::String)) return value;
      if (const auto* s = value->is(AttrKind::Expr) ? ir::as<ir::StringImm>(value->node) : nullptr)
        return ctx.attr(s->value);
      return nullptr;
    case AttrType::DType:
      return convert_dtype(ctx, nullable, value);
    case AttrType::Ints:
      return convert_ints(ctx, value, 0);
    case AttrType::Ints1:
      return convert_ints(ctx, value, 1);
    case AttrType::Ints2:
      return convert_ints(ctx, value, 2);
    case AttrType::Ints3:
      return convert_ints(ctx, value, 3);
    case AttrType::Dims1:
      return convert_dims(ctx, value, 1);
    case AttrType::Dims2:
      return convert_dims(ctx, value, 2);
    case AttrType::Dims3:
      return convert_dims(ctx, value, 3);
    case AttrType::Pads1:
      return convert_pads(ctx, value, 1);
    case AttrType::Pads2:
      return convert_pads(ctx, value, 2);
    case AttrType::Pads3:
      return convert_pads(ctx, value, 3);
    case AttrType::Floats:
      return convert_list(ctx, value, convert_float);
    case AttrType::Scalar:
      return convert_scalar(ctx, value);
    case AttrType::Scalars:
      return convert_list(ctx, value, convert_scalar);
    case AttrType::Any:
      return value;
  }
  return nullptr;
}

std::string_view describe(AttrType type) {
  switch (type) {
    case AttrType::Bool:
      return "a bool";
    case AttrType::Int:
      return "an int";
    case AttrType::Float:
      return "a float";
    case AttrType::String:
      return "a string";
    case AttrType::DType:
      return "a dtype";
    case AttrType::Ints:
      return "an int or a list of ints";
    case AttrType::Ints1:
    case AttrType::Dims1:
      return "one int";
    case AttrType::Ints2:
    case AttrType::Dims2:
      return "one or two ints";
    case AttrType::Ints3:
    case AttrType::Dims3:
      return "one or three ints";
    case AttrType::Pads1:
      return "one or two ints";
    case AttrType::Pads2:
      return "one, two or four ints";
    case AttrType::Pads3:
      return "one, three or six ints";
    case AttrType::Floats:
      return "a list of floats";
    case AttrType::Scalar:
      return "a float";
    case AttrType::Scalars:
      return "a list of floats";
    case AttrType::Any:
      return "a value";
  }
  return "";
}

std::string_view describe(ArgKind kind) {
  switch (kind) {
    case ArgKind::Tensor:
      return "a tensor";
    case ArgKind::Tensors:
      return "a tuple of tensors";
    case ArgKind::Shape:
      return "a shape";
    case ArgKind::Prim:
      return "a scalar";
    case ArgKind::Prims:
      return "a tuple of scalars";
    case ArgKind::String:
      return "a string";
    case ArgKind::DType:
      return "a dtype";
    case ArgKind::Any:
      return "an expression";
  }
  return "";
}

std::string describe(const Attr* a) { return "`" + ir::print_attr(a) + "`"; }
std::string describe(const ir::Expr* e) { return "a value of type `" + ir::print_type(e->type) + "`"; }

void derive_attrs(const OpInfo& info, std::vector<ir::NamedAttr>& attrs) {
  for (ir::NamedAttr& a : attrs) {
    if (a.name != op_attr::OutLayout || !a.value->is(AttrKind::None)) continue;
    const Attr* from = ir::find_attr(attrs, op_attr::DataLayout);
    if (!from) from = ir::find_attr(attrs, op_attr::Layout);
    if (from) a.value = from;
  }
  (void)info;
}

namespace {

// Defaults of the rows: None, True, 1, 1e-05, "NCHW", [0.0, 0.0].
const Attr* parse_literal(ir::Context& ctx, std::string_view text) {
  if (text == "None" || text.empty()) return ctx.attr_none();
  if (text == "True" || text == "False") return ctx.attr(text == "True");
  if (text.front() == '"') return ctx.attr(text.substr(1, text.size() - 2));
  if (text.front() == '[') {
    std::vector<const Attr*> items;
    std::string_view rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
      auto comma = std::min(rest.find(','), rest.size());
      std::string_view item = rest.substr(0, comma);
      while (item.starts_with(' ')) item.remove_prefix(1);
      items.push_back(parse_literal(ctx, item));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return ctx.attr_list(items);
  }
  if (text.find_first_of(".e") != text.npos) {
    double d = 0;
    std::from_chars(text.data(), text.data() + text.size(), d);
    return ctx.attr(d);
  }
  std::int64_t i = 0;
  std::from_chars(text.data(), text.data() + text.size(), i);
  return ctx.attr(i);
}

}  // namespace

const Attr* default_value(ir::Context& ctx, const AttrInfo& attr) {
  const Attr* v = convert_attr(ctx, attr.type, true, parse_literal(ctx, attr.default_text));
  RLDB_CHECK(v != nullptr, "op.def: bad default of " + std::string(attr.name));
  return v;
}

const Attr* to_attr(ir::Context& ctx, const ir::Expr* e) {
  if (const auto* i = ir::as<ir::IntImm>(e)) return i->dtype().is_bool() ? ctx.attr(i->value != 0) : ctx.attr(i->value);
  if (const auto* s = ir::as<ir::StringImm>(e)) return ctx.attr(s->value);
  if (const auto* d = ir::as<ir::DTypeImm>(e)) return ctx.attr(d->value);
  ir::Span<const ir::Expr*> items;
  if (const auto* t = ir::as<ir::Tuple>(e)) items = t->items;
  if (const auto* s = ir::as<ir::ShapeExpr>(e)) items = s->values;
  if (ir::isa<ir::Tuple>(e) || ir::isa<ir::ShapeExpr>(e)) {
    std::vector<const Attr*> out;
    for (const ir::Expr* item : items) out.push_back(to_attr(ctx, item));
    return ctx.attr_list(out, true);
  }
  return ctx.attr(e);
}

const ir::Expr* to_expr(ir::Context& ctx, const Attr* a) {
  switch (a->kind) {
    case AttrKind::Bool:
      return ctx.bool_imm(a->integer != 0);
    case AttrKind::Int:
      return ctx.i64(a->integer);
    case AttrKind::Float:
      return ctx.float_imm(ir::DType::Float(32), a->floating);
    case AttrKind::String:
      return ctx.string(a->string);
    case AttrKind::DType:
      return ctx.dtype(a->dtype);
    case AttrKind::List: {
      std::vector<const ir::Expr*> items;
      for (const Attr* item : a->items) {
        const ir::Expr* e = to_expr(ctx, item);
        if (!e) return nullptr;
        items.push_back(e);
      }
      return ctx.tuple(items);
    }
    case AttrKind::Expr:
      return static_cast<const ir::Expr*>(a->node);
    case AttrKind::None:
    case AttrKind::Dict:
    case AttrKind::Type:
    case AttrKind::Node:
    case AttrKind::Opaque:
      return nullptr;
  }
  return nullptr;
}

}  // namespace rldb::ops
