// Number events recorded by compiled kernels about the values they write, for catchpoints.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "codegen/llvm/both_engines.h"

using namespace rldb;
using namespace rldb::codegen::testing;
using codegen::Jit;
using runtime::NumericEvent;
using runtime::Value;

namespace {

Value filled(std::vector<std::int64_t> shape, runtime::DType t, double v) {
  auto made = runtime::Tensor::empty(std::move(shape), t).value();
  for (std::int64_t i = 0; i < made->element_count(); ++i)
    runtime::store_double(made->data() + std::size_t(i) * t.bytes(), t, v);
  return Value(std::move(made));
}

void put(Value& v, std::int64_t at, double number) {
  const runtime::Tensor& t = v.as_tensor();
  runtime::store_double(v.as_tensor().data() + std::size_t(at) * t.dtype().bytes(), t.dtype(), number);
}

// The report of `C = A + B` on its run when A holds the number at some position.
std::optional<bool> said(std::string_view dtype, runtime::DType t, runtime::NumericEvents wanted, double number,
                         std::int64_t at) {
  Text text(elementwise("A[i] + B[i]", std::string(dtype), std::string(dtype), std::string(dtype)));
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(text.ctx, text.f, "add").value();
  kernel->look_for(wanted);
  constexpr std::int64_t kCount = 37;  // whole vectors and a remainder
  std::vector<Value> args{filled({kCount}, t, 1), filled({kCount}, t, 0), filled({kCount}, t, 0)};
  put(args[0], at, number);
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(args[2].as_tensor().at(at == 5 ? 6 : 5) == 1);
  return kernel->may_have_written();
}

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a kernel notes the numbers that it is to look for, in vectors and behind them") {
  struct Row {
    std::string_view dtype;
    runtime::DType type;
    double denormal;
  };
  for (const Row& row :
       {Row{"float32", runtime::DType::Float(32), 1e-40}, Row{"float64", runtime::DType::Float(64), 1e-310},
        Row{"float16", runtime::DType::Float(16), 0x1p-20}}) {
    CAPTURE(row.dtype);
    for (const std::int64_t at : {0, 5, 36}) {
      CAPTURE(at);
      const auto nan = bit(NumericEvent::NaN), inf = bit(NumericEvent::Inf), small = bit(NumericEvent::Denormal);
      CHECK(said(row.dtype, row.type, nan, std::nan(""), at) == true);
      CHECK(said(row.dtype, row.type, nan, kInf, at) == false);
      CHECK(said(row.dtype, row.type, inf, -kInf, at) == true);
      CHECK(said(row.dtype, row.type, inf, std::nan(""), at) == false);
      CHECK(said(row.dtype, row.type, small, row.denormal, at) == true);
      CHECK(said(row.dtype, row.type, small, 0, at) == false);
      CHECK(said(row.dtype, row.type, nan | inf | small, 2, at) == false);
      CHECK(said(row.dtype, row.type, nan | inf, kInf, at) == true);
      CHECK(said(row.dtype, row.type, 0, std::nan(""), at) == std::nullopt);
    }
  }
}

TEST_CASE("looking is given up and taken up again, and each run says its own") {
  Text text(elementwise("A[i] + B[i]", "float32", "float32", "float32"));
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(text.ctx, text.f, "add").value();
  const auto f32 = runtime::DType::Float(32);
  std::vector<Value> good{filled({9}, f32, 1), filled({9}, f32, 1), filled({9}, f32, 0)};
  std::vector<Value> bad{filled({9}, f32, std::nan("")), filled({9}, f32, 1), filled({9}, f32, 0)};
  const auto run = [&](std::vector<Value>& args) {
    REQUIRE(runtime::call_kernel(*kernel, args).ok());
    return kernel->may_have_written();
  };
  CHECK(run(bad) == std::nullopt);
  kernel->look_for(bit(NumericEvent::NaN));
  CHECK(run(bad) == true);
  CHECK(run(good) == false);
  kernel->look_for(0);
  CHECK(run(bad) == std::nullopt);
  kernel->look_for(bit(NumericEvent::NaN));
  CHECK(run(good) == false);
}

TEST_CASE("a kernel that adds up in its output does not look: the search costs less") {
  Text text(
      "@T.prim_func\ndef f(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((4,), \"float32\")):\n"
      "    for i, k in T.grid(4, 8):\n        with T.sblock(\"s\"):\n            vi, vk = T.axis.remap(\"SR\", [i, "
      "k])\n"
      "            with T.init():\n                B[vi] = T.float32(0)\n            B[vi] = B[vi] + A[vi, vk]\n");
  codegen::JitOptions as_written;
  as_written.schedule = false;
  auto jit = Jit::create(as_written).value();
  auto kernel = jit->add(text.ctx, text.f, "f").value();
  kernel->look_for(bit(NumericEvent::NaN));
  std::vector<Value> args{filled({4, 8}, runtime::DType::Float(32), 1), filled({4}, runtime::DType::Float(32), 0)};
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(kernel->may_have_written() == std::nullopt);
}

TEST_CASE("numbers inside of buffers of the kernel's own are not noted") {
  Text text(
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
      "    C = T.alloc_buffer((16,))\n    for i in range(16):\n        C[i] = A[i] / A[i]\n"
      "    for i in range(16):\n        B[i] = T.if_then_else(C[i] == C[i], C[i], T.float32(0))\n");
  auto jit = Jit::create({}).value();
  auto kernel = jit->add(text.ctx, text.f, "f").value();
  kernel->look_for(bit(NumericEvent::NaN));
  std::vector<Value> args{filled({16}, runtime::DType::Float(32), 0), filled({16}, runtime::DType::Float(32), 7)};
  REQUIRE(runtime::call_kernel(*kernel, args).ok());
  CHECK(args[1].as_tensor().at(3) == 0);
  CHECK(kernel->may_have_written() == false);
}
