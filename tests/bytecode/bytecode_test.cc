// Words, builder, table of builtins, verifier, disassembly.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/bytecode/builtin_id.h"
#include "rldb/bytecode/disassemble.h"

using namespace rldb;
using namespace rldb::bytecode;
using runtime::Value;

namespace {

// f(x, n): if x then g(x, 42) else c[0]
Executable sample() {
  ExecutableBuilder b;
  b.begin_function("main", {"x", "n"});
  b.call("vm.builtin.read_if_cond", {Arg::reg(0)}, 2);
  Pc branch = b.branch(2);
  b.call("test.add", {Arg::reg(0), b.integer(42), b.constant_function("helper")}, 3);
  Pc over = b.jump();
  b.patch_to_here(branch);
  b.call("vm.builtin.copy", {b.constant(Value::of_string("hello"))}, 3);
  b.patch_to_here(over);
  b.call("vm.builtin.alloc_shape_heap", {Arg::vm(), Arg::imm(-7)});
  b.ret(3);
  b.end_function();
  b.begin_function("helper", {});
  b.ret(kVoidRegister);
  b.end_function();
  return b.finish();
}

}  // namespace

TEST_CASE("argument words carry kind and value, symmetric in sign") {
  for (Word v : {Word(0), Word(1), Word(-1), Arg::kMaxValue, -Arg::kMaxValue}) {
    CHECK(Arg::fits(v));
    CHECK(Arg::imm(v).value() == v);
    CHECK(Arg::imm(v).kind() == ArgKind::Immediate);
  }
  CHECK_FALSE(Arg::fits(Arg::kMaxValue + 1));
  CHECK_FALSE(Arg::fits(-Arg::kMaxValue - 1));
  CHECK(Arg::vm().reg() == kVmRegister);
  CHECK(Arg::vm().kind() == ArgKind::Register);
  CHECK(Arg::imm(42).word() == Word(0x010000000000002a));
  CHECK(Arg::imm(-1).word() == Word(0x01ffffffffffffff));
  CHECK(Arg::constant(3).word() == Word(0x0200000000000003));
}

TEST_CASE("instructions are laid out as TVM lays them out") {
  Executable exe = sample();
  // call read_if_cond: opcode, dst, callee (entry 1, after main), count, argument
  CHECK(std::vector<Word>(exe.instr_data.begin(), exe.instr_data.begin() + 5) == std::vector<Word>{1, 2, 1, 1, 0});
  CHECK(exe.instr_offset[1] == 5);
  CHECK(exe.instr_data[5] == 4);  // If
  CHECK(exe.instr_data[7] == 3);  // false branch
  CHECK(exe.functions[0].register_file_size == 4);
  CHECK(exe.functions[1].num_args == kUndefinedArgs);
}

TEST_CASE("constants are deduplicated structurally, big integers become constants") {
  ExecutableBuilder b;
  b.begin_function("f", {});
  auto t1 = runtime::Tensor::empty({2}, runtime::DType::Int(32)).value();
  auto t2 = runtime::Tensor::empty({2}, runtime::DType::Int(32)).value();
  std::memset(t1->data(), 1, 8);
  std::memset(t2->data(), 1, 8);
  Arg a = b.constant(Value(t1));
  CHECK(b.constant(Value(t2)) == a);
  CHECK_FALSE(b.constant(Value(t2), "texture") == a);
  std::memset(t2->data(), 2, 8);
  CHECK_FALSE(b.constant(Value(t2)) == a);
  CHECK(b.constant(Value::of_shape({1, 2})) == b.constant(Value::of_shape({1, 2})));
  CHECK_FALSE(b.constant(Value::of_float(0.0)) == b.constant(Value::of_float(-0.0)));
  CHECK(b.integer(5).kind() == ArgKind::Immediate);
  CHECK(b.integer(std::int64_t(1) << 60).kind() == ArgKind::Constant);
  b.ret(kVoidRegister);
  b.end_function();
  CHECK(verify(b.finish()).ok());
}

