// InstructionSet: the interface through which a machine runs another machine's program.
//
// The state of a run (frames, registers, time, fault) is vm::Machine's whatever it executes, so that a debugger, which
// steps and inspects, knows one machine. A Program that is linked with an instruction set has an executable that is a
// map of the code: its functions, one instruction for each of the other machine's at the same pc, the registers that it
// reads and writes, debug info, and the text of each instruction (bytecode::text_note). The effect of an instruction is
// defined here. Implemented by relay/vm and attach; used by vm::Machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rldb/vm/machine.h"

namespace rldb::vm {

// The parts of a machine that an instruction changes.
struct MachineState {
  const Limits& limits;
  std::vector<Frame>& frames;
  std::vector<Value>& registers;
  std::uint64_t& instructions;
  std::optional<Fault>& fault;
  bool& at_stop;
};

class InstructionSet {
 public:
  virtual ~InstructionSet() = default;
  // Runs at most `budget` instructions, to the next one of `stops` (may be null). Frames and pcs are those of the
  // executable.
  virtual Outcome run(MachineState state, const StopSet* stops, std::uint64_t budget) const = 0;
  // Puts the arguments of a run on the devices where the function expects them.
  virtual Result<support::Unit> place_arguments(FunctionIndex function, std::span<Value> args) const = 0;
  // Replaces the values by copies that share no mutable state with them; aliases stay aliases.
  virtual Result<support::Unit> copy(std::vector<Value>& values) const = 0;
  // Does what an instruction calls leave the contents of what it is given as they are? For answers about writes.
  virtual bool leaves_arguments(std::string_view) const { return false; }
  // Does it allocate memory for tensors?
  virtual bool allocates(std::string_view) const { return false; }
  // The program runs in another process (attach): a machine only shows it, and may have no frames while it waits for
  // one. Nothing of it can be changed, and there is no way back.
  virtual bool is_foreign() const { return false; }
  // Of a foreign program: every thread stops there, not only the one that is shown.
  virtual void stop_every_thread_at(const StopSet&) const {}
  // The run is over: the process goes on alone.
  virtual void leave() const {}
  // Bytes of tensor data that `copy` would copy.
  virtual std::size_t copied_bytes(std::span<const Value> values) const = 0;
};

// Program::link for another machine's program.
Result<std::shared_ptr<const Program>> link_other(std::shared_ptr<const bytecode::Executable> map, Environment env,
                                                  std::shared_ptr<const InstructionSet> instructions);
// Null: the program is the Relax VM's.
const InstructionSet* instructions_of(const Program& program);
// The instruction set of a foreign program; null: it runs here.
const InstructionSet* foreign_program(const Program& program);

}  // namespace rldb::vm
