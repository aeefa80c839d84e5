// The process-wide maker of Relay VM programs.
#include "rldb/session/relay_machine.h"

#include <fmt/format.h>

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

std::string RelayHistory::name(std::size_t version) const {
  return fmt::format("version {} ({})", version, version == 0 ? "loaded" : versions[version].pass);
}

namespace {

// The build of a Relay VM program; null: another kind of program, or none.
std::shared_ptr<const Build> present(Session& session) {
  Diagnostics ignored;
  if (!session.has_executable() || !relay_machine()) return nullptr;
  auto build = session.viewable(ignored);
  return build && is_on_relay_machine(*build) ? build : nullptr;
}

}  // namespace

const RelayHistory* relay_history(Session& session) {
  const auto build = present(session);
  return build ? relay_machine()->history(*build) : nullptr;
}

bool set_relay_history(Session& session, RelayHistory history, Diagnostics& out) {
  const auto build = present(session);
  auto made = build ? relay_machine()->with_history(session, *build, std::move(history), out) : nullptr;
  if (!made) return false;
  Session::Snapshot next = session.snapshot();
  next.loaded_executable = made->executable;
  next.build = std::move(made);
  session.restore(std::move(next));
  return true;
}

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