TEST_CASE("as_text is TVM's, to the blank") {
  CHECK(as_text(sample()) ==
        "@main:\n"
        "  call  vm.builtin.read_if_cond in: %0           dst: %2\n"
        "  If    %2, 3\n"
        "  call  test.add         in: %0, i42, f[helper] dst: %3\n"
        "  goto  2\n"
        "  call  vm.builtin.copy  in: c[0]         dst: %3\n"
        "  call  vm.builtin.alloc_shape_heap in: %vm, i-7     dst: %void\n"
        "  ret   %3\n"
        "\n"
        "@vm.builtin.read_if_cond packed_func;\n"
        "\n"
        "@helper:\n"
        "  ret   %void\n"
        "\n"
        "@test.add packed_func;\n"
        "\n"
        "@vm.builtin.copy packed_func;\n"
        "\n"
        "@vm.builtin.alloc_shape_heap packed_func;\n"
        "\n");
}

TEST_CASE("as_python rebuilds the program") {
  std::string text = as_python(sample());
  CHECK(text.find("with ib.function(\"main\", num_inputs=2):\n") != std::string::npos);
  CHECK(text.find("    ib.emit_call(\"test.add\", args=[ib.r(0), ib.imm(42), ib.f(\"helper\")], "
                  "dst=ib.r(3))\n") != std::string::npos);
  CHECK(text.find("    ib.emit_if(ib.r(2), 3)\n") != std::string::npos);
}

TEST_CASE("the listing shows names, slots, jumps and the decorator's marks") {
  ExecutableBuilder b;
  FunctionDebug fd;
  fd.heap_register = 1;
  fd.slots = {{"n", true, "parameter `x`, dimension 0"}};
  fd.variables = {{"x", 0, 0, 0, 3, true, "R.Tensor"}, {"y", 0, 2, 2, 3}};
  b.begin_function("f", {"x"}, fd);
  InstructionDebug d;
  d.slots_written = {0};
  b.at(d);
  b.call("vm.builtin.match_shape",
         {Arg::reg(0), Arg::reg(1), Arg::imm(1), Arg::imm(1), Arg::imm(0), b.constant(Value::of_string("ctx"))});
  d = {};
  d.variable = "y";
  b.at(d);
  b.call("relu", {Arg::reg(0)}, 2);
  b.at({});
  b.ret(2);
  b.end_function();
  Executable exe = b.finish();
  REQUIRE(verify(exe).ok());
  struct Marks : Decorator {
    std::string gutter(Pc pc) override { return pc == 1 ? "=>" : "  "; }
    std::vector<std::string> lines_before(Pc pc) override {
      if (pc == 1) return {"     7 | y = relu(x)"};
      return {};
    }
  } marks;
  ListingOptions options;
  options.decorator = &marks;
  CHECK(listing(exe, 0, options) ==
        "@f(%0 x):  3 registers\n"
        "   0  call  vm.builtin.match_shape in: %0, %1, i1, i1, i0, c[0] dst: %void  ; (x); sets "
        "n@0; c[0] \"ctx\"\n"
        "     7 | y = relu(x)\n"
        "=> 1  call  relu             in: %0           dst: %2" +
            std::string(19, ' ') +
            "  ; y = (x)\n"
            "   2  ret   %2" +
            std::string(58, ' ') + "  ; y\n");
  CHECK(listing(exe, 1).empty());
  CHECK(listing(exe, 0, 2, 99).find("ret") != std::string::npos);
}

TEST_CASE("builtins are found by name, and only by exact name") {
  CHECK(find_builtin("vm.builtin.match_shape") == BuiltinId::MatchShape);
  CHECK(find_builtin("relax.run.unique") == BuiltinId::RunUnique);
  CHECK_FALSE(find_builtin("vm.builtin.match_shap").has_value());
  CHECK_FALSE(find_builtin("").has_value());
  CHECK(builtin::MatchShape == "vm.builtin.match_shape");
  CHECK_FALSE(find_builtin(builtin::CallPyFunc).has_value());  // named because lowering calls it, but absent
  for (const BuiltinInfo& row : builtins()) {
    CHECK(find_builtin(row.name) == row.id);
    CHECK_FALSE(row.doc.empty());
    CHECK((row.max_args < 0 || row.max_args >= row.min_args));
  }
}

