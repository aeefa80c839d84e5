// RelayMachine: who makes programs of the Relay VM, for sessions that compile for the Relax VM only.
//
// What it makes is a Build whose program is linked with the Relay VM's instruction set (vm/instruction_set.h), so that
// it runs, stops and is stepped as any other; it has no module. There is one for the process, given by whoever opens
// programs (ui) and made by relay/run. Without one, Relay text is translated to Relax, and files of the Relay VM are
// refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::session {

// What Relay text is loaded for.
enum class Machine : std::uint8_t {
  Relax,  // translated to Relax, with all that there is for it
  Relay,  // compiled for the Relay VM
};
std::string_view to_string(Machine machine);

class RelayMachine {
 public:
  virtual ~RelayMachine() = default;
  // Is this a file of the Relay VM? Those of the Relax VM begin with the same magic number.
  virtual bool is_executable(std::string_view bytes) const = 0;
  // With the engine that the session's options name. Null: diagnosed.
  virtual std::shared_ptr<const Build> open(Session& session, const std::string& path, const std::string& bytes,
                                            Diagnostics& out) = 0;
  virtual std::shared_ptr<const Build> compile(Session& session, source::FileId file, Diagnostics& out) = 0;
  // The argument for a parameter of what it made, from what was given for it (null: nothing; one is made up).
  virtual runtime::Result<runtime::Value> argument(const Build& build, const Options& options,
                                                   std::string_view function, std::size_t parameter,
                                                   const runtime::Value& given) const = 0;

  Machine wanted = Machine::Relax;  // `:set machine`
};

void set_relay_machine(std::shared_ptr<RelayMachine> machine);
RelayMachine* relay_machine();  // null: none
bool is_on_relay_machine(const Build& build);

}  // namespace rldb::session
