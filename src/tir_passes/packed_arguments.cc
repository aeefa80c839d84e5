// Reads arguments from records: numbers by their value, tensors by the fields of their DLTensor.
#include "tir_passes/packed_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kTypeError = "TypeError";
constexpr std::string_view kValueError = "ValueError";
constexpr std::string_view kWhenCalling = " when calling:\n  `";
constexpr std::string_view kExpected = "`,\n  expected ";
constexpr std::string_view kSetDevice = "__tvm_set_device";
constexpr std::string_view kDefaultDevice = "default";

bool is_pointer(const Var* v) { return as<PointerType>(v->type) || v->dtype().is_handle(); }

// Sizes of tensors with elements smaller than a byte, other than bool, do not count elements.
bool is_packed(DType t) { return t.is_integral() && !t.is_bool() && (t.bits == 1 || t.bits == 4) && t.lanes == 1; }

std::string dim_text(const Expr* e) {
  if (const auto* v = as<Var>(e)) return std::string(v->name);
  PrintOptions options;
  options.tensor_ir = true;
  return print_expr(e, options);
}

std::string parameter_text(const PrimParam& p) {
  if (!p.buffer)
    return fmt::format("{}: {}", p.var->name, is_pointer(p.var) ? "handle" : runtime::to_string(p.var->dtype()));
  std::string dims;
  for (const Expr* e : p.buffer->shape) dims += (dims.empty() ? "" : ", ") + dim_text(e);
  return fmt::format("{}: Tensor([{}], {})", p.buffer->name, dims, runtime::to_string(p.buffer->dtype));
}

}  // namespace

PackedArguments::PackedArguments(Context& ctx, std::string_view symbol, const PrimFunc* f, std::int32_t device_type,
                                 std::string_view device_name)
    : ctx_(ctx), f_(f), symbol_(symbol), device_type_(device_type), device_name_(device_name), analyzer_(ctx) {
  signature_ = fmt::format("{}(", symbol);
  for (const PrimParam& p : f->params)
    signature_ += fmt::format("{}{}", &p == f->params.data() ? "" : ", ", parameter_text(p));
  signature_ += ")";
  // The variable of a parameter that is written as a buffer is the pointer to its elements, not to its record.
  for (const PrimParam& p : f->params) {
    const bool own = p.buffer && p.buffer->data == p.var;
    handles_.push_back(own ? ctx.var(fmt::format("{}_handle", p.var->name), ctx.pointer()) : p.var);
    if (own) ctx.set_origin(handles_.back(), p.var);
  }
  args_ = ctx.var("args", ctx.pointer());
  count_ = ctx.var("num_args", ctx.prim(DType::Int(32)));
  device_id_ = ctx.var("dev_id", ctx.prim(DType::Int(32)));
}

const Stmt* PackedArguments::around(const Stmt* body) {
  const auto n = std::int64_t(f_->params.size());
  check(compare(ctx_, BinaryKind::EQ, count_, ctx_.i32(std::int32_t(n))), kTypeError,
        {"Expected ", std::to_string(n), " arguments", std::string(kWhenCalling), signature_, "`"});
  if (n > 0)
    check(ctx_.not_(ffi::is_null(ctx_, args_)), kTypeError,
          {"args pointer is NULL", std::string(kWhenCalling), signature_, "`"});
  for (std::int64_t i = 0; i < n; ++i) read(i);
  for (std::int64_t i = 0; i < n; ++i)
    if (f_->params[std::size_t(i)].buffer) read_tensor(i);
  add_pending();
  first_.insert(first_.end(), late_.begin(), late_.end());
  if (tensors_) {
    first_.push_back({nullptr, ctx_.attr(kDefaultDevice), "device_id", device_id_});
    first_.push_back({nullptr, ctx_.attr(kDefaultDevice), "device_type", ctx_.i32(device_type_)});
  }
  std::vector<const Stmt*> inner = checks_;
  inner.insert(inner.end(), buffers_.begin(), buffers_.end());
  inner.push_back(body);
  const Stmt* made = ctx_.seq_stmt(inner);
  std::vector<const Stmt*> rest;  // of the innermost attribute so far, last first
  for (const Step& s : std::views::reverse(first_)) {
    if (s.stmt) {
      rest.push_back(s.stmt);
      continue;
    }
    if (!rest.empty()) {
      std::reverse(rest.begin(), rest.end());
      rest.push_back(made);
      made = ctx_.seq_stmt(rest);
      rest.clear();
    }
    made = ctx_.attr_stmt(s.node, s.key, s.value, made);
  }
  std::reverse(rest.begin(), rest.end());
  rest.push_back(made);
  return ctx_.seq_stmt(rest);
}

