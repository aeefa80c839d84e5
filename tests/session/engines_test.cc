// A program's results do not depend on the engine: scalars that kernels return, kills and their aliases, operators that
// run as functions. And values generated for a run stay within the bounds of what they index, on the checking engine.
#include <doctest/doctest.h>

#include "rldb/session/session.h"

using namespace rldb;
using session::Engine;
using session::Session;

namespace {

struct Collect : runtime::Output {
  void write(std::string_view text) override { all += text; }
  std::string all;
};

std::string errors_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& each : d.all()) text += each.message + "\n";
  return text;
}

// The result as text (after the program's own output), or the errors.
std::string run_on(Engine engine, const std::string& text, const std::string& function,
                   const std::vector<std::string>& inputs) {
  Collect printed;
  session::Options options;
  options.engine = engine;
  Session s(options, &printed);
  source::Diagnostics d;
  if (!s.load_text("text", text, d)) return errors_of(d);
  auto args = s.arguments(function, inputs, d);
  if (!args) return errors_of(d);
  std::vector<runtime::Value> values;
  for (const session::Argument& a : *args) values.push_back(a.value);
  const session::RunResult result = s.run(function, values, d);
  return printed.all + (result.ok ? runtime::format_value(result.value) : "failed: " + errors_of(d));
}

std::string run_everywhere(const std::string& text, const std::string& function = "main",
                           const std::vector<std::string>& inputs = {}) {
  const std::string wanted = run_on(Engine::Eval, text, function, inputs);
  CHECK(run_on(Engine::Jit, text, function, inputs) == wanted);
  CHECK(run_on(Engine::Vm, text, function, inputs) == wanted);
  return wanted;
}

std::string function_of(const std::string& signature, const std::string& body, bool pure = true) {
  return std::string("@I.ir_module\nclass Module:\n    @R.function") + (pure ? "" : "(pure=False)") +
         "\n    def main(" + signature + "):\n" + body;
}

}  // namespace

TEST_CASE("engines: a scalar that is computed is a value") {
  const std::string n = "n: R.Prim(\"int64\")";
  CHECK(run_everywhere(function_of(n, "        p = n + 1\n        return p\n"), "main", {"5"}) == "6");
  CHECK(run_everywhere(function_of(n, "        p = R.prim_value(n * 2 + 1)\n        q = p\n        return q\n"), "main",
                       {"5"}) == "11");
  CHECK(run_everywhere(function_of(n, "        return (n * 2, (n, n // 2))\n"), "main", {"7"}) ==
        "tuple(2)\n[0] 14\n[1] tuple(2)\n    [0] 7\n    [1] 3");
  CHECK(run_everywhere(function_of(n, "        return n - 10\n"), "main", {"3"}) == "-7");
}

TEST_CASE("engines: a scalar condition decides") {
  const std::string text = function_of("n: R.Prim(\"int64\")",
                                       "        if R.prim_value(n > 3):\n            r = R.const(1)\n        else:\n"
                                       "            r = R.const(2)\n        return r\n");
  CHECK(run_everywhere(text, "main", {"5"}).find('1') != std::string::npos);
  CHECK(run_everywhere(text, "main", {"2"}).find('2') != std::string::npos);
}

TEST_CASE("engines: a condition on a symbolic dim is asserted") {
  const std::string text =
      function_of("x: R.Tensor((\"n\",), \"float32\")",
                  "        n = T.int64()\n        _ = R.assert_op(R.prim_value(n > 3), R.prim_value(n), "
                  "format=\"n is {}\")\n        return R.prim_value(n * n)\n",
                  false);
  CHECK(run_everywhere(text, "main", {"4xf32=ones"}) == "16");
  const std::string failed = run_on(Engine::Jit, text, "main", {"2xf32=ones"});
  CHECK_MESSAGE(failed.find("n is 2") != std::string::npos, failed);
  CHECK(run_on(Engine::Eval, text, "main", {"2xf32=ones"}).find("n is 2") != std::string::npos);
}

