// Helpers of the debug tests: a session with a program, a debugger over it, shorthands for commands and checks.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "debug/run/run.h"
#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/debug/debugger.h"
#include "runtime/made_values.h"

namespace rldb::debug::testing {

using runtime::DType;
using runtime::Value;
using runtime::testing::f32;
using runtime::testing::i64;
using runtime::testing::show;

class Capture : public runtime::Output {
 public:
  void write(std::string_view text) override { this->text += text; }
  std::string text;
};

inline std::string text_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& one : d.all()) {
    text += one.message + "\n";
    if (!one.hint.empty()) text += "hint: " + one.hint + "\n";
    for (const source::Note& n : one.notes) text += "note: " + n.text + "\n";
  }
  return text;
}

class Fixture {
 public:
  static session::Options vm_options() {
    session::Options o;
    o.engine = session::Engine::Vm;  // evaluated kernels: these tests are not about the JIT
    return o;
  }
  Fixture() : session(vm_options(), &output), debugger(session) {
    auto binary = [&](const char* name, auto op) {
      session.registry().register_function(name, [op](runtime::PackedArgs a) -> runtime::Result<Value> {
        return Value::of_int(op(a[0].as_int(), a[1].as_int()));
      });
    };
    binary("test.add", [](std::int64_t a, std::int64_t b) { return a + b; });
    binary("test.sub", [](std::int64_t a, std::int64_t b) { return a - b; });
    binary("test.less", [](std::int64_t a, std::int64_t b) { return std::int64_t(a < b); });
    session.registry().register_function("test.say", [this](runtime::PackedArgs) -> runtime::Result<Value> {
      session.output().write("said\n");
      return Value();
    });
  }
  explicit Fixture(const std::string& text) : Fixture() {
    source::Diagnostics d;
    const bool ok = session.load_text("program.py", text, d);
    REQUIRE_MESSAGE(ok, text_of(d));
  }
  // An executable made by hand, passed through a file as a user's would be.
  explicit Fixture(bytecode::Executable exe) : Fixture() {
    auto bytes = bytecode::serialise(exe);
    REQUIRE(bytes.ok());
    static int count = 0;
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("rldb_debug_test_{}_{}.rlvm", ::getpid(), count++))
            .string();
    std::ofstream(path, std::ios::binary) << *bytes;
    source::Diagnostics d;
    const bool ok = session.load_file(path, d);
    std::remove(path.c_str());
    REQUIRE_MESSAGE(ok, text_of(d));
  }

  StopReport start(std::vector<Value> args, bool at_entry = true, const char* function = "main") {
    source::Diagnostics d;
    StopReport r = debugger.start(function, args, at_entry, d);
    REQUIRE_MESSAGE(!d.has_errors(), text_of(d));
    return r;
  }
  int at(const char* spec, const char* condition = "") {
    source::Diagnostics d;
    const Breakpoint* b = debugger.add_breakpoint(spec, false, d);
    REQUIRE_MESSAGE(b, text_of(d));
    debugger.find_breakpoint(b->number)->condition = condition;
    return b->number;
  }
  std::string refused(const char* spec) {
    source::Diagnostics d;
    CHECK(debugger.add_breakpoint(spec, false, d) == nullptr);
    return text_of(d);
  }
  std::string print(std::string_view text, int frame = 0) {
    source::Diagnostics d;
    auto v = debugger.evaluate(text, frame, d);
    return v ? show(*v) : "error: " + text_of(d);
  }
  // `main:lv1`
  std::string where() const { return name(debugger.last_stop().where); }
  static std::string name(const Position& p) { return p.function + (p.binding.empty() ? "" : ":" + p.binding); }
  std::string local(const char* name, int frame = 0) {
    for (const LocalInfo& l : debugger.locals(frame))
      if (l.name == name) return l.live ? show(l.value) : "(freed)";
    return "(none)";
  }
  // Everything that a user can see at the moment.
  std::string state() {
    const StopReport& r = debugger.last_stop();
    std::string text = fmt::format("time {} {} pc {}\n", r.time, where(), r.where.pc);
    for (const FrameInfo& f : debugger.frames()) {
      text += fmt::format("#{} {} {}\n", f.number, name(f.where), f.where.pc);
      for (const LocalInfo& l : debugger.locals(f.number))
        text += fmt::format("  {} = {}\n", l.name, l.live ? show(l.value) : "(freed)");
      for (const SlotInfo& s : debugger.heap(f.number))
        text += fmt::format("  slot {} {} {} {}\n", s.slot, s.expression, s.set, s.value);
    }
    return text;
  }

  Capture output;
  session::Session session;
  Debugger debugger;
};

