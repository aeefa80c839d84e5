// Reduction where the value that the symptom depends on is not read, in programs that break rules, of loops, and by
// commands that say what failed.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/reduce.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

repro::Reduction reduced(session::Session& s, const std::string& command, bool keep_defined = false) {
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.command = command;
  q.keep_defined = keep_defined;
  repro::ReduceOptions options;
  options.jobs = 2;
  return repro::reduce(s, s.module(), q, options);
}

// A chain of `n` bindings with `culprit`, which nobody reads, in its middle.
std::string chain(int n, const std::string& culprit) {
  std::string text = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), k: R.Tensor((4,), "int32")):
        with R.dataflow():
            a0 = R.exp(x)
)";
  for (int i = 1; i < n; ++i) {
    if (i == n / 2) text += "            " + culprit + "\n";
    text += fmt::format("            a{} = R.{}(a{})\n", i, i % 2 ? "tanh" : "sin", i - 1);
  }
  return text + fmt::format("            gv = a{}\n            R.output(gv)\n        return gv\n", n - 1);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("reduce: a culprit that nobody reads is found as fast as one that is read") {
  for (const char* culprit :
       {"kk = R.power(k, k)", "kk = R.power(a3, a2)", "kk = R.power(R.const(1.0, \"float32\"), a1)"}) {
    Loaded loaded(chain(100, culprit));
    const repro::Reduction r = reduced(loaded.session(), "grep -q 'R.power('");
    REQUIRE(r.module);
    CHECK(r.complete);
    CHECK(r.after.bindings == 1);
    CHECK(r.tried < 60);
    CHECK(contains(repro::minimality(r), "it is minimal"));
  }
}

TEST_CASE("reduce: an impure call that nobody reads stays, and all else goes") {
  Loaded loaded(R"(@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        u = R.print(a, format="{}")
        v = R.print(x, format="also {}")
        b = R.sin(a)
        return b
)");
  const repro::Reduction r = reduced(loaded.session(), "grep -q 'R.print(.*str(.{}'");
  REQUIRE(r.module);
  CHECK(r.after.bindings == 1);
}

TEST_CASE("reduce: a program that breaks a rule is reduced to one that breaks the same") {
  const std::string path = fmt::format("/tmp/rldb-reduce-{}.py", ::getpid());
  std::ofstream(path) << chain(40, "zz = R.print(a3, format=\"{}\")");
  Loaded loaded;
  source::Diagnostics broken;
  REQUIRE(repro::read_ill_formed(loaded.session(), path, broken));
  std::remove(path.c_str());
  CHECK(broken.has_errors());
  const repro::Reduction r = reduced(loaded.session(), "grep -q 'R.print('");
  REQUIRE(r.module);
  CHECK(r.ill_formed);
  CHECK(r.after.bindings == 1);
}

TEST_CASE("reduce: a loop loses its condition and the call of itself") {
  Loaded loaded(R"(@I.ir_module
class M:
    @R.function
    def loop(i: R.Tensor((), "int32"), x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((), "int32"), R.Tensor((4,), "float32")):
        c = R.less(i, R.const(10, "int32"))
        if c:
            i1 = R.add(i, R.const(1, "int32"))
            x1 = R.exp(x)
            x2 = R.power(x1, x)
            r = M.loop(i1, x2)
            out = r
        else:
            out = (i, x)
        return out

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        i = R.const(0, "int32")
        y = R.sin(x)
        r = M.loop(i, y)
        z = r[1]
        w = R.tanh(z)
        return w
)");
  const repro::Reduction r = reduced(loaded.session(), "grep -q 'R.power('");
  REQUIRE(r.module);
  CHECK(r.after.bindings == 1);
  CHECK(r.after.functions == 1);
}

TEST_CASE("reduce: a field of a split of a concat becomes the tensor that went in") {
  Loaded loaded(R"(@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4, 2), "float32"), w: R.Tensor((2, 2), "float32")) -> R.Tensor((4, 2), "float32"):
        a = R.exp(x)
        b = R.sin(x)
        c = R.concat((a, b), axis=0)
        s = R.split(c, 2, axis=0)
        p = s[0]
        q = R.matmul(p, w)
        r = R.add(q, a)
        return r
)");
  const repro::Reduction r =
      reduced(loaded.session(), "sh -c 'grep -q R.exp $0 && grep -q R.add $0 && grep -q R.matmul $0'");
  REQUIRE(r.module);
  CHECK(r.after.bindings == 3);
}

TEST_CASE("reduce: another error of the command is another symptom") {
  // With R.sin left it fails in another way; without R.sin the way is that of R.cos.
  Loaded loaded(R"(@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        b = R.sin(a)
        c = R.cos(b)
        return c
)");
  const repro::Reduction r = reduced(
      loaded.session(),
      "sh -c 'if grep -q R.sin $0; then echo $0: line 3: bad sine at 0x7f$$ >&2; else echo no sine >&2; fi; exit 0'");
  REQUIRE(r.module);
  CHECK(r.after.bindings == 1);
  CHECK(contains(ir::print(r.module), "R.sin("));
  CHECK(contains(r.symptom.text, "bad sine"));
}

TEST_CASE("reduce: a command that always fails in its own way says why nothing goes") {
  Loaded loaded(R"(@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        a = R.exp(x)
        return a
)");
  const repro::Reduction r = reduced(
      loaded.session(), "sh -c 'grep -q R.exp $0 && grep -q x: $0 && grep -q a: $0 || { echo other >&2; }; true'");
  REQUIRE(r.module);
  CHECK(r.accepted == 0);
  CHECK(contains(repro::minimality(r), "nothing could be removed"));
  CHECK(contains(repro::minimality(r), "with another one (command: other)"));
}

TEST_CASE("reduce: with keep_defined no candidate reads out of bounds") {
  const std::string text = R"(@I.ir_module
class M:
    @T.prim_func(private=True)
    def read(A: T.Buffer((T.int64(8),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("s"):
                vi = T.axis.spatial(T.int64(4), i)
                if vi < T.int64(3):
                    C[vi] = A[vi * T.int64(3)]
                else:
                    C[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((4,), "float32"):
        cls = M
        a = R.call_tir(cls.read, (x,), out_ty=R.Tensor((4,), "float32"))
        return a
)";
  const std::string command =
      "sh -c 'grep -q \"A.v.* T.int64(3)\" $0 && grep -q \"A: T.Buffer((T.int64(8),).*C: T.Buffer((T.int64(4),)\" $0'";
  for (const bool keep : {false, true}) {
    Loaded loaded(text);
    const repro::Reduction r = reduced(loaded.session(), command, keep);
    REQUIRE(r.module);
    // Without it the condition goes, and the last element is read at 9.
    CHECK(contains(ir::print(r.module), "if ") == keep);
  }
}
