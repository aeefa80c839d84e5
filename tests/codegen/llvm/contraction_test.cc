// Products and convolutions of odd sizes: the scheduled kernel has the values of the one that is written, bit for bit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/ir/printer.h"
#include "rldb/schedule/bounds.h"
#include "rldb/schedule/target.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

using Dims = std::map<std::string, std::int64_t>;

// The kernel is scheduled in panels, and keeps its values, for each kind of inputs, and its proofs.
void check_tiled(const std::string& text, const std::vector<Dims>& all_dims, const schedule::Target& target,
                 const std::vector<Case>& inputs = {{}}) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem, text);
  schedule::Options options;
  options.record = true;
  const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options, target);
  bool tiled = false;
  for (const schedule::Step& step : result.steps) tiled = tiled || schedule::info_of(step.id).name == "tile";
  REQUIRE_MESSAGE(tiled, text);
  CHECK(schedule::prove_bounds(result.func).all_proved(result.func->body));
  std::vector<Case> cases;
  for (const Dims& dims : all_dims)
    for (const Case& c : inputs) cases.emplace_back(c).symbols = dims;
  CAPTURE(text);
  check_same_values(t.ctx, t.f, result.func, cases);
}

void check_tiled(const std::string& text, const std::vector<Dims>& all_dims, unsigned vector_bytes,
                 const std::vector<Case>& inputs = {{}}) {
  check_tiled(text, all_dims, schedule::Target{vector_bytes, false, false, false}, inputs);
}

void check_tiled(const std::string& text, const std::vector<Dims>& dims = {{}}) {
  for (const unsigned bytes : {16u, 64u}) check_tiled(text, dims, bytes);
}

// C = A * B in an orientation, over known or unknown sizes; `a` and `b` are the factors.
struct Product {
  std::string a_shape, b_shape, a, b;
  std::string a_type, b_type, type;
  std::string init = "0";
};
std::string product(const Product& p, const Dims& sizes, bool known) {
  const auto size = [&](char c) { return known ? std::to_string(sizes.at(std::string(1, c))) : std::string(1, c); };
  const auto shape = [&](const std::string& of) { return size(of[0]) + ", " + size(of[1]); };
  return fmt::format(R"(@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({{"tirx.noalias": True}})
{0}    A = T.match_buffer(a, ({1}), "{2}")
    B = T.match_buffer(b, ({3}), "{4}")
    C = T.match_buffer(c, ({5}), "{6}")
    for i, j, kk in T.grid({7}, {8}, {9}):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, kk])
            with T.init():
                C[vi, vj] = T.{6}({12})
            C[vi, vj] = C[vi, vj] + {10} * {11}
)",
                     known ? "" : "    m = T.int64()\n    n = T.int64()\n    k = T.int64()\n", shape(p.a_shape),
                     p.a_type, shape(p.b_shape), p.b_type, shape("mn"), p.type, size('m'), size('n'), size('k'), p.a,
                     p.b, p.init);
}
const std::vector<Dims> kOddSizes = {{{"m", 1}, {"n", 70}, {"k", 90}},
                                     {{"m", 13}, {"n", 35}, {"k", 301}},
                                     {{"m", 48}, {"n", 129}, {"k", 64}},
                                     {{"m", 3}, {"n", 48}, {"k", 515}}};

// Of each of the odd sizes as known ones, and of all of them as unknown ones.
void check_odd_products(const Product& p, const schedule::Target& target, const std::vector<Case>& inputs = {{}}) {
  for (const Dims& sizes : kOddSizes) check_tiled(product(p, sizes, true), {sizes}, target, inputs);
  check_tiled(product(p, {}, false), kOddSizes, target, inputs);
}

std::string function(const std::string& parameters, const std::string& buffers, const std::string& loops) {
  return fmt::format("@T.prim_func(s_tir=True)\ndef kernel({}):\n    T.func_attr({{\"tirx.noalias\": True}})\n{}{}",
                     parameters, buffers, loops);
}

struct Conv {
  int batch = 1, in = 3, out = 5, height = 6, width = 7;
  int window_height = 3, window_width = 3, stride = 1, dilation = 1, groups = 1;
  bool channels_last = false;
  std::string in_type = "float32", type = "float32";
};

