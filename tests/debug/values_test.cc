// Every name in the source has a value, or a reason: freed, an alias, fused away, folded, not reached, in other calls.
#include "debug/helpers.h"

namespace rldb::debug {

namespace {

using testing::f32;
using testing::Fixture;
using testing::i64;
using testing::text_of;

const char* const kHead =
    "from tvm.script import ir as I\n"
    "from tvm.script import relax as R\n"
    "from tvm.script import tir as T\n"
    "@I.ir_module\n"
    "class Module:\n";

std::string notes_of(Fixture& f, std::string_view text) {
  source::Diagnostics d;
  std::vector<std::string> notes;
  f.debugger.evaluate(text, 0, d, &notes);
  return fmt::format("{}", fmt::join(notes, "\n"));
}

void run_passes(Fixture& f, std::string_view pipeline) {
  source::Diagnostics d;
  const bool ok = f.session.run_passes(pipeline, d);
  REQUIRE_MESSAGE(ok, text_of(d));
}

const std::string kChain = std::string(kHead) +
                           "    @R.function\n"
                           "    def main(x: R.Tensor((\"n\", 2), \"float32\")):\n"
                           "        n = T.int64()\n"
                           "        with R.dataflow():\n"
                           "            a = R.add(x, x)\n"
                           "            b = R.negative(a)\n"
                           "            z = R.zeros((n, 2), \"float32\")\n"
                           "            c = R.maximum(b, z)\n"
                           "            d = R.add(c, a)\n"
                           "            R.output(d)\n"
                           "        return d\n";

}  // namespace

TEST_CASE("a freed value is fetched from the moment it was made, and the run stays where it is") {
  Fixture f(kChain);
  f.start({f32({2, 2}, {1, -2, 3, -4})});
  f.debugger.until("main:d", *std::make_unique<source::Diagnostics>());
  const std::uint64_t time = f.debugger.last_stop().time;
  CHECK(f.print("b") == "[[-2.  4.]\n [-6.  8.]]");
  CHECK(notes_of(f, "b").find("b as of its definition, time ") == 0);
  CHECK(f.debugger.machine()->instructions() == time);
  CHECK(f.print("b[1, 1] + c[1, 1]") == "16.0");
}

TEST_CASE("fused bindings are stepped one by one; the values inside are computed by the evaluator") {
  Fixture f(kChain);
  run_passes(f, "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR");
  f.start({f32({2, 2}, {1, -2, 3, -4})});
  std::vector<std::string> seen;
  StopReport r;
  while ((r = f.debugger.step()).kind == StopKind::Step) {
    seen.push_back(r.where.binding);
    if (r.where.binding == "c") {
      CHECK(r.where.group.size() > 1);
      CHECK(f.print("a") == "[[ 2. -4.]\n [ 6. -8.]]");
      CHECK(notes_of(f, "a").find("a computed by the evaluator from x") == 0);
      CHECK(f.print("c").find("`c` is not computed yet: it is bound at program.py:13") != std::string::npos);
      CHECK(f.print("z") == "[[0. 0.]\n [0. 0.]]");
    }
  }
  CHECK(seen == std::vector<std::string>{"a", "b", "z", "c", "d"});
  REQUIRE(r.kind == StopKind::Finished);
  // Back over them.
  std::vector<std::string> back;
  while ((r = f.debugger.reverse_step()).kind == StopKind::Step) back.push_back(r.where.binding);
  CHECK(back == std::vector<std::string>{"d", "c", "z", "b", "a"});
}

TEST_CASE("a breakpoint on a binding inside a fused kernel stops there, both ways") {
  Fixture f(kChain);
  run_passes(f, "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR");
  const int n = f.at("main:b", "a[0, 0] == 2");
  const int op = f.at("op:maximum");
  StopReport r = f.start({f32({2, 2}, {1, -2, 3, -4})}, false);
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(r.where.binding == "b");
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{op});
  CHECK(r.where.binding == "c");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  CHECK(f.debugger.reverse_resume().breakpoints == std::vector<int>{op});
  r = f.debugger.reverse_resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(r.where.binding == "b");
  CHECK(f.debugger.reverse_resume().kind == StopKind::HistoryEnd);
  CHECK(f.refused("op:maximun").find("did you mean `maximum`?") != std::string::npos);
}

