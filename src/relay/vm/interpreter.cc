// The dispatch loop. Nothing here recurses: calls push frames. An instruction either completes and is counted, or
// leaves the machine unchanged.
#include "relay/vm/interpreter.h"

#include <fmt/format.h>

#include "rldb/runtime/copy.h"
#include "rldb/support/check.h"
#include "rldb/support/take_cancel.h"
#include "rldb/support/text.h"

namespace rldb::relay_vm {

using relay_bytecode::Instruction;
using relay_bytecode::Opcode;
using relay_bytecode::Word;
using runtime::DType;
using runtime::ErrorKind;
using runtime::ValueKind;

void Interpreter::push_frame(FunctionIndex function, RegName return_register) {
  const relay_bytecode::FunctionEntry& f = program_.executable().functions[std::size_t(function)];
  Frame frame;
  frame.function = function;
  frame.pc = f.start;
  frame.base = m_.registers.size();
  frame.size = std::size_t(f.register_file_size);
  frame.return_register = return_register;
  frame.entered = m_.instructions;
  m_.registers.resize(frame.base + frame.size);
  m_.frames.push_back(frame);
}

Result<support::Unit> Interpreter::room_for(FunctionIndex function, bool instead) const {
  const relay_bytecode::FunctionEntry& f = program_.executable().functions[std::size_t(function)];
  const std::size_t frames = m_.frames.size() - (instead ? 1 : 0);
  const std::size_t registers = m_.registers.size() - (instead ? m_.frames.back().size : 0);
  if (frames < m_.limits.max_frames && registers + std::size_t(f.register_file_size) <= m_.limits.max_registers)
    return support::Unit{};
  return support::Failure(vm::stack_overflow(m_.frames.size(), f.name, m_.limits));
}

Outcome Interpreter::fault(runtime::Error error) {
  Fault f;
  f.error = std::move(error);
  if (!m_.frames.empty()) {
    f.function = m_.frames.back().function;
    f.function_name = program_.executable().functions[std::size_t(f.function)].name;
    f.pc = m_.frames.back().pc;
    f.instruction = relay_bytecode::instruction_text(program_.executable(), f.pc);
  }
  m_.fault = f;
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = std::move(f);
  return o;
}

Outcome Interpreter::run(const StopSet* stops, std::uint64_t budget) {
  const auto stopped = [&](StopReason reason) {
    m_.at_stop = reason == StopReason::Hook;
    Outcome o;
    o.kind = Outcome::Kind::Stopped;
    o.reason = reason;
    return o;
  };
  const std::uint64_t limit = m_.limits.max_instructions;
  bool ask = !m_.at_stop;
  m_.at_stop = false;
  for (;; ++m_.instructions, --budget) {
    if (budget == 0) return stopped(StopReason::Stepped);
    const Program::Code& code = program_.code_[std::size_t(m_.frames.back().pc)];
    if (stops && ask && stops->test(m_.frames.back().pc)) return stopped(StopReason::Hook);
    ask = true;
    if (limit > 0 && m_.instructions >= limit)
      return fault({ErrorKind::TooLong, fmt::format("the run is over its limit of {} instructions", limit), {}});
    const Opcode op = code.instruction.op;
    if (op == Opcode::Invoke || op == Opcode::InvokeClosure || op == Opcode::InvokePacked || op == Opcode::Goto) {
      std::atomic<bool>* flag = program_.env_.interrupt;
      if (flag && flag->load(std::memory_order_relaxed)) {
        (void)support::take_cancel(*flag);
        return stopped(StopReason::Interrupted);
      }
    }
    Done done = execute(code);
    if (!done.ok()) return fault(std::move(done).error());
    if (result_) {
      ++m_.instructions;
      Outcome o;
      o.value = *std::move(result_);
      return o;
    }
  }
}

Interpreter::Done Interpreter::execute(const Program::Code& code) {
  const Instruction& i = code.instruction;
  switch (i.op) {
    case Opcode::Ret:
      give_back(reg(i.regs[0]));
      return support::Unit{};
    case Opcode::Invoke:
      return invoke(code);
    case Opcode::InvokeClosure:
      return invoke_closure(code);
    case Opcode::If:
      return branch(i);
    case Opcode::Goto:
      m_.frames.back().pc += i.numbers[0];
      return support::Unit{};
    case Opcode::Fatal:
      return runtime::fail(ErrorKind::AssertFailed, "the program fell out of a `match?`: VM encountered fatal error");
    case Opcode::InvokePacked: {
      RLDB_TRY_VOID(invoke_packed(i));
      break;
    }
    case Opcode::Move:
    case Opcode::KillRegister:
#define RLDB_RELAY_VALUE(Id, ...) case Opcode::Id:
#include "rldb/relay/vm/opcode.def"
    {
      RLDB_TRY(Value made, compute(i));
      reg(i.dst) = std::move(made);
      break;
    }
  }
  ++m_.frames.back().pc;
  return support::Unit{};
}

Result<Value> Interpreter::compute(const Instruction& i) {
  switch (i.op) {
    case Opcode::Move:
      return reg(i.regs[0]);
    case Opcode::AllocTensor:
      return alloc_tensor(i);
    case Opcode::AllocTensorReg:
      return alloc_tensor_reg(i);
    case Opcode::AllocADT:
      return make_adt(std::int32_t(i.numbers[0]), list(i.list), program_.constructors_);
    case Opcode::AllocClosure:
      return program_.closure(FunctionIndex(i.numbers[0]), list(i.list));
    case Opcode::GetField:
      return get_field(i);
    case Opcode::LoadConst:
      return program_.constants_[std::size_t(i.numbers[0])];
    case Opcode::GetTag:
      return get_tag(i);
    case Opcode::LoadConsti: {
      RLDB_TRY(auto made, runtime::Tensor::empty({1}, DType::Int(64)));
      runtime::store_int(made->data(), made->dtype(), i.numbers[0]);
      return Value(made);
    }
    case Opcode::AllocStorage:
      return alloc_storage(i);
    case Opcode::ShapeOf:
      return shape_of(i);
    case Opcode::ReshapeTensor:
      return reshape(i);
    case Opcode::DeviceCopy:
      return copy(i);
    case Opcode::KillRegister:
      return Value();
    case Opcode::Ret:
    case Opcode::Invoke:
    case Opcode::InvokeClosure:
    case Opcode::InvokePacked:
    case Opcode::If:
    case Opcode::Goto:
    case Opcode::Fatal:
      break;
  }
  RLDB_UNREACHABLE("an instruction of control");
}

void Interpreter::give_back(Value result) {
  const RegName to = m_.frames.back().return_register;
  m_.registers.resize(m_.frames.back().base);
  m_.frames.pop_back();
  if (m_.frames.empty()) {
    result_ = std::move(result);
    return;
  }
  reg(to) = std::move(result);
  ++m_.frames.back().pc;
}

std::vector<Value> Interpreter::list(std::span<const Word> registers) {
  std::vector<Value> values;
  values.reserve(registers.size());
  for (const Word r : registers) values.push_back(reg(RegName(r)));
  return values;
}

Interpreter::Done Interpreter::call(FunctionIndex function, std::vector<Value> args, const Program::Code& code) {
  const relay_bytecode::FunctionEntry& f = program_.executable().functions[std::size_t(function)];
  if (args.size() != f.params.size())
    return runtime::fail(
        ErrorKind::ArgumentCount,
        fmt::format("`{}` takes {}, {} given", f.name, support::counted(f.params.size(), "argument"), args.size()));
  RLDB_TRY_VOID(room_for(function, code.tail));
  RegName return_register = code.instruction.dst;
  if (code.tail) {
    // The frame would only pass on the result: the new one replaces it.
    return_register = m_.frames.back().return_register;
    m_.registers.resize(m_.frames.back().base);
    m_.frames.pop_back();
  }
  push_frame(function, return_register);
  std::move(args.begin(), args.end(), m_.registers.begin() + std::ptrdiff_t(m_.frames.back().base));
  return support::Unit{};
}

Interpreter::Done Interpreter::invoke(const Program::Code& code) {
  return call(FunctionIndex(code.instruction.numbers[0]), list(code.instruction.list), code);
}

Interpreter::Done Interpreter::invoke_closure(const Program::Code& code) {
  const Value closure = reg(code.instruction.regs[0]);
  if (!closure.is(ValueKind::Function))
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("cannot call a {}: it is not a closure", to_string(closure.kind())));
  const runtime::Function& f = closure.as_function();
  if (f.bytecode_index < 0 || std::size_t(f.bytecode_index) >= program_.executable().functions.size())
    return runtime::fail(ErrorKind::UnknownFunction, fmt::format("function `{}` is not part of this program", f.name));
  std::vector<Value> args = f.captured;
  for (const Word r : code.instruction.list) args.push_back(reg(RegName(r)));
  return call(FunctionIndex(f.bytecode_index), std::move(args), code);
}