TEST_CASE("engines: a kernel takes a scalar that is computed") {
  const std::string text = R"(
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fill(A: T.Buffer((4,), "int64"), n: T.int64, B: T.Buffer((4,), "int64")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + n

    @R.function
    def main(x: R.Tensor((4,), "int64"), n: R.Prim("int64")) -> R.Tensor((4,), "int64"):
        cls = Module
        y = R.call_tir(cls.fill, (x, n * 2 + 1), out_ty=R.Tensor((4,), "int64"))
        return y
)";
  CHECK(run_everywhere(text, "main", {"4xi64=arange", "3"}).find("[ 7  8  9 10]") != std::string::npos);
}

TEST_CASE("engines: a kill is of one name") {
  const std::string text = function_of(
      "x: R.Tensor((2,), \"int64\")",
      "        storage = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype(\"uint8\"))\n"
      "        a = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([2]), R.dtype(\"int64\"))\n"
      "        b = a\n        c = R.match_cast(a, R.Tensor((2,), \"int64\"))\n        t = (a,)\n        d = t[0]\n"
      "        _ = R.vm.kill_object(a)\n        y = x\n        _1 = R.memory.kill_tensor(x)\n"
      "        return (R.shape_of(b), R.shape_of(c), R.shape_of(d), y, a, x)\n",
      false);
  const std::string value = run_everywhere(text, "main", {"2xi64=5,6"});
  CHECK_MESSAGE(value.find("[5 6]\n[4] null\n[5] null") != std::string::npos, value);
}

TEST_CASE("engines: unique, unsorted too, with everything that it can say") {
  for (const char* sorted : {"True", "False"})
    for (const char* more : {"False", "True"}) {
      const std::string call = std::string("        return R.unique(x, sorted=") + sorted + ", return_index=" + more +
                               ", return_inverse=" + more + ", return_counts=" + more + ")\n";
      run_everywhere(function_of("x: R.Tensor((7,), \"int64\")", call), "main", {"7xi64=5,1,5,2,1,9,2"});
      run_everywhere(function_of("x: R.Tensor((2, 3), \"float32\")", call), "main", {"2x3xf32=2,1,2,0,1,-1"});
    }
  const std::string axis = "        return R.unique(x, sorted=False, return_inverse=True, axis=1)\n";
  run_everywhere(function_of("x: R.Tensor((2, 4), \"int64\")", axis), "main", {"2x4xi64=3,1,3,2,4,5,4,6"});
}

TEST_CASE("engines: a view reads the same bytes") {
  const std::string value =
      run_everywhere(function_of("x: R.Tensor((4,), \"int64\")",
                                 "        a = R.memory.view(x, R.shape([2, 2]))\n"
                                 "        b = R.memory.view(x, R.shape([3]), R.dtype(\"int32\"), R.prim_value(8))\n"
                                 "        return (a, b)\n"),
                     "main", {"4xi64=1,2,3,4"});
  CHECK_MESSAGE(value.find("[2 0 3]") != std::string::npos, value);
}

TEST_CASE("engines: printing") {
  const std::string text = function_of("x: R.Tensor((), \"int64\")",
                                       "        _ = R.print(x, format=\"{{{0}}} {0}\")\n"
                                       "        _1 = R.print(x, x, format=\"\")\n        return x\n",
                                       false);
  const std::string value = run_everywhere(text);
  CHECK_MESSAGE(value.find("{Tensor[(), \"int64\"]\n8} Tensor") == 0, value);
}

