// Calls of packed functions as written by LowerTVMBuiltin: arguments set field by field in records on a stack, tensors
// in records of their own, and memory from the device's workspace.
#include <fmt/format.h>

#include <cstring>

#include "eval/tir/parts.h"
#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/printer.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using support::Unit;

namespace {

// Fields by number, as in TVM's code generators.
constexpr std::int64_t kAddress = 0, kData = 1, kShape = 2, kNdim = 4, kCode = 5, kBits = 6, kLanes = 7,
                       kByteOffset = 8, kArgument = 15;
constexpr std::int64_t kMaxDims = 1'000, kMaxLanes = 1'024;
constexpr std::string_view kShapeStack = "shape";

bool is_record(const Environment& env, const ir::Expr* e) {
  const auto* v = as<ir::Var>(e);
  return v && env.records.contains(v);
}

template <ir::Intrinsic id>
const ir::Call* call_of(const ir::Expr* e, std::size_t arguments) {
  return is_call_of<id>(e) && as<ir::Call>(e)->args.size() >= arguments ? as<ir::Call>(e) : nullptr;
}

}  // namespace

// A pointer's value: a variable, or the address of an element.
Result<Pointer> TirMachine::Impl::pointer_of(const ir::Expr* e) const {
  if (const auto* v = as<ir::Var>(e))
    if (const auto it = env.pointers.find(v); it != env.pointers.end()) return it->second;
  const auto* c = call_of<ir::intrin::AddressOf>(e, 1);
  const auto* load = c ? as<ir::BufferLoad>(c->args[0]) : nullptr;
  if (!load)
    return fail(ErrorKind::Unsupported, fmt::format("the evaluator cannot follow the pointer `{}`", ir::print_expr(e)));
  RLDB_TRY(const BufferValue b, expr().buffer(load->buffer));
  RLDB_TRY(const std::byte* at, expr().address(load->buffer, load->indices, 0));
  return Pointer{b.storage, std::size_t(at - b.storage->data()), b.end};
}

// The value of a pointer variable that is bound to a call; false: another kind of value.
Result<bool> TirMachine::Impl::bind_call(const ir::Var* var, const ir::Expr* value) {
  if (const auto* c = call_of<ir::intrin::TvmStackAlloca>(value, 2)) {
    const auto* what = as<ir::StringImm>(c->args[0]);
    env.records[var].clear();
    if (!what || what->value != kShapeStack) return true;
    RLDB_TRY(const std::int64_t count, expr().integer(c->args[1]));
    RLDB_TRY(env.pointers[var], allocate({count}, DType::Int(64), var->name));
    return true;
  }
  if (const auto* c = call_of<ir::intrin::TVMBackendAllocWorkspace>(value, 3)) {
    RLDB_TRY(const std::int64_t bytes, expr().integer(c->args[2]));
    RLDB_TRY(env.pointers[var], allocate({bytes}, DType::UInt(8), var->name));
    return true;
  }
  return false;
}

Result<Unit> TirMachine::Impl::set_field(const ir::Call* c) {
  if (c->args.size() != 4 || !is_record(env, c->args[0]))
    return fail(ErrorKind::Unsupported,
                fmt::format("the evaluator cannot follow the record of `{}`", ir::print_expr(c)));
  RLDB_TRY(const std::int64_t index, expr().integer(c->args[1]));
  RLDB_TRY(const std::int64_t field, expr().integer(c->args[2]));
  RLDB_TRY(Field value, field_value(c->args[3]));
  const std::pair<std::int64_t, std::int64_t> at(index, field);
  env.records[as<ir::Var>(c->args[0])][at] = std::move(value);
  return Unit{};
}

Result<Field> TirMachine::Impl::field_value(const ir::Expr* e) const {
  const bool is_pointer = as<ir::PointerType>(e->type) || e->dtype().is_handle();
  if (const auto* c = call_of<ir::intrin::Reinterpret>(e, 1); c && is_pointer) {
    if (const auto* text = as<ir::StringImm>(c->args[0])) return Field{Value::of_string(std::string(text->value)), {}};
    return Field{};  // the null pointer
  }
  if (const auto* c = call_of<ir::intrin::TvmStructGet>(e, 3); c && is_record(env, c->args[0])) {
    RLDB_TRY(const std::int64_t index, expr().integer(c->args[1]));
    RLDB_TRY(const std::int64_t field, expr().integer(c->args[2]));
    if (field != kAddress) return field_of(as<ir::Var>(c->args[0]), index, field);
    RLDB_TRY(Value tensor, tensor_of(as<ir::Var>(c->args[0]), index));
    return Field{std::move(tensor), {}};
  }
  if (is_pointer) {
    RLDB_TRY(Pointer p, pointer_of(e));
    return Field{Value(), std::move(p)};
  }
  RLDB_TRY(Value v, expr().as_value(e));
  return Field{std::move(v), {}};
}