const Stmt* PackedArguments::set_device() const {
  const Expr* const args[] = {ctx_.string(kSetDevice), ctx_.i32(device_type_), device_id_};
  return ctx_.evaluate(ctx_.call_typed(ctx_.op(info(intrin::TvmCallPacked).op), args, ctx_.prim(DType::Int(32))));
}

// ---- numbers and handles ----

void PackedArguments::read(std::int64_t index) {
  const PrimParam& p = f_->params[std::size_t(index)];
  origin_ = p.var;
  const Var* type = ctx_.var(fmt::format("{}_type_index", p.var->name), ctx_.prim(DType::Int(32)));
  ctx_.set_origin(type, p.var);
  bind(type, ffi::get_field(ctx_, args_, index, ffi::kTypeIndex, DType::Int(32)));
  if (p.buffer || is_pointer(p.var)) {
    bind(handles_.at(std::size_t(index)), pointer(index, type, p.buffer ? "Tensor" : "pointer"));
  } else {
    bind_scalar(p.var, decoded(index, type, p.var), std::string(p.var->name), index);
  }
}

const Expr* PackedArguments::decoded(std::int64_t index, const Var* type, const Var* param) {
  const DType t = param->dtype();
  if (t.is_bool()) {
    check_type(index, one_of(type, {ffi::kBool, ffi::kInt}), "boolean");
    return value(index, DType::Int(64), t);
  }
  if (t.is_integral()) {
    check_type(index, one_of(type, {ffi::kInt, ffi::kBool}), "int");
    return value(index, DType::Int(64), t);
  }
  check_type(index, one_of(type, {ffi::kFloat, ffi::kInt, ffi::kBool}), "float");
  return ctx_.select(is(type, ffi::kFloat), value(index, DType::Float(64), t),
                     ctx_.cast(t, value(index, DType::Int(64), DType::Int(64))));
}

const Expr* PackedArguments::pointer(std::int64_t index, const Var* type, std::string_view expected) {
  constexpr std::int32_t kTensorCell = 24;  // offset of the DLTensor in a tensor object, in bytes
  const Expr* object = ctx_.binary(BinaryKind::GE, type, ctx_.i32(ffi::kObjectsBegin));
  const Expr* others = one_of(type, {ffi::kNone, ffi::kOpaquePointer, ffi::kTensorPointer});
  check_type(index, ctx_.binary(BinaryKind::Or, others, object), expected);
  const Expr* given = value(index, DType::Handle(), DType::Handle());
  const Expr* inside = ctx_.intrin(DType::Handle(), intrin::HandleAddByteOffset, {given, ctx_.i32(kTensorCell)});
  return ctx_.intrin(DType::Handle(), intrin::IfThenElse, {is(type, ffi::kTensor), inside, given});
}

// Defines a variable, or checks that it has the value that it got before; the value of an expression is checked last.
void PackedArguments::bind_scalar(const Expr* arg, const Expr* value, std::string path, std::int64_t param) {
  const auto* v = as<Var>(arg);
  if (v && !defined_.contains(v)) {
    defined_[v] = {v, std::move(path)};
    return bind(v, value);
  }
  const Expr* cond = const_int(arg) ? compare(ctx_, BinaryKind::EQ, value, arg)  // in TVM's order
                                    : analyzer_.simplify(compare(ctx_, BinaryKind::EQ, arg, value));
  if (is_const(cond, 1)) return;
  if (is_const(cond, 0)) refused = fmt::format("`{}` is never `{}`", path, print_expr(arg));
  if (!v) {
    pending_.push_back({cond, std::move(path), param, arg});
    return;
  }
  const std::string& before = defined_.at(v).path;
  const bool same = before.empty() || before == path;
  checks_.push_back(
      assertion(cond, kValueError,
                {"Mismatched ", path, " on argument #", std::to_string(param), std::string(kWhenCalling), signature_,
                 std::string(kExpected) + (same ? "matching value" : "to match "), same ? std::string() : before}));
}

void PackedArguments::add_pending() {
  for (const Pending& p : pending_)
    checks_.push_back(assertion(p.cond, kValueError,
                                {"Invalid ", p.path, " on argument #", std::to_string(p.param),
                                 std::string(kWhenCalling), signature_, std::string(kExpected), shown(p.expected)}));
}

