// Two programs that differ, cut to the part that makes the difference.
#include "rldb/repro/cut_pair.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/reduce.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

std::string chain(const std::string& middle) {
  return R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.matmul(a, w)
            c = R.nn.softmax(b, axis=-1)
)" + middle +
         R"(
            e = R.tanh(d)
            f = R.matmul(e, w)
            R.output(f)
        return f
)";
}

struct Two {
  Loaded loaded;
  repro::Program a, b;
  Two(const std::string& first, const std::string& second) {
    a.module = loaded.load(first);
    b.module = loaded.load(second);
    a.function = b.function = "main";
    source::Diagnostics found;
    loaded.session().set_program(a.module);
    const auto made = loaded.session().arguments("main", {}, found);
    REQUIRE(made);
    for (const session::Argument& v : *made) a.args.push_back(v.value);
    b.args = a.args;
  }
  std::optional<repro::CutPair> cut(std::string& why) { return repro::cut_pair(loaded.session(), a, b, {}, why); }
};

std::size_t bindings(Two& two, const ir::Module* m) {
  return repro::size_of(two.loaded.session().context(), m).bindings;
}

}  // namespace

TEST_CASE("cut pair: one operator in place of another, with the values at its inputs") {
  Two two(chain("            d = R.add(c, a)"), chain("            d = R.subtract(c, a)"));
  std::string why;
  const auto cut = two.cut(why);
  REQUIRE_MESSAGE(cut, why);
  CHECK(bindings(two, cut->a.module) == 1);
  CHECK(bindings(two, cut->b.module) == 1);
  REQUIRE(cut->values.size() == 2);
  CHECK(cut->values[0].parameter == "c");
  CHECK(cut->values[0].value.as_tensor().shape()[1] == 4);
  CHECK(ir::print(cut->b.module).find("R.subtract(c, a)") != std::string::npos);
}

TEST_CASE("cut pair: one computation in place of several") {
  Two two(chain("            p = R.permute_dims(c, axes=[1, 0])\n            q = R.permute_dims(p, axes=[1, 0])\n"
                "            d = R.add(q, a)"),
          chain("            d = R.add(a, a)"));
  std::string why;
  const auto cut = two.cut(why);
  REQUIRE_MESSAGE(cut, why);
  CHECK(bindings(two, cut->a.module) == 5);  // from `a`, which both have, to `d`
  CHECK(bindings(two, cut->b.module) == 1);
}

TEST_CASE("cut pair: programs that agree, and results in arguments, are refused with the reason") {
  Two two(chain("            d = R.add(c, a)"), chain("            d = R.add(a, c)"));
  std::string why;
  CHECK_FALSE(two.cut(why));
  CHECK_FALSE(why.empty());
  two.b.outputs = 1;
  CHECK_FALSE(two.cut(why));
  CHECK(why == "one of the programs writes its results to arguments");
}

TEST_CASE("cut pair: kernels that were run by themselves are called by a function") {
  const std::string kernel = R"(@I.ir_module
class Module:
    @T.prim_func
    def scale(x: T.handle, Y: T.Buffer((8,), "int32")):
        n = T.int64()
        X = T.match_buffer(x, (n,), "int32")
        for i in range(8):
            Y[i] = T.floormod(X[i], 3)
)";
  std::string other = kernel;
  other.replace(other.find("floormod"), 8, "truncmod");
  Loaded loaded;
  repro::Program a, b;
  a.module = loaded.load(kernel);
  b.module = loaded.load(other);
  a.function = b.function = "scale";
  for (const char* text : {"8xint32=-4,-3,-2,-1,0,1,2,3", "8xint32=0,0,0,0,0,0,0,0"}) {
    auto made = runtime::parse_value_literal(text);
    REQUIRE(made.ok());
    a.args.push_back(*std::move(made));
  }
  b.args = a.args;
  std::string why;
  const auto cut = repro::cut_pair(loaded.session(), a, b, {}, why);
  REQUIRE_MESSAGE(cut, why);
  CHECK(cut->a.function == "main");
  CHECK(cut->values[0].parameter == "X");
  CHECK(cut->values[1].parameter == "Y");
  CHECK(ir::print(cut->b.module).find("R.call_tir_inplace(cls.scale, (X, Y), out_ty=[") != std::string::npos);
  b.module = a.module;
  CHECK_FALSE(repro::cut_pair(loaded.session(), a, b, {}, why));
  CHECK(why == "called by a function, the kernels do not differ");
}

TEST_CASE("cut pair: shapes that a lowered program computes are numbers in its parts") {
  const std::string program = chain("            d = R.add(c, a)");
  Loaded loaded(program);
  source::Diagnostics found;
  REQUIRE(loaded.session().run_passes("minimum", found));
  std::string good = ir::print(loaded.module());
  std::string bad = good;
  const auto at = bad.find("T.exp(x[");
  REQUIRE(at != std::string::npos);
  bad.replace(at, 5, "T.sqrt");
  Two two(good, bad);
  std::string why;
  const auto cut = two.cut(why);
  REQUIRE_MESSAGE(cut, why);
  CHECK(bindings(two, cut->b.module) == 2);  // the memory and the call
  CHECK(ir::print(cut->b.module).find("R.builtin.alloc_tensor(R.shape([") != std::string::npos);
}
