// From the value of an expression (Val) to the form that its place needs: scalars, dims, tuples, attributes.
#include "frontend/script/value/convert.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/expr.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_type.h"

namespace rldb::frontend::script {

bool is_scalar_expr(const ir::Expr* e) {
  return e->type->kind == ir::TypeKind::Prim || e->type->kind == ir::TypeKind::Pointer;
}
bool is_relax_value(const Val& v) { return v.expr() && !is_scalar_expr(v.expr()); }

std::string describe(Reader& r, const Val& v) {
  switch (v.kind) {
    case ValKind::Poison:
      return "a value with an error";
    case ValKind::Nothing:
      return "no value";
    case ValKind::None:
      return "`None`";
    case ValKind::Ellipsis:
      return "`...`";
    case ValKind::Bool:
      return v.integer ? "`True`" : "`False`";
    case ValKind::Int:
      return fmt::format("the integer {}", v.integer);
    case ValKind::Float:
      return fmt::format("the float {}", v.floating);
    case ValKind::Str:
      return fmt::format("the string \"{}\"", v.text.substr(0, 40));
    case ValKind::DType:
      return fmt::format("the dtype {}", runtime::to_string(v.dtype));
    case ValKind::Tuple:
      return fmt::format("a tuple of {}", v.items.size());
    case ValKind::List:
      return fmt::format("a list of {}", v.items.size());
    case ValKind::Dict:
      return "a dictionary";
    case ValKind::Expr:
      return fmt::format("a value of type `{}`", ir::print_type(v.expr()->type));
    case ValKind::Buffer:
      return fmt::format("the buffer `{}`", v.buffer()->name);
    case ValKind::Region:
      return fmt::format("a region of the buffer `{}`", v.buffer()->name);
    case ValKind::Slice:
      return "a slice";
    case ValKind::Range:
      return "a range";
    case ValKind::Type:
      return fmt::format("the type `{}`", ir::print_type(v.type()));
    case ValKind::Attr:
      return "a constructed attribute";
    case ValKind::Lambda:
      return "a lambda";
    case ValKind::Path:
      return fmt::format("`{}`", v.cst ? v.cst.text() : v.text);
    case ValKind::Module:
      return "the module";
    case ValKind::Method:
      return fmt::format("the method `{}`", v.text);
    case ValKind::Loop:
      return "a loop range";
    case ValKind::Frame:
      return "a scope";
  }
  (void)r;
  return "a value";
}

const ir::Expr* to_scalar(Reader& r, const Val& v, Node at, ir::DType ints) {
  if (!ints.is_void()) ints = ints.element();
  switch (v.kind) {
    case ValKind::Poison:
      return nullptr;
    case ValKind::Int:
      if (!v.dtype.is_void()) return r.ctx.int_imm(v.dtype, v.integer);
      if (ints.is_float()) return r.ctx.literal(ints, double(v.integer));
      if (ints.is_void() || !ints.is_integral()) ints = r.default_int();
      // A literal that does not fit takes the wider dtype, as in TVM.
      if (ints == ir::DType::Int(32) && (v.integer > INT32_MAX || v.integer < INT32_MIN)) ints = ir::DType::Int(64);
      return r.ctx.int_imm(ints, v.integer);
    case ValKind::Bool:
      return r.ctx.bool_imm(v.integer != 0);
    case ValKind::Float:
      return r.ctx.float_imm(ints.is_float() ? ints : ir::DType::Float(32), v.floating);
    case ValKind::Expr:
      if (!is_scalar_expr(v.expr())) break;
      return v.expr();
    case ValKind::Region:
      return load_of_region(r, v, at);
    case ValKind::Buffer:
      // A 0-d or one-element buffer denotes its element: x + 1 means x[()] + 1.
      if (v.buffer()->shape.empty()) return r.ctx.load(v.buffer(), {});
      if (v.buffer()->shape.size() == 1 && ir::is_const(v.buffer()->shape[0], 1)) {
        const ir::Expr* zero = r.ctx.i32(0);
        return r.ctx.load(v.buffer(), {&zero, 1});
      }
      break;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, as_scalar, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
      break;
  }
  r.error(at, diag::ExpectedScalar, describe(r, v));
  return nullptr;
}

const ir::Expr* to_number(Reader& r, const Val& v, Node at, ir::DType ints) {
  const ir::Expr* e = to_scalar(r, v, at, ints);
  if (!e || !e->dtype().is_void()) return e;
  r.error(at, diag::ExpectedScalar, describe(r, Val::of(e)));
  return nullptr;
}

const ir::Expr* to_operand(Reader& r, const Val& v, Node at) {
  if (v.is(ValKind::Str)) return r.ctx.string(v.text);
  if (v.is(ValKind::DType)) return r.ctx.dtype(v.dtype);
  if (v.is(ValKind::Path))
    if (const auto t = try_dtype(v)) return r.ctx.dtype(*t);
  if (v.expr() && r.in_tir()) return v.expr();
  return to_scalar(r, v, at);
}

const ir::Expr* as_leaf(Reader& r, const ir::Expr* e, Node at) {
  // A tuple consists of leaves and is allowed wherever they are.
  if (!e || ir::is_leaf(e) || ir::isa<ir::Tuple>(e)) return e;
  if (!r.fn || !r.fn->body) {
    r.error(at, diag::NotALeaf);
    return nullptr;
  }
  return emit_temporary(r, e, at);
}

Val settled(Reader& r, Val v, Node at) {
  const ir::Expr* e = v.expr();
  if (!e || r.in_tir() || !r.fn || !r.fn->body || is_scalar_expr(e)) return v;
  if (!ir::isa<ir::Call>(e) && !ir::isa<ir::TupleGetItem>(e)) return v;
  Val leaf = Val::of(as_leaf(r, e, at));
  leaf.cst = v.cst;
  return leaf;
}

const ir::Expr* to_leaf(Reader& r, const Val& v, Node at) { return as_leaf(r, to_relax(r, v, at), at); }

const ir::Expr* to_relax(Reader& r, const Val& v, Node at) {
  switch (v.kind) {
    case ValKind::Poison:
      return nullptr;
    case ValKind::Int:
    case ValKind::Bool:
    case ValKind::Float:
      return to_scalar(r, v, at, v.is(ValKind::Float) ? ir::DType::Void() : ir::DType::Int(64));
    case ValKind::Str:
      return r.ctx.string(v.text);
    case ValKind::DType:
      return r.ctx.dtype(v.dtype);
    case ValKind::Expr:
      return v.expr();
    case ValKind::Tuple:
    case ValKind::List: {
      std::vector<const ir::Expr*> items;
      items.reserve(v.items.size());
      for (const Val& item : v.items) {
        const Node where = item.cst ? item.cst : at;
        // In a tuple True is the number 1, as in TVM.
        items.push_back(item.is(ValKind::Bool) ? r.ctx.i64(item.integer) : to_leaf(r, item, where));
        if (!items.back()) return nullptr;
      }
      return r.ctx.tuple(items);
    }
    case ValKind::None:
      return r.at(r.ctx.call_typed(r.ctx.op(op::NullValue), {}, r.ctx.any()), at);
    case ValKind::Path:
      if (const auto t = try_dtype(v)) return r.ctx.dtype(*t);
      break;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, as_value, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
      break;
  }
  r.error(at, diag::ExpectedValue, describe(r, v));
  return nullptr;
}

namespace {

const ir::Attr* list_attr(Reader& r, const Val& v, Node at) {
  std::vector<const ir::Attr*> items;
  items.reserve(v.items.size());
  for (const Val& item : v.items) {
    items.push_back(to_attr(r, item, item.cst ? item.cst : at));
    if (!items.back()) return nullptr;
  }
  return r.ctx.attr_list(items, v.is(ValKind::Tuple));
}

}  // namespace

const ir::Attr* to_attr(Reader& r, const Val& v, Node at) {
  switch (v.kind) {
    case ValKind::Poison:
      return nullptr;
    case ValKind::None:
      return r.ctx.attr_none();
    case ValKind::Bool:
      return r.ctx.attr(v.integer != 0);
    case ValKind::Int:
      return r.ctx.attr(v.integer);
    case ValKind::Float:
      return r.ctx.attr(v.floating);
    case ValKind::Str:
      return r.ctx.attr(v.text);
    case ValKind::DType:
      return r.ctx.attr(v.dtype);
    case ValKind::Tuple:
    case ValKind::List:
      return list_attr(r, v, at);
    case ValKind::Dict: {
      const std::vector<ir::NamedAttr> fields = to_fields(r, v, at);
      return r.ctx.attr_dict(fields);
    }
    case ValKind::Expr: {
      const ir::Expr* e = v.expr();
      if (const auto* s = ir::as<ir::StringImm>(e)) return r.ctx.attr(s->value);
      if (const auto* t = ir::as<ir::DTypeImm>(e)) return r.ctx.attr(t->value);
      // A literal of the dialect's own dtype is the plain number.
      if (const auto* i = ir::as<ir::IntImm>(e); i && e->dtype() == r.default_int()) return r.ctx.attr(i->value);
      if (!is_scalar_expr(e) && !ir::isa<ir::CommReducer>(e) && !ir::isa<ir::Lambda>(e)) e = as_leaf(r, e, at);
      return e ? r.ctx.attr(e) : nullptr;
    }
    case ValKind::Buffer:
      return r.ctx.attr_node(v.buffer());
    case ValKind::Region: {
      const ir::Expr* e = load_of_region(r, v, at);
      return e ? r.ctx.attr(e) : nullptr;
    }
    case ValKind::Type:
      return r.ctx.attr(v.type());
    case ValKind::Attr:
      return v.attr();
    case ValKind::Range: {
      const ir::Attr* begin = to_attr(r, v.items[0], at);
      const ir::Attr* end = to_attr(r, apply_binary(r, "+", v.items[0], v.items[1], at), at);
      if (!begin || !end) return nullptr;
      const ir::Attr* both[] = {begin, end};
      return r.ctx.attr_opaque("I.Range", both, {});
    }
    case ValKind::Lambda: {
      const ir::Expr* e = lambda_expr(r, v, at);
      return e ? r.ctx.attr(e) : nullptr;
    }
    case ValKind::Path:
      if (const auto t = try_dtype(v)) return r.ctx.attr(*t);
      if (const ir::Type* t = type_of_path(r, v)) return r.ctx.attr(t);
      break;
    case ValKind::Nothing:
    case ValKind::Ellipsis:
    case ValKind::Slice:
    case ValKind::Module:
    case ValKind::Method:
    case ValKind::Loop:
    case ValKind::Frame:
      break;
  }
  r.error(at, diag::ExpectedAttribute, describe(r, v));
  return nullptr;
}

std::vector<ir::NamedAttr> to_fields(Reader& r, const Val& dict, Node at) {
  std::vector<ir::NamedAttr> out;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Val& key = dict.items[i];
    const Node where = key.cst ? key.cst : at;
    if (key.poison()) continue;
    if (!key.is(ValKind::Str)) {
      r.error(where, diag::ExpectedString, describe(r, key));
      continue;
    }
    bool repeated = false;
    for (const ir::NamedAttr& a : out) repeated = repeated || a.name == key.text;
    if (repeated) {
      r.error(where, diag::RepeatedKey, key.text);
      continue;
    }
    // Until 2026 the dialect, and with it its keys, was called `tir`.
    const std::string name =
        key.text.starts_with("tir.") ? "tirx." + std::string(key.text.substr(4)) : std::string(key.text);
    if (const ir::Attr* value = to_attr(r, dict.items[i + 1], dict.items[i + 1].cst ? dict.items[i + 1].cst : at))
      out.push_back(r.ctx.named(name, value));
  }
  return out;
}