// ---- tensors ----

void PackedArguments::read_tensor(std::int64_t index) {
  const PrimParam& p = f_->params[std::size_t(index)];
  origin_ = p.var;
  tensors_ = true;
  const Var* handle = handles_.at(std::size_t(index));
  check_kind(index, p.buffer, handle);
  const std::string prefix = fmt::format("{}_{}", symbol_, p.var->name);
  const Var* shape = array_of(handle, ffi::kTensorShape, prefix + "_shape");
  read_shape(index, p.buffer, shape);
  const Var* strides = array_of(handle, ffi::kTensorStrides, prefix + "_strides");
  read_strides(index, p.buffer, shape, strides);
  read_offset(index, p.buffer, handle);
  read_device(index, p.buffer, handle);
  read_data(index, p.buffer, handle);
}

void PackedArguments::check_kind(std::int64_t index, const Buffer* b, const Var* handle) {
  const std::string name(b->name), number = std::to_string(index), when(kWhenCalling), expected(kExpected);
  check_type(index, ctx_.not_(ffi::is_null(ctx_, handle)), "Tensor");
  const std::string rank = std::to_string(b->shape.size());
  check(ctx_.binary(BinaryKind::EQ, ctx_.i32(std::int32_t(b->shape.size())),
                    ffi::get_field(ctx_, handle, 0, ffi::kTensorNdim, DType::Int(32))),
        kValueError, {"Mismatched ", name, ".ndim on argument #", number, when, signature_, expected, rank});
  if (is_packed(b->dtype)) return;
  const auto has = [&](ffi::Field field, int bits, std::int64_t wanted) {
    return ctx_.binary(BinaryKind::EQ, ffi::get_field(ctx_, handle, 0, field, DType::UInt(bits)),
                       ctx_.int_imm(DType::UInt(bits), wanted));
  };
  const Expr* code = has(ffi::kTensorTypeCode, 8, std::int64_t(b->dtype.code));
  const Expr* bits = has(ffi::kTensorTypeBits, 8, b->dtype.bits);
  const Expr* lanes = has(ffi::kTensorTypeLanes, 16, b->dtype.lanes);
  check(
      ctx_.binary(BinaryKind::And, ctx_.binary(BinaryKind::And, code, bits), lanes), kTypeError,
      {"Mismatched ", name, ".dtype on argument #", number, when, signature_, expected, runtime::to_string(b->dtype)});
}

void PackedArguments::read_shape(std::int64_t index, const Buffer* b, const Var* shape) {
  if (is_packed(b->dtype)) return;
  for (std::size_t k = 0; k < b->shape.size(); ++k)
    bind_scalar(b->shape[k], element(shape, std::int64_t(k), b->shape[k]->dtype()),
                fmt::format("{}.shape[{}]", b->name, k), index);
}

void PackedArguments::read_strides(std::int64_t index, const Buffer* b, const Var* shape, const Var* strides) {
  if (b->strides.empty()) return check_compact(index, b, strides);
  const Expr* compact = ctx_.i32(1);
  for (std::size_t k = b->strides.size(); k-- > 0;) {
    const DType t = b->shape[k]->dtype();
    const Expr* given = element(strides, std::int64_t(k), t);
    const Expr* stride =
        ctx_.intrin(t, intrin::IfThenElse, {ffi::is_null(ctx_, strides), cast_to(ctx_, t, compact), given});
    bind_scalar(b->strides[k], cast_to(ctx_, b->strides[k]->dtype(), stride), fmt::format("{}.strides[{}]", b->name, k),
                index);
    compact = mul(ctx_, compact, element(shape, std::int64_t(k), t));
  }
}

void PackedArguments::check_compact(std::int64_t index, const Buffer* b, const Var* strides) {
  if (b->shape.empty()) return;
  const DType t = b->shape[0]->dtype();
  const Expr* expected = ctx_.int_imm(t, 1);
  const Expr* all = ctx_.bool_imm(true);
  for (std::size_t k = b->shape.size(); k-- > 0;) {
    const Expr* one = compare(ctx_, BinaryKind::EQ, b->shape[k], ctx_.int_imm(b->shape[k]->dtype(), 1));
    const Expr* same = compare(ctx_, BinaryKind::EQ, expected, element(strides, std::int64_t(k), t));
    all = logical_and(ctx_, all, logical_or(ctx_, one, same));
    expected = mul(ctx_, expected, b->shape[k]);
  }
  const Stmt* test = assertion(all, kValueError,
                               {"Mismatched ", std::string(b->name), ".strides on argument #", std::to_string(index),
                                std::string(kWhenCalling), signature_, std::string(kExpected) + "to be compact array"});
  checks_.push_back(ctx_.if_stmt(ctx_.not_(ffi::is_null(ctx_, strides)), test));
}

