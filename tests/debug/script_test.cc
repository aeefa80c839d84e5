// Programs in TVMScript: bindings, lines, locals, symbols, faults, kernels, provenance.
#include <random>

#include "debug/helpers.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

namespace {

std::vector<Value> mlp_inputs() { return {f32({2, 4}, {1, -2, 3, 0.5}), f32({4, 3}, {1, -1, 0.5})}; }
std::uint32_t line_of(Fixture& f) {
  const source::Span span = f.debugger.last_stop().where.span;
  const source::Buffer* b = f.session.sources().find(span.file);
  return b ? b->line_column(span.begin).line : 0;
}

}  // namespace

TEST_CASE("bindings are the steps of a model") {
  Fixture f(kMlp);
  StopReport r = f.start(mlp_inputs());
  CHECK(r.kind == StopKind::Entry);
  std::vector<std::string> seen;
  while ((r = f.debugger.step()).kind == StopKind::Step) seen.push_back(f.where());
  CHECK(seen == std::vector<std::string>{"main:lv", "main:lv1", "main:gv"});
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(runtime::describe(r.value) == "Tensor[(2, 3), \"float32\"]");
}

TEST_CASE("breakpoints by function, binding, line, kernel") {
  Fixture f(kMlp);
  f.at("main");
  f.at("main:lv1");
  f.at("10");
  f.at("program.py:10");
  f.at("matmul");
  StopReport r = f.start(mlp_inputs(), false);
  CHECK(r.breakpoints == std::vector<int>{1});
  CHECK(f.where() == "main:lv");
  CHECK(line_of(f) == 8);
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{5});
  CHECK(f.where() == "main:lv");
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{2});
  CHECK(line_of(f) == 9);
  r = f.debugger.resume();
  CHECK(r.breakpoints == std::vector<int>{3, 4});
  CHECK(f.where() == "main:gv");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  // The line of the signature maps to the first binding; after the last line there is none.
  CHECK(f.debugger.find_breakpoint(f.at("5"))->sites == f.debugger.find_breakpoint(1)->sites);
  CHECK(f.refused("99").find("program.py:99") != std::string::npos);
  CHECK(f.refused("main:lv2").find("did you mean `main:") == std::string::npos);
  CHECK(f.refused("main:lvv").find("did you mean `lv") != std::string::npos);
  CHECK(f.refused("lv1").find("`main:lv1` is the binding of that name") != std::string::npos);
  CHECK(f.refused("matmull").find("did you mean `matmul`?") != std::string::npos);
  source::Diagnostics d;
  const Breakpoint* pending = f.debugger.add_breakpoint("other.py:3", false, d);
  REQUIRE(pending);
  CHECK(pending->sites.empty());
}

TEST_CASE("locals, symbols, expressions at a stop") {
  Fixture f(kMlp);
  f.at("main:gv");
  f.start(mlp_inputs(), false);
  CHECK(f.local("x").substr(0, 2) == "[[");
  CHECK(f.local("lv1") != "(none)");
  CHECK(f.local("lv") == "(freed)");
  CHECK(f.local("gv") == "(none)");
  CHECK(f.local("alloc") == "(none)");
  const std::string lv = f.print("lv");  // from the past
  CHECK(lv.substr(0, 2) == "[[");
  CHECK(f.debugger.last_stop().time == f.debugger.machine()->instructions());
  f.session.set_value("lv", Value::of_int(1));  // the frame's own comes first
  CHECK(f.print("lv") == lv);
  CHECK(f.print("R.add(lv, lv)") == f.print("R.multiply(lv, R.const(2, \"float32\"))"));
  CHECK(f.print("gv").find("`gv` is not computed yet: it is bound at program.py:10") != std::string::npos);
  CHECK(f.print("n") == "2");
  CHECK(f.print("n * 2 + 1") == "5");
  CHECK(f.print("x[1, 0]") == "1.0");
  CHECK(f.print("x.shape[0] == n") == "True");
  CHECK(f.print("R.add(lv1, lv1)") == f.print("R.multiply(lv1, R.const(2, \"float32\"))"));
  CHECK(f.print("lvv").find("`lvv` has no value here") != std::string::npos);
  bool found = false;
  for (const SlotInfo& s : f.debugger.heap(0))
    if (s.expression == "n") {
      found = true;
      CHECK(s.set);
      CHECK(s.value == 2);
      CHECK(s.bound_by.find("x") != std::string::npos);
    }
  CHECK(found);
}

