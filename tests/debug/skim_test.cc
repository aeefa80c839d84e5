// Answers about elements do not depend on what was left out to find them: random programs, asked twice.
#include "debug/run/skim.h"

#include <doctest/doctest.h>

#include <random>

#include "debug/provenance/why_memory.h"
#include "helpers.h"
#include "rldb/repro/generate.h"
#include "rldb/support/cancel.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

constexpr const char* kMemory = R"(
@I.ir_module
class Module:
    @T.prim_func
    def twice(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                x[vi] = x[vi] * T.float32(2)

    @T.prim_func
    def picks(x: T.Buffer((4,), "float32"), i: T.Buffer((4,), "int64"), y: T.Buffer((4,), "float32")):
        with T.sblock("root"):
            tmp = T.alloc_buffer((1,), "float32")
            for k in range(4):
                with T.sblock("b"):
                    vk = T.axis.opaque(4, k)
                    tmp[0] = x[vk]
                    if i[vk] > T.int64(0):
                        y[vk] = x[i[vk]] + tmp[0]
                    else:
                        y[vk] = T.float32(-1)

    @R.function
    def helper(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        b = R.call_tir_inplace(cls.twice, (a,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return b

    @R.function
    def sums(a: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")) -> R.Tensor((1,), "float32"):
        cls = Module
        b = R.multiply(a, R.const(3.0, "float32"))
        p = R.call_tir(cls.picks, (b, i), out_sinfo=R.Tensor((4,), "float32"))
        s = R.sum(p, axis=[0], keepdims=True)
        return s

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")) -> R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((1,), "float32")):
        cls = Module
        a = R.add(x, R.const(1.0, "float32"))
        s = cls.sums(a, i)
        v = R.reshape(a, R.shape([2, 2]))
        t = ((a, v), x)
        u = t[0]
        w = u[0]
        b = R.call_tir_inplace(cls.twice, (a,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        c = cls.helper(w)
        d = R.reshape(c, R.shape([2, 2]))
        m = R.match_cast(d, R.Tensor((2, 2), "float32"))
        e = R.add(m, s)
        g = R.take(e, i, axis=0, mode="clip")
        k = R.sort(e, axis=1)
        h = cls.sums(w, i)
        o = R.add(h, s)
        r = (k, o)
        return r
)";

constexpr const char* kLoop = R"(
@I.ir_module
class Module:
    @R.function
    def loop(i: R.Tensor((), "int64"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        c: R.Tensor((), "bool") = R.less(i, R.const(30, "int64"))
        if c:
            j: R.Tensor((), "int64") = R.add(i, R.const(1, "int64"))
            y: R.Tensor((n,), "float32") = R.add(x, R.const(0.5, "float32"))
            r: R.Tensor((n,), "float32") = cls.loop(j, y)
        else:
            r: R.Tensor((n,), "float32") = x
        return r

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        out: R.Tensor((n,), "float32") = cls.loop(R.const(0, "int64"), x)
        return out
)";

Value indices(const std::vector<std::int64_t>& values) {
  auto t = runtime::Tensor::empty({std::int64_t(values.size())}, DType::Int(64)).value();
  std::copy(values.begin(), values.end(), reinterpret_cast<std::int64_t*>(t->data()));
  return Value(t);
}

// `c` is made in memory that `a` had, which is cleared for it; the slow kernels are worth checkpoints.
constexpr const char* kCleared = R"(
@I.ir_module
class Module:
    @T.prim_func
    def slow(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 3000):
            with T.sblock("b"):
                vi, vk = T.axis.remap("SS", [i, k])
                y[vi] = x[vi] + T.float32(1)

    @T.prim_func
    def half(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                vi = T.axis.spatial(2, i)
                y[vi] = x[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.call_tir(cls.slow, (x,), out_sinfo=R.Tensor((4,), "float32"))
        b = R.call_tir(cls.slow, (a,), out_sinfo=R.Tensor((4,), "float32"))
        c = R.call_tir(cls.half, (b,), out_sinfo=R.Tensor((4,), "float32"))
        d = R.add(c, b)
        return d
)";

class Asked {
 public:
  Asked(Fixture& f, const std::vector<Value>& args, std::uint64_t seed) : random_(seed) {
    source::Diagnostics d;
    auto build = f.session.runnable(d);
    REQUIRE_MESSAGE(build, text_of(d));
    auto machine = f.session.start(*build, "main", args, d);
    REQUIRE_MESSAGE(machine, text_of(d));
    run_.emplace(std::make_shared<const CodeMap>(build, f.session), *std::move(machine), f.session, "main", args);
  }

  // The length of the whole run; it is then back at its beginning. Small steps: it gets more checkpoints.
  std::uint64_t length() {
    to_its_end(*run_);
    const std::uint64_t time = run_->time();
    REQUIRE(run_->go_back(0) == Run::Seek::Done);
    return time;
  }

  // All registers at a time, from a checkpoint.
  std::string state_at(std::uint64_t time) {
    REQUIRE(run_->go_back(time) == Run::Seek::Done);
    std::string text;
    for (std::size_t frame = 0; frame < run_->machine().frames().size(); ++frame)
      for (const Value& v : run_->machine().registers(frame)) text += runtime::format_value(v) + "\n";
    return text;
  }

  void ask_at(std::uint64_t time, std::size_t questions) {
    REQUIRE(run_->go_to(time) == Run::Seek::Done);
    const vm::Machine& m = run_->machine();
    for (const std::size_t from : {1, 64}) {
      CAPTURE(time);
      run_->set_skim_from(from);
      CHECK(moments(true) == moments(false));
    }
    if (!m.running()) return;
    const std::size_t frame = m.frames().size() - 1;
    std::vector<ValuePath> places;
    for (std::size_t r = 0; r < m.registers(frame).size(); ++r) {
      const Value& v = m.registers(frame)[r];
      if (v.is(runtime::ValueKind::Tensor)) places.push_back({frame, bytecode::RegName(r), {}});
      if (v.is(runtime::ValueKind::Tuple))
        for (std::size_t i = 0; i < v.as_tuple().fields.size(); ++i)
          if (v.as_tuple().fields[i].is(runtime::ValueKind::Tensor))
            places.push_back({frame, bytecode::RegName(r), {i}});
    }
    for (; questions > 0 && !places.empty(); --questions) {
      const ValuePath& place = places[random_() % places.size()];
      const Value v = value_at(m, place);
      const std::int64_t count = v.as_tensor().element_count();
      if (count == 0) continue;
      const std::int64_t position = std::int64_t(random_() % std::uint64_t(count));
      const std::string whole = answer(Run::kNoSkim, place, v.as_tensor(), position);
      for (const std::size_t from : {1, 64}) {
        CAPTURE(time);
        CAPTURE(from);
        CHECK(answer(from, place, v.as_tensor(), position) == whole);
      }
      if (whole.find(", by ") != std::string::npos) ++written;
      all_ += whole;
    }
  }

  std::size_t written = 0;  // answers that name a call
  bool said(std::string_view text) const { return all_.find(text) != std::string::npos; }

 private:
  // Of calls and returns in all intervals, the latest first.
  std::vector<std::string> moments(bool skimmed) {
    const bytecode::Executable& exe = run_->code().executable();
    vm::StopSet stops(exe.instruction_count());
    for (Pc pc = 0; pc < stops.end(); ++pc)
      if (exe.instruction(pc).op != bytecode::Opcode::If) stops.set(pc);
    std::vector<std::string> all, window;
    const auto visit = [&](const vm::Machine& m) {
      window.push_back(fmt::format("{}: {} in {}", m.instructions(), m.frame().pc, m.frames().size()));
    };
    const auto leave = [&] {
      all.insert(all.begin(), window.begin(), window.end());
      window.clear();
      return false;
    };
    if (skimmed)
      (void)search_frames(
          *run_, stops, visit, [&] { window.clear(); }, leave);
    else
      (void)run_->search(stops, visit, leave);
    return all;
  }

  std::string answer(std::size_t from, const ValuePath& place, const runtime::Tensor& t, std::int64_t position) {
    run_->set_skim_from(from);
    std::vector<CauseStep> steps;
    if (!WhyMemory(*run_, run_->time(), steps).tell("it", place, t, position, 4)) return "no answer";
    std::string text;
    for (const std::string& line : lines_of(steps)) text += line + "\n";
    return text;
  }

  std::mt19937 random_;
  std::string all_;
  std::optional<Run> run_;
};

std::size_t ask_often(Fixture& f, const std::vector<Value>& args, std::uint64_t seed, std::size_t moments) {
  Asked asked(f, args, seed);
  const std::uint64_t length = asked.length();
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < moments; ++i) asked.ask_at(random() % length, 4);
  return asked.written;
}

}  // namespace

TEST_CASE("skimmed answers: views, in-place calls, callees, scratch") {
  Fixture f(kMemory);
  Asked asked(f, {f32({4}, {1, 2, 3, 4}), indices({1, 0, 3, 2})}, 1);
  const std::uint64_t length = asked.length();
  for (std::uint64_t time = 0; time < length; ++time) asked.ask_at(time, 8);
  CHECK(asked.written > 50);
}

TEST_CASE("skimmed answers: cleared memory, and checkpoints afterwards") {
  Fixture f(kCleared);
  Asked asked(f, {f32({4}, {1, 2, 3, 4})}, 1);
  const std::uint64_t length = asked.length();
  std::vector<std::string> before;
  for (std::uint64_t time = 0; time < length; ++time) before.push_back(asked.state_at(time));
  for (std::uint64_t time = 0; time < length; ++time) asked.ask_at(time, 8);
  for (std::uint64_t time = 0; time < length; ++time) CHECK(asked.state_at(time) == before[time]);
  CHECK(asked.said("its memory was cleared when its tensor was allocated"));
}

TEST_CASE("skimmed answers: recursion") {
  Fixture f(kLoop);
  CHECK(ask_often(f, {f32({3}, {1, 2, 3})}, 1, 30) > 30);
}

TEST_CASE("skimmed answers: random programs") {
  std::size_t written = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Fixture f;
    const auto program = repro::generate(f.session, seed, {.bindings = 8, .operators = {}});
    if (!program) continue;
    source::Diagnostics d;
    if (!f.session.load_text("program.py", program->text, d)) continue;
    std::vector<Value> args;
    for (const auto& [name, value] : repro::inputs_of(f.session, *program)) args.push_back(value);
    INFO(program->text);
    written += ask_often(f, args, seed, 6);
  }
  CHECK(written > 200);
}

TEST_CASE("an interrupted search says so, and has no answer") {
  Fixture f(kLoop);
  source::Diagnostics d;
  auto build = f.session.runnable(d);
  REQUIRE(build);
  const std::vector<Value> args{f32({3}, {1, 2, 3})};
  auto machine = f.session.start(*build, "main", args, d);
  REQUIRE(machine);
  Run run(std::make_shared<const CodeMap>(build, f.session), *std::move(machine), f.session, "main", args);
  run.set_skim_from(1);
  REQUIRE(run.advance(nullptr, 60).stopped());
  vm::StopSet stops(run.code().executable().instruction_count());
  for (Pc pc = 0; pc < stops.end(); ++pc) stops.set(pc);
  int visits = 0;
  const auto visit = [&](const vm::Machine&) {
    if (++visits == 3) f.session.interrupt() = true;
  };
  const auto seek = search_frames(
      run, stops, visit, [] {}, [] { return false; });
  CHECK(seek == Run::Seek::Interrupted);
  CHECK_FALSE(f.session.interrupt());
  visits = 0;
  CHECK(run.replay_before(run.time(), stops, visit, visit, visit) == Run::Seek::Interrupted);
  // Questions end as all cancelled work does.
  CHECK_THROWS_AS(
      [&] {
        f.session.interrupt() = true;
        Run::Seek how{};
        CHECK_FALSE(run.machine_at(run.time() - 1, &how));
        CHECK(how == Run::Seek::Interrupted);
        CHECK_FALSE(f.session.interrupt());
        abandon_question();
      }(),
      support::Cancelled);
  f.session.interrupt() = false;
}

TEST_CASE("the moment before a run returns has a checkpoint") {
  Fixture f(kLoop);
  source::Diagnostics d;
  auto build = f.session.runnable(d);
  REQUIRE(build);
  const std::vector<Value> args{f32({3}, {1, 2, 3})};
  auto machine = f.session.start(*build, "main", args, d);
  REQUIRE(machine);
  Run run(std::make_shared<const CodeMap>(build, f.session), *std::move(machine), f.session, "main", args);
  CHECK(run.advance(nullptr).finished());
  const vm::Machine* last = run.timeline().at_or_before(run.time());
  REQUIRE(last);
  CHECK(last->instructions() == run.time() - 1);
  CHECK(last->frames().size() == 1);
  // Stepping is not disturbed by it.
  REQUIRE(run.go_to(0) == Run::Seek::Done);
  vm::StopSet none(run.code().executable().instruction_count());
  CHECK(run.advance(&none, 20).stopped());
  CHECK(run.time() == 20);
  CHECK(run.advance(&none).finished());
}
