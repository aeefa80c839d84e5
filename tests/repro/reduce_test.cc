// Moves of the reducer on branches, parameters, attributes and kernels.
#include "rldb/repro/reduce.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "repro/loaded.h"
#include "repro/reduce/child.h"
#include "rldb/ir/printer.h"
#include "rldb/support/folder.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

// The smallest module whose text `grep` finds.
std::string smallest(const std::string& program, const std::string& pattern, const std::string& grep = "grep -q") {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", program, d));
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.command = grep + " '" + pattern + "'";
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
  session::Session s(on_the_machine(), &quiet);
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
  q.kind = repro::OracleKind::Command;
  q.command = "grep -q 'def main'";
  const repro::Reduction r = repro::reduce(s, s.module(), q, {});
  REQUIRE(r.module);
  REQUIRE(r.inputs.size() == 1);
  CHECK(has(r.inputs[0], "=ones"));
}

namespace {

const std::string kHead = "@I.ir_module\nclass Module:\n";

std::string matrix_function(const std::string& name, const std::string& body) {
  const std::string type = "R.Tensor((4, 4), \"float32\")";
  return fmt::format("    @R.function\n    def {}(x: {}, y: {}) -> {}:\n{}", name, type, type, type, body);
}

// By a pass that refuses it.
repro::Reduction reduced(session::Session& s, const std::string& program, const std::string& passes) {
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py", program, d));
  repro::Question q;
  q.passes = passes;
  const repro::Reduction r = repro::reduce(s, s.module(), q, {});
  INFO(r.why);
  REQUIRE(r.module);
  CHECK(r.complete);
  return r;
}

}  // namespace

TEST_CASE("reduce: attributes of calls become their defaults, dataflow blocks plain") {
  const std::string text = smallest(kHead + matrix_function("main",
                                                            "        with R.dataflow():\n"
                                                            "            a = R.nn.softmax(x, axis=0)\n"
                                                            "            b = R.add(a, y)\n"
                                                            "            R.output(b)\n        return b\n"),
                                    "R.nn.softmax");
  CHECK(has(text, "axis=-1"));
  CHECK_FALSE(has(text, "dataflow"));
  CHECK_FALSE(has(text, "R.add"));
}

TEST_CASE("reduce: symbolic dims become one, constants parameters") {
  const std::string text = smallest(
      kHead +
          "    @R.function\n    def main(x: R.Tensor((\"n\", \"m\"), \"float32\")) -> R.Tensor((\"n\", \"m\"), "
          "\"float32\"):\n        n = T.int64()\n        m = T.int64()\n        a = R.tanh(x)\n        return a\n",
      "R.tanh");
  CHECK(has(text, "R.Tensor((n, n)"));
  // Folding creates the constant.
  Quiet quiet;
  session::Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("m.py",
                      kHead + matrix_function("main",
                                              "        c = R.full(R.shape([4, 4]), R.const(2.0, \"float32\"))\n"
                                              "        a = R.multiply(x, c)\n        return a\n"),
                      d));
  REQUIRE(s.run_passes("LegalizeOps,FoldConstant", d));
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.command = "grep -q call_tir";
  REQUIRE(repro::size_of(s.context(), s.module()).constants == 16);
  const repro::Reduction r = repro::reduce(s, s.module(), q, {});
  REQUIRE(r.module);
  CHECK(r.after.constants == 0);
}

TEST_CASE("reduce: the function that a pass refuses need not be `main`") {
  Quiet quiet;
  session::Session s({}, &quiet);
  const std::string loss =
      "    @R.function\n    def loss(x: R.Tensor((4, 4), \"float32\"), y: R.Tensor((4, 4), \"float32\")) -> "
      "R.Tensor((), \"float32\"):\n        with R.dataflow():\n            a = R.sort(x, axis=0)\n            b = "
      "R.add(a, y)\n            s = R.sum(b)\n            R.output(s)\n        return s\n";
  const repro::Reduction r =
      reduced(s, kHead + loss + matrix_function("main", "        a = R.add(x, y)\n        return a\n"),
              "Gradient(func_name=loss)");
  CHECK(r.after.functions == 1);
  CHECK_FALSE(r.module->find("main"));
  CHECK(r.after.bindings <= 2);
}

TEST_CASE("reduce: a module of kernels alone") {
  const std::string text =
      smallest(kHead +
                   "    @T.prim_func\n    def one(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), "
                   "\"float32\")):\n        for i in range(4):\n            with "
                   "T.sblock(\"b\"):\n                vi = T.axis.spatial(4, i)\n                "
                   "B[vi] = T.exp(A[vi]) + T.float32(1)\n"
                   "    @T.prim_func\n    def two(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), "
                   "\"float32\")):\n        for i in range(4):\n            with "
                   "T.sblock(\"b\"):\n                vi = T.axis.spatial(4, i)\n                "
                   "B[vi] = A[vi]\n",
               "T.exp");
  CHECK_FALSE(has(text, "def two"));
  CHECK_FALSE(has(text, "T.float32(1)"));
}