std::string padded_extent(int n, int window, const Conv& c) {
  return std::to_string((n - 1) * c.stride + (window - 1) * c.dilation + 1);
}

std::string conv(const Conv& c) {
  const int in_group = c.in / c.groups, out_group = c.out / c.groups;
  const std::string h = padded_extent(c.height, c.window_height, c), w = padded_extent(c.width, c.window_width, c);
  const std::string channel = c.groups == 1 ? "rc" : fmt::format("f // {} * {} + rc", out_group, in_group);
  const std::string y = fmt::format("y * {} + ry * {}", c.stride, c.dilation);
  const std::string x = fmt::format("x * {} + rx * {}", c.stride, c.dilation);
  const auto in_order = [&](const auto& n, const auto& channels, const auto& rows, const auto& columns) {
    return c.channels_last ? fmt::format("{}, {}, {}, {}", n, rows, columns, channels)
                           : fmt::format("{}, {}, {}, {}", n, channels, rows, columns);
  };
  const auto weight = [&](const auto& f, const auto& rc, const auto& ry, const auto& rx) {
    return c.channels_last ? fmt::format("{}, {}, {}, {}", ry, rx, rc, f)
                           : fmt::format("{}, {}, {}, {}", f, rc, ry, rx);
  };
  const std::string cast = c.in_type == c.type ? "" : fmt::format("T.Cast(\"{}\", ", c.type);
  const auto loaded = [&](const std::string& load) { return cast.empty() ? load : cast + load + ")"; };
  const std::string parameters =
      fmt::format("X: T.Buffer(({}), \"{}\"), W: T.Buffer(({}), \"{}\"), Y: T.Buffer(({}), \"{}\")",
                  in_order(c.batch, c.in, h, w), c.in_type, weight(c.out, in_group, c.window_height, c.window_width),
                  c.in_type, in_order(c.batch, c.out, c.height, c.width), c.type);
  const std::string reduced = c.channels_last ? "ry_, rx_, rc_" : "rc_, ry_, rx_";
  const std::string steps = c.channels_last ? fmt::format("{}, {}, {}", c.window_height, c.window_width, in_group)
                                            : fmt::format("{}, {}, {}", in_group, c.window_height, c.window_width);
  const std::string outer = in_order("n_", "f_", "y_", "x_"), axes = in_order("n", "f", "y", "x");
  const std::string reduce_axes = c.channels_last ? "ry, rx, rc" : "rc, ry, rx";
  return function(parameters, "",
                  fmt::format(R"(
    for {0}, {1} in T.grid({2}, {3}):
        with T.sblock("conv"):
            {4}, {5} = T.axis.remap("SSSSRRR", [{0}, {1}])
            with T.init():
                Y[{4}] = T.{8}(0)
            Y[{4}] = Y[{4}] + {6} * {7}
)",
                              outer, reduced, in_order(c.batch, c.out, c.height, c.width), steps, axes, reduce_axes,
                              loaded("X[" + in_order("n", channel, y, x) + "]"),
                              loaded("W[" + weight("f", "rc", "ry", "rx") + "]"), c.type));
}

}  // namespace

TEST_CASE("convolutions of odd sizes") {
  Conv c;
  c.in = 8;
  SUBCASE("plain") {}
  SUBCASE("a batch of three, 48 channels") { c.batch = 3, c.in = 16, c.out = 48; }
  SUBCASE("one element a window") { c.window_height = c.window_width = 1, c.in = 40, c.out = 26; }
  SUBCASE("strides") { c.stride = 2, c.width = 19; }
  SUBCASE("dilation") { c.dilation = 3, c.width = 40; }
  SUBCASE("a wide window, three channels") {
    c.window_height = c.window_width = 7, c.in = 3, c.stride = 2, c.width = 33;
  }
  SUBCASE("a window that is not square") { c.window_height = 2, c.window_width = 5, c.height = 9; }
  SUBCASE("groups") { c.groups = 4, c.in = 16, c.out = 24, c.width = 18; }
  SUBCASE("rows of two vectors") { c.width = 32, c.height = 3; }
  SUBCASE("more depth than a block") { c.in = 40, c.height = 4, c.width = 5; }
  for (const bool last : {false, true}) {
    c.channels_last = last;
    check_tiled(conv(c));
  }
}

