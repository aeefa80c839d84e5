// Watchpoints, catchpoints, log points: their hits going forward, and going back.
#include <cstring>

#include "debug/helpers.h"

namespace rldb::debug {

namespace {

using testing::f32;
using testing::Fixture;
using testing::kCalls;
using testing::text_of;

const char* const kSums = R"(
@I.ir_module
class Module:
    @T.prim_func
    def halve(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            b[i] = T.log(a[i])
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        a = R.add(x, x)
        b = R.call_tir(cls.halve, (a,), out_sinfo=R.Tensor((4,), "float32"))
        c = R.add(b, b)
        d = R.add(c, x)
        return d
)";

int watch(Fixture& f, const char* expression) {
  source::Diagnostics d;
  const Breakpoint* b = f.debugger.add_watchpoint(expression, 0, false, d);
  REQUIRE_MESSAGE(b, text_of(d));
  return b->number;
}

int catches(Fixture& f, const char* event) {
  source::Diagnostics d;
  const Breakpoint* b = f.debugger.add_catchpoint(event, d);
  REQUIRE_MESSAGE(b, text_of(d));
  return b->number;
}

bool has(const StopReport& r, std::string_view text) {
  return std::any_of(r.details.begin(), r.details.end(),
                     [&](const std::string& d) { return d.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("the first NaN is caught where it is made, with the state of its inputs") {
  Fixture f(kSums);
  const int n = catches(f, "nan");
  StopReport r = f.start({f32({4}, {1, 2, -3, 4})}, false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "NaN in b at [2]; no input has one"));
  CHECK(has(r, "in main:b: call halve"));
  r = f.debugger.resume();
  CHECK(has(r, "NaN in c at [2]; its input b has one at [2]"));
  CHECK(has(f.debugger.resume(), "NaN in d at [2]"));
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  // Backwards: the last one first, each time to before the instruction responsible.
  CHECK(has(f.debugger.reverse_resume(), "NaN in d"));
  CHECK(has(f.debugger.reverse_resume(), "NaN in c"));
  r = f.debugger.reverse_resume();
  CHECK(has(r, "NaN in b"));
  CHECK(f.debugger.last_stop().where.binding == "b");
  CHECK(f.debugger.reverse_resume().kind == StopKind::HistoryEnd);
}

TEST_CASE("a run without such numbers is not stopped") {
  Fixture f(kSums);
  catches(f, "nan");
  catches(f, "inf");
  catches(f, "denormal");
  CHECK(f.start({f32({4}, {1, 2, 3, 4})}, false).kind == StopKind::Finished);
  Fixture g(kSums);
  catches(g, "inf");
  CHECK(has(g.start({f32({4}, {0})}, false), "infinity in b at [0]"));
  Fixture h(kSums);
  catches(h, "denormal");
  CHECK(has(h.start({f32({4}, {1e-40})}, false), "a denormal number in a at [0]"));
}

TEST_CASE("a watched value stops the run when it is made and when it changes") {
  Fixture f(kSums);
  f.start({f32({4}, {1, 2, 3, 4})});
  const int n = watch(f, "c[1:3].sum() > 0");
  StopReport r = f.debugger.resume();
  REQUIRE(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "old: no value"));
  CHECK(has(r, "in main:c"));
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  r = f.debugger.reverse_resume();
  REQUIRE(r.breakpoints == std::vector<int>{n});
  CHECK(f.print("c").find("not computed yet") != std::string::npos);
}

TEST_CASE("a change of elements is told by its first element") {
  Fixture f(kSums);
  f.start({f32({4}, {1, 2, 3, 4})});
  f.debugger.until("main:c", *std::make_unique<source::Diagnostics>());
  watch(f, "a");
  source::Diagnostics d;
  const auto set = f.debugger.assign("a[2]", "100", 0, d);
  if (!set) {
    // Freed by now: this is reported, and it cannot be set.
    CHECK(text_of(d).find("no register of the frame holds it") != std::string::npos);
  }
}

TEST_CASE("the memory of a value is watched, whoever has it") {
  Fixture f(kSums);
  f.start({f32({4}, {1, 2, 3, 4})});
  f.debugger.until("main:b", *std::make_unique<source::Diagnostics>());
  watch(f, "storage(a)");
  const StopReport r = f.debugger.resume();
  // `c` is computed in the memory that `a` had.
  if (r.kind == StopKind::Breakpoint) CHECK(has(r, "by *"));
}

TEST_CASE("a watched name is memory: another name of it tells who overwrites it") {
  // Two tensors in one storage at the same time: the second one is written while the first one is still to be read.
  Fixture f(R"(
@I.ir_module
class Module:
    @T.prim_func
    def inc(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(1)
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.inc(x, alloc)
        left = alloc
        alloc1 = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _1 = cls.inc(left, alloc1)
        alloc2 = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2 = cls.inc(left, alloc2)
        return alloc2
)");
  f.start({f32({4}, {1, 2, 3, 4})});
  const int n = watch(f, "left");
  StopReport r = f.debugger.resume();
  REQUIRE(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "first at [0]: 2 -> 3; 4 of 4 elements changed"));
  CHECK(has(r, "in main:_1: call inc"));
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  r = f.debugger.reverse_resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(f.where() == "main:_1");
}

TEST_CASE("a name that was freed before it is watched is its memory, too") {
  Fixture f(R"(
@I.ir_module
class Module:
    @T.prim_func
    def inc(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(1)
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.inc(x, alloc)
        alloc1 = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1 = cls.inc(alloc, alloc1)
        alloc2 = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _2 = cls.inc(alloc1, alloc2)
        return alloc2
)");
  f.at("main:_2");
  f.start({f32({4}, {1, 2, 3, 4})}, false);
  REQUIRE(f.where() == "main:_2");
  const int n = watch(f, "alloc");
  const StopReport r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "first at [0]: 2 -> 4; 4 of 4 elements changed"));
  CHECK(has(r, "its register was freed before"));
}

TEST_CASE("a watchpoint ends with its frame, or follows every call") {
  Fixture f(kCalls);
  f.at("double:c");
  f.start({f32({2}, {1, 2})}, false);
  REQUIRE(f.where() == "double:c");
  const int n = watch(f, "c");
  StopReport r = f.debugger.resume();
  CHECK(has(r, "old: no value"));
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "double has returned: the watchpoint ended with its frame"));
  CHECK(f.debugger.find_breakpoint(n)->hits == 1);
  f.debugger.resume();  // the breakpoint in the second call
  CHECK(f.debugger.resume().kind == StopKind::Finished);