TEST_CASE("engines: operators whose operands differ") {
  run_everywhere(function_of("x: R.Tensor((2, 3), \"bool\"), y: R.Tensor((3,), \"float16\")",
                             "        return (R.greater(x, R.const(0.0, \"float32\")), R.less_equal(y, x), "
                             "R.logical_not(y), R.logical_and(x, x))\n"));
  const std::string value = run_everywhere(
      function_of("d: R.Tensor((2, 4), \"int64\"), i: R.Tensor((2, 1), \"int64\"), j: R.Tensor((3,), \"int64\")",
                  "        return R.index_put(d, (i, j), R.const([7, 8, 9], \"int64\"))\n"),
      "main", {"2x4xi64=zeros", "2x1xi64=0,1", "3xi64=0,2,3"});
  CHECK_MESSAGE(value.find("[7 0 8 9]\n [7 0 8 9]") != std::string::npos, value);
  run_everywhere(
      function_of("g: R.Tensor((2, 3), \"float32\"), p: R.Tensor((2, 4, 3), \"float32\"), "
                  "t: R.Tensor((2, 3), \"int64\")",
                  "        return R.grad.nll_loss_backward(g, p, t, reduction=\"mean\")\n"));
}

TEST_CASE("engines: split at indices that do not ascend") {
  const std::string value =
      run_everywhere(function_of("x: R.Tensor((6,), \"int64\")",
                                 "        return R.split(x, indices_or_sections=[-1, 4, 2, 5, 9], axis=0)\n"),
                     "main", {"6xi64=arange"});
  CHECK_MESSAGE(value.find("[2 3 4]") != std::string::npos, value);
  CHECK_MESSAGE(value.find("[5]") != std::string::npos, value);
}

TEST_CASE("engines: what cannot be lowered says why") {
  const std::string text =
      function_of("d: R.Tensor((4, 4), \"float32\"), i: R.Tensor((4, 1), \"int64\"), j: R.Tensor((3,), \"int64\")",
                  "        return R.index_put(d, (j, R.reshape(i, (4,))), R.const(0.0, \"float32\"))\n");
  Collect quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE_MESSAGE(s.load_text("text", text, d), errors_of(d));
  CHECK(!s.build(d));
  REQUIRE(d.has_errors());
  REQUIRE(!d.all()[0].notes.empty());
  CHECK(d.all()[0].notes[0].text.find("do not broadcast") != std::string::npos);
}

TEST_CASE("made-up integers index what is there") {
  const auto fine = [](const std::string& text, const std::string& function = "main") {
    const std::string value = run_on(Engine::Eval, text, function, {});
    CHECK_MESSAGE(value.find("failed") == std::string::npos, value);
  };
  const std::string x = "x: R.Tensor((3, 4), \"float32\"), ";
  fine(function_of(x + "i: R.Tensor((20,), \"int64\")", "        return R.take(x, i, axis=0)\n"));
  // Through views, casts, tuples, another function, and two uses of which the smaller one counts.
  fine(function_of(x + "i: R.Tensor((20,), \"int32\")",
                   "        j = R.astype(R.reshape(i, (4, 5)), \"int64\")\n        t = (x, R.permute_dims(j))\n"
                   "        a = R.take(t[0], t[1], axis=1)\n        return (a, R.take(x, j, axis=0))\n"));
  fine(function_of(x + "t: R.Tuple(R.Tensor((30,), \"int64\"), R.Tensor((30,), \"int64\"))",
                   "        return R.index_tensor(x, t)\n"));
  fine(function_of(x + "i: R.Tensor((3, 30), \"int64\")", "        return R.gather_elements(x, i, axis=1)\n"));
  fine(function_of(x + "i: R.Tensor((30, 2), \"int64\"), u: R.Tensor((30,), \"float32\")",
                   "        return R.scatter_nd(x, i, u)\n"));
  fine(function_of("a: R.Tensor((40,), \"int64\"), b: R.Tensor((40,), \"int64\")",
                   "        return R.floor_divide(a, b)\n"));
  fine(R"(
@I.ir_module
class Module:
    @R.function(private=True)
    def look(table: R.Tensor(("n", 2), "float32"), at: R.Tensor(("m",), "int64")) -> R.Tensor(("m", 2), "float32"):
        r = R.take(table, at, axis=0)
        return r

    @R.function
    def main(at: R.Tensor((50,), "int64"), table: R.Tensor((2, 2), "float32")):
        cls = Module
        r = cls.look(table, at)
        return r
)");
  fine(R"(
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((6,), "float32"), I: T.Buffer((9,), "int32"), k: T.int64, B: T.Buffer((9,), "float32")):
        for i in range(9):
            with T.sblock("b"):
                vi = T.axis.spatial(9, i)
                B[vi] = A[I[vi] * 2 + 1] + A[k * 6]
)");
}

