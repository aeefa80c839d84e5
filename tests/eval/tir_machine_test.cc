#include <doctest/doctest.h>

#include "eval/tir/intrinsic.h"
#include "eval/tir/scalar_value.h"
#include "rldb/eval/eval.h"
#include "rldb/eval/machine_view.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/device.h"

using namespace rldb;
using runtime::DType;
using runtime::Value;

namespace {

Value ints(std::vector<std::int64_t> shape, const std::vector<int>& data) {
  auto t = runtime::Tensor::empty(std::move(shape), DType::Int(32));
  REQUIRE(t.ok());
  for (std::size_t i = 0; i < data.size(); ++i) runtime::store_int((*t)->data() + i * 4, DType::Int(32), data[i]);
  return Value(std::move(t).value());
}

// out[i] = in[i + shift] for i in range(n), over buffers of length n.
const ir::PrimFunc* shifted_copy(ir::Context& ctx, std::int64_t shift) {
  const ir::Var* n = ctx.var("n", ctx.int64());
  const std::vector<const ir::Expr*> shape{n};
  const ir::Buffer* in = ctx.buffer("A", shape, DType::Int(32));
  const ir::Buffer* out = ctx.buffer("B", shape, DType::Int(32));
  const ir::Var* i = ctx.var("i", ctx.int64());
  const std::vector<const ir::Expr*> at{i};
  const std::vector<const ir::Expr*> from{ctx.binary(ir::BinaryKind::Add, i, ctx.i64(shift))};
  const ir::Stmt* store = ctx.store(out, ctx.load(in, from), at);
  const ir::Stmt* loop = ctx.for_stmt(i, ctx.i64(0), n, ir::ForKind::Serial, store);
  const std::vector<ir::PrimParam> params{{in->data, in}, {out->data, out}};
  return ctx.prim_func(params, ctx.void_type(), loop, {});
}

}  // namespace

TEST_CASE("a kernel is stepped a statement at a time, and its variables can be seen") {
  ir::Context ctx;
  eval::TirMachine machine(shifted_copy(ctx, 0), nullptr);
  const Value out = ints({2}, {0, 0});
  const std::vector<Value> args{ints({2}, {5, 6}), out};
  REQUIRE(machine.start(args).ok());
  REQUIRE(machine.current());
  CHECK(machine.current()->kind == ir::NodeKind::For);
  REQUIRE(machine.step().ok());
  CHECK(machine.current()->kind == ir::NodeKind::BufferStore);
  bool seen = false;
  for (const auto& [var, value] : machine.variables()) {
    if (var->name == "i") seen = value.as_int() == 0;
    if (var->name == "n") CHECK(value.as_int() == 2);
  }
  CHECK(seen);
  eval::TirMachine copy(machine);
  while (machine.running()) REQUIRE(machine.step().ok());
  CHECK(out.as_tensor().at(1) == 6);
  CHECK(copy.running());  // a clone stays where it was
}

// B[tx] = A[n - 1 - tx] through memory of the block, in threads bound by loops.
const ir::PrimFunc* reversed(ir::Context& ctx, std::int64_t n, bool barrier) {
  const std::vector<const ir::Expr*> shape{ctx.i64(n)};
  const ir::Buffer* in = ctx.buffer("A", shape, DType::Int(32));
  const ir::Buffer* out = ctx.buffer("B", shape, DType::Int(32));
  const ir::Buffer* shared = ctx.buffer("S", shape, DType::Int(32), "shared");
  const ir::Var* tx = ctx.var("tx", ctx.int64());
  const std::vector<const ir::Expr*> at{tx};
  const std::vector<const ir::Expr*> from{ctx.binary(ir::BinaryKind::Sub, ctx.i64(n - 1), tx)};
  std::vector<const ir::Stmt*> body{ctx.alloc_buffer(shared), ctx.store(shared, ctx.load(in, at), at)};
  if (barrier)
    body.push_back(ctx.evaluate(ctx.intrin(DType::Int(32), ir::intrin::TvmStorageSync, {ctx.string("shared")})));
  body.push_back(ctx.store(out, ctx.load(shared, from), at));
  const ir::Stmt* loop =
      ctx.for_stmt(tx, ctx.i64(0), ctx.i64(n), ir::ForKind::ThreadBinding, ctx.seq_stmt(body), {}, "threadIdx.x");
  const std::vector<ir::PrimParam> params{{in->data, in}, {out->data, out}};
  return ctx.prim_func(params, ctx.void_type(), loop, {});
}

TEST_CASE("threads take turns from barrier to barrier, over one memory") {
  ir::Context ctx;
  eval::TirMachine machine(reversed(ctx, 4, true), nullptr);
  const Value out = ints({4}, {0, 0, 0, 0});
  const std::vector<Value> args{ints({4}, {5, 6, 7, 8}), out};
  REQUIRE(machine.start(args).ok());
  std::vector<std::int64_t> order;  // of the threads that store to memory
  while (machine.running()) {
    if (machine.current()->kind == ir::NodeKind::BufferStore)
      for (const auto& [var, value] : machine.variables())
        if (var->name == "tx") order.push_back(value.as_int());
    REQUIRE(machine.step().ok());
  }
  CHECK(order == std::vector<std::int64_t>{0, 1, 2, 3, 0, 1, 2, 3});
  for (int i = 0; i < 4; ++i) CHECK(out.as_tensor().at(std::size_t(i)) == 8 - i);
}

