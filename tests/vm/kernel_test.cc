// Kernels: found first, checked against their signature, called directly, as values, and through call_tir_dyn.
#include "vm/program_builder.h"

using namespace rldb;
using namespace rldb::vm;
using namespace rldb::vm::testing;

namespace {

// twice(A: (n,), B: (n,)): B = 2 A. Counts its runs.
class Twice : public runtime::Kernel {
 public:
  explicit Twice(bool with_scalar = false) {
    signature_.name = "twice";
    signature_.variables = {"n"};
    signature_.variable_dtypes = {DType::Int(64)};
    for (const char* name : {"A", "B"}) {
      runtime::KernelParam p;
      p.name = name;
      p.dtype = DType::Float(32);
      p.shape.push_back({{{runtime::DimOp::Code::Var, 0}}, "n"});
      signature_.params.push_back(std::move(p));
    }
    if (with_scalar) {
      runtime::KernelParam p;
      p.name = "n";
      p.is_tensor = false;
      p.dtype = DType::Int(64);
      p.variable = 0;
      signature_.params.push_back(std::move(p));
    }
  }
  const runtime::KernelSignature& signature() const override { return signature_; }
  runtime::Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) override {
    ++runs;
    const float* a = reinterpret_cast<const float*>(args[0].as_tensor().data());
    float* b = reinterpret_cast<float*>(args[1].as_tensor().data());
    for (std::int64_t i = 0; i < variables[0]; ++i) b[i] = 2 * a[i];
    return Value();
  }
  int runs = 0;

 private:
  runtime::KernelSignature signature_;
};

Executable program() {
  ExecutableBuilder b;
  b.begin_function("main", {"x", "y"});
  b.call("twice", {Arg::reg(0), Arg::reg(1)});
  b.ret(1);
  b.end_function();
  b.begin_function("closure", {"x", "y"});
  b.call("vm.builtin.make_closure", {b.constant_function("twice"), Arg::reg(1)}, 2);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(2), Arg::reg(0)});
  b.ret(2);
  b.end_function();
  b.begin_function("dyn", {"x", "y", "s"});
  b.call("vm.builtin.call_tir_dyn", {b.constant_function("twice_n"), Arg::reg(0), Arg::reg(1), Arg::reg(2)});
  b.ret(1);
  b.end_function();
  return b.finish();
}

}  // namespace

TEST_CASE("a kernel is called with checked arguments") {
  Fixture t;
  auto kernel = std::make_shared<Twice>();
  t.kernels.set("twice", kernel);
  t.kernels.set("twice_n", std::make_shared<Twice>(true));
  auto p = t.link(program());
  CHECK(p->target_kind(p->executable().find_function("twice")) == TargetKind::Kernel);
  Value x = tensor_f32({3}, {1, 2, 3}), y = tensor_f32({3});
  Value result = vm::call(p, "main", std::vector<Value>{x, y}).value;
  CHECK(result.as_tensor().at(2) == 6);
  CHECK(kernel->runs == 1);

  Outcome o = vm::call(p, "main", std::vector<Value>{x, tensor_f32({4})});
  REQUIRE(o.faulted());
  CHECK(o.fault->error.kind == ErrorKind::ShapeMismatch);
  CHECK(o.fault->function_name == "main");
  CHECK(vm::call(p, "main", std::vector<Value>{x, I(1)}).faulted());
  CHECK(kernel->runs == 1);

  Value z = tensor_f32({3});
  Value closure = vm::call(p, "closure", std::vector<Value>{x, z}).value;
  CHECK(z.as_tensor().at(0) == 2);
  CHECK(kernel->runs == 2);

  Value w = tensor_f32({3});
  CHECK(vm::call(p, "dyn", std::vector<Value>{x, w, Value::of_shape({3})}).finished());
  CHECK(w.as_tensor().at(1) == 4);
  CHECK(vm::call(p, "dyn", std::vector<Value>{x, w, Value::of_shape({5})}).faulted());

  // The closure is kept; the program and its kernels are not.
  p.reset();
  kernel.reset();
  t.kernels.clear();
  CHECK_FALSE(closure.as_function().native(std::vector<Value>{x, z}).ok());
}

TEST_CASE("a kernel goes before a builtin and a packed function of its name") {
  Fixture t;
  auto kernel = std::make_shared<Twice>();
  t.kernels.set("test.add", kernel);
  ExecutableBuilder b;
  b.begin_function("main", {"x", "y"});
  b.call("test.add", {Arg::reg(0), Arg::reg(1)});
  b.ret(1);
  b.end_function();
  CHECK(vm::call(t.link(b.finish()), "main", std::vector<Value>{tensor_f32({1}, {4}), tensor_f32({1})})
            .value.as_tensor()
            .at(0) == 8);
}
