// R. names that are not operators of the registry: literals, constants, tuples, externs.
#include <fmt/format.h>

#include "frontend/script/relax/relax.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/scalar.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_type.h"

namespace rldb::frontend::script {

namespace {

// ---- R.const ----

// Shape of a nested list; false when it is ragged or holds anything but numbers.
bool constant_shape(const Val& v, std::vector<std::int64_t>& shape, std::size_t depth) {
  if (depth > 64) return false;
  if (!v.is_sequence()) {
    if (!v.is_number() && !(v.expr() && (ir::isa<ir::IntImm>(v.expr()) || ir::isa<ir::FloatImm>(v.expr()))))
      return false;
    return shape.size() == depth;
  }
  if (shape.size() == depth) {
    shape.push_back(std::int64_t(v.items.size()));
    // The first path to a leaf decides the rank.
    if (!v.items.empty() && !v.items[0].is_sequence()) {
      for (const Val& i : v.items)
        if (!constant_shape(i, shape, depth + 1)) return false;
      return true;
    }
  }
  if (shape[depth] != std::int64_t(v.items.size())) return false;
  for (const Val& i : v.items)
    if (!constant_shape(i, shape, depth + 1)) return false;
  return true;
}

void collect_numbers(const Val& v, std::vector<Val>& out) {
  if (!v.is_sequence()) {
    out.push_back(v);
    return;
  }
  for (const Val& i : v.items) collect_numbers(i, out);
}

// Python's default dtypes as assumed by relax.const: bool, int32, float32.
ir::DType constant_dtype(const std::vector<Val>& numbers) {
  bool floats = false, bools = !numbers.empty();
  for (const Val& v : numbers) {
    if (v.expr()) return v.expr()->dtype();
    floats = floats || v.is(ValKind::Float);
    bools = bools && v.is(ValKind::Bool);
  }
  if (floats || numbers.empty()) return ir::DType::Float(32);
  return bools ? ir::DType::Bool() : ir::DType::Int(32);
}

// A literal of 2^63 and more is the negative integer of the same bits.
bool is_large_literal(const Val& v, Node at) {
  const std::string_view text = (v.cst ? v.cst : at).text();
  return v.integer < 0 && text.find_first_not_of("0123456789abcdefABCDEFxXoO_") == std::string_view::npos;
}

// Whether an integer is one of the dtype's values; of floats any is.
bool is_value_of(ir::DType dtype, std::int64_t i, bool large) {
  if (large) return !dtype.is_integral() || dtype == ir::DType::UInt(64);
  if (dtype.is_uint()) return i >= 0 && (dtype.bits >= 63 || i < std::int64_t(1) << dtype.bits);
  if (!dtype.is_int() || dtype.bits >= 64) return true;
  const std::int64_t end = std::int64_t(1) << (dtype.bits - 1);
  return i >= -end && i < end;
}

// False after a report of an error. Without a dtype TVM has NumPy make an int64, and casts it; with one NumPy refuses.
bool check_range(Reader& r, const std::vector<Val>& numbers, ir::DType dtype, bool is_given, Node at) {
  for (const Val& v : numbers) {
    const bool large = v.is(ValKind::Int) && is_large_literal(v, at);
    if (!v.is(ValKind::Int) || is_value_of(dtype, v.integer, large)) continue;
    const std::string number = large ? std::to_string(std::uint64_t(v.integer)) : std::to_string(v.integer);
    if (is_given) {
      r.error(at, diag::ConstantOutOfRange, number, to_string(dtype));
      return false;
    }
    r.report(at.span(), source::message(diag::ConstantWraps, number, to_string(dtype), std::int32_t(v.integer)));
    return true;
  }
  return true;
}

void store(std::byte* at, ir::DType dtype, const Val& v) {
  if (v.expr()) {
    if (const auto* f = ir::as<ir::FloatImm>(v.expr())) return runtime::store_double(at, dtype, f->value);
    const std::int64_t i = ir::const_int(v.expr()).value_or(0);
    return dtype.is_integral() ? runtime::store_int(at, dtype, i) : runtime::store_double(at, dtype, double(i));
  }
  if (v.is(ValKind::Float)) return runtime::store_double(at, dtype, v.floating);
  if (dtype.is_integral()) return runtime::store_int(at, dtype, v.integer);
  runtime::store_double(at, dtype, double(v.integer));
}

Val const_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto value = args.require(0, "value");
  Argument* dtype_arg = args.find(1, "dtype");
  for (const std::string_view key : {"ty", "struct_info"})  // of R.dist.const
    if (!dtype_arg) dtype_arg = args.find(key);
  std::optional<ir::DType> dtype;
  const ir::Type* type = nullptr;
  if (dtype_arg) {
    const Val v = args.value(dtype_arg);
    if (v.type()) {
      type = v.type();
    } else if (!v.is(ValKind::None)) {
      dtype = to_dtype(r, v, dtype_arg->node);
      if (!dtype) return {};
    }
  }
  args.finish();
  if (!value || value->poison()) return {};
  std::vector<std::int64_t> shape;
  Val v = *value;
  // "inf", "nan" as text.
  if (v.is(ValKind::Str))
    if (const auto number = named_float(v.text)) v = Val::of_float(*number);
  if (!constant_shape(v, shape, 0)) return r.error(args.node(0, "value"), diag::BadConstant, describe(r, *value));
  std::vector<Val> numbers;
  collect_numbers(v, numbers);
  if (const auto* t = ir::as<ir::TensorType>(type); t && !t->dtype.is_void()) dtype = t->dtype;
  if (const auto* t = ir::as<ir::DTensorType>(type)) dtype = t->tensor->dtype;
  const bool is_given = dtype.has_value();
  if (!dtype) dtype = constant_dtype(numbers);
  if (dtype->is_void() || dtype->is_handle()) return r.error(call.node, diag::UnknownDType, "void");
  if (!check_range(r, numbers, *dtype, is_given, args.node(0, "value"))) return {};
  auto tensor = runtime::Tensor::empty(shape, *dtype);
  if (!tensor.ok()) return r.error(call.node, diag::BadConstant, tensor.error().message);
  for (std::size_t i = 0; i < numbers.size(); ++i) store((*tensor)->data() + i * dtype->bytes(), *dtype, numbers[i]);
  const ir::Constant* c =
      type ? r.ctx.constant_typed(runtime::Value(*tensor), type) : r.ctx.constant(runtime::Value(*tensor));
  return Val::of(static_cast<const ir::Expr*>(r.at(c, call.node)));
}

// ---- literals ----

Val shape_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "values");
  const auto dims = v ? to_dims(r, *v, args.node(0, "values"), ir::DType::Int(64)) : std::nullopt;
  args.finish();
  if (!dims) return {};
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.shape(*dims), call.node)));
}

