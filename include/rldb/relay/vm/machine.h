// The Relay VM: a program made ready to run, and the state of one run as plain data.
//
// On the same footing as the machine of Relax (vm/machine.h), whose frames, stop sets, limits, faults and outcomes it
// shares: copying a Machine clones the run, `snapshot` copies tensor data too; a call pushes a frame and uses no C++
// stack; an instruction completes and counts, or leaves the machine unchanged. A call in tail position
// replaces the caller's frame, so that a loop written as recursion runs in constant memory.
// Users: session, ui, debug, tests.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "rldb/relay/vm/object.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::relay_vm {

using bytecode::FunctionIndex;
using bytecode::Pc;
using bytecode::RegName;
using runtime::PackedArgs;
using runtime::Result;
using vm::Fault;
using vm::Frame;
using vm::Limits;
using vm::Outcome;
using vm::StopReason;
using vm::StopSet;

// A primitive: reads its inputs, writes its outputs, which are already tensors of the right shape.
using Primitive = std::function<Result<support::Unit>(PackedArgs inputs, PackedArgs outputs)>;

class PrimitiveTable {
 public:
  void set(std::string name, Primitive f) { primitives_[std::move(name)] = std::move(f); }
  const Primitive* find(std::string_view name) const;
  // Called for names that are not in the table; the result is kept. An empty function: not known.
  void set_fallback(std::function<Primitive(std::string_view)> f) { fallback_ = std::move(f); }

 private:
  mutable std::map<std::string, Primitive, std::less<>> primitives_;
  std::function<Primitive(std::string_view)> fallback_;
};

struct Environment {
  const PrimitiveTable* primitives = nullptr;  // outlives the Program
  std::map<std::string, Value> late_constants;
  std::atomic<bool>* interrupt = nullptr;  // checked before the next call or backward jump
  // By the numbers of the executable's table; none: those that it names.
  runtime::DeviceList devices;
  bool tail_calls = true;  // false: every call keeps its frame, which a debugger may need
};

class Program {
 public:
  // Verifies; resolves primitives once (a missing one faults when it is called); binds late constants.
  static Result<std::shared_ptr<const Program>> link(std::shared_ptr<const relay_bytecode::Executable> exe,
                                                     Environment env);
  const relay_bytecode::Executable& executable() const { return *exe_; }
  const Environment& environment() const { return env_; }
  const std::vector<Value>& constants() const { return constants_; }
  std::vector<std::string_view> unresolved() const;
  // That an instruction's number stands for.
  runtime::Device device(std::int64_t number) const;
  // Puts the arguments of a run where the function expects them.
  Result<support::Unit> place_arguments(FunctionIndex function, std::span<Value> args) const;
  // A function as a value: a closure that captures nothing.
  Value function_value(FunctionIndex function) const;
  Value closure(FunctionIndex function, std::vector<Value> captured) const;

 private:
  friend class Machine;
  friend class Interpreter;
  struct Code {
    relay_bytecode::Instruction instruction;
    bool tail = false;  // a call whose result goes to `ret` unchanged
  };
  std::shared_ptr<const relay_bytecode::Executable> exe_;
  Environment env_;
  std::vector<Code> code_;
  std::vector<Value> constants_;
  std::vector<const Primitive*> primitives_;
  std::shared_ptr<const Constructors> constructors_;
};

class Machine {
 public:
  explicit Machine(std::shared_ptr<const Program> program, Limits limits = {});

  // Puts a call on an idle machine; nothing has run yet. Errors: UnknownFunction, ArgumentCount.
  Result<support::Unit> start(std::string_view function, PackedArgs args);
  Result<support::Unit> start(const Value& closure, PackedArgs args);

  // As vm::Machine's: a stop set is not queried for the very instruction that the machine is stopped at.
  Outcome run();
  Outcome run(const StopSet& stops);
  Outcome step(std::uint64_t count = 1);
  Outcome step(std::uint64_t count, const StopSet& stops);

  const Program& program() const { return *program_; }
  const relay_bytecode::Executable& executable() const { return program_->executable(); }
  bool running() const { return !frames_.empty(); }
  std::uint64_t instructions() const { return instructions_; }
  std::span<const Frame> frames() const { return frames_; }  // outermost first
  const Frame& frame() const { return frames_.back(); }
  std::span<const Value> registers(std::size_t frame) const {
    return {registers_.data() + frames_[frame].base, frames_[frame].size};
  }
  const Value* read_register(std::size_t frame, RegName reg) const;  // null: no such register
  bool write_register(std::size_t frame, RegName reg, Value value);
  const std::optional<Fault>& fault() const { return fault_; }
  // Whether the call at the innermost pc would replace its caller's frame.
  bool at_tail_call() const;

  // A copy that shares no tensor data, tuple or closure with this machine but the executable's constants. Aliases stay
  // aliases.
  Result<Machine> snapshot() const;
  std::size_t snapshot_bytes() const;  // of tensor data that a snapshot would copy

 private:
  vm::MachineState state();
  std::shared_ptr<const Program> program_;
  Limits limits_;
  std::vector<Frame> frames_;
  std::vector<Value> registers_;
  std::uint64_t instructions_ = 0;
  std::optional<Fault> fault_;
  bool at_stop_ = false;
};

// Starts and runs to the end on a machine of its own.
Outcome call(const std::shared_ptr<const Program>& program, std::string_view function, PackedArgs args,
             Limits limits = {});

}  // namespace rldb::relay_vm