TEST_CASE("convolutions of integers and of doubles") {
  Conv c;
  c.in = 16;
  SUBCASE("int8 into int32") { c.in_type = "int8", c.type = "int32"; }
  SUBCASE("float16 into float32") { c.in_type = "float16"; }
  SUBCASE("float64") { c.in_type = c.type = "float64"; }
  check_tiled(conv(c));
}

TEST_CASE("convolutions whose batch and extents are not known") {
  const std::string buffers = R"(    n = T.int64()
    h = T.int64()
    w = T.int64()
    X = T.match_buffer(x, (n, T.int64(8), h, w), "float32")
    W = T.match_buffer(v, (T.int64(13), T.int64(8), T.int64(3), T.int64(3)), "float32")
    Y = T.match_buffer(y, (n, T.int64(13), h - T.int64(2), w - T.int64(2)), "float32")
)";
  const std::string loops = R"(
    for a, f, i, j, rc, ry, rx in T.grid(n, T.int64(13), h - T.int64(2), w - T.int64(2), T.int64(8), T.int64(3), T.int64(3)):
        with T.sblock("conv"):
            va, vf, vi, vj, vc, vy, vx = T.axis.remap("SSSSRRR", [a, f, i, j, rc, ry, rx])
            with T.init():
                Y[va, vf, vi, vj] = T.float32(0)
            Y[va, vf, vi, vj] = Y[va, vf, vi, vj] + X[va, vc, vi + vy, vj + vx] * W[vf, vc, vy, vx]
)";
  check_tiled(function("x: T.handle, v: T.handle, y: T.handle", buffers, loops),
              {{{"n", 1}, {"h", 3}, {"w", 3}}, {{"n", 3}, {"h", 9}, {"w", 21}}, {{"n", 2}, {"h", 5}, {"w", 34}}});
}

// Sizes of images are not known; `pad` zeros are put around them first.
std::string strided_conv(int stride, int dilation, int pad, bool channels_last) {
  const auto number = [](int n) { return fmt::format("T.int64({})", n); };
  const auto order = [&](const std::string& c, const std::string& y, const std::string& x) {
    return channels_last ? fmt::format("{}, {}, {}", y, x, c) : fmt::format("{}, {}, {}", c, y, x);
  };
  const auto out_extent = [&](const char* n) {
    const int fixed = 2 * pad - 2 * dilation - 1;
    return fmt::format("({} + {}) // {} + {}", n, number(fixed), number(stride), number(1));
  };
  const auto padded = [&](const char* n) { return fmt::format("{} + {}", n, number(2 * pad)); };
  const auto inner = [&](const char* v) { return fmt::format("{} - {}", v, number(pad)); };
  const auto at = [&](const char* v, const char* r) {
    return fmt::format("{} * {} + {} * {}", v, number(stride), r, number(dilation));
  };
  const std::string out = order(number(13), out_extent("h"), out_extent("w"));
  const std::string buffers = fmt::format(R"(    n = T.int64()
    h = T.int64()
    w = T.int64()
    X = T.match_buffer(x, (n, {}), "float32")
    W = T.match_buffer(v, (T.int64(13), T.int64(8), T.int64(3), T.int64(3)), "float32")
    Y = T.match_buffer(y, (n, {}), "float32")
    P = T.alloc_buffer((n, {}), "float32")
)",
                                          order(number(8), "h", "w"), out, order(number(8), padded("h"), padded("w")));
  const std::string loops = fmt::format(
      R"(
    for a, {0} in T.grid(n, {1}):
        with T.sblock("pad"):
            va, {2} = T.axis.remap("SSSS", [a, {0}])
            P[va, {2}] = T.if_then_else({3} <= vi and vi < h + {3} and {3} <= vj and vj < w + {3}, X[va, {4}], T.float32(0))
    for a, {5}, rc, ry, rx in T.grid(n, {6}, T.int64(8), T.int64(3), T.int64(3)):
        with T.sblock("conv"):
            va, {7}, vr, vy, vx = T.axis.remap("SSSSRRR", [a, {5}, rc, ry, rx])
            with T.init():
                Y[va, {7}] = T.float32(0)
            Y[va, {7}] = Y[va, {7}] + P[va, {8}] * W[vf, vr, vy, vx]
)",
      order("c", "i", "j"), order(number(8), padded("h"), padded("w")), order("vc", "vi", "vj"), number(pad),
      order("vc", inner("vi"), inner("vj")), order("f", "i", "j"), out, order("vf", "vi", "vj"),
      order("vr", at("vi", "vy"), at("vj", "vx")));
  return function("x: T.handle, v: T.handle, y: T.handle", buffers, loops);
}