TEST_CASE("a condition over symbols and elements") {
  Fixture f(kMlp);
  f.at("main:lv1", "n == 2 and lv[0, 0] > 2");
  CHECK(f.start(mlp_inputs(), false).kind == StopKind::Breakpoint);
  CHECK(f.start({f32({3, 4}, {1}), f32({4, 3}, {1})}, false).kind == StopKind::Finished);
  CHECK(f.start({f32({2, 4}, {0.1}), f32({4, 3}, {1})}, false).kind == StopKind::Finished);
}

TEST_CASE("calls: into, over, out, frames, the callee's locals") {
  Fixture f(kCalls);
  f.at("main:z");
  f.start({f32({2}, {1, 2})}, false);
  CHECK(f.local("y") == "[-2. -4.]");
  StopReport r = f.debugger.step();
  CHECK(f.where() == "double:b");
  REQUIRE(f.debugger.frames().size() == 2);
  CHECK(Fixture::name(f.debugger.frames()[1].where) == "main:z");
  CHECK(f.local("a") == "[-2. -4.]");
  CHECK(f.local("y", 1) == "[-2. -4.]");
  f.debugger.step();
  CHECK(f.where() == "double:c");
  CHECK(f.print("b") == "[-4. -8.]");
  r = f.debugger.finish();
  CHECK(r.returned_from == "double");
  CHECK(show(r.returned) == "[4. 8.]");
  CHECK(f.debugger.frames().size() == 1);
  r = f.debugger.next();
  CHECK(f.where() == "main:w");
  r = f.debugger.reverse_next();
  CHECK(f.where() == "main:z");
  r = f.debugger.next();
  CHECK(f.where() == "main:w");
  r = f.debugger.reverse_step();
  CHECK(f.where() == "double:c");
  CHECK(f.debugger.next().where.binding == "w");
  CHECK(show(f.debugger.next().value) == "[ 4. 16.]");
}

TEST_CASE("recursion with an if: only executed names, frames by depth") {
  Fixture f(kRecursion);
  f.at("depth:r", "n == 0");
  StopReport r = f.start({i64(3)}, false, "depth");
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(f.debugger.frames().size() == 4);
  CHECK(f.local("m") == "(none)");
  CHECK(f.local("n") == "0");
  CHECK(f.local("n", 3) == "3");
  f.debugger.remove_breakpoint(1);
  r = f.debugger.finish();
  CHECK(show(r.returned) == "0");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
}

TEST_CASE("a violated match_cast is a stop with everything to be looked at") {
  Fixture f(kViolated);
  StopReport r = f.start({f32({2, 4}, {1}), f32({3, 4}, {1})}, false);
  REQUIRE(r.kind == StopKind::Fault);
  REQUIRE(r.fault);
  CHECK(r.fault->error.kind == runtime::ErrorKind::ShapeMismatch);
  CHECK(f.where() == "main:lv1");
  CHECK(line_of(f) == 8);
  CHECK(f.debugger.active());
  CHECK(f.print("n") == "2");
  CHECK(f.print("y.shape[0]") == "3");
  CHECK(f.print("lv[0, 0]") == "2.0");
  CHECK(f.debugger.frames().size() == 1);
  // It stays where it is; and going back works.
  CHECK(f.debugger.resume().kind == StopKind::Fault);
  f.debugger.reverse_step();
  CHECK(f.where() == "main:lv");
  CHECK(f.debugger.resume().kind == StopKind::Fault);
}

TEST_CASE("statements of a kernel") {
  Fixture f(kCalls);
  f.at("main:w");
  f.start({f32({2}, {1, 2})}, false);
  StopReport r = f.debugger.step_statement();
  REQUIRE(r.in_kernel);
  auto at = f.debugger.kernel_position();
  REQUIRE(at);
  CHECK(at->kernel.find("multiply") != std::string::npos);
  CHECK(!at->text.empty());
  CHECK(at->buffers.size() == 3);
  const std::string first = at->text;
  const std::uint64_t time = r.time;
  r = f.debugger.step_statement(2);
  REQUIRE(r.in_kernel);
  CHECK(f.debugger.kernel_position()->text != first);
  CHECK(!f.debugger.kernel_position()->variables.empty());
  // One statement back, and out of it backwards.
  const std::string third = f.debugger.kernel_position()->text;
  f.debugger.step_statement();
  r = f.debugger.reverse_step_statement();
  REQUIRE(r.in_kernel);
  CHECK(f.debugger.kernel_position()->text == third);
  r = f.debugger.reverse_step_instruction();
  CHECK(!r.in_kernel);
  CHECK(r.time == time);
  f.debugger.step_statement();
  r = f.debugger.finish();
  CHECK(!r.in_kernel);
  CHECK(r.time == time + 1);
  r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(show(r.value) == "[ 4. 16.]");
  // If left in the middle, a kernel is finished when the run continues.
  f.start({f32({2}, {1, 2})}, false);
  f.debugger.step_statement(3);
  CHECK(show(f.debugger.resume().value) == "[ 4. 16.]");
}