Result<Field> TirMachine::Impl::field_of(const ir::Var* record, std::int64_t index, std::int64_t field) const {
  const auto& fields = env.records.at(record);
  const auto it = fields.find({index, field});
  if (it == fields.end())
    return fail(ErrorKind::Unsupported,
                fmt::format("field {} of record {} of `{}` is not set", field, index, record->name));
  return it->second;
}

// The tensor that a record describes.
Result<Value> TirMachine::Impl::tensor_of(const ir::Var* record, std::int64_t index) const {
  const auto number = [&](std::int64_t field) -> Result<std::int64_t> {
    RLDB_TRY(const Field f, field_of(record, index, field));
    return f.value.is(runtime::ValueKind::Int) ? f.value.as_int() : 0;
  };
  RLDB_TRY(const Field data, field_of(record, index, kData));
  RLDB_TRY(const Field shape, field_of(record, index, kShape));
  RLDB_TRY(const std::int64_t ndim, number(kNdim));
  RLDB_TRY(const std::int64_t code, number(kCode));
  RLDB_TRY(const std::int64_t bits, number(kBits));
  RLDB_TRY(const std::int64_t lanes, number(kLanes));
  RLDB_TRY(const std::int64_t offset, number(kByteOffset));
  const std::size_t bytes = std::size_t(std::max<std::int64_t>(ndim, 0)) * sizeof(std::int64_t);
  const bool is_dtype = code >= 0 && code <= std::int64_t(runtime::TypeCode::Float4E2M1FN) && bits > 0 && bits <= 64 &&
                        lanes > 0 && lanes <= kMaxLanes;
  if (!data.pointer.storage || ndim < 0 || ndim > kMaxDims || offset < 0 || !is_dtype ||
      (ndim > 0 && (!shape.pointer.storage || shape.pointer.end - shape.pointer.byte_offset < bytes)))
    return fail(ErrorKind::OutOfBounds, fmt::format("record {} of `{}` describes no tensor", index, record->name));
  std::vector<std::int64_t> dims(std::size_t(ndim), 0);
  if (ndim > 0) std::memcpy(dims.data(), shape.pointer.storage->data() + shape.pointer.byte_offset, bytes);
  const DType dtype{runtime::TypeCode(code), std::uint8_t(bits), std::int16_t(lanes)};
  RLDB_TRY(auto tensor,
           runtime::Tensor::view(data.pointer.storage, data.pointer.byte_offset + std::size_t(offset), dims, dtype));
  return Value(std::move(tensor));
}

// A pointer is passed as the bytes behind it.
Result<Value> TirMachine::Impl::argument(const Field& field) {
  const Pointer& p = field.pointer;
  if (!field.value.is_null() || !p.storage) return field.value;
  const std::vector<std::int64_t> bytes{std::int64_t(p.end - p.byte_offset)};
  RLDB_TRY(auto tensor, runtime::Tensor::view(p.storage, p.byte_offset, bytes, DType::UInt(8)));
  return Value(std::move(tensor));
}

// args: the name, the stack, the first argument, the result after the last
Result<Unit> TirMachine::Impl::call_lowered(const ir::Call* c) {
  const auto* name = c->args.size() == 4 ? as<ir::StringImm>(c->args[0]) : nullptr;
  if (!name || !is_record(env, c->args[1]))
    return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", ir::print_expr(c)));
  const runtime::PackedInfo* f = registry ? registry->find(name->value) : nullptr;
  if (!f) return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", name->value));
  RLDB_TRY(const std::int64_t begin, expr().integer(c->args[2]));
  RLDB_TRY(const std::int64_t end, expr().integer(c->args[3]));
  std::vector<Value> args;
  for (std::int64_t i = begin; i < end; ++i) {
    RLDB_TRY(const Field field, field_of(as<ir::Var>(c->args[1]), i, kArgument));
    RLDB_TRY(Value value, argument(field));
    args.push_back(std::move(value));
  }
  RLDB_TRY(const Value ignored, f->function->native(args));
  (void)ignored;
  if (watcher)
    for (const Value& v : args) watcher->passed(v);
  return Unit{};
}

// Statements of lowered calls; false: another kind of statement.
Result<bool> TirMachine::Impl::evaluate_lowered(const ir::Expr* e) {
  const auto* c = as<ir::Call>(e);
  if (!c) return false;
  if (is_call_of<ir::intrin::TvmStructSet>(c)) {
    RLDB_TRY_VOID(set_field(c));
    return true;
  }
  if (is_call_of<ir::intrin::TvmCallPackedLowered>(c) || is_call_of<ir::intrin::TvmCallCpackedLowered>(c)) {
    RLDB_TRY_VOID(call_lowered(c));
    return true;
  }
  if (is_call_of<ir::intrin::TvmThrowLastError>(c)) return fail(ErrorKind::Raised, "a function of the runtime failed");
  return false;
}

}  // namespace rldb::eval
