// Moves of the reducer on branches, parameters, attributes and kernels.
#include "rldb/repro/reduce.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "rldb/ir/printer.h"

using namespace rldb;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

// The smallest module whose text `grep` finds.
std::string smallest(const std::string& program, const std::string& pattern) {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  session::Session s(options, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", program, d));
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.command = "grep -q '" + pattern + "'";
  const repro::Reduction r = repro::reduce(s, s.module(), q, {});
  REQUIRE(r.module);
  CHECK(r.complete);
  s.set_module(r.module);
  CHECK(s.verify(d));
  return ir::print(r.module);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("reduce: one branch is left of a conditional") {
  const std::string text = smallest(R"(@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            a = R.exp(x)
            r = R.sin(a)
        else:
            b = R.tanh(x)
            r = R.cos(b)
        return r
)",
                                    "R.tanh(");
  CHECK_FALSE(has(text, "if c"));
  CHECK_FALSE(has(text, "R.exp("));
  CHECK_FALSE(has(text, "R.cos("));
}

TEST_CASE("reduce: parameters of one type become one, attributes go") {
  const std::string text = smallest(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1, "tir_var_upper_bound": {"n": 4}})
        a = R.subtract(x, y)
        return a
)",
                                    "R.subtract(");
  CHECK(has(text, "R.subtract(x, x)"));
  CHECK_FALSE(has(text, "func_attr"));
}

TEST_CASE("reduce: a kernel loses what it does not need, and writes its output still") {
  const std::string text = smallest(R"(@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True})
        t = T.alloc_buffer((4, 8), "float32")
        for i, j in T.grid(4, 8):
            with T.block("t"):
                vi, vj = T.axis.remap("SS", [i, j])
                t[vi, vj] = T.exp(x[vi, vj]) * T.float32(3)
        for i, j in T.grid(4, 8):
            with T.block("y"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] + T.tanh(t[vi, vj]) * T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return a
)",
                                    "T.tanh(");
  CHECK(has(text, "T.tanh("));
  CHECK(has(text, "y["));
  CHECK_FALSE(has(text, "T.exp("));
  CHECK_FALSE(has(text, "noalias"));
}

TEST_CASE("reduce: inputs become numbers that can be read") {
  Quiet quiet;
  session::Options options;
  options.engine = session::Engine::Vm;
  session::Session s(options, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.exp(x)
        b = R.log(R.subtract(a, a))
        return b
)",
                      d));
  repro::Question q;
  q.kind = repro::OracleKind::Diagnostic;
  q.passes = "DefaultSchedule(func_name=nobody)";
  const repro::Reduction r = repro::reduce(s, s.module(), q, {});
  REQUIRE(r.module);
  REQUIRE(r.inputs.size() == 1);
  CHECK(has(r.inputs[0], "=ones"));
}