TEST_CASE("generated integers that index nothing are 0 to 9") {
  Collect quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("text", function_of("x: R.Tensor((400,), \"int64\")", "        return R.add(x, x)\n"), d));
  auto args = s.arguments("main", {}, d);
  REQUIRE(args);
  double high = 0;
  for (std::int64_t i = 0; i < 400; ++i) high = std::max(high, (*args)[0].value.as_tensor().at(i));
  CHECK(high == 9);
}

namespace {

// The least and the largest generated element of the first argument.
std::pair<double, double> made_up_limits(const std::string& parameters, const std::string& body) {
  Collect quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE_MESSAGE(s.load_text("text", function_of(parameters, body), d), errors_of(d));
  auto args = s.arguments("main", {}, d);
  REQUIRE(args);
  const runtime::Tensor& t = (*args)[0].value.as_tensor();
  double low = t.at(0), high = t.at(0);
  for (std::int64_t i = 0; i < t.element_count(); ++i) low = std::min(low, t.at(i)), high = std::max(high, t.at(i));
  return {low, high};
}

}  // namespace

TEST_CASE("generated integers that are used as indices cover the whole dimension") {
  const std::string taken = "        return R.take(w, at, axis=0)\n";
  CHECK(made_up_limits("at: R.Tensor((50,), \"int64\"), w: R.Tensor((300, 2), \"float32\")", taken) ==
        std::pair(0.0, 299.0));
  CHECK(made_up_limits("at: R.Tensor((2,), \"int32\"), w: R.Tensor((300, 2), \"float32\")", taken).second == 299);
  // As far as the type goes.
  CHECK(made_up_limits("at: R.Tensor((50,), \"int8\"), w: R.Tensor((300, 2), \"float32\")", taken).second == 127);
  // Another use allows less.
  CHECK(made_up_limits(
            "at: R.Tensor((50,), \"int64\"), w: R.Tensor((300,), \"float32\"), v: R.Tensor((40,), "
            "\"float32\")",
            "        a = R.take(w, at, axis=0)\n        b = R.take(v, at, axis=0)\n        return R.add(a, b)\n")
            .second == 39);
  // Its double is an index too, so that the whole dimension would leave the buffer.
  const auto [low, high] = made_up_limits(
      "at: R.Tensor((50,), \"int64\"), w: R.Tensor((300,), \"float32\")",
      "        a = R.take(w, at, axis=0)\n        b = R.take(w, R.add(at, at), axis=0)\n        return R.add(a, b)\n");
  CHECK(low >= 0);
  CHECK(high <= 149);
  // Computed from them by a packed function, or by a sum: an index that is not known.
  for (const char* computed : {"R.sort(R.add(at, at))", "R.topk(at, k=16, ret_type=\"values\")",
                               "R.broadcast_to(R.sum(at, axis=[0], keepdims=True), (16,))", "R.cumsum(at, axis=0)"})
    CHECK(made_up_limits("at: R.Tensor((16,), \"int64\"), w: R.Tensor((100,), \"float32\"), v: R.Tensor((300,), "
                         "\"float32\")",
                         "        a = R.take(w, at, axis=0)\n        b = R.take(v, " + std::string(computed) +
                             ", axis=0)\n        return R.add(a, b)\n")
              .second <= 9);
}