const ir::Type* to_type(Reader& r, const Val& v, Node at) {
  switch (v.kind) {
    case ValKind::Poison:
      return nullptr;
    case ValKind::Type:
      return v.type();
    case ValKind::None:
      return r.ctx.void_type();
    case ValKind::Path:
      if (const ir::Type* t = type_of_path(r, v)) return t;
      break;
    case ValKind::DType:
      return r.ctx.prim(v.dtype);
    case ValKind::Str:
      return type_of_string(r, v, at);
    case ValKind::Tuple:
    case ValKind::List: {  // several outputs: [R.Tensor(..), R.Tensor(..)]
      std::vector<const ir::Type*> fields;
      for (const Val& item : v.items) {
        fields.push_back(to_type(r, item, item.cst ? item.cst : at));
        if (!fields.back()) return nullptr;
      }
      return r.ctx.tuple_type(fields);
    }
    case ValKind::Expr:
      // T.handle("float32") and T.int64() are expressions elsewhere.
      if (ir::isa<ir::Var>(v.expr()) && is_scalar_expr(v.expr())) return v.expr()->type;
      break;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, as_type, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
      break;
  }
  r.error(at, diag::ExpectedType, describe(r, v));
  return nullptr;
}

std::optional<ir::DType> try_dtype(const Val& v) {
  switch (v.kind) {
    case ValKind::DType:
      return v.dtype;
    case ValKind::Str:
      if (v.text.empty()) return ir::DType::Void();
      return runtime::parse_dtype(v.text);
    case ValKind::Path:
      if (v.space == Space::Tir && v.text == "boolean") return ir::DType::Bool();
      if (v.space == Space::Tir) return runtime::parse_dtype(v.text);
      return std::nullopt;
    case ValKind::Expr:
      if (const auto* t = ir::as<ir::DTypeImm>(v.expr())) return t->value;
      if (const auto* s = ir::as<ir::StringImm>(v.expr())) return runtime::parse_dtype(s->value);
      return std::nullopt;
    case ValKind::Type:
      if (const auto* p = ir::as<ir::PrimType>(v.type())) return p->dtype;
      return std::nullopt;
#define RLDB_VAL_KIND(Kind, as_scalar, as_value, as_type, as_dtype, in_relax, alias_in_tir, statement_in_tir) \
  RLDB_CST_ANSWER(CASE, as_dtype, case ValKind::Kind:)
#include "frontend/script/value/val_kind.def"
      break;
  }
  return std::nullopt;
}