Interpreter::Done Interpreter::invoke_packed(const Instruction& i) {
  const std::string& name = program_.executable().primitives[std::size_t(i.numbers[0])];
  const Primitive* primitive = program_.primitives_[std::size_t(i.numbers[0])];
  if (!primitive)
    return runtime::fail(ErrorKind::UnknownFunction, fmt::format("there is no code for the primitive `{}`", name));
  // A tuple is passed as its fields.
  std::vector<Value> args;
  std::size_t outputs = 0;
  for (std::size_t a = 0; a < i.list.size(); ++a) {
    const Value& v = reg(i.list_register(a));
    const std::size_t before = args.size();
    if (v.is(ValueKind::Tuple))
      args.insert(args.end(), v.as_tuple().fields.begin(), v.as_tuple().fields.end());
    else
      args.push_back(v);
    if (a >= i.list.size() - std::size_t(i.numbers[1])) outputs += args.size() - before;
  }
  for (const Value& v : args)
    if (!v.is(ValueKind::Tensor))
      return runtime::fail(ErrorKind::TypeMismatch,
                           fmt::format("`{}` takes tensors, but was given a {}", name, to_string(v.kind())));
  const PackedArgs all(args);
  if (const std::string differ = runtime::devices_differ(all); !differ.empty())
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("`{}`: {}", name, differ));
  const PackedArgs out = all.last(outputs);
  if (out.size() == 1 && out[0].as_tensor().element_count() == 0) return support::Unit{};
  return (*primitive)(all.first(all.size() - outputs), out);
}