TEST_CASE("a kernel alone is stepped too, and leaves what it would have left") {
  Fixture f(R"(
@T.prim_func
def twice(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("B"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] * T.float32(2)
)");
  const Value a = f32({3}, {1, 2, 3}), b = f32({3}, {0});
  f.start({a, b}, true, "twice");
  StopReport r = f.debugger.step_statement();
  REQUIRE(r.in_kernel);
  CHECK(r.where.function == "twice");
  std::string text;
  for (int i = 0; i < 10 && f.print("B[0]") != "2.0"; ++i) {
    text = f.debugger.kernel_position()->text;
    f.debugger.step_statement();
  }
  CHECK(text.find("B[v] = A[v]") == 0);
  CHECK(f.print("i") == "0");
  CHECK(f.print("A[i] * 2") == "2.0");
  CHECK(f.print("B[0]") == "2.0");
  r = f.debugger.reverse_step_statement();
  REQUIRE(r.in_kernel);
  CHECK(f.print("B[0]") == "0.0");
  CHECK(f.debugger.kernel_position()->text == text);
  f.debugger.reverse_step_instruction();
  CHECK(!f.debugger.last_stop().in_kernel);
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  f.start({a, b}, true, "twice");
  f.debugger.step_statement(2);
  CHECK(f.debugger.finish().kind == StopKind::Finished);
  CHECK(show(b) == "[2. 4. 6.]");
}

TEST_CASE("from an instruction back to the line") {
  Fixture f(kMlp);
  f.at("add");
  StopReport r = f.start(mlp_inputs(), false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  const std::vector<std::string> lines = f.debugger.origin(r.where.pc);
  REQUIRE(lines.size() >= 3);
  CHECK(lines.front().find("add") != std::string::npos);
  CHECK(lines.back().find("program.py:10: gv") == 0);
  CHECK(f.debugger.origin(100'000).empty());
}

TEST_CASE("intent stays when the program changes") {
  Fixture f(kMlp);
  const int n = f.at("main:gv");
  const std::vector<Site> before = f.debugger.find_breakpoint(n)->sites;
  source::Diagnostics d;
  REQUIRE(f.session.load_text("other.py", kCalls, d));
  f.debugger.resolve_breakpoints();
  CHECK(f.debugger.find_breakpoint(n)->sites.empty());
  CHECK(f.start({f32({2}, {1, 2})}, false).kind == StopKind::Finished);
  REQUIRE(f.session.load_text("program.py", kMlp, d));
  f.debugger.resolve_breakpoints();
  CHECK(f.debugger.find_breakpoint(n)->sites == before);
}

TEST_CASE("random steps in a program with calls, branches and symbols agree with going there") {
  std::mt19937 random(11);
  struct Program {
    const char* text;
    const char* function;
    std::vector<Value> args;
  };
  const Program programs[] = {
      {kCalls, "main", {f32({2}, {1, 2})}}, {kRecursion, "depth", {i64(3)}}, {kMlp, "main", mlp_inputs()}};
  for (const Program& p : programs) {
    Fixture f(p.text), g(p.text);
    f.start(p.args, true, p.function);
    g.start(p.args, true, p.function);
    for (int i = 0; i < 40; ++i) {
      switch (random() % 8) {
        case 0:
        case 1:
          f.debugger.step();
          break;
        case 2:
          f.debugger.next();
          break;
        case 3:
          f.debugger.step_statement(random() % 4 + 1);
          break;
        case 4:
          f.debugger.reverse_step();
          break;
        case 5:
          f.debugger.reverse_next();
          break;
        case 6:
          f.debugger.finish();
          break;
        case 7:
          f.debugger.step_instruction(random() % 5);
          break;
      }
      const StopReport r = f.debugger.last_stop();
      if (r.kind == StopKind::Finished) {
        f.debugger.reverse_step(2);
        continue;
      }
      if (r.in_kernel) continue;
      g.debugger.go_to(r.time);
      REQUIRE(f.state() == g.state());
    }
    // A step and its reverse.
    f.debugger.go_to(0);
    f.debugger.step();
    const std::string here = f.state();
    if (f.debugger.step().kind == StopKind::Step) {
      f.debugger.reverse_step();
      CHECK(f.state() == here);
    }
  }
}
