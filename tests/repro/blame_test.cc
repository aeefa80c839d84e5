// Where the first difference of two programs is said to be, when the binding that computes it is innocent.
#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/pass.h"
#include "rldb/repro/compare.h"
#include "rldb/repro/cut_pair.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/validate.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

struct Two {
  Loaded loaded;
  repro::Program a, b;
  repro::Comparison c;
  Two(const std::string& first, const std::string& second, std::vector<std::string> inputs = {}) {
    a.module = loaded.load(first);
    b.module = loaded.load(second);
    a.function = b.function = "main";
    source::Diagnostics found;
    loaded.session().set_program(a.module);
    const auto made = loaded.session().arguments("main", inputs, found);
    REQUIRE(made);
    for (const session::Argument& v : *made) a.args.push_back(v.value);
    b.args = a.args;
    c = repro::compare(loaded.session(), a, b, {});
    INFO(to_string(c, "a", "b"));
    REQUIRE(c.verdict == repro::Comparison::Verdict::Differs);
    REQUIRE(c.first);
  }
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

const std::string kBegin = "@I.ir_module\nclass Module:\n";
const std::string kTwo = R"(    @T.prim_func(private=True)
    def two(x: T.Buffer((4,), "float32"), p: T.Buffer((4,), "float32"), q: T.Buffer((4,), "float32")):
        for i in range(4):
            p[i] = x[i] + T.float32(1)
            q[i] = x[i] * T.float32(2)
)";

}  // namespace

TEST_CASE("blame: results that get each other's memory are the call's that writes them") {
  const std::string good = kBegin + kTwo + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        R.func_attr({"relax.force_pure": True})
        m: R.Tensor((4,), "float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        n: R.Tensor((4,), "float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        cls.two(x, m, n)
        s = (m, n)
        a = s[0]
        b = s[1]
        u = R.concat((b, a))
        return u
)";
  Two two(good, replaced(good, "cls.two(x, m, n)", "cls.two(x, n, m)"));
  CHECK(two.c.first->callee == "two");
  CHECK(two.c.first->fault_is_here());
}

TEST_CASE("blame: a variable that is bound to another part") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
        s = R.split(R.exp(x), 2)
        q = R.add(s[0], s[0])
        k = R.multiply(s[1], s[0])
        r = R.subtract(q, k)
        return r
)";
  const std::string bad = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
        s = R.split(R.exp(x), 2)
        t = (R.add(s[0], s[0]), R.multiply(s[1], s[0]))
        q = t[1]
        k = t[1]
        r = R.subtract(q, k)
        return r
)";
  Two two(good, bad);
  CHECK(two.c.first->name == "q");
  CHECK(two.c.first->handed_on == "`q` is now `t[1]`, which is `k` on the first side");
}

TEST_CASE("blame: an `if` with another condition") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), f: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        g = R.logical_not(f)
        if f:
            a = R.exp(x)
            y = R.add(a, x)
        else:
            a = R.exp(x)
            y = R.subtract(a, x)
        z = R.multiply(y, x)
        return z
)";
  Two two(good, replaced(good, "if f", "if g"), {"4xf32=1,2,3,4", "true"});
  CHECK(two.c.first->handed_on == "the condition of `y` was `f`, is now `g`, and another branch is taken");
}

TEST_CASE("blame: another value of another kind is returned") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Any, R.Tensor((4,), "float32")):
        n = R.null_value()
        y = R.exp(x)
        z = R.add(y, x)
        return (z, y)
)";
  Two two(good, replaced(good, "return (z, y)", "return (n, y)"));
  CHECK(two.c.first->handed_on == "`main` returns other values");
}

TEST_CASE("blame: a function is given another tensor, which it reads under a name of its own") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.tanh(x)
        d = R.add(a, b)
        return R.multiply(d, c)
)";
  const std::string bad = kBegin + R"(    @R.function(private=True)
    def fused(p: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32"), v: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        d = R.add(p, w)
        return R.multiply(d, v)
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.tanh(x)
        return cls.fused(a, c, c)
)";
  Two two(good, bad);
  CHECK(two.c.first->function == "main");
  CHECK(two.c.first->handed_on == "parameter `w` of `fused` is given `c`, and the first side reads `b` there");
}

TEST_CASE("blame: operands have the names that the line shows") {
  const std::string good = kBegin + R"(    @R.function(private=True)
    def f(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        v = R.subtract(p, q)
        return v
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.exp(x)
        b = R.sqrt(a)
        return cls.f(a, b)
)";
  Two two(good, replaced(good, "R.subtract(p, q)", "R.subtract(q, p)"));
  REQUIRE(two.c.first->inputs.size() == 2);
  CHECK(two.c.first->inputs[0].instead_of == "p");
  CHECK(two.c.first->inputs[0].name == "q");
}