TEST_CASE("an entry builds only what it reaches") {
  Collect quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE_MESSAGE(s.load_text("text", R"(
@I.ir_module
class Module:
    @R.function
    def broken(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.left_shift(x, x)
        return y

    @R.function
    def fine(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y
)",
                              d),
                  errors_of(d));
  CHECK_MESSAGE(s.enter("R.const(7)", d).ok, errors_of(d));
  CHECK_MESSAGE(s.enter("x = R.ones((2, 3), \"float32\")\nfine(x)", d).ok, errors_of(d));
  source::Diagnostics bad;
  CHECK(!s.enter("broken(x)", bad).ok);
  const std::string why = errors_of(bad);
  CHECK_MESSAGE(why.find("left_shift") != std::string::npos, why);
}

TEST_CASE("engines: recursion is how Relax loops, on each of them") {
  const std::string text = R"(
@I.ir_module
class Module:
    @R.function
    def count(i: R.Tensor((), "int64"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        c: R.Tensor((), "bool") = R.less_equal(i, R.const(0, "int64"))
        if c:
            r: R.Tensor((2,), "float32") = x
        else:
            j: R.Tensor((), "int64") = R.subtract(i, R.const(1, "int64"))
            y: R.Tensor((2,), "float32") = R.add(x, R.const(1.0, "float32"))
            r: R.Tensor((2,), "float32") = Module.count(j, y)
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r: R.Tensor((2,), "float32") = Module.count(R.const(3000, "int64"), x)
        return r

    @R.function
    def endless(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r: R.Tensor((2,), "float32") = Module.endless(x)
        return r
)";
  CHECK(run_everywhere(text, "main", {"2xf32=zeros"}).find("[3000. 3000.]") != std::string::npos);
  for (const Engine engine : {Engine::Eval, Engine::Vm, Engine::Jit})
    CHECK(run_on(engine, text, "endless", {"2xf32=zeros"}).find("stack overflow") != std::string::npos);
}

TEST_CASE("engines: what a kernel leaves unwritten is zero, in storage that was used before too") {
  const std::string text = R"(
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def first(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(3):
            with T.sblock("b"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)

    @T.prim_func(private=True)
    def sum(x: T.handle, y: T.handle):
        k = T.int64()
        X = T.match_buffer(x, (k, 8))
        Y = T.match_buffer(y, (8,))
        for i, j in T.grid(8, k):
            with T.sblock("s"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + X[vj, vi]

    @R.function
    def main(x: R.Tensor((8,), "float32"), none: R.Tensor(("k", 8), "float32")):
        k = T.int64()
        cls = Module
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, a)
            c = R.call_tir(cls.first, (b,), out_ty=R.Tensor((8,), "float32"))
            d = R.multiply(c, c)
            e = R.call_tir(cls.first, (d,), out_ty=R.Tensor((8,), "float32"))
            f = R.exp(e)
            g = R.call_tir(cls.sum, (none,), out_ty=R.Tensor((8,), "float32"))
            h = R.add(f, g)
            R.output(h)
        return h
)";
  CHECK(run_everywhere(text, "main", {"8xf32=ones", "0x8xf32=ones"}).find("1.") != std::string::npos);
}

TEST_CASE("engines: a function that was lowered before it is built has two heaps") {
  const std::string text = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")):
        n = T.int64()
        y = R.add(x, x)
        z = R.reshape(y, R.shape([n * 2]))
        return z
)";
  for (const Engine engine : {Engine::Jit, Engine::Vm}) {
    session::Options options;
    options.engine = engine;
    Collect printed;
    Session s(options, &printed);
    source::Diagnostics d;
    REQUIRE(s.load_text("text", text, d));
    CHECK_MESSAGE(s.run_passes("RemovePurityChecking,VMShapeLower", d), errors_of(d));
    const std::vector<std::string> inputs{"3x2xf32=ones"};
    auto args = s.arguments("main", inputs, d);
    REQUIRE(args);
    const runtime::Value x = (*args)[0].value;
    const session::RunResult result = s.run("main", std::vector<runtime::Value>{x}, d);
    CHECK_MESSAGE(result.ok, errors_of(d));
  }
}