void PackedArguments::read_offset(std::int64_t index, const Buffer* b, const Var* handle) {
  const Expr* bytes = ffi::get_field(ctx_, handle, 0, ffi::kTensorByteOffset, DType::UInt(64));
  const std::string path = fmt::format("{}.byte_offset", b->name);
  const std::int64_t size = std::int64_t(b->dtype.bytes());
  if (const auto at = b->elem_offset ? const_int(b->elem_offset) : std::optional<std::int64_t>(0)) {
    const Expr* wanted = ctx_.int_imm(DType::UInt(64), *at * size);
    pending_.push_back({ctx_.binary(BinaryKind::EQ, wanted, bytes), path, index, wanted});
    return;
  }
  const bool fresh = isa<Var>(b->elem_offset) && !defined_.contains(as<Var>(b->elem_offset));
  const Expr* elements = div(ctx_, bytes, ctx_.int_imm(DType::UInt(64), size));
  bind_scalar(b->elem_offset, cast_to(ctx_, b->elem_offset->dtype(), elements), path, index);
  if (!fresh || b->offset_factor <= 1) return;
  const DType t = b->elem_offset->dtype();
  const Expr* rest = ctx_.binary(BinaryKind::Mod, b->elem_offset, ctx_.int_imm(t, b->offset_factor));
  check(ctx_.binary(BinaryKind::EQ, rest, ctx_.int_imm(t, 0)), kValueError,
        {"Misaligned Tensor data on argument #", std::to_string(index), std::string(kWhenCalling), signature_,
         std::string(kExpected) + "data alignment=", std::to_string(b->offset_factor * size), " bytes"});
}

void PackedArguments::read_device(std::int64_t index, const Buffer* b, const Var* handle) {
  const Expr* type = ffi::get_field(ctx_, handle, 0, ffi::kTensorDeviceType, DType::Int(32));
  check(ctx_.binary(BinaryKind::EQ, type, ctx_.i32(device_type_)), kValueError,
        {"Mismatched ", std::string(b->name), ".device_type on argument #", std::to_string(index),
         std::string(kWhenCalling), signature_, std::string(kExpected), std::string(device_name_)});
  bind_scalar(device_id_, ffi::get_field(ctx_, handle, 0, ffi::kTensorDeviceId, DType::Int(32)),
              fmt::format("{}.device_id", b->name), index);
}

void PackedArguments::read_data(std::int64_t index, const Buffer* b, const Var* handle) {
  const Expr* raw = ffi::get_field(ctx_, handle, 0, ffi::kTensorData, DType::Handle());
  const Expr* const args[] = {raw};
  const Expr* data = ctx_.call_typed(ctx_.op(info(intrin::Reinterpret).op), args, b->data->type);
  const Expr* size = product(ctx_, b->shape);
  const Expr* empty = compare(ctx_, BinaryKind::EQ, size, ctx_.int_imm(size->dtype(), 0));
  checks_.push_back(
      assertion(logical_or(ctx_, empty, ctx_.not_(ffi::is_null(ctx_, data))), kValueError,
                {std::string(b->name), " data pointer is NULL on argument #", std::to_string(index),
                 std::string(kWhenCalling), signature_, std::string(kExpected) + "non-NULL data pointer"}));
  // The buffer itself is declared after the checks: what has the alignment is its description, as in TVM's text.
  Buffer described = *b;
  described.data = ctx_.var(b->name, b->data->type);
  const Buffer* early = ctx_.buffer(described);
  ctx_.set_origin(early, b);
  // A size that a later tensor tells is not known yet.
  std::vector<const Var*> sizes;
  for (const Expr* e : b->shape) collect_vars(e, sizes);
  for (const Expr* e : b->strides) collect_vars(e, sizes);
  const bool known = std::all_of(sizes.begin(), sizes.end(), [&](const Var* v) { return defined_.contains(v); });
  std::vector<Step>& to = known ? first_ : late_;
  to.push_back({ctx_.decl_buffer(early), nullptr, {}, nullptr});
  to.push_back({nullptr, ctx_.attr_node(early), "storage_alignment", ctx_.i32(b->data_alignment)});
  const Stmt* declared = ctx_.decl_buffer(b, data);
  ctx_.set_origin(declared, b);
  buffers_.push_back(declared);
}

