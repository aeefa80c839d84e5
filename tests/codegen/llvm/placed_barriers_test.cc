// Scheduled kernels without barriers: threads meet where TVM's ThreadSync will place one, on every engine, and kernels
// whose threads share nothing stay loops.
#include <doctest/doctest.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/codegen/llvm/jit.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/thread_barriers.h"

using namespace rldb;
using namespace rldb::codegen::testing;
using runtime::Value;

namespace {

std::string kernel(const std::string& params, const std::string& body) {
  return R"(
from tvm.script import tirx as T
@T.prim_func
def kernel()" +
         params + R"():
    T.func_attr({"tirx.is_scheduled": True})
)" + body;
}

Value ints(std::vector<std::int64_t> shape, const std::vector<int>& values) {
  auto t = runtime::Tensor::empty(std::move(shape), runtime::DType::Int(32)).value();
  for (std::size_t i = 0; i < values.size(); ++i)
    runtime::store_int(t->data() + i * 4, runtime::DType::Int(32), values[i]);
  return Value(std::move(t));
}

std::vector<int> contents(const Value& v) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i) out.push_back(int(v.as_tensor().at(i)));
  return out;
}

// The contents of y after kernel(x, y) on the evaluator, statement by statement and compiled, and as machine code.
void check_gives(const std::string& text, const Value& x, const std::vector<std::int64_t>& shape,
                 const std::vector<int>& expected) {
  Text t(text);
  REQUIRE(t.problem == "");
  const auto fresh = [&] { return std::vector<Value>{x, ints(shape, std::vector<int>(expected.size(), 0))}; };
  const std::vector<Value> stepped = fresh();
  eval::TirMachine machine(t.f, nullptr);
  REQUIRE(machine.start(stepped).ok());
  while (machine.running()) REQUIRE(machine.step().ok());
  CHECK(contents(stepped[1]) == expected);

  const std::vector<Value> run = fresh();
  auto evaluated = eval::make_eval_kernel(t.f, eval::signature_of(t.f, "kernel").value(), nullptr, nullptr);
  REQUIRE(runtime::call_kernel(*evaluated, run).ok());
  CHECK(contents(run[1]) == expected);

  const std::vector<Value> compiled = fresh();
  auto jit = codegen::Jit::create({}).value();
  auto code = jit->add(t.ctx, t.f, "kernel");
  if (!code.ok()) FAIL(code.error().text);
  REQUIRE(runtime::call_kernel(**code, compiled).ok());
  CHECK(contents(compiled[1]) == expected);
}

const std::string kOneToOne = "x: T.Buffer((8,), \"int32\"), y: T.Buffer((8,), \"int32\")";
const Value kEight = ints({8}, {0, 1, 2, 3, 4, 5, 6, 7});

bool waits(const std::string& text) {
  Text t(text);
  REQUIRE(t.problem == "");
  return ir::threads_take_turns(t.f->body);
}

}  // namespace

TEST_CASE("placed barriers: what one thread stores, another one reads") {
  check_gives(kernel(kOneToOne, R"(
    sh = T.alloc_buffer((8,), "int32", scope="shared")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("load"):
            vt = T.axis.spatial(8, t)
            sh[vt] = x[vt]
        with T.sblock("reversed"):
            vt = T.axis.spatial(8, t)
            y[vt] = sh[7 - vt]
)"),
              kEight, {8}, {7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("placed barriers: from one turn of a loop to the next, beside a barrier of the text") {
  check_gives(kernel("x: T.Buffer((2, 8), \"int32\"), y: T.Buffer((2,), \"int32\")", R"(
    sh = T.alloc_buffer((2, 8), "int32", scope="shared")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("load"):
                vb, vt = T.axis.remap("SS", [b, t])
                sh[vb, vt] = x[vb, vt]
            T.tvm_storage_sync("shared")
            for s in range(3):
                with T.sblock("tree"):
                    vb = T.axis.spatial(2, b)
                    vt = T.axis.spatial(8, t)
                    vs = T.axis.opaque(3, s)
                    if vt < T.shift_right(4, vs):
                        sh[vb, vt] = sh[vb, vt] + sh[vb, vt + T.shift_right(4, vs)]
            with T.sblock("out"):
                vb, vt = T.axis.remap("SS", [b, t])
                if vt == 0:
                    y[vb] = sh[vb, 0]
)"),
              ints({2, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1}), {2}, {28, 8});
}

TEST_CASE(
    "placed barriers: memory of each thread that is allocated before them, and loops over the same threads inside") {
  check_gives(kernel(kOneToOne, R"(
    sh = T.alloc_buffer((8,), "int32", scope="shared")
    own = T.alloc_buffer((1,), "int32", scope="local")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        own[0] = 0
        for k in range(2):
            for f in T.thread_binding(8, thread="threadIdx.x"):
                sh[f] = x[f] + k
            own[0] = own[0] + sh[(t + 1) % 8]
        y[t] = own[0]
)"),
              kEight, {8}, {3, 5, 7, 9, 11, 13, 15, 1});
}

TEST_CASE("placed barriers: launches, as they are before ThreadSync") {
  check_gives(R"(
from tvm.script import tirx as T
@T.prim_func
def kernel(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    sh = T.alloc_buffer((8,), "int32", scope="shared")
    sh[tx] = x[tx]
    y[tx] = sh[7 - tx]
)",
              kEight, {8}, {7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("placed barriers: none where one thread may run after the other") {
  const std::string own = R"(
    sh = T.alloc_buffer((8,), "int32", scope="shared")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("load"):
            vt = T.axis.spatial(8, t)
            sh[vt] = x[vt]
        with T.sblock("store"):
            vt = T.axis.spatial(8, t)
            y[vt] = sh[vt] * 2
)";
  CHECK_FALSE(waits(kernel(kOneToOne, own)));
  const std::string siblings = R"(
    sh = T.alloc_buffer((8,), "int32", scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("load"):
                vt = T.axis.spatial(8, t)
                sh[vt] = x[vt]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.sblock("reversed"):
                vt = T.axis.spatial(8, t)
                y[vt] = sh[7 - vt]
)";
  CHECK_FALSE(waits(kernel(kOneToOne, siblings)));
  check_gives(kernel(kOneToOne, siblings), kEight, {8}, {7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("placed barriers: threads that share memory and a reduction over them are refused, by name") {
  const std::string text = kernel(kOneToOne, R"(
    sh = T.alloc_buffer((1,), "int32", scope="shared")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("sum"):
            vt = T.axis.reduce(8, t)
            with T.init():
                sh[0] = 0
            sh[0] = sh[0] + x[vt]
        with T.sblock("out"):
            vt = T.axis.spatial(8, t)
            y[vt] = sh[0]
)");
  Text t(text);
  REQUIRE(t.problem == "");
  eval::TirMachine machine(t.f, nullptr);
  const std::vector<Value> args{kEight, ints({8}, std::vector<int>(8, 0))};
  REQUIRE(machine.start(args).ok());
  const auto ran = machine.run();
  REQUIRE_FALSE(ran.ok());
  CHECK(ran.error().message.find("LowerCrossThreadReduction has to be run first") != std::string::npos);
  CHECK(jit_error(text).find("LowerCrossThreadReduction has to be run first") != std::string::npos);
}
