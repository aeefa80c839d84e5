// Changing a run: values, elements, dims; skipped calls, early returns; time travel keeps all changes.
#include "debug/helpers.h"

namespace rldb::debug {

namespace {

using testing::f32;
using testing::Fixture;
using testing::text_of;

const char* const kChain = R"(
@I.ir_module
class Module:
    @R.function
    def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.add(x, x)
        z = R.negative(y)
        return z
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = Module
        a = R.add(x, x)
        b = cls.double(a)
        c = R.add(b, a)
        return c
)";

std::string set(Fixture& f, const char* target, const char* value, int frame = 0) {
  source::Diagnostics d;
  const auto done = f.debugger.assign(target, value, frame, d);
  return done ? *done : "refused: " + text_of(d);
}

void until(Fixture& f, const char* place) {
  source::Diagnostics d;
  f.debugger.until(place, d);
  REQUIRE_MESSAGE(!d.has_errors(), text_of(d));
}

}  // namespace

TEST_CASE("values and elements are set, and what follows is computed from them") {
  Fixture f(kChain);
  f.start({f32({3}, {1, 2, 3})});
  until(f, "main:b");
  CHECK(set(f, "a[1]", "10") == "a[1]: 1 element set");
  CHECK(f.print("a") == "[ 2. 10.  6.]");
  CHECK(set(f, "a[1:]", "x[1:] * 100") == "a[1:]: 2 elements set");
  CHECK(f.print("a") == "[  2. 200. 300.]");
  CHECK(set(f, "a", "x").find("a = ") == 0);
  CHECK(f.print("a") == "[1. 2. 3.]");
  const std::uint64_t changed = f.debugger.last_stop().time;
  StopReport r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(testing::show(r.value) == "[-1. -2. -3.]");
  // Another moment, and back: the change is part of this run.
  f.debugger.go_to(2);
  until(f, "main:c");
  CHECK(f.print("a") == "[1. 2. 3.]");
  f.debugger.go_to(changed);
  CHECK(f.print("a") == "[1. 2. 3.]");
  f.debugger.reverse_step();
  f.debugger.reverse_step();
  until(f, "main:c");
  CHECK(f.print("b") == "[-2. -4. -6.]");
}

TEST_CASE("a change made earlier forgets the ones that lay ahead") {
  Fixture f(kChain);
  f.start({f32({1}, {1})});
  until(f, "main:c");
  set(f, "a[0]", "50");
  f.debugger.reverse_step();
  while (f.debugger.last_stop().where.binding != "b") f.debugger.reverse_step();
  set(f, "a[0]", "7");
  CHECK(testing::show(f.debugger.resume().value) == "[-7.]");
}

TEST_CASE("a stop on the way of a run executed again has the changes made there") {
  Fixture f(kChain);
  f.start({f32({3}, {1, 2, 3})});
  // Every time of the run, every kind of step that can stop there.
  using Step = StopReport (*)(Debugger&);
  const Step steps[] = {[](Debugger& d) { return d.step_instruction(); }, [](Debugger& d) { return d.step(); },
                        [](Debugger& d) { return d.next(); }, [](Debugger& d) { return d.step_statement(1); },
                        [](Debugger& d) {
                          source::Diagnostics out;
                          return d.until("main:c", out);
                        }};
  std::size_t checked = 0;
  for (std::uint64_t time = 1; time < 30; ++time) {
    for (std::size_t kind = 0; kind < std::size(steps); ++kind) {
      const Step step = steps[kind];
      f.start({f32({3}, {1, 2, 3})});
      if (f.debugger.go_to(time).kind == StopKind::Finished || f.debugger.last_stop().time != time) continue;
      if (set(f, "x[0]", "70").starts_with("refused")) continue;
      const std::string changed = f.print("x");
      f.debugger.go_to(0);
      for (int i = 0; i < 60 && f.debugger.last_stop().time < time; ++i)
        if (step(f.debugger).kind == StopKind::Finished) break;
      if (f.debugger.last_stop().time != time || f.debugger.last_stop().kind == StopKind::Finished) continue;
      CAPTURE(time);
      CAPTURE(kind);
      CHECK(f.print("x") == changed);
      ++checked;
    }
  }
  CHECK(checked > 20);
}