TEST_CASE("convolutions with a stride whose extents are not known") {
  const std::vector<Dims> sizes{
      {{"n", 1}, {"h", 5}, {"w", 5}}, {{"n", 2}, {"h", 12}, {"w", 75}}, {{"n", 1}, {"h", 9}, {"w", 34}}};
  for (const bool last : {false, true}) {
    check_tiled(strided_conv(2, 1, 0, last), sizes);
    check_tiled(strided_conv(2, 1, 1, last), sizes);
    check_tiled(strided_conv(3, 2, 2, last), sizes);
  }
}

TEST_CASE("convolutions in one and in three dimensions") {
  check_tiled(function(
      R"(X: T.Buffer((2, 12, 47), "float32"), W: T.Buffer((9, 12, 5), "float32"), Y: T.Buffer((2, 9, 22), "float32"))",
      "", R"(
    for a, f, i, rc, rx in T.grid(2, 9, 22, 12, 5):
        with T.sblock("conv"):
            va, vf, vi, vc, vx = T.axis.remap("SSSRR", [a, f, i, rc, rx])
            with T.init():
                Y[va, vf, vi] = T.float32(0)
            Y[va, vf, vi] = Y[va, vf, vi] + X[va, vc, vi * 2 + vx] * W[vf, vc, vx]
)"));
  check_tiled(function(
      R"(X: T.Buffer((1, 4, 5, 6, 7), "float32"), W: T.Buffer((6, 4, 2, 2, 2), "float32"), Y: T.Buffer((1, 6, 4, 5, 6), "float32"))",
      "", R"(
    for a, f, i, j, k, rc, rz, ry, rx in T.grid(1, 6, 4, 5, 6, 4, 2, 2, 2):
        with T.sblock("conv"):
            va, vf, vi, vj, vk, vc, vz, vy, vx = T.axis.remap("SSSSSRRRR", [a, f, i, j, k, rc, rz, ry, rx])
            with T.init():
                Y[va, vf, vi, vj, vk] = T.float32(0)
            Y[va, vf, vi, vj, vk] = Y[va, vf, vi, vj, vk] + X[va, vc, vi + vz, vj + vy, vk + vx] * W[vf, vc, vz, vy, vx]
)"));
}

TEST_CASE("products in every orientation") {
  // Where the rows and the depth of A, the depth and the columns of B are.
  for (const char* a : {"vi, vk", "vk, vi"})
    for (const char* b : {"vk, vj", "vj, vk"})
      for (const Dims& sizes : {Dims{{"m", 1}, {"n", 70}, {"k", 90}}, Dims{{"m", 3}, {"n", 33}, {"k", 300}},
                                Dims{{"m", 25}, {"n", 7}, {"k", 272}}}) {
        const auto text = [&](bool known) {
          const auto at = [&](char c) {
            return known ? std::to_string(sizes.at(std::string(1, c))) : std::string(1, c);
          };
          const auto shape = [&](const std::string& of) { return at(of[1]) + ", " + at(of[5]); };
          const std::string dims = known ? "" : "    m = T.int64()\n    n = T.int64()\n    k = T.int64()\n";
          const auto swapped = [&](std::string s) {
            for (char& ch : s) ch = ch == 'i' ? 'm' : ch == 'j' ? 'n' : ch;
            return shape(s);
          };
          const std::string buffers =
              dims + fmt::format(
                         "    A = T.match_buffer(a, ({}), \"float32\")\n    B = T.match_buffer(b, ({}), "
                         "\"float32\")\n    C = T.match_buffer(c, ({}, {}), \"float32\")\n",
                         swapped(a), swapped(b), at('m'), at('n'));
          return function("a: T.handle, b: T.handle, c: T.handle", buffers,
                          fmt::format(R"(
    for i, j, kk in T.grid({}, {}, {}):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, kk])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[{}] * B[{}]
)",
                                      at('m'), at('n'), at('k'), a, b));
        };
        check_tiled(text(true), {{}}, 64);
        check_tiled(text(false), {sizes}, 64);
      }
}

