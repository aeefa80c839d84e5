// Builtins one by one, called as functions of a program; the shape heap through a program with debug info.
#include "rldb/bytecode/builtin.h"

#include <cmath>

#include "vm/program_builder.h"

using namespace rldb;
using namespace rldb::vm;
using namespace rldb::vm::testing;

namespace {

// One builtin called with host values.
class Builtins : public Fixture {
 public:
  Builtins() {
    ExecutableBuilder b;
    b.begin_function("main", {});
    b.ret(kVoidRegister);
    b.end_function();
    for (const bytecode::BuiltinInfo& row : bytecode::builtins()) b.function(row.name);
    program = link(b.finish());
  }
  Result<Value> call(const char* name, std::vector<Value> args) {
    return program->find_function(name).as_function().native(args);
  }
  std::string error(const char* name, std::vector<Value> args) {
    auto r = call(name, std::move(args));
    return r.ok() ? "no error" : r.error().message;
  }
  std::shared_ptr<const Program> program;
};

Value S(const char* text) { return Value::of_string(text); }
Value D(DType t) { return Value::of_dtype(t); }

std::vector<double> elements(const Value& v) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i) out.push_back(v.as_tensor().at(i));
  return out;
}

}  // namespace

TEST_CASE("match_shape and make_shape: all codes, TVM's words, our notes") {
  Fixture t;
  ExecutableBuilder b;
  bytecode::FunctionDebug fd;
  fd.heap_register = 2;
  fd.slots = {{"n", true, "parameter `x`, dimension 0"}, {"n * 2", false, "computed"}};
  b.begin_function("main", {"x", "y"}, fd);
  Arg ctx = b.constant(S("ErrorContext(fn=main, loc=param[1], param=y, annotation=R.Tensor) "));
  b.call("vm.builtin.alloc_shape_heap", {Arg::vm(), Arg::imm(2)}, 2);
  b.call("vm.builtin.match_shape",
         {Arg::reg(0), Arg::reg(2), Arg::imm(2), Arg::imm(1), Arg::imm(0), Arg::imm(2), Arg::imm(0), ctx});
  b.call("vm.builtin.match_shape",
         {Arg::reg(1), Arg::reg(2), Arg::imm(2), Arg::imm(3), Arg::imm(0), Arg::imm(0), Arg::imm(4), ctx});
  b.call("vm.builtin.make_shape", {Arg::reg(2), Arg::imm(2), Arg::imm(1), Arg::imm(0), Arg::imm(0), Arg::imm(9)}, 3);
  b.ret(3);
  b.end_function();
  auto p = t.link(b.finish());
  auto run = [&](Value x, Value y) { return vm::call(p, "main", std::vector<Value>{x, y}); };

  Value shape = run(tensor_f32({7, 3}), tensor_f32({7, 4})).value;
  CHECK(shape.as_shape() == std::vector<std::int64_t>{7, 9});
  CHECK(run(Value::of_shape({7, 3}), tensor_f32({7, 4})).finished());

  Outcome o = run(tensor_f32({2, 3}), tensor_f32({3, 4}));
  REQUIRE(o.faulted());
  CHECK(o.fault->error.kind == ErrorKind::ShapeMismatch);
  CHECK(o.fault->error.message ==
        "ErrorContext(fn=main, loc=param[1], param=y, annotation=R.Tensor) match_cast error,  "
        "shape[0] mismatch to a previous populated value. (3 vs. 2)");
  REQUIRE(o.fault->error.notes.size() == 2);
  CHECK(o.fault->error.notes[0] == "symbol `n` is 2, bound by parameter `x`, dimension 0");
  CHECK(o.fault->error.notes[1].find("dimension 0 of Tensor") == 0);
  CHECK(o.fault->error.notes[1].find("is 3") != std::string::npos);
  CHECK(o.fault->pc == 2);

  o = run(tensor_f32({2, 3}), tensor_f32({2, 5}));
  CHECK(o.fault->error.message.find("shape[1] mismatch to specified constant. (5 vs. 4)") != std::string::npos);
  o = run(tensor_f32({2, 3}), tensor_f32({2}));
  CHECK(o.fault->error.message.find("match_cast shape size mismatch. (1 vs. 2)") != std::string::npos);
  CHECK(run(I(1), tensor_f32({2})).fault->error.kind == ErrorKind::TypeMismatch);

  Machine m(p);
  REQUIRE(m.start("main", std::vector<Value>{tensor_f32({7, 3}), tensor_f32({7, 4})}).ok());
  CHECK(m.shape_heap(0).empty());
  m.step(2);
  REQUIRE(m.shape_heap(0).size() == 2);
  CHECK(m.shape_heap(0)[0] == 7);
}