TEST_CASE("what does not fit is refused with the reason") {
  Fixture f(kChain);
  f.start({f32({3}, {1, 2, 3})});
  until(f, "main:b");
  CHECK(set(f, "a", "1").find("it is a Tensor[(3,), \"float32\"]") != std::string::npos);
  CHECK(set(f, "a[0]", "x").find("these are 1 elements, the value is") != std::string::npos);
  CHECK(set(f, "a[5]", "1").find("out of") != std::string::npos);
  CHECK(set(f, "nothing", "1").find("the frame has no such name") != std::string::npos);
  CHECK(set(f, "a[0]", "1 +").find("column") != std::string::npos);
  CHECK(set(f, "slot 99", "1").find("the frame has no such slot") != std::string::npos);
  CHECK(f.print("a") == "[2. 4. 6.]");
}

TEST_CASE("a dim is set in the shape heap") {
  Fixture f(kChain);
  f.start({f32({3}, {1, 2, 3})});
  until(f, "double:y");
  CHECK(f.print("n") == "3");
  CHECK(set(f, "n", "5").find("(n) = 5") != std::string::npos);
  CHECK(f.print("n") == "5");
  f.debugger.reverse_step();
  f.debugger.step();
  CHECK(f.print("n") == "5");
}

TEST_CASE("a binding is skipped: its call is not made") {
  Fixture f(kChain);
  f.start({f32({2}, {1, 2})});
  until(f, "double:z");
  source::Diagnostics d;
  const StopReport r = f.debugger.skip(d);
  CHECK_FALSE(d.has_errors());
  CHECK(r.kind == StopKind::Step);
  const std::uint64_t here = r.time;
  CHECK(f.print("z") != "[-4. -8.]");
  f.debugger.go_to(0);
  f.debugger.go_to(here);
  CHECK(f.print("z") != "[-4. -8.]");
}

TEST_CASE("a frame returns early, with a value; an outer one takes the inner ones with it") {
  Fixture f(kChain);
  f.start({f32({2}, {1, 2})});
  until(f, "double:z");
  source::Diagnostics d;
  StopReport r = f.debugger.return_from(0, "x * 3", d);
  CHECK_FALSE(d.has_errors());
  CHECK(r.returned_from == "double");
  r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(testing::show(r.value) == "[ 8. 16.]");
  f.debugger.go_to(0);
  until(f, "main:c");
  CHECK(f.print("b") == "[ 6. 12.]");

  Fixture g(kChain);
  g.start({f32({2}, {1, 2})});
  until(g, "double:z");
  r = g.debugger.return_from(1, "a", d);
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(testing::show(r.value) == "[2. 4.]");
}

TEST_CASE("finish runs to the end of the frame that is selected") {
  Fixture f(kChain);
  f.start({f32({2}, {1, 2})});
  until(f, "double:z");
  CHECK(f.debugger.finish(1).kind == StopKind::Finished);
}

TEST_CASE("packed functions are called once, however often time is replayed") {
  int calls = 0;
  Fixture f(R"(
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        a = R.call_packed("test.count", x, sinfo_args=[R.Tensor((2,), "float32")])
        b = R.add(a, x)
        return b
)");
  f.session.registry().register_function("test.count",
                                         [&](runtime::PackedArgs args) -> runtime::Result<runtime::Value> {
                                           ++calls;
                                           const runtime::Tensor& t = args[0].as_tensor();
                                           auto made = runtime::Tensor::empty(t.shape(), t.dtype()).value();
                                           for (int i = 0; i < 2; ++i)
                                             runtime::store_double(made->data() + 4 * i, t.dtype(), calls);
                                           return runtime::Value(made);
                                         });
  f.start({f32({2}, {1, 2})});
  until(f, "main:b");
  CHECK(f.print("a") == "[1. 1.]");
  f.debugger.go_to(0);
  StopReport r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(testing::show(r.value) == "[2. 3.]");
  f.debugger.reverse_step();
  f.debugger.reverse_step();
  CHECK(calls == 1);
  REQUIRE(f.debugger.history());
  CHECK(f.debugger.history()->recorded == 1);
}

}  // namespace rldb::debug