// ---- parts of all ----

const Stmt* PackedArguments::assertion(const Expr* cond, std::string_view kind, const Parts& parts) {
  std::vector<std::string_view> texts;
  for (const std::string& part : parts)
    if (!part.empty()) texts.push_back(ctx_.str(part));
  const Stmt* made = ctx_.assert_stmt(cond, ctx_.str(kind), texts);
  if (origin_) ctx_.set_origin(made, origin_);
  return made;
}

void PackedArguments::check(const Expr* cond, std::string_view kind, const Parts& parts) {
  first_.push_back({assertion(cond, kind, parts), nullptr, {}, nullptr});
}

void PackedArguments::check_type(std::int64_t index, const Expr* cond, std::string_view expected) {
  check(cond, kTypeError,
        {"Mismatched type on argument #", std::to_string(index), std::string(kWhenCalling), signature_,
         std::string(kExpected), std::string(expected)});
}

void PackedArguments::bind(const Var* v, const Expr* value) {
  const Stmt* bound = ctx_.bind(v, value);
  if (origin_) ctx_.set_origin(bound, origin_);
  first_.push_back({bound, nullptr, {}, nullptr});
}

const Expr* PackedArguments::is(const Var* type, ffi::Type t) { return ctx_.binary(BinaryKind::EQ, type, ctx_.i32(t)); }

const Expr* PackedArguments::one_of(const Var* type, std::initializer_list<ffi::Type> list) {
  const Expr* out = nullptr;
  for (const ffi::Type t : list) out = out ? ctx_.binary(BinaryKind::Or, out, is(type, t)) : is(type, t);
  return out;
}

// The value in the record, converted to the dtype.
const Expr* PackedArguments::value(std::int64_t index, DType record, DType wanted) {
  const Expr* e = ffi::get_field(ctx_, args_, index, ffi::kValue, record);
  return record == wanted ? e : ctx_.cast(wanted, e);
}

const Expr* PackedArguments::element(const Var* array, std::int64_t index, DType as) {
  return cast_to(ctx_, as, ffi::get_field(ctx_, array, index, ffi::kInt64Element, DType::Int(64)));
}

const Var* PackedArguments::array_of(const Var* handle, ffi::Field field, std::string name) {
  const Type* type = ctx_.pointer(DType::Int(64), "global");
  const Var* v = ctx_.var(name, type);
  const Expr* const args[] = {handle, ctx_.i32(0), ctx_.i32(field)};
  bind(v, ctx_.call_typed(ctx_.op(info(intrin::TvmStructGet).op), args, type));
  return v;
}

// A size in terms of the arguments' names.
std::string PackedArguments::shown(const Expr* e) const {
  if (const auto* i = as<IntImm>(e)) return std::to_string(i->value);
  if (const auto* v = as<Var>(e)) {
    const auto found = defined_.find(v);
    return found == defined_.end() || found->second.path.empty() ? std::string(v->name) : found->second.path;
  }
  if (const auto* c = as<CastExpr>(e)) return shown(c->value);
  const auto* b = as<BinaryExpr>(e);
  if (!b) return print_expr(e);
  const auto joined = [&](std::string_view sign) { return fmt::format("{} {} {}", shown(b->a), sign, shown(b->b)); };
  const auto called = [&](std::string_view name) { return fmt::format("{}({}, {})", name, shown(b->a), shown(b->b)); };
  if (b->op() == BinaryKind::Add) return joined("+");
  if (b->op() == BinaryKind::Sub) return joined("-");
  if (b->op() == BinaryKind::Mul) return joined("*");
  if (b->op() == BinaryKind::Div) return joined("/");
  if (b->op() == BinaryKind::Mod) return joined("%");
  if (b->op() == BinaryKind::FloorDiv) return called("floordiv");
  if (b->op() == BinaryKind::FloorMod) return called("floormod");
  if (b->op() == BinaryKind::Min) return called("min");
  return b->op() == BinaryKind::Max ? called("max") : print_expr(e);
}

}  // namespace rldb::passes