TEST_CASE("the heap's edges are errors") {
  Builtins t;
  Value heap = tensor_i64({1}, {3});
  Value shape = Value::of_shape({5});
  Value none;
  CHECK(t.error("vm.builtin.match_shape", {shape, heap, I(1), I(1), I(1), none})
            .find("slot 1 of a shape heap of 1 slots") != std::string::npos);
  CHECK(t.error("vm.builtin.match_shape", {shape, heap, I(1), I(1), I(-1), none}).find("slot -1") != std::string::npos);
  CHECK(t.error("vm.builtin.match_shape", {shape, none, I(1), I(1), I(0), none}).find("of 0 slots") !=
        std::string::npos);
  CHECK(t.error("vm.builtin.match_shape", {shape, heap, I(1), I(9), I(0), none}).find("unknown match code 9") !=
        std::string::npos);
  CHECK(t.error("vm.builtin.match_shape", {shape, heap, I(1LL << 62), I(9), I(0), none}).find("do not fit rank") !=
        std::string::npos);
  CHECK(t.error("vm.builtin.match_shape", {shape, tensor_f32({1}), I(1), I(1), I(0), none}).find("the shape heap") !=
        std::string::npos);
  CHECK(t.call("vm.builtin.match_shape", {shape, none, I(1), I(0), I(5), none}).ok());
  CHECK(t.error("vm.builtin.make_shape", {heap, I(1), I(1), I(4)}).find("slot 4") != std::string::npos);
  CHECK(t.call("vm.builtin.make_prim_value", {heap, I(1), I(0)})->as_int() == 3);
  CHECK(t.call("vm.builtin.make_prim_value", {none, I(0), I(-2)})->as_int() == -2);
  CHECK(t.call("vm.builtin.match_prim_value", {I(3), heap, I(3), I(0), none}).ok());
  CHECK(t.error("vm.builtin.match_prim_value", {I(4), heap, I(3), I(0), none})
            .find("mismatch to a previous populated value. (4 vs. 3)") != std::string::npos);
  CHECK(t.error("vm.builtin.alloc_shape_heap", {none, I(-1)}) != "no error");
}

TEST_CASE("checks use TVM's words") {
  Builtins t;
  Value x = tensor_f32({2, 3});
  Value ctx = S("CTX ");
  CHECK(t.call("vm.builtin.check_tensor_info", {x, I(2), D(DType::Float(32)), ctx}).ok());
  CHECK(t.call("vm.builtin.check_tensor_info", {x, I(-1), Value(), ctx}).ok());
  CHECK(t.call("vm.builtin.check_tensor_info", {x, I(2), ctx}).ok());
  CHECK(t.error("vm.builtin.check_tensor_info", {x, I(1), ctx}) == "CTX expect Tensor with ndim 1 but get 2");
  CHECK(t.error("vm.builtin.check_tensor_info", {x, I(2), D(DType::Int(8)), ctx}) ==
        "CTX expect Tensor with dtype int8 but get float32");
  CHECK(t.error("vm.builtin.check_tensor_info", {I(1), I(2), ctx}).find("CTX expect a Tensor but get ") == 0);
  CHECK(t.call("vm.builtin.check_shape_info", {Value::of_shape({1}), I(1), ctx}).ok());
  CHECK(t.error("vm.builtin.check_shape_info", {Value::of_shape({1}), I(2), ctx}) ==
        "CTX expect Shape with ndim 2 but get 1");
  CHECK(t.call("vm.builtin.check_prim_value_info", {I(1), D(DType::Int(64)), ctx}).ok());
  CHECK(t.call("vm.builtin.check_prim_value_info", {Value::of_float(1), D(DType::Float(32)), ctx}).ok());
  CHECK_FALSE(t.call("vm.builtin.check_prim_value_info", {Value::of_float(1), D(DType::Int(32)), ctx}).ok());
  CHECK(t.call("vm.builtin.check_tuple_info", {Value::of_tuple({x}), I(1), ctx}).ok());
  CHECK_FALSE(t.call("vm.builtin.check_tuple_info", {Value::of_tuple({x}), I(2), ctx}).ok());
  CHECK(t.call("vm.builtin.check_func_info", {t.program->find_function("main"), ctx}).ok());
  CHECK_FALSE(t.call("vm.builtin.check_func_info", {x, ctx}).ok());
}

