// TVM's calling convention for packed functions as expressed in TensorIR: arguments and results are records of a type
// index, padding and a value.
#pragma once

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/stmt.h"

namespace rldb::passes::ffi {

// Fields of the records, by number for tvm_struct_get and tvm_struct_set: DLTensor's, then those of an argument.
enum Field : std::int32_t {
  kTensorAddress = 0,
  kTensorData,
  kTensorShape,
  kTensorStrides,
  kTensorNdim,
  kTensorTypeCode,
  kTensorTypeBits,
  kTensorTypeLanes,
  kTensorByteOffset,
  kTensorDeviceId,
  kTensorDeviceType,
  kTypeIndex = 13,
  kPadding = 14,
  kValue = 15,
  kInt64Element = 17,  // of an array of int64
};

// The type index of an argument.
enum Type : std::int32_t {
  kNone = 0,
  kInt = 1,
  kBool = 2,
  kFloat = 3,
  kOpaquePointer = 4,
  kTensorPointer = 7,
  kRawString = 8,
  kObjectsBegin = 64,
  kTensor = 70,
};

inline const ir::Stmt* set_field(ir::Context& ctx, const ir::Expr* record, std::int64_t index, Field field,
                                 const ir::Expr* value) {
  return ctx.evaluate(ctx.intrin(ir::DType::Int(32), ir::intrin::TvmStructSet,
                                 {record, ctx.i32(std::int32_t(index)), ctx.i32(field), value}));
}
inline const ir::Expr* get_field(ir::Context& ctx, const ir::Expr* record, std::int64_t index, Field field,
                                 ir::DType dtype) {
  return ctx.intrin(dtype, ir::intrin::TvmStructGet, {record, ctx.i32(std::int32_t(index)), ctx.i32(field)});
}
// The three fields of one argument or result.
inline void set_any(ir::Context& ctx, const ir::Expr* record, std::int64_t index, Type type, const ir::Expr* value,
                    std::vector<const ir::Stmt*>& out) {
  out.push_back(set_field(ctx, record, index, kTypeIndex, ctx.i32(type)));
  out.push_back(set_field(ctx, record, index, kPadding, ctx.i32(0)));
  out.push_back(set_field(ctx, record, index, kValue, value));
}
inline const ir::Expr* is_null(ir::Context& ctx, const ir::Expr* pointer) {
  return ctx.intrin(ir::DType::Bool(), ir::intrin::Isnullptr, {pointer});
}
inline const ir::Expr* null_handle(ir::Context& ctx) {
  return ctx.intrin(ir::DType::Handle(), ir::intrin::Reinterpret, {ctx.int_imm(ir::DType::UInt(64), 0)});
}

}  // namespace rldb::passes::ffi