TEST_CASE("blame: the part of a call has all that it takes, also what it does not read") {
  const std::string good = kBegin + R"(    @T.prim_func(private=True)
    def add(p: T.Buffer((4,), "float32"), q: T.Buffer((4,), "float32"), r: T.Buffer((4,), "float32")):
        for i in range(4):
            r[i] = p[i] + q[i]
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.call_tir(cls.add, (a, b), out_ty=R.Tensor((4,), "float32"))
        return R.tanh(c)
)";
  Two two(good, replaced(good, "p[i] + q[i]", "p[i] + p[i]"));
  std::string why;
  const auto cut = repro::cut_pair(two.loaded.session(), two.a, two.b, {}, why);
  REQUIRE_MESSAGE(cut, why);
  CHECK(cut->values.size() == 2);
  CHECK(ir::print(cut->b.module).find("R.exp") == std::string::npos);
}

TEST_CASE("blame: another kernel inside of a fused function that looks like its neighbour") {
  const auto kernel = [](const std::string& name, const std::string& sign) {
    return "    @T.prim_func(private=True)\n    def " + name +
           R"((a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")):
        for i in range(8):
            c[i] = a[i] )" +
           sign + " b[i]\n";
  };
  const auto fused = [](const std::string& name, const std::string& first, const std::string& second) {
    return "    @R.function(private=True)\n    def " + name +
           R"((x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            p = R.call_tir(cls.)" +
           first + R"(, (x, y), out_sinfo=R.Tensor((8,), "float32"))
            q = R.call_tir(cls.)" +
           second + R"(, (p, y), out_sinfo=R.Tensor((8,), "float32"))
            R.output(q)
        return q
)";
  };
  const std::string main = R"(    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        with R.dataflow():
            a = cls.fused_a(x, y)
            b = cls.fused_b(a, y)
            R.output(b)
        return b
)";
  const std::string kernels = kBegin + kernel("addk", "+") + kernel("mulk", "*") + kernel("subk", "-");
  const std::string good = kernels + fused("fused_a", "addk", "mulk") + fused("fused_b", "mulk", "addk") + main;
  SUBCASE("a kernel that the neighbour has in this place") {
    Two two(good, replaced(good, "cls.addk, (x, y)", "cls.mulk, (x, y)"));
    CHECK(two.c.first->name == "p");
    CHECK(two.c.first->function == "fused_a");
    CHECK(two.c.first->callee == "mulk");
    CHECK(two.c.first->handed_on.empty());
    CHECK(two.c.first->fault_is_here());
  }
  SUBCASE("a kernel that is nowhere else") {
    Two two(good, replaced(good, "cls.mulk, (x, y)", "cls.subk, (x, y)"));
    CHECK(two.c.first->name == "p");
    CHECK(two.c.first->function == "fused_b");
    CHECK(two.c.first->fault_is_here());
  }
}

TEST_CASE("blame: a call in place whose results are other arguments") {
  const std::string good = kBegin + R"(    @T.prim_func(private=True)
    def k(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = a[i] + b[i]
            c[i] = a[i] * b[i]
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        p = R.exp(x)
        q = R.exp(y)
        w = R.call_tir_inplace(cls.k, (p, q), out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "float32")], inplace_indices=[0, -1])
        u = w[0]
        v = w[1]
        z = R.subtract(u, v)
        return z
)";
  Two two(good, replaced(good, "inplace_indices=[0, -1]", "inplace_indices=[1, -1]"));
  CHECK(two.c.first->name == "w");
  CHECK(two.c.first->handed_on == "other arguments of `w` are its results");
}

TEST_CASE("blame: what computes the result is missing") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        p = R.exp(x)
        q = R.add(p, x)
        r = R.negative(q)
        return r
)";
  Two two(good, replaced(good, "r = R.negative(q)", "r = q"));
  CHECK(two.c.first->handed_on == "this tensor is right, but it is the result in place of the other one");
  CHECK(two.c.first->other_text.find("negative") != std::string::npos);
  CHECK_FALSE(two.c.first->name.empty());
}

