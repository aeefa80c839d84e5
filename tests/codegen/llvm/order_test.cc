// Schedules that leave something out if the numbers allow it: with numbers for which they may not, the results are the
// text's, bit for bit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/schedule/schedule.h"
#include "rldb/schedule/step_id.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

// Usual numbers; those whose products underflow; infinities.
constexpr std::pair<double, double> kRanges[] = {{-4, 4}, {0, 4}, {-1e-22, 1e-22}, {-8e38, 8e38}};

void check_ranges(const std::string& kernel, schedule::StepId step) {
  Text t(kernel);
  REQUIRE_MESSAGE(t.f, t.problem);
  schedule::Options options;
  options.record = true;
  for (const unsigned bytes : {16u, 64u}) {
    options.vector_bytes = bytes;
    const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options);
    REQUIRE(!result.steps.empty());
    CHECK(result.steps[0].id == step);
    for (const auto& [low, high] : kRanges) {
      CAPTURE(low);
      Case c;
      c.low = low;
      c.high = high;
      check_same_values(t.ctx, t.f, result.func, c);
    }
  }
}

std::string transposed(int taps) {
  return fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(X: T.Buffer((8, 6), "float32"), W: T.Buffer((8, 16, {0}), "float32"), Y: T.Buffer((16, {2}), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    D = T.sblock_alloc_buffer((8, 11))
    P = T.sblock_alloc_buffer((8, {1}))
    for c, i in T.grid(8, 11):
        with T.sblock("spread"):
            vc, vi = T.axis.remap("SS", [c, i])
            D[vc, vi] = T.if_then_else(vi % 2 == 0, X[vc, vi // 2], T.float32(0))
    for c, i in T.grid(8, {1}):
        with T.sblock("pad"):
            vc, vi = T.axis.remap("SS", [c, i])
            P[vc, vi] = T.if_then_else(3 <= vi and vi < 14, D[vc, vi - 3], T.float32(0))
    for o, i, c, k in T.grid(16, {2}, 8, {0}):
        with T.sblock("conv"):
            vo, vi, vc, vk = T.axis.remap("SSRR", [o, i, c, k])
            with T.init():
                Y[vo, vi] = T.float32(0)
            Y[vo, vi] = Y[vo, vi] + P[vc, vi + vk] * W[vc, vo, vk]
)",
                     taps, 11 + 2 * 3, 11 + 2 * 3 - taps + 1);
}

}  // namespace

TEST_CASE("transposed convolutions without the zeros in their input") {
  check_ranges(transposed(4), schedule::StepId::SplitPhases);
  check_ranges(transposed(3), schedule::StepId::SplitPhases);
}

TEST_CASE("a transposed convolution of which a part is calculated leaves the rest of the result") {
  std::string text = transposed(4);
  const std::string loops = "for o, i, c, k in T.grid(16, 14, 8, 4):";
  REQUIRE(text.find(loops) != std::string::npos);
  text.replace(text.find(loops), loops.size(), "for o, i, c, k in T.grid(16, 13, 8, 4):");
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem);
  schedule::Options options;
  options.record = true;
  const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options);
  for (const schedule::Step& step : result.steps) CHECK(step.id != schedule::StepId::SplitPhases);
  check_same_values(t.ctx, t.f, result.func, Case{});
}