TEST_CASE("storage and tensors in it") {
  Builtins t;
  Value storage =
      t.call("vm.builtin.alloc_storage", {Value(), Value::of_shape({64}), I(0), D(DType::UInt(8)), S("global")})
          .value();
  REQUIRE(storage.is(ValueKind::Storage));
  CHECK(storage.storage_ref()->size() == 64);
  Value x = t.call("vm.builtin.alloc_tensor", {storage, I(32), Value::of_shape({2, 4}), D(DType::Float(32))}).value();
  CHECK(x.as_tensor().byte_offset() == 32);
  CHECK(t.error("vm.builtin.alloc_tensor", {storage, I(33), Value::of_shape({2, 4}), D(DType::Float(32))})
            .find("does not fit into a storage of 64 bytes") != std::string::npos);
  CHECK_FALSE(t.call("vm.builtin.alloc_tensor", {storage, I(0), Value::of_shape({-1}), D(DType::Float(32))}).ok());
  CHECK_FALSE(
      t.call("vm.builtin.alloc_tensor", {storage, I(0), Value::of_shape({1LL << 40, 1LL << 40}), D(DType::Float(32))})
          .ok());
  CHECK(t.error("vm.builtin.alloc_storage", {Value(), Value::of_shape({1LL << 40}), I(0), D(DType::UInt(8))}) !=
        "no error");
  Value copy = t.call("vm.builtin.ensure_zero_offset", {x}).value();
  CHECK(copy.as_tensor().byte_offset() == 0);
  CHECK(compare(copy, x, {0, 0}) == "");
  CHECK(t.call("vm.builtin.ensure_zero_offset", {copy})->object() == copy.object());
}

TEST_CASE("views share data") {
  Builtins t;
  Value x = tensor_f32({2, 3}, {0, 1, 2, 3, 4, 5});
  Value r = t.call("vm.builtin.reshape", {x, Value::of_shape({3, 2})}).value();
  CHECK(r.as_tensor().data() == x.as_tensor().data());
  CHECK(r.as_tensor().shape() == std::vector<std::int64_t>{3, 2});
  CHECK(t.error("vm.builtin.reshape", {x, Value::of_shape({3, 3})}).find("cannot reshape") != std::string::npos);
  CHECK(t.call("vm.builtin.shape_of", {x})->as_shape() == std::vector<std::int64_t>{2, 3});
  CHECK(t.call("vm.builtin.copy", {x})->object() == x.object());
  CHECK(t.call("vm.builtin.to_device", {x, I(1), I(0)})->object() == x.object());
  Value v = t.call("runtime.TVMTensorCreateView", {x, Value::of_shape({2}), Value(), I(8)}).value();
  CHECK(elements(v) == std::vector<double>{2, 3});
  CHECK_FALSE(t.call("runtime.TVMTensorCreateView", {x, Value::of_shape({5}), Value(), I(8)}).ok());
  Value bits = t.call("vm.builtin.memory.view", {x, Value(), D(DType::Int(32)), Value()}).value();
  CHECK(bits.as_tensor().dtype() == DType::Int(32));
  CHECK(t.call("vm.builtin.tensor_to_shape", {tensor_i64({2}, {4, 5})})->as_shape() == std::vector<std::int64_t>{4, 5});
  CHECK_FALSE(t.call("vm.builtin.tensor_to_shape", {x}).ok());
}

TEST_CASE("conditions") {
  Builtins t;
  auto cond = [&](Value v) { return t.call("vm.builtin.read_if_cond", {v}); };
  CHECK(cond(Value::of_bool(true))->as_int() == 1);
  CHECK(cond(I(0))->as_int() == 0);
  CHECK(cond(tensor_i64({}, {256}))->as_int() == 1);
  auto b = runtime::Tensor::empty({}, DType::Bool()).value();
  *b->data() = std::byte(0);
  CHECK(cond(Value(b))->as_int() == 0);
  CHECK_FALSE(cond(tensor_i64({1}, {1})).ok());
  CHECK_FALSE(cond(tensor_f32({}, {1})).ok());
}

