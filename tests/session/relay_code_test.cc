// Whole programs: our own files define their primitives; loops; dims known only at run time; files from elsewhere.
#include "rldb/session/relay_code.h"

#include <doctest/doctest.h>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "session/relay/relay_values.h"

using namespace rldb;
using runtime::DType;
using runtime::Value;

namespace {

struct Compiled {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  std::unique_ptr<session::RelayCode> program;

  explicit Compiled(const std::string& text, session::Options options = {}) {
    const auto file = sources.add("test.relay", "#[version = \"0.0.5\"]\n" + text);
    const auto parsed = frontend::parse_relay(ctx, sources, file, found);
    relay::Typing typing;
    if (parsed.module && relay::infer_types(ctx, parsed.module, typing, found))
      program = session::RelayCode::compile(ctx, parsed.module, options, nullptr, found);
  }
  std::string message() const { return found.all().empty() ? "" : found.all().front().message; }
};

Value scalar(std::int64_t v) { return session::relay_argument(Value::of_int(v), nullptr).value(); }

Value vector(std::vector<float> values) {
  auto t = runtime::Tensor::empty({std::int64_t(values.size())}, DType::Float(32)).value();
  for (std::size_t i = 0; i < values.size(); ++i) runtime::store_double(t->data() + 4 * i, t->dtype(), values[i]);
  return Value(t);
}

const char* const kLoop = R"(def @loop(%n: int32, %acc: int32) -> int32 {
  if (%n == 0) { %acc } else { @loop(%n - 1, %acc + 2) }
}
def @main(%n: int32) -> int32 { @loop(%n, 0) }
)";

}  // namespace

TEST_CASE("a loop written as recursion keeps one frame") {
  const Compiled c(kLoop);
  REQUIRE(c.program);
  const std::vector<Value> args{scalar(20'000)};
  relay_vm::Limits limits;
  limits.max_frames = 3;
  const auto o = relay_vm::call(c.program->linked(), "main", args, limits);
  REQUIRE(o.finished());
  CHECK(o.value.as_tensor().at(0) == 40'000);
}

TEST_CASE("a file says what its primitives do") {
  const Compiled c(R"(def @main(%x: Tensor[(?), float32]) {
  nn.softmax(multiply(%x, 2f), axis=0)
}
)");
  REQUIRE(c.program);
  const std::vector<Value> args{vector({1, 2, 3})};
  const auto first = c.program->run("main", args);
  REQUIRE(first.finished());
  auto exe = relay_bytecode::load(relay_bytecode::serialise(c.program->executable()).value());
  REQUIRE(exe.ok());
  source::Diagnostics found;
  const auto again = session::RelayCode::open(std::move(exe).value(), {}, nullptr, found);
  REQUIRE(again);
  const auto second = again->run("main", args);
  REQUIRE(second.finished());
  CHECK(runtime::compare(second.value, first.value) == "");
  // Other dims: other kernels.
  CHECK(again->run("main", std::vector<Value>{vector({1, 2, 3, 4, 5})}).finished());
}

TEST_CASE("what a file's primitives do is read off their names where nothing says it") {
  relay_bytecode::Executable exe;
  exe.primitives = {"vm_mod_fused_add", "vm_mod_fused_nn_softmax", "vm_mod_frobnicate"};
  for (const int primitive : {0, 1, 2}) {
    relay_bytecode::FunctionEntry f;
    f.name = exe.primitives[std::size_t(primitive)];
    f.params = {"x", "out"};
    f.register_file_size = 2;
    f.start = exe.end();
    const std::vector<relay_bytecode::Word> call = primitive == 0
                                                       ? std::vector<relay_bytecode::Word>{4, 0, 3, 1, 0, 0, 1}
                                                       : std::vector<relay_bytecode::Word>{4, primitive, 2, 1, 0, 1};
    exe.add(call);
    exe.add(std::vector<relay_bytecode::Word>{1, 1});
    f.end = exe.end();
    exe.functions.push_back(f);
  }
  source::Diagnostics found;
  const auto program = session::RelayCode::open(std::move(exe), {}, nullptr, found);
  REQUIRE(program);
  const std::vector<Value> args{vector({1, 2}), vector({0, 0})};
  const auto sum = program->run("vm_mod_fused_add", args);
  REQUIRE(sum.finished());
  CHECK(sum.value.as_tensor().at(1) == 4);
  const auto softmax = program->run("vm_mod_fused_nn_softmax", args);
  REQUIRE(softmax.faulted());
  CHECK(softmax.fault->error.message == "`nn.softmax` takes attributes, which the name of a primitive does not tell");
  CHECK(program->run("vm_mod_frobnicate", args).fault->error.message ==
        "there is no code for the primitive `vm_mod_frobnicate`");
}

TEST_CASE("what cannot be compiled is said") {
  CHECK(Compiled("def @main(%x: (float32, float32)) { let %r = ref(%x); ref_read(%r) }\n").message() ==
        "a reference to `(float32, float32)` cannot be compiled for the Relay VM");
}

TEST_CASE("dims that do not fit are a fault at the call") {
  const Compiled c("def @main(%x: Tensor[(?), float32], %y: Tensor[(3), float32]) { add(%x, %y) }\n");
  REQUIRE(c.program);
  CHECK(c.program->run("main", std::vector<Value>{vector({1}), vector({1, 2, 3})}).finished());
  const auto o = c.program->run("main", std::vector<Value>{vector({1, 2}), vector({1, 2, 3})});
  REQUIRE(o.faulted());
  CHECK(o.fault->error.kind == runtime::ErrorKind::ShapeMismatch);
  CHECK(o.fault->instruction.starts_with("invoke_packed"));
}
