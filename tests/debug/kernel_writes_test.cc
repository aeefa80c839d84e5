// Which elements an element was computed from: the walk that leaves iterations out against the recorder of all writes,
// over kernels made at random.
#include "debug/provenance/kernel_writes.h"

#include <cstring>
#include <random>

#include "debug/helpers.h"
#include "debug/provenance/kernel_reach.h"
#include "rldb/ir/module.h"

namespace rldb::debug {

namespace {

using testing::f32;
using testing::Fixture;

class Kernels {
 public:
  explicit Kernels(unsigned seed) : random_(seed) {}

  // Over x[4, 6], at[6] and y[4, 6]: a scratch buffer, a stage that fills it, one that reads it.
  std::string next() {
    const bool small = chance();
    std::string text =
        "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
        "    def k(x: T.Buffer((4, 6), \"float32\"), at: T.Buffer((6,), \"int64\"), y: T.Buffer((4, 6), "
        "\"float32\")):\n"
        "        tmp = T.alloc_buffer((" +
        std::string(small ? "1, 1" : "4, 6") + "), \"float32\")\n";
    const std::string own = small ? "tmp[0, 0]" : "tmp[i, j]";
    const std::string fill =
        own + " = " + pick({"x[i, j]", "x[3 - i, j] * x[i, 5 - j]", "x[i, T.min(j + 1, 5)]"}) + "\n";
    const std::string left = pick({"y[i, j]", "y[i, 5 - j]", "y[3 - i, j]", "y[i, at[j]]", "y[i // 2, j % 3]"});
    const std::string value =
        pick({own, own + " + x[i, at[j]]", "T.if_then_else(at[j] > T.int64(2), " + own + ", x[0, j])",
              "T.max(" + own + ", " + left + ")", left + " + " + own + " * x[j % 4, i]"});
    const std::string use = left + " = " + value + "\n";
    const std::string guard = pick({"", "if at[j] > T.int64(1):\n", "if i + j < 6:\n"});
    const int shape = int(random_() % 3);
    if (small) return text + loops(shape, fill, use, guard);
    return text + loops(shape, fill, "", "") + loops(int(random_() % 3), "", use, guard);
  }

 private:
  bool chance() { return random_() % 2 == 0; }
  std::string pick(std::vector<std::string> from) { return from[random_() % from.size()]; }
  static std::string loops(int shape, const std::string& first, const std::string& second, const std::string& guard) {
    std::string text, pad = "        ";
    const auto line = [&](const std::string& s) { text += pad + s; };
    const auto in = [&](const std::string& s) { line(s), pad += "    "; };
    if (shape == 0) {
      in("for i in range(4):\n");
      in("for j in range(6):\n");
    } else if (shape == 1) {
      in("for f in range(24):\n");
      line("i: T.int32 = f // 6\n");
      line("j: T.int32 = f % 6\n");
    } else {
      in("for j in range(6):\n");
      in("for a in range(2):\n");
      in("for b in range(2):\n");
      line("i: T.int32 = a * 2 + b\n");
    }
    if (!first.empty()) line(first);
    if (!guard.empty()) in(guard);
    if (!second.empty()) line(second);
    return text;
  }
  std::mt19937 random_;
};

runtime::Value indices(const std::vector<std::int64_t>& values) {
  auto t = runtime::Tensor::empty({std::int64_t(values.size())}, runtime::DType::Int(64));
  REQUIRE(t.ok());
  std::memcpy((*t)->data(), values.data(), values.size() * sizeof(std::int64_t));
  return runtime::Value(*t);
}

// Memory of the kernel itself has other names in the two sources.
std::vector<KernelSource> in_arguments(const KernelOrigin& origin, const std::vector<runtime::Value>& args) {
  std::vector<KernelSource> kept;
  for (const KernelSource& s : origin.sources)
    for (const runtime::Value& v : args)
      if (v.as_tensor().storage().get() == s.place.memory) kept.push_back(s);
  return kept;
}

}  // namespace

TEST_CASE("iterations left out: the same writes and reads as in a record of all") {
  int followed = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::string text = Kernels(seed).next();
    CAPTURE(text);
    Fixture fixture(text);
    source::Diagnostics problems;
    const auto build = fixture.session.viewable(problems);
    REQUIRE_MESSAGE(build, testing::text_of(problems));
    const auto* f = ir::as<ir::PrimFunc>(build->lowered->find("k"));
    REQUIRE(f);
    std::vector<double> numbers(24);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i) - 11;
    const std::vector<runtime::Value> args{f32({4, 6}, numbers), indices({3, 0, 5, 2, 2, 1}),
                                           f32({4, 6}, std::vector<double>(24, 0.5))};
    auto sliced = sliced_kernel(f, args);
    REQUIRE_MESSAGE(sliced.ok(), sliced.error().message);
    auto recorded = recorded_kernel(f, args);
    REQUIRE_MESSAGE(recorded.ok(), recorded.error().message);
    const runtime::Tensor& y = args[2].as_tensor();
    for (std::int64_t position = 0; position < 24; ++position) {
      CAPTURE(position);
      const MemoryPlace place{y.storage().get(), std::int64_t(y.byte_offset()) + position * 4};
      const auto a = origin_in(**sliced, place);
      const auto b = origin_in(**recorded, place);
      REQUIRE_MESSAGE(a.ok(), a.error().message);
      REQUIRE(b.ok());
      CHECK(a->written == b->written);
      CHECK(a->writes == b->writes);
      CHECK(a->last.store == b->last.store);
      CHECK(a->last.loops == b->last.loops);
      CHECK(in_arguments(*a, args) == in_arguments(*b, args));
      ++followed;
    }
  }
  CHECK(followed == 40 * 24);
}