TEST_CASE("blame: a closure captures or is given another tensor") {
  const std::string good = kBegin + R"(    @R.function(private=True)
    def body(z: R.Tensor((4,), "float32"), e: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        g = R.multiply(z, z)
        zz = R.add(g, e)
        return zz
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        h = R.exp(x)
        e = R.tanh(y)
        scale: R.Any = R.make_closure(cls.body, (e,))
        s: R.Tensor((4,), "float32") = R.invoke_pure_closure(scale, (h,), ty_args=(R.Tensor((4,), "float32"),))
        return s
)";
  SUBCASE("captures") {
    Two two(good, replaced(good, "(cls.body, (e,))", "(cls.body, (h,))"));
    CHECK(two.c.first->name == "scale");
    CHECK(two.c.first->handed_on == "parameter `e` of `body` was given `e`, is now given `h`");
  }
  SUBCASE("is given") {
    Two two(good, replaced(good, "(scale, (h,)", "(scale, (e,)"));
    CHECK(two.c.first->name == "s");
    CHECK(two.c.first->handed_on == "parameter `z` of `body` was given `h`, is now given `e`");
  }
}

TEST_CASE("blame: a function made by fusion is given its operands in another order") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        p = R.exp(x)
        q = R.subtract(p, y)
        r = R.multiply(q, y)
        return r
)";
  const std::string bad = kBegin + R"(    @R.function(private=True)
    def fused(p: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        q = R.subtract(p, y)
        r = R.multiply(q, y)
        return r
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        p = R.exp(x)
        r = cls.fused(y, p)
        return r
)";
  Two two(good, bad);
  CHECK(two.c.first->function == "main");
  CHECK(two.c.first->handed_on == "parameter `p` of `fused` is given `y`");
}

TEST_CASE("blame: a branch ends in another value") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        if c:
            a = R.exp(x)
            r = R.add(a, y)
        else:
            b = R.exp(y)
            r = R.subtract(b, x)
        s = R.multiply(r, r)
        return s
)";
  for (const char* condition : {"c=True", "c=False"}) {
    const bool then = std::string(condition) == "c=True";
    CAPTURE(condition);
    Two two(good, then ? replaced(good, "r = R.add(a, y)", "r = a") : replaced(good, "r = R.subtract(b, x)", "r = b"),
            {condition});
    CHECK(two.c.first->name == "r");
    CHECK(two.c.first->text == (then ? "r = a" : "r = b"));
    CHECK(two.c.first->handed_on == "a branch of `r` ends in another value");
  }
}

TEST_CASE("blame: what a condition is computed from comes before the condition") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((), "int32")) -> R.Tensor((4,), "float32"):
        k = R.floor_mod(i, R.const(3, "int32"))
        c = R.equal(k, R.const(0, "int32"))
        if c:
            r = R.exp(x)
        else:
            r = R.tanh(x)
        s = R.multiply(r, r)
        return s
)";
  Two two(good, replaced(good, "R.floor_mod(i, ", "R.floor_divide(i, "), {"i=1"});
  CHECK(two.c.first->name == "k");
  CHECK(two.c.first->fault_is_here());
}

TEST_CASE("blame: a name that is another tensor without a reason in sight is not a fault here") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32"), v: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        l = R.negative(w)
        m = R.negative(v)
        s = R.multiply(x, l)
        t = R.add(s, m)
        return t
)";
  // As LiftTransformParams leaves it: the tensors come from a function that is not run.
  const std::string bad = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32"), l: R.Tensor((4,), "float32"), m: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        s = R.multiply(x, l)
        t = R.add(s, m)
        return t
)";
  Loaded loaded;
  repro::Program a, b;
  a.module = loaded.load(good);
  b.module = loaded.load(bad);
  a.function = b.function = "main";
  source::Diagnostics found;
  loaded.session().set_program(a.module);
  const auto made = loaded.session().arguments(
      "main", std::vector<std::string>{"x=[1, 2, 3, 4]", "w=[1, 2, 3, 5]", "v=[7, 1, 2, 3]"}, found);
  REQUIRE(made);
  for (const session::Argument& v : *made) a.args.push_back(v.value);
  const auto given = loaded.session().arguments(
      "main", std::vector<std::string>{"x=[1, 2, 3, 4]", "w=[-7, -1, -2, -3]", "v=[-7, -1, -2, -3]"}, found);
  REQUIRE(given);
  for (const session::Argument& v : *given) b.args.push_back(v.value);
  const repro::Comparison c = repro::compare(loaded.session(), a, b, {});
  REQUIRE(c.first);
  CHECK(c.first->handed_on == "`main` is given another tensor as `l` than the first side computes");
}

