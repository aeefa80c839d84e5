// Scans along each axis: the scheduled kernel has the values of the one that is written, bit for bit, whatever the
// sizes; what only resembles a scan keeps its loops.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/schedule/bounds.h"
#include "rldb/schedule/target.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

struct ScanText {
  std::vector<std::string> dims;
  std::size_t axis = 0;
  std::string type = "float32", in_type = "float32";
  std::string element = "{} + {}";
  bool exclusive = false;
};

std::string product_of(const std::vector<std::string>& dims, std::size_t from, std::size_t to) {
  std::string out = "T.int64(1)";
  for (std::size_t i = from; i < to; ++i) out = i == from ? dims[i] : out + " * " + dims[i];
  return out;
}

// Quotients and remainders of a position by the dimensions.
std::string indices_of(const std::string& position, const std::vector<std::string>& dims) {
  std::string out, rest = "(" + position + ")";
  for (std::size_t i = dims.size(); i-- > 0;) {
    out = (i > 0 ? rest + " % " + dims[i] : rest) + (out.empty() ? "" : ", " + out);
    rest += " // " + dims[i];
  }
  return out;
}

std::string scan(const ScanText& s) {
  const std::string before = product_of(s.dims, 0, s.axis), after = product_of(s.dims, s.axis + 1, s.dims.size());
  const bool last = s.axis + 1 == s.dims.size(), known = s.dims[0].starts_with("T.");
  const std::string extent = s.dims[s.axis];
  const std::string base =
      last ? fmt::format("r * {}", extent) : fmt::format("r // ({0}) * {1} * ({0}) + r % ({0})", after, extent);
  const auto at = [&](const std::string& k) {
    const std::string moved = last ? k : fmt::format("({}) * ({})", k, after);
    return indices_of(base + " + " + moved, s.dims);
  };
  const auto in = [&](const std::string& index) {
    return s.in_type == s.type ? "A[" + index + "]" : fmt::format("T.Cast(\"{}\", A[{}])", s.type, index);
  };
  const std::string here = at("(k + T.int64(1))"), one_before = at("(k + T.int64(1) - T.int64(1))");
  const std::string start = indices_of(base, s.dims);
  std::string shape;
  for (const std::string& d : s.dims) shape += d + ", ";
  const std::string sum =
      fmt::format(fmt::runtime(s.element), "B[" + one_before + "]", in(s.exclusive ? one_before : here));
  return fmt::format(R"(@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle):
    T.func_attr({{"tirx.noalias": True}})
{0}    A = T.match_buffer(a, ({1}), "{2}")
    B = T.match_buffer(b, ({1}), "{3}")
    with T.sblock("scan"):
        T.reads()
        T.writes()
        for r in T.parallel({4} * ({5})):
            if T.int64(0) < {6}:
                B[{7}] = {8}
                for k in range({6} - T.int64(1)):
                    B[{9}] = {10}
)",
                     known ? "" : "    p, n, m = T.int64(), T.int64(), T.int64()\n", shape, s.in_type, s.type, before,
                     after, extent, start, s.exclusive ? fmt::format("T.{}(3)", s.type) : in(start), here, sum);
}

bool check_scan(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem, "\n", text);
  bool scheduled = false;
  for (const unsigned bytes : {16u, 64u}) {
    schedule::Options options;
    options.record = true;
    const schedule::Result made =
        schedule::default_schedule(t.ctx, t.f, options, schedule::Target{bytes, true, true, false});
    for (const schedule::Step& step : made.steps)
      scheduled = scheduled || schedule::info_of(step.id).name == "vectorize";
    CHECK(schedule::prove_bounds(made.func).all_proved(made.func->body));
    Case c;
    c.symbols = sizes;
    CAPTURE(text);
    check_same_values(t.ctx, t.f, made.func, c);
  }
  return scheduled;
}

}  // namespace

TEST_CASE("scans along every axis, of known and unknown extents") {
  struct Sizes {
    std::int64_t p, n, m;
  };
  for (const Sizes& z :
       {Sizes{3, 20, 37}, Sizes{2, 16, 64}, Sizes{1, 5, 4}, Sizes{17, 33, 1}, Sizes{4, 1, 90}, Sizes{21, 7, 130}})
    for (const bool known : {true, false})
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const bool exclusive : {false, true}) {
          ScanText s;
          s.axis = axis;
          s.exclusive = exclusive;
          for (const auto& [name, size] : {std::pair("p", z.p), std::pair("n", z.n), std::pair("m", z.m)})
            s.dims.push_back(known ? fmt::format("T.int64({})", size) : name);
          check_scan(scan(s), {{"p", z.p}, {"n", z.n}, {"m", z.m}});
        }
}

TEST_CASE("scans without elements") {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ScanText s{{"p", "n", "m"}, axis};
    check_scan(scan(s), {{"p", 4}, {"n", 0}, {"m", 20}});
    check_scan(scan(s), {{"p", 4}, {"n", 20}, {"m", 0}});
  }
}

TEST_CASE("scans of other dtypes and operations") {
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (const char* type : {"float64", "float16", "bfloat16", "int32", "int8"})
      for (const char* element : {"{} * {}", "T.max({}, {})"}) {
        ScanText s{{"T.int64(35)", "T.int64(50)"}, axis, type, type, element};
        check_scan(scan(s), {});
      }
  ScanText cast{{"T.int64(35)", "T.int64(50)"}, 1, "int64", "int8"};
  check_scan(scan(cast), {});
}

TEST_CASE("what is not a scan keeps its loops") {
  const std::string good = scan({{"T.int64(35)", "T.int64(50)"}, 0});
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  // One element less; a test of something else.
  CHECK_FALSE(check_scan(changed("range(T.int64(35) - T.int64(1))", "range(T.int64(33))"), {}));
  CHECK_FALSE(check_scan(changed("if T.int64(0) < T.int64(35)", "if T.int64(0) < r"), {}));
}
