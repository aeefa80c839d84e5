// Numbers that are generated for what is done with them: roots and logarithms are taken of positive ones, the weights
// of long sums are small, packed words have any bits.
#include <doctest/doctest.h>

#include <cmath>

#include "rldb/session/session.h"

using namespace rldb;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

struct Bounds {
  double least = INFINITY, most = -INFINITY;
};

// The least and the largest number of each generated argument of `main`.
std::vector<Bounds> generated(const std::string& signature, const std::string& body) {
  Quiet quiet;
  session::Session s({}, &quiet);
  source::Diagnostics d;
  const std::string text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(" + signature + "):\n" + body;
  REQUIRE_MESSAGE(s.load_text("m", text, d), (d.all().empty() ? "" : d.all()[0].message));
  const auto arguments = s.arguments("main", {}, d);
  REQUIRE(arguments);
  std::vector<Bounds> out;
  for (const session::Argument& a : *arguments) {
    out.emplace_back();
    const runtime::Tensor& t = a.value.as_tensor();
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      out.back().least = std::min(out.back().least, t.at(i));
      out.back().most = std::max(out.back().most, t.at(i));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("generated floats: the variance of a batch norm is positive, its mean may be anything") {
  const auto made = generated(
      "x: R.Tensor((2, 64, 4, 4), \"float16\"), g: R.Tensor((64,), \"float16\"), b: R.Tensor((64,), \"float16\"), "
      "m: R.Tensor((64,), \"float16\"), v: R.Tensor((64,), \"float16\")",
      "        y = R.nn.batch_norm(x, g, b, m, v, axis=1, training=False)\n        return y[0]\n");
  REQUIRE(made.size() == 5);
  for (const std::size_t i : {0, 1, 2, 3}) CHECK(made[i].least < 0);
  CHECK(made[4].least >= 0.5);
  CHECK(made[4].most <= 1);
}

TEST_CASE("generated floats: roots and logarithms of what is reshaped, converted and added to") {
  const auto made = generated(
      "a: R.Tensor((8, 4), \"float32\"), b: R.Tensor((32,), \"float32\"), c: R.Tensor((32,), \"float32\"), "
      "d: R.Tensor((32,), \"float32\")",
      "        p = R.log(R.reshape(a, (32,)))\n"
      "        q = R.rsqrt(R.astype(R.add(b, R.const(0.5, \"float32\")), \"float32\"))\n"
      "        r = R.sqrt(R.add(c, d))\n"
      "        return R.add(R.add(p, q), r)\n");
  REQUIRE(made.size() == 4);
  CHECK(made[0].least >= 0.5);
  CHECK(made[1].least >= 0.5);
  // The sign of a sum of two is that of neither.
  CHECK(made[2].least < 0);
  CHECK(made[3].least < 0);
}

TEST_CASE("generated floats: weights of long sums are small, what they weigh is not") {
  const auto made = generated(
      "x: R.Tensor((2, 300), \"float32\"), w: R.Tensor((300, 16), \"float32\"), s: R.Tensor((16, 4), \"float32\"), "
      "i: R.Tensor((1, 64, 8, 8), \"float32\"), k: R.Tensor((8, 64, 3, 3), \"float32\")",
      "        y = R.matmul(R.matmul(x, w), s)\n"
      "        z = R.nn.conv2d(i, k)\n"
      "        return (y, z)\n");
  REQUIRE(made.size() == 5);
  CHECK(made[0].most > 0.9);
  CHECK(made[1].most <= std::sqrt(3 / 300.0));
  CHECK(made[1].most > std::sqrt(3 / 300.0) / 2);
  CHECK(made[2].most > 0.8);  // sums of 16 are short
  CHECK(made[3].most > 0.9);
  CHECK(made[4].most <= std::sqrt(3 / 576.0));
}

TEST_CASE("generated integers: words whose bits are unpacked have any bits, unless they index") {
  const auto made = generated(
      "w: R.Tensor((64, 4), \"uint32\"), t: R.Tensor((16,), \"float32\"), i: R.Tensor((8,), \"uint32\"), "
      "c: R.Tensor((8,), \"uint32\")",
      "        y = R.bitwise_and(R.right_shift(w, R.const(28, \"uint32\")), R.const(15, \"uint32\"))\n"
      "        z = R.take(t, R.astype(R.right_shift(i, R.const(1, \"uint32\")), \"int64\"), axis=0)\n"
      "        return (y, z, c)\n");
  REQUIRE(made.size() == 4);
  CHECK(made[0].most > 4e9);
  CHECK(made[2].most < 10);
  CHECK(made[3].most < 10);
}