TEST_CASE("shadow: what overflows on both sides hides nothing else") {
  const std::string good = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float16")) -> R.Tensor((4,), "float16"):
        return R.exp(R.multiply(x, R.const(2.0, "float16")))
)";
  Two two(good, replaced(good, "2.0", "2.5"), {"4xf16=1,2,3,40"});
  const repro::Comparison c = repro::compare(two.loaded.session(), two.a, two.b, {}, true);
  REQUIRE(c.shadow);
  CHECK(c.shadow->verdict == repro::Shadow::Verdict::SecondIsOff);
}

TEST_CASE("run limit: a program that does not end is stopped, and the session goes on") {
  Loaded loaded(kBegin + R"(    @T.prim_func(private=True)
    def spin(x: T.Buffer((1,), "float32"), y: T.Buffer((1,), "float32")):
        y[0] = x[0]
        while y[0] < T.float32(1000):
            y[0] = x[0]
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Module
        y = R.call_tir(cls.spin, (x,), out_sinfo=R.Tensor((1,), "float32"))
        return y
)");
  repro::Program p;
  p.module = loaded.module();
  p.function = "main";
  source::Diagnostics found;
  loaded.session().set_program(p.module);
  const auto given = [&](const std::string& text) {
    const auto made = loaded.session().arguments("main", std::vector<std::string>{text}, found);
    REQUIRE(made);
    p.args = {made->front().value};
    return repro::record_beside(loaded.session(), p, 0.2);
  };
  const repro::Trace endless = given("x=[1]");
  CHECK(endless.error.find("it has not ended") == 0);
  CHECK(endless.error_function == "main");
  const repro::Trace short_one = given("x=[2000]");
  CHECK(short_one.error.empty());
  CHECK(short_one.results.size() == 1);
}

TEST_CASE("effects: that prints are not compared is said once") {
  const std::string text = kBegin + R"(    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        _ = R.print(y, format="y {}")
        return y
)";
  Loaded loaded;
  repro::Program a, b;
  a.module = loaded.load(text);
  b.module = loaded.load(replaced(text, "        _ = R.print(y, format=\"y {}\")\n", ""));
  a.function = b.function = "main";
  loaded.session().set_program(a.module);
  source::Diagnostics found;
  auto inputs = repro::compared_inputs(loaded.session(), "main", {}, found);
  REQUIRE(inputs);
  const repro::Comparison c = repro::compare(loaded.session(), a, b, *inputs, {});
  CHECK(c.verdict == repro::Comparison::Verdict::Equal);
  CHECK(std::count(c.notes.begin(), c.notes.end(), "what the programs print was not compared") == 1);
}

TEST_CASE("collectives: equal programs are told to have been run with one worker; they may fill empty memory") {
  const std::string program = kBegin + R"(    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        b = R.ccl.allreduce(a, "sum")
        return R.tanh(b)
)";
  Loaded loaded(program);
  repro::Program a, b;
  a.module = loaded.module();
  source::Diagnostics found;
  REQUIRE(loaded.session().run_passes("minimum", found));
  b.module = loaded.module();
  a.function = b.function = "main";
  loaded.session().set_program(a.module);
  auto inputs = repro::compared_inputs(loaded.session(), "main", {}, found);
  REQUIRE(inputs);
  const repro::Comparison c = repro::compare(loaded.session(), a, b, *inputs, {});
  CHECK(c.verdict == repro::Comparison::Verdict::Equal);
  REQUIRE_FALSE(c.notes.empty());
  CHECK(c.notes.back() ==
        "one worker was run, for which collectives change nothing: how `R.ccl.allreduce`, `runtime.disco.allreduce` "
        "are called was not compared");
  b.args = {inputs->arguments[0].value};
  for (const repro::Event& e : repro::record(loaded.session(), b).events)
    for (const repro::Reading& r : e.inputs) CHECK_FALSE(r.unwritten);
}