TEST_CASE("products of batches, and of rows in two dimensions") {
  check_tiled(function(
      R"(A: T.Buffer((3, 5, 48), "float32"), B: T.Buffer((48, 40), "float32"), C: T.Buffer((3, 5, 40), "float32"))", "",
      R"(
    for b, i, j, k in T.grid(3, 5, 40, 48):
        with T.sblock("mm"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vk, vj]
)"));
  check_tiled(function(
      R"(A: T.Buffer((3, 13, 20), "float32"), B: T.Buffer((3, 20, 35), "float32"), C: T.Buffer((3, 13, 35), "float32"))",
      "", R"(
    for b, i, j, k in T.grid(3, 13, 35, 20):
        with T.sblock("mm"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]
)"));
  check_tiled(function(
      R"(A: T.Buffer((300,), "float32"), B: T.Buffer((70, 300), "float32"), C: T.Buffer((70,), "float32"))", "", R"(
    for j, k in T.grid(70, 300):
        with T.sblock("mv"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk] * B[vj, vk]
)"));
}

// Each product and each sum is rounded, with and without instructions for the format.
TEST_CASE("products of narrow floats round as the text does") {
  for (const char* type : {"float16", "bfloat16"})
    for (const bool float16 : {false, true})
      for (const bool transposed : {false, true})
        check_odd_products({"mk", transposed ? "nk" : "kn", "A[vi, vk]", transposed ? "B[vj, vk]" : "B[vk, vj]", type,
                            type, type, "0.5"},
                           schedule::Target{64, float16, false, false});
}

TEST_CASE("products of narrow floats that overflow, and that are subnormal") {
  const Dims sizes{{"m", 13}, {"n", 35}, {"k", 301}};
  for (const char* type : {"float16", "bfloat16"})
    for (const double limit : {60000.0, 1e-5, 1e-20, 3e38})
      for (const bool float16 : {false, true}) {
        Case inputs;
        inputs.low = -limit;
        inputs.high = limit;
        const Product p{"mk", "kn", "A[vi, vk]", "B[vk, vj]", type, type, type};
        check_tiled(product(p, sizes, true), {sizes}, schedule::Target{64, float16, false, false}, {inputs});
      }
}

static std::string scheduled(const std::string& text, const schedule::Target& target) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem, text);
  return ir::print_function("kernel", schedule::default_schedule(t.ctx, t.f, {}, target).func);
}

// B is read where it is, 16 steps of the depth at a time.
TEST_CASE("products of a few rows") {
  for (const char* type : {"float32", "float16", "int32"}) {
    const Product p{"mk", "kn", "A[vi, vk]", "B[vk, vj]", type, type, type};
    std::vector<Dims> all;
    for (const int rows : {1, 2, 4, 5, 7, 8, 9, 12, 13}) {
      const Dims sizes{{"m", rows}, {"n", rows % 2 ? 100 : 64}, {"k", rows < 4 ? 90 : 53}};
      for (const unsigned bytes : {16u, 32u, 64u}) check_tiled(product(p, sizes, true), {sizes}, bytes);
      all.push_back(sizes);
    }
    all.push_back({{"m", 0}, {"n", 64}, {"k", 40}});
    all.push_back({{"m", 3}, {"n", 5}, {"k", 7}});
    check_tiled(product(p, {}, false), all, 32);
  }
  const Product narrow{"mk", "kn", "A[vi, vk]", "B[vk, vj]", "bfloat16", "bfloat16", "bfloat16"};
  const std::string text = product(narrow, {{"m", 1}, {"n", 64}, {"k", 512}}, true);
  CHECK(scheduled(text, {32, false, false, false}).find("B_panel") == std::string::npos);
  // Sums in float32 would be rounded to C each time.
  CHECK(scheduled(text, {32, false, false, true}).find("B_panel") != std::string::npos);
}

// Where sums have no order, the rows of B are not transposed for one row of A.
TEST_CASE("one row times a transposed matrix") {
  const Product p{"mk", "nk", "A[vi, vk]", "B[vj, vk]", "float32", "float32", "float32"};
  const std::string text = product(p, {{"m", 1}, {"n", 64}, {"k", 512}}, true);
  CHECK(scheduled(text, {32, false, false, false}).find("B_panel") != std::string::npos);
  CHECK(scheduled(text, {32, false, false, true}).find("B_panel") == std::string::npos);
  Case fast;
  fast.jit.fp = codegen::FpMode::Fast;
  fast.tolerance = {1e-4, 1e-4, true};
  CHECK(both(text, fast) == "");
}

TEST_CASE("products of narrow floats are added up in float32 with --fp=fast") {
  Case fast;
  fast.jit.fp = codegen::FpMode::Fast;
  fast.tolerance = {0, 0.1, true};
  fast.low = 0.5, fast.high = 1.5;
  for (const char* type : {"float16", "bfloat16"}) {
    const Product p{"mk", "kn", "A[vi, vk]", "B[vk, vj]", type, type, type};
    CHECK(both(product(p, {{"m", 13}, {"n", 35}, {"k", 64}}, true), fast) == "");
  }
}

// Four products at a time; which operand is signed matters.
TEST_CASE("products of bytes by instructions for them") {
  struct Types {
    const char *a, *b;
    std::vector<std::pair<double, double>> ranges;
  };
  for (const Types& types : {Types{"int8", "int8", {{-128, 128}, {-128, -128}}}, Types{"uint8", "int8", {{0, 255}}},
                             Types{"int8", "uint8", {{0, 255}}}})
    for (const char* type : {"int32", "int64"})
      for (const bool transposed : {false, true}) {
        const auto cast = [&](const std::string& load) { return fmt::format("T.Cast(\"{}\", {})", type, load); };
        const Product p{"mk",
                        transposed ? "nk" : "kn",
                        cast("A[vi, vk]"),
                        cast(transposed ? "B[vj, vk]" : "B[vk, vj]"),
                        types.a,
                        types.b,
                        type,
                        "-7"};
        std::vector<Case> inputs;
        for (const auto& [low, high] : types.ranges) {
          Case& c = inputs.emplace_back();
          c.low = low;
          c.high = high;
        }
        check_odd_products(p, schedule::Target{64, false, true, false}, inputs);
      }
}

TEST_CASE("convolutions of bytes by instructions for them") {
  Conv c;
  c.in = 16;
  c.in_type = "int8";
  c.type = "int32";
  SUBCASE("plain") {}
  SUBCASE("48 channels, a batch of three") { c.batch = 3, c.in = 48, c.out = 48; }
  SUBCASE("strides and groups") { c.groups = 4, c.out = 24, c.stride = 2, c.width = 18; }
  for (const bool last : {false, true}) {
    c.channels_last = last;
    for (const unsigned bytes : {16u, 64u}) check_tiled(conv(c), {{}}, schedule::Target{bytes, false, true, false});
  }
}

// The weights are calculated while they are copied into panels; there is no buffer of all of them. Words and scales
// that run along the depth are transposed first, where tiles and blocks are whole.
static void check_four_bits(bool transposed, const char* type, int rows, bool known, int n, int k) {
  const std::string m = known ? std::to_string(rows) : "m";
  const std::string word = transposed ? "W[vn, vk // 8]" : "W[vk // 8, vn]";
  const std::string scale = transposed ? "S[vn, vk // 32]" : "S[vk // 32, vn]";
  const auto shape = [&](int depth) {
    return transposed ? fmt::format("{}, {}", n, depth) : fmt::format("{}, {}", depth, n);
  };
  const std::string axes = transposed ? "vn, vk" : "vk, vn";
  const std::string text = fmt::format(R"(@T.prim_func(s_tir=True)
def kernel(x: T.handle, W: T.Buffer(({0}), "uint32"), S: T.Buffer(({1}), "{2}"), y: T.handle):
    T.func_attr({{"tirx.noalias": True}})
{3}    X = T.match_buffer(x, ({4}, {9}), "{2}")
    Y = T.match_buffer(y, ({4}, {10}), "float32")
    D = T.sblock_alloc_buffer(({5}), "{2}")
    for i, j in T.grid({5}):
        with T.sblock("weights"):
            {6} = T.axis.remap("SS", [i, j])
            D[{6}] = (T.Cast("{2}", T.bitwise_and(T.shift_right({7}, T.Cast("uint32", vk % 8) * T.uint32(4)), T.uint32(15))) - T.{2}(7)) * {8}
    for i, j, k in T.grid({4}, {10}, {9}):
        with T.sblock("mm"):
            vm, vn, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vm, vn] = T.float32(0)
            Y[vm, vn] = Y[vm, vn] + T.Cast("float32", X[vm, vk]) * T.Cast("float32", D[{6}])
)",
                                       shape(k / 8), shape(k / 32), type, known ? "" : "    m = T.int64()\n", m,
                                       shape(k), axes, word, scale, k, n);
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem, text);
  schedule::Options options;
  options.record = true;
  const auto steps = schedule::default_schedule(t.ctx, t.f, options, schedule::Target{64, true, true, false}).steps;
  REQUIRE(!steps.empty());
  CHECK(schedule::info_of(steps[0].id).name == "inline_stages");
  const bool in_strips = ir::print_function("kernel", steps.back().after).find("S_strip[") != std::string::npos;
  if (n % 64 == 0) CHECK(in_strips == transposed);
  check_tiled(text, {{{"m", rows}}}, 64);
}