TEST_CASE("the verifier names what is wrong") {
  auto broken = [](auto change) {
    Executable exe = sample();
    change(exe);
    auto checked = verify(exe);
    return checked.ok() ? std::string("accepted") : checked.error().message;
  };
  auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(broken([](Executable&) {}) == "accepted");
  CHECK(has(broken([](Executable& e) { e.instr_data[0] = 9; }), "unknown opcode 9"));
  CHECK(has(broken([](Executable& e) { e.instr_offset[1] = 1000; }), "starts at word 1000"));
  CHECK(has(broken([](Executable& e) { e.instr_offset[1] = -1; }), "starts at word -1"));
  CHECK(has(broken([](Executable& e) { e.instr_data[3] = Word(1) << 62; }), "cut off"));
  CHECK(has(broken([](Executable& e) { e.instr_data[1] = 4; }), "dst register 4 of 4"));
  CHECK(has(broken([](Executable& e) { e.instr_data[4] = 77; }), "argument register 77"));
  CHECK(has(broken([](Executable& e) { e.instr_data[4] = Arg::constant(1).word(); }), "constant 1 of 1"));
  CHECK(has(broken([](Executable& e) { e.instr_data[4] = Arg::function(99).word(); }), "function 99"));
  CHECK(has(broken([](Executable& e) { e.instr_data[4] = Word(7) << 56; }), "unknown kind 7"));
  CHECK(has(broken([](Executable& e) { e.instr_data[2] = 50; }), "callee 50"));
  CHECK(has(broken([](Executable& e) { e.instr_data[7] = 1; }), "must be over 1"));
  CHECK(has(broken([](Executable& e) { e.instr_data[7] = 100; }), "leaves the function"));
  CHECK(has(broken([](Executable& e) { e.instr_data[7] = std::numeric_limits<Word>::max(); }), "leaves the function"));
  CHECK(has(broken([](Executable& e) { e.functions[0].end = 6; }), "runs off its end"));
  CHECK(has(broken([](Executable& e) { e.functions[0].end = 99; }), "[0, 99) of 8"));
  CHECK(has(broken([](Executable& e) { e.functions[0].num_args = kUndefinedArgs; }), "not defined"));
  CHECK(has(broken([](Executable& e) { e.functions[0].register_file_size = 1; }), "2 arguments and 1 registers"));
  CHECK(has(broken([](Executable& e) { e.functions[2].name = "main"; }), "there twice"));
  CHECK(has(broken([](Executable& e) { e.functions[2].start = 0; }), "share instructions"));
  CHECK(has(broken([](Executable& e) { e.memory_scopes[5] = "x"; }), "memory scope"));
  CHECK(has(broken([](Executable& e) { e.functions[1].kind = FunctionKind(9); }), "unknown kind"));
}

TEST_CASE("a direct call of bytecode must bring as many arguments as the callee has") {
  ExecutableBuilder b;
  b.begin_function("callee", {"a", "b"});
  b.ret(0);
  b.end_function();
  b.begin_function("main", {"x"});
  b.call("callee", {Arg::reg(0)}, 1);
  b.ret(1);
  b.end_function();
  auto checked = verify(b.finish());
  REQUIRE_FALSE(checked.ok());
  CHECK(checked.error().message.find("`callee` takes 2 arguments, 1 given") != std::string::npos);
}

TEST_CASE("variables are found by register and pc") {
  DebugInfo info;
  info.functions.resize(1);
  info.functions[0].variables = {{"x", 1, 0, 0, 10}, {"y", 2, 1, 2, 5}, {"z", 3, 1, 5, 9}};
  CHECK(info.variable_at(0, 1, 4)->name == "y");
  CHECK(info.variable_at(0, 1, 5)->name == "z");
  CHECK(info.variable_at(0, 1, 9) == nullptr);
  CHECK(info.variable_at(3, 1, 4) == nullptr);
  CHECK(info.variables_at(0, 5).size() == 2);
}