TEST_CASE("reduce: a parameter is read in place of a temporary") {
  for (const char* how : {"T.alloc_buffer", "T.sblock_alloc_buffer"}) {
    const std::string text = smallest(
        kHead + fmt::format("    @T.prim_func\n    def kernel(A: T.Buffer((4,), \"float32\"), C: "
                            "T.Buffer((4,), \"float32\")):\n        B = {}((4,), \"float32\")\n"
                            "        for i in range(4):\n            with T.sblock(\"b\"):\n"
                            "                vi = T.axis.spatial(4, i)\n                B[vi] = A[vi]\n"
                            "        for i in range(4):\n            with T.sblock(\"c\"):\n"
                            "                vi = T.axis.spatial(4, i)\n                C[vi] = T.exp(B[vi])\n",
                            how),
        "T.exp");
    CHECK_FALSE(has(text, "alloc_buffer"));
    CHECK(has(text, "T.exp(A["));
  }
}

TEST_CASE("reduce: names become short and plain, where the symptom does not depend on them") {
  const std::string program = kHead + R"(    @T.prim_func(private=True)
    def fused_exp_of_something(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj])

    @R.function
    def main(first_input: R.Tensor((4, 4), "float32"), second_input: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        cls = Module
        left_hand_side = R.call_tir(cls.fused_exp_of_something, (first_input,), out_sinfo=R.Tensor((4, 4), "float32"))
        right_hand_side = R.subtract(left_hand_side, second_input)
        return right_hand_side
)";
  const std::string plain = smallest(program, "R.subtract(");
  CHECK(has(plain, "def main(x"));
  CHECK_FALSE(has(plain, "right_hand_side"));
  const std::string kernel = smallest(program, "T.exp");
  CHECK(has(kernel, "def kernel0("));
  CHECK_FALSE(has(kernel, "fused_exp"));
  // One of the three is part of the symptom: the others are renamed nevertheless.
  const std::string kept = smallest(program, "right_hand_side.*R.subtract");
  CHECK(has(kept, "right_hand_side"));
  CHECK(has(kept, "def main(x"));
}

TEST_CASE("reduce: names that are taken stay what they are") {
  const std::string text = smallest(kHead + R"(    @R.function
    def main(p: R.Tensor(("x", "a"), "float32")) -> R.Tensor(("x", "a"), "float32"):
        x = T.int64()
        a = T.int64()
        first = R.exp(p)
        second = R.multiply(first, first)
        return second
)",
                                    "R.multiply.*");
  // `x` is a dim: the parameter gets another name.
  CHECK(has(text, "def main(y: R.Tensor((x, "));
}

TEST_CASE("reduce: a branch that has to stay, and a local function, lose what they do not need") {
  const auto text = smallest(R"(@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if c:
            a = R.exp(x)
            a1 = R.cos(a)
            a2 = R.sin(a1)
            a3 = R.exp(a2)
            r = R.tanh(a3)
        else:
            b = R.exp(x)
            b1 = R.sqrt(b)
            r = R.cos(b1)
        return r
)",
                             "if .*R.sin(", "grep -qz");
  CHECK(has(text, "R.sin(y)"));
  for (const char* gone : {"R.exp(", "R.cos(", "R.tanh(", "R.sqrt("}) CHECK_FALSE(has(text, gone));

  const auto local = smallest(R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            a = R.exp(y)
            b = R.sin(a)
            c = R.cos(b)
            return c
        z = inner(x)
        return z
)",
                              "def inner.*R.sin(", "grep -qz");
  for (const char* gone : {"R.exp(", "R.cos("}) CHECK_FALSE(has(local, gone));
}

TEST_CASE("reduce: an answer of a child comes back as it was, whatever bytes its texts hold") {
  using namespace std::string_literals;
  const repro::Symptom told{repro::SymptomKind::Memory, "A", "id\0"s, "4 bytes\0+\0 7:"s, "", 12, 1};
  const auto heard = repro::ask_in_child({}, [&] { return std::optional(told); });
  REQUIRE(heard);
  CHECK(*heard == told);
  CHECK(heard->text == told.text);
  CHECK(heard->amount == 12);
  CHECK(heard->limit == 1);
  CHECK_FALSE(repro::ask_in_child({}, [] { return std::optional<repro::Symptom>(); }));
}

TEST_CASE("reduce: a child that is killed leaves no temporary files") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto hang = [&]() -> std::optional<repro::Symptom> {
    const support::TemporaryFolder folder("test");
    if (::write(ends[1], folder.path().data(), folder.path().size()) > 0) ::pause();
    return std::nullopt;
  };
  CHECK_FALSE(repro::ask_in_child({.seconds = 0.5}, hang));
  ::close(ends[1]);
  std::string path(4096, '\0');
  const ssize_t length = ::read(ends[0], path.data(), path.size());
  ::close(ends[0]);
  REQUIRE(length > 0);
  path.resize(std::size_t(length));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("reduce: parameters whose values were given by name are removed, too") {
  Loaded loaded(R"(@I.ir_module
class Module:
    @R.function
    def main(k: R.Tensor((64,), "float32"), c: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        b = R.reshape(R.add(k, R.exp(c)), (64, 1))
        d = R.reshape(R.subtract(k, c), (1, 64))
        f = R.multiply(b, d)
        a = R.sum(f, axis=[1])
        return a
)");
  repro::Question q;
  q.kind = repro::OracleKind::Memory;
  q.memory = *repro::parse_memory_limit("10K");
  q.inputs = {"c=64xfloat32=rand", "k=64xfloat32=ones"};
  const repro::Reduction r = repro::reduce(loaded.session(), loaded.module(), q, {});
  INFO(r.why);
  REQUIRE(r.module);
  CHECK(r.after.bindings == 1);
  CHECK(r.inputs.empty());
}