std::optional<ir::DType> to_dtype(Reader& r, const Val& v, Node at) {
  if (v.poison()) return std::nullopt;
  if (const auto t = try_dtype(v)) return t;
  if (v.is(ValKind::Str)) {
    static const std::vector<std::string_view> names = {
        "float16", "float32", "float64", "bfloat16", "int8",   "int16", "int32",         "int64",      "uint8",
        "uint16",  "uint32",  "uint64",  "bool",     "handle", "void",  "float8_e4m3fn", "float8_e5m2"};
    std::string_view near = source::nearest(v.text, names);
    if (v.text == "float") near = "float32";
    if (v.text == "int") near = "int64";
    if (v.text == "double") near = "float64";
    r.error_hint(at, near.empty() ? std::string() : fmt::format("did you mean \"{}\"?", near), diag::UnknownDType,
                 v.text);
    return std::nullopt;
  }
  r.error(at, diag::ExpectedDType, describe(r, v));
  return std::nullopt;
}

std::optional<std::int64_t> to_int(Reader& r, const Val& v, Node at) {
  if (v.poison()) return std::nullopt;
  if (v.is(ValKind::Int) || v.is(ValKind::Bool)) return v.integer;
  if (v.expr())
    if (const auto i = ir::const_int(v.expr())) return i;
  r.error(at, diag::ExpectedInteger, describe(r, v));
  return std::nullopt;
}