Interpreter::Done Interpreter::branch(const Instruction& i) {
  RLDB_TRY(const std::int64_t test, scalar(i.regs[0]));
  RLDB_TRY(const std::int64_t target, scalar(i.regs[1]));
  m_.frames.back().pc += std::int32_t(test) == std::int32_t(target) ? i.numbers[0] : i.numbers[1];
  return support::Unit{};
}

Result<const runtime::Tensor*> Interpreter::tensor(RegName r) {
  const Value& v = reg(r);
  if (v.is(ValueKind::Tensor)) return &v.as_tensor();
  return runtime::fail(ErrorKind::TypeMismatch, fmt::format("${} is a {}, not a tensor", r, to_string(v.kind())));
}

// Numbers that the machine itself reads.
Result<const runtime::Tensor*> Interpreter::host_tensor(RegName r) {
  RLDB_TRY(const runtime::Tensor* t, tensor(r));
  if (t->device().is_host()) return t;
  return runtime::fail(ErrorKind::TypeMismatch,
                       fmt::format("${} is on {}, and the machine reads it on the host", r, to_string(t->device())));
}

Result<std::int64_t> Interpreter::scalar(RegName r) {
  RLDB_TRY(const runtime::Tensor* t, host_tensor(r));
  if (!t->dtype().is_integral() || t->dtype().lanes != 1 || t->element_count() < 1)
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("${} is {}, not an integer", r, runtime::describe(reg(r))));
  return runtime::load_as_int(t->peek(), t->dtype());
}

Result<std::vector<std::int64_t>> Interpreter::dims(RegName r) {
  RLDB_TRY(const runtime::Tensor* t, host_tensor(r));
  if (!t->dtype().is_int() || t->dtype().lanes != 1 || t->dtype().bits < 32 || t->ndim() > 1)
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("${} is {}, not a shape", r, runtime::describe(reg(r))));
  std::vector<std::int64_t> out;
  if (t->ndim() == 0) return out;  // the shape of a scalar
  for (std::int64_t d = 0; d < t->element_count(); ++d)
    out.push_back(runtime::load_as_int(t->peek() + std::size_t(d) * t->dtype().bytes(), t->dtype()));
  return out;
}

