// The process' maker of Relay VM programs.
#include "rldb/session/relay_machine.h"

#include "rldb/support/check.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::session {

namespace {

std::shared_ptr<RelayMachine>& the_machine() {
  static std::shared_ptr<RelayMachine> machine;
  return machine;
}

}  // namespace

void set_relay_machine(std::shared_ptr<RelayMachine> machine) { the_machine() = std::move(machine); }

RelayMachine* relay_machine() { return the_machine().get(); }

bool is_on_relay_machine(const Build& build) { return build.program && vm::instructions_of(*build.program) != nullptr; }

std::string_view to_string(Machine machine) {
  switch (machine) {
    case Machine::Relax:
      return "relax";
    case Machine::Relay:
      return "relay";
  }
  RLDB_UNREACHABLE("machine");
}

}  // namespace rldb::session