  Fixture g(kCalls);
  source::Diagnostics d;
  const Breakpoint* every = g.debugger.add_watchpoint("c", 0, true, d);
  REQUIRE_MESSAGE(every, text_of(d));
  CHECK(every->function == "double");
  CHECK(has(g.start({f32({2}, {1, 2})}, false), "[-2. -4.]"));
  CHECK(has(g.debugger.resume(), "[4. 8.]"));
  CHECK(g.debugger.resume().kind == StopKind::Finished);
}

TEST_CASE("a name or an index that does not exist is not watched") {
  Fixture f(kCalls);
  const auto refused = [&](const char* expression) {
    source::Diagnostics d;
    CHECK(f.debugger.add_watchpoint(expression, 0, false, d) == nullptr);
    return text_of(d);
  };
  CHECK(refused("nothing") == "no value in the program named `nothing`\n");
  CHECK(refused("x[7]") == "`x[7]` cannot be watched: index 7 is out of range: dimension 0 has 2\n");
  CHECK(refused("w[0, 0]").find("cannot be watched") != std::string::npos);
  f.start({f32({2}, {1, 2})});
  CHECK(refused("b").find("no value in function `main` named `b`") != std::string::npos);
  CHECK(refused("y[2]").find("index 2 is out of range") != std::string::npos);
}

TEST_CASE("events with a place: calls, symbols, slots, allocation") {
  Fixture f(kSums);
  const int shape = catches(f, "shape n"), call = catches(f, "call halve"), free = catches(f, "free");
  StopReport r = f.start({f32({4}, {1, 2, 3, 4})}, false);
  CHECK(r.breakpoints == std::vector<int>{shape});
  CHECK(f.print("n") == "4");
  f.debugger.find_breakpoint(free)->enabled = false;
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{call});
  CHECK(f.where() == "main:b");
  source::Diagnostics d;
  CHECK(f.debugger.add_catchpoint("nans", d) == nullptr);
  CHECK(text_of(d).find("events: nan inf") != std::string::npos);
  CHECK(f.debugger.add_catchpoint("shape k", d) == nullptr);
  CHECK(f.debugger.add_catchpoint("slot", d) == nullptr);
}