TEST_CASE("a clone in the middle of a block goes its own way; threads meet where a barrier will be placed") {
  ir::Context ctx;
  eval::TirMachine machine(reversed(ctx, 3, true), nullptr);
  const Value out = ints({3}, {0, 0, 0});
  const std::vector<Value> args{ints({3}, {1, 2, 3}), out};
  REQUIRE(machine.start(args).ok());
  for (int i = 0; i < 4; ++i) REQUIRE(machine.step().ok());
  eval::TirMachine copy(machine);
  while (machine.running()) REQUIRE(machine.step().ok());
  CHECK(copy.running());
  while (copy.running()) REQUIRE(copy.step().ok());
  CHECK(copy.steps() == machine.steps());
  CHECK(out.as_tensor().at(0) == 3);

  for (const bool placed : {true, false}) {
    eval::TirMachine unplaced(reversed(ctx, 3, false), nullptr);
    if (!placed) eval::keep_to_written_barriers(unplaced);
    const Value other = ints({3}, {0, 0, 0});
    const std::vector<Value> others{ints({3}, {1, 2, 3}), other};
    REQUIRE(unplaced.start(others).ok());
    while (unplaced.running()) REQUIRE(unplaced.step().ok());
    CHECK(other.as_tensor().at(0) == (placed ? 3 : 0));  // as it was before another thread wrote it
  }
}

TEST_CASE("an access out of bounds names buffer, index and loop variables") {
  ir::Context ctx;
  eval::TirMachine machine(shifted_copy(ctx, 1), nullptr);
  const std::vector<Value> args{ints({2}, {5, 6}), ints({2}, {0, 0})};
  REQUIRE(machine.start(args).ok());
  runtime::Result<support::Unit> last = support::Unit{};
  while (machine.running() && last.ok()) last = machine.step();
  REQUIRE(!last.ok());
  CHECK(last.error().kind == runtime::ErrorKind::OutOfBounds);
  CHECK(last.error().message.find("`A`, index 0 is 2") != std::string::npos);
  REQUIRE(!last.error().notes.empty());
  CHECK(last.error().notes[0].find("i = 1") != std::string::npos);
}

TEST_CASE("wrong arguments are refused") {
  ir::Context ctx;
  eval::TirMachine machine(shifted_copy(ctx, 0), nullptr);
  CHECK(!machine.start({}).ok());
  const std::vector<Value> ranks{ints({2, 1}, {5, 6}), ints({2}, {0, 0})};
  CHECK(!machine.start(ranks).ok());
  const std::vector<Value> dims{ints({2}, {5, 6}), ints({3}, {0, 0, 0})};
  CHECK(!machine.start(dims).ok());
}

TEST_CASE("integer arithmetic is TVM's") {
  using eval::of_int;
  const auto op = [](ir::BinaryKind k, std::int64_t a, std::int64_t b, DType t) {
    return eval::binary(k, of_int(a), of_int(b), t);
  };
  const DType i32 = DType::Int(32), i64 = DType::Int(64), u8 = DType::UInt(8);
  CHECK(op(ir::BinaryKind::FloorDiv, -7, 2, i32)->i == -4);
  CHECK(op(ir::BinaryKind::Div, -7, 2, i32)->i == -3);
  CHECK(op(ir::BinaryKind::FloorMod, -7, 2, i32)->i == 1);
  CHECK(op(ir::BinaryKind::Mod, -7, 2, i32)->i == -1);
  CHECK(op(ir::BinaryKind::FloorMod, 7, -2, i32)->i == -1);
  CHECK(op(ir::BinaryKind::Add, 2147483647, 1, i32)->i == -2147483648LL);
  CHECK(op(ir::BinaryKind::Sub, 0, 1, u8)->i == 255);
  CHECK(op(ir::BinaryKind::FloorDiv, INT64_MIN, -1, i64)->i == INT64_MIN);
  CHECK(op(ir::BinaryKind::FloorMod, INT64_MIN, -1, i64)->i == 0);
  CHECK(!op(ir::BinaryKind::FloorDiv, 1, 0, i64).ok());
  CHECK(!op(ir::BinaryKind::FloorMod, 1, 0, u8).ok());
  CHECK(op(ir::BinaryKind::LT, -1, 1, DType::UInt(64))->i == 0);
}

TEST_CASE("floats round once an operation") {
  const auto add = [](double a, double b, DType t) {
    return eval::binary(ir::BinaryKind::Add, eval::of_float(a), eval::of_float(b), t)->f;
  };
  CHECK(add(1.0, 1e-8, DType::Float(32)) == 1.0);
  CHECK(add(1.0, 1e-8, DType::Float(64)) == 1.0 + 1e-8);
  CHECK(add(2048.0, 1.0, DType::Float(16)) == 2048.0);  // ties to even
  CHECK(add(256.0, 1.0, DType::BFloat16()) == 256.0);
}

TEST_CASE("bitwise not of a bool is a bool") {
  const eval::IntrinsicFn f = eval::body_of(ir::info(ir::intrin::BitwiseNot));
  REQUIRE((f != nullptr));
  const eval::Scalar one = eval::of_int(1), zero = eval::of_int(0);
  CHECK(f({&one, 1}, DType::Bool(), DType::Bool()).i == 0);
  CHECK(f({&zero, 1}, DType::Bool(), DType::Bool()).i == 1);
  CHECK(f({&zero, 1}, DType::Int(8), DType::Int(8)).i == -1);
}