std::optional<bool> to_bool(Reader& r, const Val& v, Node at) {
  if (v.poison()) return std::nullopt;
  if (v.is(ValKind::Bool) || v.is(ValKind::Int)) return v.integer != 0;
  if (v.expr())
    if (const auto i = ir::const_int(v.expr())) return *i != 0;
  r.error(at, diag::ExpectedBool, describe(r, v));
  return std::nullopt;
}

std::optional<std::string_view> to_str(Reader& r, const Val& v, Node at) {
  if (v.poison()) return std::nullopt;
  if (v.is(ValKind::Str)) return v.text;
  if (v.expr())
    if (const auto* s = ir::as<ir::StringImm>(v.expr())) return s->value;
  r.error(at, diag::ExpectedString, describe(r, v));
  return std::nullopt;
}

std::optional<std::vector<const ir::Expr*>> to_dims(Reader& r, const Val& v, Node at, ir::DType ints) {
  std::vector<const ir::Expr*> dims;
  const auto one = [&](const Val& item) {
    const Node where = item.cst ? item.cst : at;
    const ir::Expr* d = item.is(ValKind::Str) ? symbol_expr(r, item, where, ints) : to_scalar(r, item, where, ints);
    if (d && !d->dtype().is_integral()) {
      r.error(where, diag::DimNotInteger, describe(r, Val::of(d)));
      d = nullptr;
    } else if (d && ints == ir::DType::Int(64) && !ir::isa<ir::IntImm>(d) && d->dtype() != ints && !r.in_tir() &&
               !r.rfc_spelling()) {
      r.error(where, diag::DimNotInt64, ir::print_expr(d), runtime::to_string(d->dtype()));
      d = nullptr;
    }
    dims.push_back(d);
    return d != nullptr;
  };
  if (v.poison()) return std::nullopt;
  if (v.is_sequence()) {
    bool good = true;
    for (const Val& item : v.items) good = one(item) && good;
    if (!good) return std::nullopt;
    return dims;
  }
  if (v.expr())
    if (const auto* s = ir::as<ir::ShapeExpr>(v.expr()))
      return std::vector<const ir::Expr*>(s->values.begin(), s->values.end());
  if (!one(v)) return std::nullopt;
  return dims;
}

std::optional<double> named_float(std::string_view text) {
  const bool negative = text.starts_with('-');
  const double sign = negative ? -1 : 1;
  if (negative) text.remove_prefix(1);
  if (text == "inf") return std::copysign(std::numeric_limits<double>::infinity(), sign);
  if (text == "nan") return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  return std::nullopt;
}

}  // namespace rldb::frontend::script