TEST_CASE("a condition of a watchpoint, and one that cannot be read") {
  Fixture f(kSums);
  f.start({f32({4}, {1, 2, 3, 4})});
  const int n = watch(f, "d");
  source::Diagnostics d;
  CHECK(f.debugger.set_condition(n, "n > 4", d));
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  CHECK_FALSE(f.debugger.set_condition(n, "n >", d));
  CHECK(text_of(d).find("column") != std::string::npos);
  CHECK(f.debugger.find_breakpoint(n)->condition == "n > 4");
}

TEST_CASE("a log point shows its line and does not stop") {
  Fixture f(kSums);
  const int n = f.at("main:c");
  source::Diagnostics d;
  REQUIRE(f.debugger.set_log(n, "n is {n}, the sum {b.sum() > 2}, {nothing}", d));
  CHECK(f.start({f32({4}, {1, 2, 3, 4})}, false).kind == StopKind::Finished);
  CHECK(f.output.text == "n is 4, the sum True, <`nothing` has no value here>\n");
  f.debugger.reverse_resume();
  CHECK(f.output.text.find('\n') == f.output.text.size() - 1);  // not shown again when going back
  CHECK_FALSE(f.debugger.set_log(n, "{n +}", d));
}

namespace {

const char* const kScatter = R"(
@I.ir_module
class Module:
    @T.prim_func
    def put(x: T.Buffer((4, 3), "float32"), at: T.Buffer((4,), "int64")):
        for i in range(4):
            if at[i] > T.int64(0):
                for j in range(3):
                    x[at[i], j] = x[at[i], j] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((4, 3), "float32"), at: R.Tensor((4,), "int64")):
        cls = Module
        y = R.call_tir_inplace(cls.put, (x, at), inplace_indices=[0], out_sinfo=R.Tensor((4, 3), "float32"))
        z = R.add(y, y)
        return z
)";

}  // namespace

namespace {

runtime::Value positions(std::vector<std::int64_t> numbers) {
  auto t = runtime::Tensor::empty({std::int64_t(numbers.size())}, runtime::DType::Int(64)).value();
  std::memcpy(t->data(), numbers.data(), numbers.size() * sizeof numbers[0]);
  return runtime::Value(std::move(t));
}

}  // namespace

TEST_CASE("a watchpoint tells the iteration of the kernel that stored the value") {
  for (const char* expression : {"x[3, 1]", "x[2:, 1]", "x", "storage(x)"}) {
    INFO(std::string(expression));
    Fixture f(kScatter);
    f.start({f32({4, 3}, {0}), positions({0, 0, 3, 0})});
    const int n = watch(f, expression);
    f.debugger.find_breakpoint(n)->iterations = true;
    StopReport r = f.debugger.resume();
    CHECK(r.breakpoints == std::vector<int>{n});
    const bool column = std::string_view(expression).ends_with("1]");
    CHECK(has(r, column ? "element [3, 1] stored at i = 2, j = 1: x[at[i], j] = "
                        : "element [3, 0] stored at i = 2, j = 0: "));
    // Backwards to before the same call.
    f.debugger.resume();
    r = f.debugger.reverse_resume();
    CHECK(has(r, column ? "stored at i = 2, j = 1: " : "stored at i = 2, j = 0: "));
  }
}

TEST_CASE("going back from the end of the run finds the changes in an activation that has returned") {
  Fixture f(R"(
@I.ir_module
class Module:
    @R.function
    def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(a, a)
        z = R.negative(y)
        return z

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        b = cls.inner(x)
        c = cls.inner(b)
        return c
)");
  f.at("inner:y", "a[0] == -2");
  f.start({f32({2}, {1, 3})}, false);
  REQUIRE(f.debugger.last_stop().where.binding == "y");
  f.debugger.remove_breakpoint(f.debugger.breakpoints().begin()->first);
  const int n = watch(f, "y[1]");
  CHECK(has(f.debugger.resume(), "new: Tensor[(), \"float32\"] -12.0"));
  while (f.debugger.resume().kind != StopKind::Finished) continue;
  const StopReport r = f.debugger.reverse_resume();
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(has(r, "new: Tensor[(), \"float32\"] -12.0"));
  CHECK(f.print("a[1]") == "-6.0");
  CHECK(f.debugger.reverse_resume().kind == StopKind::HistoryEnd);
}

}  // namespace rldb::debug