Val str_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  const auto s = v ? to_str(r, *v, args.node(0, "value")) : std::nullopt;
  return s ? Val::of(static_cast<const ir::Expr*>(r.ctx.string(*s))) : Val();
}

Val dtype_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  const auto t = v ? to_dtype(r, *v, args.node(0, "value")) : std::nullopt;
  return t ? Val::of(static_cast<const ir::Expr*>(r.ctx.dtype(*t))) : Val();
}

Val prim_value_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  if (!v) return {};
  return Val::of(to_scalar(r, *v, args.node(0, "value"), ir::DType::Int(64)));
}

Val tuple_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  std::vector<const ir::Expr*> items;
  for (Argument& a : args.all()) {
    if (!a.keyword.empty()) continue;
    a.used = true;
    items.push_back(to_leaf(r, args.value(&a), a.node));
    if (!items.back()) return {};
  }
  args.finish();
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.tuple(items), call.node)));
}

Val tuple_get_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto tuple = args.require(0, "tuple_value");
  const auto index = args.require(1, "index");
  args.finish();
  if (!tuple || !index) return {};
  const ir::Expr* e = to_leaf(r, *tuple, args.node(0, "tuple_value"));
  const auto i = to_int(r, *index, args.node(1, "index"));
  if (!e || !i) return {};
  auto got = r.ctx.tuple_get(e, *i);
  if (got.ok()) return Val::of(static_cast<const ir::Expr*>(r.at(*got, call.node)));
  r.report(call.node.span(), std::move(got).error());
  return {};
}

Val extern_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const auto name = args.require(0, attr_name::GlobalSymbol);
  const ir::Type* type = nullptr;
  for (std::string_view key : {"ty", "struct_info", "sinfo"}) {
    if (type) break;
    Argument* a = args.find(key == "ty" ? 1 : 99, key);
    if (!a) continue;
    a->used = true;
    type = to_type(r, args.value(a), a->node);
    if (!type) return {};
  }
  args.finish();
  const auto s = name ? to_str(r, *name, args.node(0, attr_name::GlobalSymbol)) : std::nullopt;
  if (!s) return {};
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.extern_func(*s, type), call.node)));
}

// R.dist.device_mesh is R.device_mesh.
Val device_mesh_call(Reader& r, const CallNode& call) {
  CallNode plain = call;
  plain.path = "device_mesh";
  return opaque_constructor(r, plain);
}

// Known names that are only meaningful where a statement handles them.
Val misplaced(Reader& r, const CallNode& call) { return r.error(call.function, diag::Misplaced, call.shown()); }

Val not_evaluated(Reader& r, const CallNode& call) { return r.error(call.function, diag::NeedsPython, call.shown()); }

}  // namespace

std::span<const HandlerRow> relax_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"const", const_call},
      {"dist.const", const_call},
      {"shape", shape_call},
      {"ShapeExpr", shape_call},
      {"str", str_call},
      {"StringImm", str_call},
      {"dtype", dtype_call},
      {"prim_value", prim_value_call},
      {"tuple", tuple_call},
      {"TupleGetItem", tuple_get_call},
      {"Call", call_node},
      {"ExternFunc", extern_call},
      {"device_mesh", opaque_constructor},
      {"dist.device_mesh", device_mesh_call},
      {"device", opaque_constructor},
#define RLDB_DEVICE_KIND(name, ...) {name, device_call},
#define RLDB_DEVICE_WORD(name, ...) {name, device_call},
#include "rldb/runtime/device_kind.def"
      {"dataflow", misplaced},
      {"output", misplaced},
      {"outputs", misplaced},
      {"func_attr", misplaced},
      {"func_name", misplaced},
      {"function", misplaced},
      {"match_cast", misplaced},
      {"match_shape", misplaced},
      {"emit", not_evaluated},
      {"emit_te", not_evaluated},
      {"emit_with_ty", not_evaluated},
  };
  return kRows;
}

}  // namespace rldb::frontend::script