namespace {

const std::string kInPlace = kBegin + R"(    @T.prim_func(private=True)
    def up(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = a[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y: R.Tensor((4,), "float32") = R.call_tir_inplace(cls.up, (x,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return y
)";

// Computes the same, in a copy.
std::string copied() {
  const std::string text = replaced(kInPlace, "        y: R.Tensor", R"(        c = R.add(x, R.const(0, "float32"))
        y: R.Tensor)");
  return replaced(text, "(cls.up, (x,)", "(cls.up, (c,)");
}

}  // namespace

TEST_CASE("arguments: one side alone overwrites its caller's tensor") {
  Two writes(copied(), kInPlace);
  CHECK_FALSE(writes.c.result);
  REQUIRE(writes.c.arguments);
  CHECK_FALSE(writes.c.arguments->both_write);
  CHECK(writes.c.first->text.find("call_tir_inplace(cls.up, (x,)") != std::string::npos);
  CHECK(writes.c.why.starts_with("it overwrites its argument `x`, which the first side does not: [0]: "));
  Two keeps(kInPlace, copied());
  CHECK(keeps.c.first->other_text.find("call_tir_inplace(cls.up, (x,)") != std::string::npos);
  CHECK(keeps.c.why.starts_with("it does not write to its argument `x`, as the first side does: [0]: "));
  const std::string other = replaced(replaced(kInPlace, "T.float32(1)", "T.float32(2)"), "return y",
                                     R"(z = R.subtract(y, R.const(1, "float32"))
        return z)");
  Two differently(kInPlace, other);
  REQUIRE(differently.c.arguments);
  CHECK(differently.c.arguments->both_write);
  CHECK(differently.c.why.starts_with("it writes other values to its argument `x` than the first side: [0]: "));
}

TEST_CASE("arguments: a pass that overwrites its caller's tensor is found by validation and by stages") {
  Loaded loaded;
  const ir::Module* before = loaded.load(copied());
  const ir::Module* after = loaded.load(kInPlace);
  const auto wrong = repro::validate_versions(loaded.session(), before, after, "NoSuchPass");
  CHECK(wrong.difference.find("it overwrites its argument `x`") != std::string::npos);
  CHECK(repro::validate_versions(loaded.session(), after, after, "NoSuchPass").difference.empty());
}

TEST_CASE(
    "arguments: a version that overwrites its caller's tensor has a symptom; where only precision changes, it has "
    "none") {
  Loaded loaded;
  const ir::Module* before = loaded.load(copied());
  const ir::Module* after = loaded.load(kInPlace);
  repro::Question q;
  q.kind = repro::OracleKind::Values;
  repro::Oracle oracle(loaded.session(), q);
  REQUIRE(oracle.start(before));
  CHECK_FALSE(oracle.look(before));
  const auto symptom = oracle.look(after);
  REQUIRE(symptom);
  CHECK(symptom->text.starts_with("it overwrites its argument `x`"));
  const auto lowered = passes::parse_pipeline("ToMixedPrecision");
  REQUIRE(lowered.ok());
  CHECK_FALSE(oracle.accept_as_meant(lowered->front()));
}

TEST_CASE("arguments: a pass that lowers precision changes what is written, and that is not judged") {
  Loaded loaded(kBegin + R"(    @T.prim_func(private=True)
    def store(c: T.Buffer((8, 16), "float32"), y: T.Buffer((8, 16), "float32")):
        for i, j in T.grid(8, 16):
            c[i, j] = c[i, j] + y[i, j]

    @R.function(pure=False)
    def main(x: R.Tensor((8, 32), "float32"), w: R.Tensor((32, 16), "float32"), cache: R.Tensor((8, 16), "float32")):
        cls = Module
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        c = R.call_tir_inplace(cls.store, (cache, y), inplace_indices=[0], out_sinfo=R.Tensor((8, 16), "float32"))
        return x
)");
  const ir::Module* before = loaded.module();
  source::Diagnostics told;
  passes::PassEnv env{loaded.session().context(), told};
  const auto pipeline = passes::parse_pipeline("ToMixedPrecision");
  const auto after = passes::run_pipeline(env, before, *pipeline);
  REQUIRE(after.ok());
  CHECK(repro::validate_versions(loaded.session(), before, *after, "ToMixedPrecision").difference.empty());
  CHECK_FALSE(repro::validate_versions(loaded.session(), before, *after, "FoldConstant").difference.empty());
  repro::Program a{.module = before, .function = "main"}, b{.module = *after, .function = "main"};
  source::Diagnostics found;
  loaded.session().set_program(before);
  auto inputs = repro::compared_inputs(loaded.session(), "main", {}, found);
  REQUIRE(inputs);
  inputs->passes = "ToMixedPrecision";
  const auto c = repro::compare(loaded.session(), a, b, *inputs, {});
  CHECK(c.verdict == repro::Comparison::Verdict::CannotTell);
  CHECK(c.why.find("it writes other values to its argument `cache`") != std::string::npos);
  inputs->passes = "FoldConstant";
  CHECK(repro::compare(loaded.session(), a, b, *inputs, {}).verdict == repro::Comparison::Verdict::Differs);
  repro::Question q;
  q.kind = repro::OracleKind::Values;
  q.passes = "ToMixedPrecision";
  CHECK_FALSE(repro::Oracle(loaded.session(), q).ask(before));
}
