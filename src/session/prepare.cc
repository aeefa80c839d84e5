// Which kernels a program calls, from its code.
#include "rldb/session/prepare.h"

#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/vm/instruction_set.h"
#include "rldb/vm/program.h"

namespace rldb::session {

void prepare_kernels(const Build& build, std::string_view function) {
  if (vm::instructions_of(*build.program)) return;  // another machine's code; its kernels are compiled when they run
  const runtime::KernelTable* kernels = build.program->environment().kernels;
  if (!kernels) return;
  std::vector<bool> called(build.executable->functions.size(), false);
  for (bytecode::Pc pc = 0; pc < build.executable->end(); ++pc)
    if (const bytecode::Instruction i = build.executable->instruction(pc); i.op == bytecode::Opcode::Call)
      called[std::size_t(i.callee)] = true;
  for (std::size_t f = 0; f < called.size(); ++f)
    if (const std::string& name = build.executable->functions[f].name; called[f] || name == function)
      if (runtime::Kernel* kernel = kernels->find(name)) kernel->prepare();
  if (runtime::Kernel* kernel = kernels->find(function)) kernel->prepare();
}

}  // namespace rldb::session