TEST_CASE("print and assert") {
  Builtins t;
  CHECK(t.call("relax.run.print", {S(""), I(1), S("two")}).ok());
  CHECK(t.call("relax.run.print", {S("{1} and {0} {{}}"), I(1), I(2)}).ok());
  CHECK(t.call("relax.run.print", {S("{}, {}"), I(1), I(2)}).ok());
  CHECK(t.output.text == "1 two\n2 and 1 {}\n1, 2\n");
  CHECK(t.error("relax.run.print", {S("{}{}"), I(1)}).find("needs value 1 of 1") != std::string::npos);
  CHECK(t.error("relax.run.print", {S("{:x}"), I(1)}).find("{:x}") != std::string::npos);
  CHECK(t.error("relax.run.print", {S("{"), I(1)}) != "no error");
  CHECK(t.call("relax.run.assert_op", {Value::of_bool(true), S("no")}).ok());
  CHECK(t.error("relax.run.assert_op", {Value::of_bool(false), S("")}) == "Assertion Failed");
  CHECK(t.error("relax.run.assert_op", {Value::of_bool(false), S("x is {}"), I(4)}) == "Assertion Failed: x is 4");
  CHECK(t.error("relax.run.assert_op", {Value::of_bool(false), S(""), I(4), I(5)}) == "Assertion Failed: 4, 5");
}

TEST_CASE("unique: values, indices, inverse, counts, axis, NaN") {
  Builtins t;
  Value x = tensor_i64({2, 3}, {3, 1, 3, 2, 1, 3});
  CHECK(elements(t.call("relax.run.unique", {x, I(1)}).value()) == std::vector<double>{1, 2, 3});
  CHECK(elements(t.call("relax.run.unique", {x, I(0), I(0), I(0), I(0)}).value()) == std::vector<double>{3, 1, 2});
  Value all = t.call("relax.run.unique", {x, I(1), I(1), I(1), I(1)}).value();
  REQUIRE(all.as_tuple().fields.size() == 4);
  CHECK(elements(all.as_tuple().fields[1]) == std::vector<double>{1, 3, 0});
  CHECK(elements(all.as_tuple().fields[2]) == std::vector<double>{2, 0, 2, 1, 0, 2});
  CHECK(elements(all.as_tuple().fields[3]) == std::vector<double>{2, 1, 3});
  Value unsorted = t.call("relax.run.unique", {x, I(0), I(0), I(1), I(0)}).value();
  CHECK(elements(unsorted.as_tuple().fields[1]) == std::vector<double>{0, 1, 0, 2, 1, 0});
  Value rows = tensor_i64({3, 2}, {5, 6, 1, 2, 5, 6});
  Value u = t.call("relax.run.unique", {rows, I(1), I(0), I(0), I(0), I(0)}).value();
  CHECK(u.as_tensor().shape() == std::vector<std::int64_t>{2, 2});
  CHECK(elements(u) == std::vector<double>{1, 2, 5, 6});
  Value columns = t.call("relax.run.unique", {rows, I(1), I(0), I(0), I(0), I(-1)}).value();
  CHECK(columns.as_tensor().shape() == std::vector<std::int64_t>{3, 2});
  Value nan = tensor_f32({3}, {NAN, 1, NAN});
  CHECK(t.call("relax.run.unique", {nan, I(1)})->as_tensor().shape()[0] == 2);
  CHECK(t.call("relax.run.unique", {tensor_i64({0}, {}), I(1)})->as_tensor().shape()[0] == 0);
  CHECK_FALSE(t.call("relax.run.unique", {rows, I(1), I(0), I(0), I(0), I(2)}).ok());
}

TEST_CASE("nonzero and shape_to_tensor") {
  Builtins t;
  Value n = t.call("relax.run.nonzero", {tensor_i64({2, 3}, {0, 1, 0, 2, 0, 3})}).value();
  CHECK(n.as_tensor().shape() == std::vector<std::int64_t>{2, 3});
  CHECK(elements(n) == std::vector<double>{0, 1, 1, 1, 0, 2});
  Value s = t.call("relax.run.shape_to_tensor", {Value::of_shape({4, 5})}).value();
  CHECK(elements(s) == std::vector<double>{4, 5});
  CHECK(t.call("relax.run.shape_to_tensor", {Value::of_shape({})})->as_tensor().shape() ==
        std::vector<std::int64_t>{0});
}