Result<Value> Interpreter::view(RegName storage, RegName offset, std::vector<std::int64_t> shape, DType dtype) {
  const Value& block = reg(storage);
  if (!block.is(ValueKind::Storage))
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("${} is a {}, not storage", storage, to_string(block.kind())));
  RLDB_TRY(const std::int64_t at, scalar(offset));
  if (at < 0) return runtime::fail(ErrorKind::OutOfBounds, fmt::format("offset {} into storage", at));
  RLDB_TRY(auto made, runtime::Tensor::view(block.storage_ref(), std::size_t(at), std::move(shape), dtype));
  return Value(made);
}

Result<Value> Interpreter::alloc_storage(const Instruction& i) {
  const runtime::Device device = program_.device(i.numbers[1]);
  if (i.has_shape()) {
    // The same size checks as for a tensor.
    RLDB_TRY(auto t, runtime::Tensor::empty({i.list.begin(), i.list.end()}, i.dtype, device));
    return Value(t->storage());
  }
  RLDB_TRY(const std::int64_t size, scalar(i.regs[0]));
  if (size < 0) return runtime::fail(ErrorKind::OutOfMemory, fmt::format("storage of {} bytes", size));
  RLDB_TRY(auto made, runtime::Storage::allocate(std::size_t(size), device));
  return Value(made);
}

Result<Value> Interpreter::alloc_tensor(const Instruction& i) {
  return view(i.regs[0], i.regs[1], {i.list.begin(), i.list.end()}, i.dtype);
}

Result<Value> Interpreter::alloc_tensor_reg(const Instruction& i) {
  RLDB_TRY(std::vector<std::int64_t> shape, dims(i.regs[2]));
  return view(i.regs[0], i.regs[1], std::move(shape), i.dtype);
}

Result<Value> Interpreter::get_field(const Instruction& i) {
  const Value& v = reg(i.regs[0]);
  if (!v.is(ValueKind::Tuple))
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("${} is a {}, which has no fields", i.regs[0], to_string(v.kind())));
  const std::vector<Value>& fields = v.as_tuple().fields;
  if (std::size_t(i.numbers[0]) >= fields.size())
    return runtime::fail(ErrorKind::OutOfBounds,
                         fmt::format("field {} of a value of {} fields", i.numbers[0], fields.size()));
  return fields[std::size_t(i.numbers[0])];
}

Result<Value> Interpreter::get_tag(const Instruction& i) {
  const auto tag = tag_of(reg(i.regs[0]));
  if (!tag)
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("${} is a {}, which has no tag", i.regs[0], to_string(reg(i.regs[0]).kind())));
  RLDB_TRY(auto made, runtime::Tensor::empty({1}, DType::Int(32)));
  runtime::store_int(made->data(), made->dtype(), *tag);
  return Value(made);
}

Result<Value> Interpreter::shape_of(const Instruction& i) {
  RLDB_TRY(const runtime::Tensor* t, tensor(i.regs[0]));
  RLDB_TRY(auto made, runtime::Tensor::empty({t->ndim()}, DType::Int(64)));
  for (int d = 0; d < t->ndim(); ++d)
    runtime::store_int(made->data() + std::size_t(d) * 8, made->dtype(), t->shape()[std::size_t(d)]);
  return Value(made);
}

Result<Value> Interpreter::reshape(const Instruction& i) {
  RLDB_TRY(const runtime::Tensor* t, tensor(i.regs[0]));
  RLDB_TRY(std::vector<std::int64_t> shape, dims(i.regs[1]));
  RLDB_TRY(auto made, runtime::Tensor::view(t->storage(), t->byte_offset(), shape, t->dtype()));
  if (made->element_count() != t->element_count())
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("{} elements cannot take a shape of {}",
                                                               t->element_count(), made->element_count()));
  return Value(made);
}

// A copy is made also from a device to itself.
Result<Value> Interpreter::copy(const Instruction& i) {
  RLDB_TRY(const runtime::Tensor* t, tensor(i.regs[0]));
  const runtime::Device from = program_.device(i.numbers[0]), to = program_.device(i.numbers[1]);
  if (!(t->device() == from))
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("${} is on {}, and is to be copied from {}", i.regs[0],
                                                              to_string(t->device()), to_string(from)));
  return from == to ? runtime::copy_of(reg(i.regs[0])) : runtime::on_device(reg(i.regs[0]), to);
}

}  // namespace rldb::relay_vm
