// Copies, conditions, tuples, closures and calls through values.
#include "vm/builtins/args.h"

namespace rldb::vm {

Result<Value> builtin_Copy(const CallSite&, PackedArgs args) {
  RLDB_ARGS(Copy);
  return a[0];
}

Result<Value> builtin_ReadIfCond(const CallSite&, PackedArgs args) {
  RLDB_ARGS(ReadIfCond);
  if (a[0].is(ValueKind::Bool) || a[0].is(ValueKind::Int)) return Value::of_int(a[0].as_int() != 0);
  RLDB_TRY(runtime::Tensor * t, a.tensor(0));
  if (t->ndim() != 0 || !t->dtype().is_integral() || t->dtype().lanes != 1)
    return a.wrong(0, "a bool or a 0-d integer tensor");
  return Value::of_int(load_as_int(t->peek(), t->dtype()) != 0);
}

// ---- tuples ----

Result<Value> builtin_MakeTuple(const CallSite&, PackedArgs args) {
  return Value::of_tuple(std::vector<Value>(args.begin(), args.end()));
}

namespace {

Result<Value*> field(const Args& a) {
  RLDB_TRY(runtime::Tuple * t, a.tuple(0));
  RLDB_TRY(std::int64_t i, a.integer(1));
  if (i < 0 || std::uint64_t(i) >= t->fields.size())
    return a.fail(ErrorKind::OutOfBounds, fmt::format("field {} of a tuple of {}", i, t->fields.size()));
  return &t->fields[std::size_t(i)];
}

}  // namespace

Result<Value> builtin_TupleGetItem(const CallSite&, PackedArgs args) {
  RLDB_ARGS(TupleGetItem);
  RLDB_TRY(Value * f, field(a));
  return *f;
}

Result<Value> builtin_TupleResetItem(const CallSite&, PackedArgs args) {
  RLDB_ARGS(TupleResetItem);
  RLDB_TRY(Value * f, field(a));
  *f = Value();
  return Value();
}

// ---- closures and calls ----

Result<Value> builtin_MakeClosure(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(MakeClosure);
  // By value, or by name as TVM's first codegen wrote it.
  if (a[0].is(ValueKind::String)) {
    Value f = site.program.find_function(a[0].as_string());
    if (f.is_null()) return support::Failure(unknown_function(site.program, a[0].as_string()));
    return Value(make_closure(f.as_function(), a.from(1)));
  }
  RLDB_TRY(runtime::Function * f, a.function(0));
  return Value(make_closure(*f, a.from(1)));
}

namespace {

// A call through a value where no frame can be pushed: from C++, nested.
Result<Value> invoke_value(const CallSite& site, const Args& a, std::size_t callable, std::vector<Value> arguments) {
  RLDB_TRY(runtime::Function * f, a.function(callable));
  if (own_bytecode(site.program, *f) >= 0) return site.program.invoke(a[callable], arguments);
  arguments.insert(arguments.end(), f->captured.begin(), f->captured.end());
  if (!f->native) return a.wrong(callable, "a function of this program");
  return f->native(arguments);
}

}  // namespace

// The interpreter calls bytecode by itself (Op::InvokeClosure); this is `f["vm.builtin.invoke_closure"]` as a value.
Result<Value> builtin_InvokeClosure(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(InvokeClosure);
  PackedArgs rest = a.from(2);
  return invoke_value(site, a, 1, {rest.begin(), rest.end()});
}

Result<Value> builtin_CallTirDyn(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(CallTirDyn);
  RLDB_TRY(auto* shape, a.shape(a.size() - 1));
  PackedArgs given = a.from(1).first(a.size() - 2);
  std::vector<Value> arguments(given.begin(), given.end());
  for (std::int64_t d : *shape) arguments.push_back(Value::of_int(d));
  return invoke_value(site, a, 0, std::move(arguments));
}

Result<Value> builtin_InvokeDebugFunc(const CallSite& site, PackedArgs args) {
  RLDB_ARGS(InvokeDebugFunc);
  if (!a[1].is(ValueKind::String)) return a.wrong(1, "a function name");
  Value f = site.program.find_function(a[1].as_string());
  if (f.is_null()) return support::Failure(unknown_function(site.program, a[1].as_string()));
  RLDB_TRY_VOID(site.program.invoke(f, a.from(2)));
  return a[0];  // the io effect is passed on
}

}  // namespace rldb::vm
