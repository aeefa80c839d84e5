// A program of another machine on this one: the same ways to advance it, with its instructions behind an interface.
#include "rldb/vm/instruction_set.h"
#include "vm/interpreter.h"

namespace rldb::vm {

const InstructionSet* foreign_program(const Program& program) {
  const InstructionSet* set = instructions_of(program);
  return set && set->is_foreign() ? set : nullptr;
}

Outcome Interpreter::run_other(Machine& m, const StopSet* stops, std::uint64_t budget) {
  const MachineState state{m.limits_, m.frames_, m.registers_, m.instructions_, m.fault_, m.at_stop_};
  return instructions_of(*m.program_)->run(state, stops, budget);
}

// One instruction at a time, so that the hook sees each that it observes.
Outcome Interpreter::run_other(Machine& m, Hook& hook, const StopSet* stops, const StopSet* observed,
                               std::uint64_t budget) {
  for (; budget > 0; --budget) {
    if (m.frames_.empty()) {  // a foreign program that waits
      Outcome o = run_other(m, stops, 1);
      if (!o.stopped() || o.reason != StopReason::Stepped) return o;
      continue;
    }
    const Pc pc = m.frame().pc;
    const std::size_t depth = m.frames_.size() - 1;
    const bool seen = !observed || observed->test(pc);
    if (!m.at_stop_ && ((stops && stops->test(pc)) || (seen && hook.before_instruction(m))))
      return stopped(m, StopReason::Hook);
    m.at_stop_ = false;
    Outcome o = run_other(m, nullptr, 1);
    if (!o.stopped() || o.reason != StopReason::Stepped) return o;
    if (seen && hook.after_instruction(m, depth, pc)) return stopped(m, StopReason::Stepped);
  }
  return stopped(m, StopReason::Stepped);
}

}  // namespace rldb::vm
