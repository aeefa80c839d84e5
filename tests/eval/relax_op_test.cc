// Operators that the evaluator runs by itself are found by their rows.
#include "eval/relax/relax_op.h"

#include <doctest/doctest.h>

#include "rldb/ir/op_id.h"

using namespace rldb;
using runtime::DType;
using runtime::Value;

namespace {

Value vector_of(std::vector<std::int64_t> data) {
  auto t = eval::int64_tensor(data, {std::int64_t(data.size())});
  REQUIRE(t.ok());
  return std::move(t).value();
}

runtime::Result<Value> call(op::Id id, const std::vector<Value>& args) {
  const eval::OpFn f = eval::find_relax_op(id);
  REQUIRE(bool(f));
  const runtime::DeviceList devices;
  return f({op::row(id).name, args, nullptr, devices});
}

}  // namespace

TEST_CASE("relax operators: identities give their first argument and want one") {
  int count = 0;
  for (const op::Row& row : op::rows()) {
    if (!row.has(op::Trait::Identity)) continue;
    ++count;
    const Value x = vector_of({4, 5});
    const auto same = call(row.id, {x});
    REQUIRE(same.ok());
    CHECK(&same->as_tensor() == &x.as_tensor());
    CHECK_FALSE(call(row.id, {}).ok());
  }
  CHECK(count == 8);
}

TEST_CASE("relax operators: an inspection reads the field that its name says") {
  const Value x = vector_of({4, 5, 6});
  CHECK(call(op::Id::InspectTensorNdim, {x})->as_int() == 1);
  CHECK(call(op::Id::InspectTensorDtypeBits, {x})->as_int() == 64);
  CHECK(call(op::Id::InspectTensorShapeI, {x, Value::of_int(0)})->as_int() == 3);
  CHECK_FALSE(call(op::Id::InspectTensorShapeI, {x, Value::of_int(1)}).ok());
  CHECK(call(op::Id::InspectTensorByteOffset, {x})->as_int() == 0);
}

TEST_CASE("relax operators: memory by hand") {
  const auto storage = call(op::Id::VmAllocStorage, {Value::of_shape({16}), Value::of_int(0),
                                                     Value::of_dtype(DType::UInt(8)), Value::of_string("global")});
  REQUIRE(storage.ok());
  const auto tensor = call(op::Id::VmAllocTensor, {*storage, Value::of_int(0), Value::of_shape({2}),
                                                   Value::of_dtype(DType::Int(64)), Value::of_int(0)});
  REQUIRE(tensor.ok());
  CHECK(tensor->as_tensor().byte_size() == 16);
  CHECK_FALSE(call(op::Id::MemoryAllocTensor, {Value::of_int(1), Value::of_dtype(DType::Int(64))}).ok());
}

TEST_CASE("relax operators: what is legalised, and what is a call itself, has no function here") {
  for (const op::Id id : {op::Id::Add, op::Id::NnRelu, op::Id::CallTir, op::Id::MakeClosure, op::Id::VmKillObject,
                          op::Id::VmCallTirDyn, op::Id::CallPyFunc})
    CHECK_FALSE(bool(eval::find_relax_op(id)));
}