// The bytes of arguments alone: a kernel's own memory has other names in the two sources.
std::vector<std::vector<MemorySet::Piece>> in_arguments(const MemorySet& set, const std::vector<runtime::Value>& args) {
  std::vector<std::vector<MemorySet::Piece>> kept;
  for (const runtime::Value& v : args) {
    const runtime::Tensor& t = v.as_tensor();
    const auto begin = std::int64_t(t.byte_offset());
    kept.push_back(set.in(t.storage().get(), begin, begin + std::int64_t(t.byte_size())));
  }
  return kept;
}

TEST_CASE("iterations left out: an element reaches the same as in a record of all writes") {
  int followed = 0, reached = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::string text = Kernels(seed).next();
    CAPTURE(text);
    Fixture fixture(text);
    source::Diagnostics problems;
    const auto build = fixture.session.viewable(problems);
    REQUIRE_MESSAGE(build, testing::text_of(problems));
    const auto* f = ir::as<ir::PrimFunc>(build->lowered->find("k"));
    REQUIRE(f);
    std::vector<double> numbers(24);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i) - 11;
    const std::vector<runtime::Value> args{f32({4, 6}, numbers), indices({3, 0, 5, 2, 2, 1}),
                                           f32({4, 6}, std::vector<double>(24, 0.5))};
    for (std::int64_t position = 0; position < 30; ++position) {
      CAPTURE(position);
      // An element of x, or of the indices.
      const runtime::Tensor& t = args[position < 24 ? 0 : 1].as_tensor();
      const auto width = std::int64_t(t.dtype().bytes());
      const std::int64_t byte = std::int64_t(t.byte_offset()) + (position < 24 ? position : position - 24) * width;
      MemorySet marked;
      marked.add(t.storage().get(), byte, byte + width);
      const auto a = sliced_reach(f, args, marked), b = recorded_reach(f, args, marked);
      REQUIRE_MESSAGE(a.ok(), a.error().message);
      REQUIRE_MESSAGE(b.ok(), b.error().message);
      CHECK(in_arguments(a->marked, args) == in_arguments(b->marked, args));
      CHECK(in_arguments(a->written, args) == in_arguments(b->written, args));
      ++followed;
      reached += in_arguments(b->written, args)[2].empty() ? 0 : 1;
    }
  }
  CHECK(followed == 40 * 30);
  CHECK(reached > 400);
}

}  // namespace rldb::debug
