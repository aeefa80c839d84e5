// The dispatch loop and the instructions that take more than a line.
#pragma once

#include "rldb/relay/vm/machine.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::relay_vm {

class Interpreter {
 public:
  // The state of a relay_vm::Machine, or of a vm::Machine that runs a Relay program.
  using State = vm::MachineState;
  Interpreter(const Program& program, State state) : m_(state), program_(program) {}

  // Executes at most `budget` instructions, up to the next one of `stops` (may be null).
  Outcome run(const StopSet* stops, std::uint64_t budget);

  void push_frame(FunctionIndex function, RegName return_register);
  // `instead`: in place of the innermost frame.
  Result<support::Unit> room_for(FunctionIndex function, bool instead) const;
  Outcome fault(runtime::Error error);

 private:
  // The outcome of an instruction: continue, or the run is over.
  using Done = Result<support::Unit>;
  Done execute(const Program::Code& code);
  // Instructions without control flow; returns the value of their register.
  Result<Value> compute(const relay_bytecode::Instruction& i);
  Done call(FunctionIndex function, std::vector<Value> args, const Program::Code& code);
  Done invoke(const Program::Code& code);
  Done invoke_closure(const Program::Code& code);
  Done invoke_packed(const relay_bytecode::Instruction& i);
  Done branch(const relay_bytecode::Instruction& i);
  void give_back(Value result);
  Result<Value> alloc_storage(const relay_bytecode::Instruction& i);
  Result<Value> alloc_tensor(const relay_bytecode::Instruction& i);
  Result<Value> alloc_tensor_reg(const relay_bytecode::Instruction& i);
  Result<Value> get_field(const relay_bytecode::Instruction& i);
  Result<Value> get_tag(const relay_bytecode::Instruction& i);
  Result<Value> shape_of(const relay_bytecode::Instruction& i);
  Result<Value> reshape(const relay_bytecode::Instruction& i);
  Result<Value> copy(const relay_bytecode::Instruction& i);

  Value& reg(RegName r) { return m_.registers[m_.frames.back().base + std::size_t(r)]; }
  std::vector<Value> list(std::span<const relay_bytecode::Word> registers);
  Result<const runtime::Tensor*> tensor(RegName r);
  Result<const runtime::Tensor*> host_tensor(RegName r);
  Result<std::int64_t> scalar(RegName r);
  Result<std::vector<std::int64_t>> dims(RegName r);
  Result<Value> view(RegName storage, RegName offset, std::vector<std::int64_t> shape, runtime::DType dtype);

  State m_;
  const Program& program_;
  std::optional<Value> result_;  // the outermost frame has returned
};

}  // namespace rldb::relay_vm