inline constexpr const char* kMlp = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 3), "float32") = R.matmul(x, w)
            lv1: R.Tensor((n, 3), "float32") = R.nn.relu(lv)
            gv: R.Tensor((n, 3), "float32") = R.add(lv1, lv1)
            R.output(gv)
        return gv
)";

inline constexpr const char* kCalls = R"(
@I.ir_module
class Module:
    @R.function
    def double(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b: R.Tensor((2,), "float32") = R.add(a, a)
        c: R.Tensor((2,), "float32") = R.negative(b)
        return c

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y: R.Tensor((2,), "float32") = cls.double(x)
        z: R.Tensor((2,), "float32") = cls.double(y)
        w: R.Tensor((2,), "float32") = R.multiply(z, x)
        return w
)";

inline constexpr const char* kRecursion = R"(
@I.ir_module
class Module:
    @R.function
    def depth(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        cls = Module
        c: R.Tensor((), "bool") = R.less(n, R.const(1, "int64"))
        if c:
            r: R.Tensor((), "int64") = R.subtract(n, n)
        else:
            m: R.Tensor((), "int64") = R.subtract(n, R.const(1, "int64"))
            d: R.Tensor((), "int64") = cls.depth(m)
            r: R.Tensor((), "int64") = R.add(d, R.const(1, "int64"))
        return r
)";

inline constexpr const char* kViolated = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        lv: R.Tensor((n, 4), "float32") = R.add(x, x)
        lv1: R.Tensor((n, 4), "float32") = R.match_cast(y, R.Tensor((n, 4), "float32"))
        lv2: R.Tensor((n, 4), "float32") = R.add(lv, lv1)
        return lv2
)";

// sum(n): acc = 0; while 0 < n { acc += n; n -= 1 }. Five instructions per iteration.
inline bytecode::Executable sum_loop() {
  using bytecode::Arg;
  bytecode::ExecutableBuilder b;
  b.begin_function("main", {"n"});
  b.call("vm.builtin.copy", {Arg::imm(0)}, 1);
  const Pc head = b.call("test.less", {Arg::imm(0), Arg::reg(0)}, 2);
  const Pc exit = b.branch(2);
  b.call("test.add", {Arg::reg(1), Arg::reg(0)}, 1);
  b.call("test.sub", {Arg::reg(0), Arg::imm(1)}, 0);
  b.jump(head - b.next_pc());
  b.patch_to_here(exit);
  b.ret(1);
  b.end_function();
  return b.finish();
}

// depth(n) = n < 1 ? 0 : 1 + depth(n - 1), called by main; without debug info.
inline bytecode::Executable bare_recursion() {
  using bytecode::Arg;
  using bytecode::FunctionKind;
  bytecode::ExecutableBuilder b;
  b.function("depth", FunctionKind::Bytecode);
  b.begin_function("main", {"n"});
  b.call("depth", {Arg::reg(0)}, 1, FunctionKind::Bytecode);
  b.call("test.say", {}, 2);
  b.call("depth", {Arg::reg(1)}, 1, FunctionKind::Bytecode);
  b.ret(1);
  b.end_function();
  b.begin_function("depth", {"n"});
  b.call("test.less", {Arg::reg(0), Arg::imm(1)}, 1);
  const Pc branch = b.branch(1);
  b.call("vm.builtin.copy", {Arg::imm(0)}, 2);
  b.ret(2);
  b.patch_to_here(branch);
  b.call("test.sub", {Arg::reg(0), Arg::imm(1)}, 2);
  b.call("depth", {Arg::reg(2)}, 3, FunctionKind::Bytecode);
  b.call("test.add", {Arg::reg(3), Arg::imm(1)}, 4);
  b.ret(4);
  b.end_function();
  return b.finish();
}

// Step by step; a run that faults keeps its frames, and goes no further.
inline void to_its_end(Run& run) {
  for (std::uint64_t before = 0; run.machine().running(); before = run.time()) {
    (void)run.advance(nullptr, run.time() + 1);
    REQUIRE_MESSAGE(!run.fault(), run.fault()->error.message);
    REQUIRE(run.time() > before);
  }
}

}  // namespace rldb::debug::testing