TEST_CASE("aliases and casts have the value of what they name") {
  Fixture f(std::string(kHead) +
            "    @R.function\n"
            "    def main(x: R.Tensor((4,), \"float32\")):\n"
            "        y = R.add(x, x)\n"
            "        z = y\n"
            "        m = T.int64()\n"
            "        w = R.match_cast(z, R.Tensor((m,), \"float32\"))\n"
            "        t = (w, x)\n"
            "        u = t[0]\n"
            "        v = R.add(u, x)\n"
            "        return v\n");
  run_passes(f, "CanonicalizeBindings");
  f.start({f32({4}, {1, 2, 3, 4})});
  f.debugger.until("main:v", *std::make_unique<source::Diagnostics>());
  for (const char* name : {"y", "z", "w", "u", "t[0]"}) {
    INFO(name);
    CHECK(f.print(name) == "[2. 4. 6. 8.]");
  }
}

TEST_CASE("a name means the binding that the text gives it, not a value in between") {
  Fixture f(std::string(kHead) +
            "    @R.function\n"
            "    def main(x: R.Tensor((2,), \"float32\")):\n"
            "        with R.dataflow():\n"
            "            lv1 = R.add(R.exp(x), R.negative(x))\n"
            "            lv = R.multiply(R.add(lv1, x), lv1)\n"
            "            gv = R.add(R.negative(lv), R.negative(lv1))\n"
            "            R.output(gv)\n"
            "        return gv\n");
  f.at("main:lv");
  StopReport r = f.start({f32({2}, {0, 0})}, false);
  CHECK(r.where.binding == "lv");
  CHECK(f.print("lv1") == "[1. 1.]");
  r = f.debugger.step();
  CHECK(f.print("lv") == "[1. 1.]");
  f.debugger.resume();
  CHECK(f.print("gv") == "[-2. -2.]");
}

TEST_CASE("names of a program that TVM lowered have values") {
  Fixture f(
      std::string(kHead) +
      "    @T.prim_func\n"
      "    def exp(a: T.Buffer((T.int64(2),), \"float32\"), b: T.Buffer((T.int64(2),), \"float32\")):\n"
      "        for i in range(T.int64(2)):\n"
      "            b[i] = a[i] + T.float32(1)\n"
      "    @R.function(pure=False)\n"
      "    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n"
      "        cls = Module\n"
      "        s: R.Object = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str(\"global\"), "
      "R.dtype(\"float32\"))\n"
      "        alloc: R.Tensor((2,), dtype=\"float32\") = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([2]), "
      "R.dtype(\"float32\"))\n"
      "        _: R.Tuple = cls.exp(x, alloc)\n"
      "        left: R.Tensor((2,), dtype=\"float32\") = alloc\n"
      "        alloc1: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), "
      "R.dtype(\"float32\"), R.prim_value(0))\n"
      "        _1: R.Tuple = cls.exp(left, alloc1)\n"
      "        _2: R.Tuple = R.memory.kill_tensor(alloc)\n"
      "        right: R.Tensor((2,), dtype=\"float32\") = alloc1\n"
      "        return right\n");
  f.start({f32({2}, {1, 2})});
  f.debugger.until("main:_2", *std::make_unique<source::Diagnostics>());
  CHECK(f.print("left") == "[2. 3.]");
  CHECK(f.print("alloc1") == "[3. 4.]");
  CHECK(f.print("right").find("`right` is not computed yet") != std::string::npos);
}

TEST_CASE("each call of a recursive function has its own past") {
  Fixture f(std::string(kHead) +
            "    @R.function\n"
            "    def main(x: R.Tensor((1,), \"float32\"), k: R.Tensor((), \"int64\")) -> R.Tensor((1,), \"float32\"):\n"
            "        c = R.less(k, R.const(1, \"int64\"))\n"
            "        if c:\n"
            "            r = x\n"
            "        else:\n"
            "            a = R.add(x, x)\n"
            "            b = R.negative(a)\n"
            "            j = R.subtract(k, R.const(1, \"int64\"))\n"
            "            r = Module.main(b, j)\n"
            "        return r\n");
  f.at("main", "k == 0");
  REQUIRE(f.start({f32({1}, {3}), i64(2)}, false).kind == StopKind::Breakpoint);
  REQUIRE(f.debugger.frames().size() == 3);
  CHECK(f.print("a", 1) == "[-12.]");
  CHECK(f.print("a", 2) == "[6.]");
  CHECK(f.print("a", 0).find("is not computed yet") != std::string::npos);
}