TEST_CASE("calls with a shape unpacked, and debug functions") {
  Builtins t;
  Value add = t.program->find_function("test.add");
  CHECK(t.call("vm.builtin.call_tir_dyn", {add, Value::of_shape({3, 4})})->as_int() == 7);
  CHECK(t.call("vm.builtin.call_tir_dyn", {add, I(10), Value::of_shape({3})})->as_int() == 13);
  CHECK_FALSE(t.call("vm.builtin.call_tir_dyn", {add, I(10)}).ok());
  std::string seen;
  t.registry.register_function("my.debug", [&](PackedArgs a) -> Result<Value> {
    seen = a[0].as_string() + "/" + std::to_string(a.size());
    return Value();
  });
  CHECK(t.call("vm.builtin.invoke_debug_func", {I(0), S("my.debug"), S("f.py:3"), I(1)}).ok());
  CHECK(seen == "f.py:3/2");
  CHECK(t.error("vm.builtin.invoke_debug_func", {I(0), S("my.debg"), S("f.py:3")}).find("Cannot find") == 0);
}

TEST_CASE("values of algebraic data types, shapes of Relay") {
  Builtins t;
  const Value nil = t.call("rldb.adt.make", {S("Nil")}).value();
  const Value list = t.call("rldb.adt.make", {S("Cons"), I(7), nil}).value();
  CHECK(runtime::format_brief(list) == runtime::format_brief(Value::of_tuple({S("Cons"), I(7), nil})));
  CHECK(t.call("rldb.adt.is", {list, S("Cons")})->as_int() == 1);
  CHECK(t.call("rldb.adt.is", {nil, S("Cons")})->as_int() == 0);
  CHECK(t.call("rldb.adt.field", {list, I(0)})->as_int() == 7);
  CHECK(t.error("rldb.adt.field", {list, I(2)}).find("field 2 of `Cons`, which has 2") != std::string::npos);
  CHECK(t.error("rldb.adt.is", {Value::of_tuple({I(1)}), S("Nil")}).find("argument 0") != std::string::npos);
  CHECK(t.error("rldb.adt.no_match", {nil}).find("no arm") != std::string::npos);

  const Value reference = t.call("rldb.ref.make", {I(3)}).value();
  const Value alias = reference;
  CHECK(t.call("rldb.ref.write", {reference, I(4)})->as_tuple().fields.empty());
  CHECK(t.call("rldb.ref.read", {alias})->as_int() == 4);
  CHECK(t.error("rldb.ref.read", {list}).find("argument 0 must be a reference") != std::string::npos);
  CHECK(t.error("rldb.ref.write", {list, I(1)}).find("argument 0 must be a reference") != std::string::npos);

  const auto shape = [](std::vector<std::int64_t> dims) { return Value::of_shape(std::move(dims)); };
  CHECK(t.call("rldb.relay.broadcast_shape", {shape({3, 1}), shape({2}), shape({1, 1, 1})})->as_shape() ==
        std::vector<std::int64_t>{1, 3, 2});
  CHECK(t.call("rldb.relay.broadcast_shape", {shape({0}), shape({1})})->as_shape() == std::vector<std::int64_t>{0});
  CHECK(t.error("rldb.relay.broadcast_shape", {shape({3}), shape({2})}).find("3 and 2") != std::string::npos);
  CHECK(t.call("rldb.relay.reshaped_shape", {shape({2, 6}), tensor_i64({3}, {0, -1, 3})})->as_shape() ==
        std::vector<std::int64_t>{2, 2, 3});
  CHECK_FALSE(t.call("rldb.relay.reshaped_shape", {shape({2, 6}), tensor_i64({1}, {5})}).ok());
  CHECK_FALSE(t.call("rldb.relay.reshaped_shape", {shape({2, 6}), tensor_i64({2}, {-1, -1})}).ok());
}

TEST_CASE("every builtin survives wrong arguments") {
  Builtins t;
  std::vector<Value> samples = {Value(),
                                I(0),
                                I(-1),
                                I(1LL << 62),
                                Value::of_float(0.5),
                                S("x"),
                                Value::of_shape({2}),
                                Value::of_shape({-1, 1LL << 62}),
                                D(DType::Float(32)),
                                tensor_f32({2}),
                                tensor_i64({1}, {7}),
                                Value::of_tuple({I(1)}),
                                t.program->find_function("test.fail")};
  std::uint32_t seed = 1;
  auto pick = [&] {
    seed = seed * 1664525 + 1013904223;
    return samples[(seed >> 8) % samples.size()];
  };
  std::size_t good = 0, bad = 0;
  for (const bytecode::BuiltinInfo& row : bytecode::builtins()) {
    for (int round = 0; round < 400; ++round) {
      std::vector<Value> args;
      for (int i = 0; i < round % 9; ++i) args.push_back(pick());
      auto r = t.call(std::string(row.name).c_str(), args);
      r.ok() ? ++good : ++bad;
    }
  }
  CHECK(good > 0);
  CHECK(bad > good);
}