TEST_CASE("products with weights of four bits") {
  for (const bool transposed : {false, true})
    for (const char* type : {"float32", "float16"})
      for (const int rows : {1, 5, 40})
        for (const bool known : {true, false}) check_four_bits(transposed, type, rows, known, 48, 96);
  for (const int rows : {1, 5}) {
    check_four_bits(true, "float32", rows, true, 128, 512);   // two blocks of the depth, of 256 steps
    check_four_bits(true, "float16", rows, false, 64, 1088);  // of 64
  }
}

// They are added up in float32, as far as that is exact: the sums are largest where every input is at its limit.
TEST_CASE("products of bytes are exact") {
  struct Bytes {
    const char *a, *b;
    double low, high;
  };
  for (const Bytes& bytes : {Bytes{"int8", "int8", -128, 128}, Bytes{"uint8", "int8", 100, 128},
                             Bytes{"int8", "int8", -128, -128}, Bytes{"uint8", "uint8", 255, 255}})
    for (const char* type : {"int32", "int64"})
      for (const bool known : {true, false}) {
        const std::string m = known ? "13" : "m", n = known ? "35" : "n", k = known ? "700" : "k";
        const std::string dims = known ? "" : "    m = T.int64()\n    n = T.int64()\n    k = T.int64()\n";
        Case inputs;
        inputs.low = bytes.low;
        inputs.high = bytes.high;
        check_tiled(function("a: T.handle, b: T.handle, c: T.handle", dims,
                             fmt::format(R"(
    A = T.match_buffer(a, ({0}, {2}), "{3}")
    B = T.match_buffer(b, ({1}, {2}), "{4}")
    C = T.match_buffer(c, ({0}, {1}), "{5}")
    for i, j, kk in T.grid({0}, {1}, {2}):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, kk])
            with T.init():
                C[vi, vj] = T.{5}(-7)
            C[vi, vj] = C[vi, vj] + T.Cast("{5}", A[vi, vk]) * T.Cast("{5}", B[vj, vk])
)",
                                         m, n, k, bytes.a, bytes.b, type)),
                    {{{"m", 13}, {"n", 35}, {"k", 700}}}, 64, {inputs});
      }
}