namespace {

const std::string kInlined = std::string(kHead) +
                             "    @R.function(private=True)\n"
                             "    def block(a: R.Tensor((\"m\", 2), \"float32\"), w: R.Tensor((2,), \"float32\")):\n"
                             "        m = T.int64()\n"
                             "        with R.dataflow():\n"
                             "            t0 = R.multiply(a, w)\n"
                             "            t1 = R.add(t0, R.ones((m, 2), \"float32\"))\n"
                             "            R.output(t1)\n"
                             "        return t1\n"
                             "    @R.function\n"
                             "    def main(x: R.Tensor((\"n\", 2), \"float32\"), v: R.Tensor((2,), \"float32\"), w: "
                             "R.Tensor((2,), \"float32\")):\n"
                             "        n = T.int64()\n"
                             "        cls = Module\n"
                             "        with R.dataflow():\n"
                             "            a = cls.block(x, v)\n"
                             "            b = R.negative(a)\n"
                             "            c = cls.block(b, w)\n"
                             "            d = R.add(c, c)\n"
                             "            R.output(d)\n"
                             "        return d\n";

std::vector<runtime::Value> inlined_args() { return {f32({1, 2}, {1, 2}), f32({2}, {3, 4}), f32({2}, {5, 6})}; }

}  // namespace

TEST_CASE("names of an inlined function that was fused away have the values of the latest call") {
  Fixture f(kInlined);
  run_passes(f, "InlinePrivateFunctions,LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR");
  f.at("main:b", "t0[0, 1] == 8");
  CHECK(f.start(inlined_args(), false).where.binding == "b");
  CHECK(f.print("t0") == "[[3. 8.]]");
  CHECK(f.print("t1") == "[[4. 9.]]");
  CHECK(notes_of(f, "t0").find("t0 computed by the evaluator from") != std::string::npos);
  CHECK(notes_of(f, "t0").find("t0 is of block, inlined at a") != std::string::npos);
  CHECK(f.print("w") == "[5. 6.]");
  source::Diagnostics d;
  f.debugger.until("main:d", d);
  CHECK(f.print("t0") == "[[-20. -54.]]");
  CHECK(notes_of(f, "t0").find("t0 is of block, inlined at c") != std::string::npos);
}

TEST_CASE("the bindings of a function that was inlined twice are stepped twice, with its own parameters") {
  Fixture f(kInlined);
  run_passes(f, "InlinePrivateFunctions,LegalizeOps");
  const int n = f.at("block:t1", "");
  StopReport r = f.start(inlined_args(), false);
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(f.print("t0") == "[[3. 8.]]");
  CHECK(f.print("w") == "[3. 4.]");
  CHECK(f.print("a") == "[[1. 2.]]");
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(f.print("t0") == "[[-20. -54.]]");
  CHECK(f.print("w") == "[5. 6.]");
  CHECK(f.print("a") == "[[-4. -9.]]");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
}

TEST_CASE("the result of a kernel in place is the memory that it overwrote, and asking for it changes nothing") {
  Fixture f(
      std::string(kHead) +
      "    @T.prim_func\n"
      "    def twice(x: T.Buffer((2,), \"float32\")):\n"
      "        for i in range(2):\n"
      "            x[i] = x[i] * T.float32(2)\n"
      "    @R.function(pure=False)\n"
      "    def main(x: R.Tensor((2,), \"float32\")):\n"
      "        cls = Module\n"
      "        a = R.add(x, x)\n"
      "        b = R.call_tir_inplace(cls.twice, (a,), inplace_indices=[0], out_sinfo=R.Tensor((2,), \"float32\"))\n"
      "        c = R.negative(b)\n"
      "        d = R.add(c, c)\n"
      "        return d\n");
  f.start({f32({2}, {1, 2})});
  source::Diagnostics d;
  f.debugger.until("main:c", d);
  for (int again = 0; again < 2; ++again) {
    CHECK(f.print("b") == "[4. 8.]");
    CHECK(f.print("a") == "[4. 8.]");
  }
  CHECK(notes_of(f, "b") == "b is a, overwritten");
  f.debugger.until("main:d", d);
  CHECK(f.print("b") == "[4. 8.]");
  CHECK(f.print("a") == "[2. 4.]");
}

}  // namespace rldb::debug
