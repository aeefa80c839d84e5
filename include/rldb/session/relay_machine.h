// RelayMachine: the maker of programs of the Relay VM, for sessions, which compile for the Relax VM only.
//
// It makes a Build whose program is linked with the Relay VM's instruction set (vm/instruction_set.h), so that
// it runs, stops and is stepped like any other; it has no module. There is one per process, provided by whoever opens
// programs (ui) and implemented by relay/run. Without one, Relay text is translated to Relax, and files of the Relay VM
// are refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::relay {
struct Module;
}

namespace rldb::session {

// The target that Relay text is loaded for.
enum class Machine : std::uint8_t {
  Relax,  // translated to Relax, with all its facilities
  Relay,  // compiled for the Relay VM
};
std::string_view to_string(Machine machine);

// A version of a Relay program. Version 0 is the text as loaded; each pass of the machine's compiler makes one.
struct RelayVersion {
  std::string pass;                  // empty: as loaded
  std::vector<std::string> changed;  // functions added, removed or changed
  std::uint64_t nanoseconds = 0;
  const relay::Module* module = nullptr;  // the program owns it
};
struct RelayHistory {
  std::vector<RelayVersion> versions;
  std::size_t position = 0;
  std::vector<std::pair<std::string, std::size_t>> bookmarks;
  std::string name(std::size_t version) const;  // `version 2 (FuseOps)`
};

class RelayMachine {
 public:
  virtual ~RelayMachine() = default;
  // Whether this is a file of the Relay VM. Those of the Relax VM begin with the same magic number.
  virtual bool is_executable(std::string_view bytes) const = 0;
  // With the engine selected in the session's options. Null: diagnosed.
  virtual std::shared_ptr<const Build> open(Session& session, const std::string& path, const std::string& bytes,
                                            Diagnostics& out) = 0;
  virtual std::shared_ptr<const Build> compile(Session& session, source::FileId file, Diagnostics& out) = 0;
  // The same program, for the engine selected in the session's options.
  virtual std::shared_ptr<const Build> again(Session& session, const Build& build, Diagnostics& out) = 0;
  // ---- versions ----
  // Null: it comes from a file, which has no text.
  virtual const RelayHistory* history(const Build& build) const = 0;
  virtual std::string text(const RelayVersion& version, bool metadata) const = 0;
  // One version per pass, after the present one; those that followed it are dropped. False: a pass failed, which is
  // diagnosed; the versions before it stay.
  virtual bool run_passes(Session& session, const Build& build, std::string_view pipeline, RelayHistory& history,
                          Diagnostics& out) = 0;
  // The program with this history, compiled from its present version.
  virtual std::shared_ptr<const Build> with_history(Session& session, const Build& build, RelayHistory history,
                                                    Diagnostics& out) = 0;
  // The findings of relay/run's `validate` on the present version against another.
  virtual std::string compare_versions(Session& session, const Build& build, std::size_t before, bool& same) = 0;
  // The argument for a parameter of such a program, from the given value (null: none; one is generated).
  virtual runtime::Result<runtime::Value> argument(const Build& build, const Options& options,
                                                   std::string_view function, std::size_t parameter,
                                                   const runtime::Value& given) const = 0;

  Machine wanted = Machine::Relay;  // `:set machine`
};

void set_relay_machine(std::shared_ptr<RelayMachine> machine);
RelayMachine* relay_machine();  // null: none
bool is_on_relay_machine(const Build& build);
// Of the session's program; null: it is not Relay text on this machine.
const RelayHistory* relay_history(Session& session);
// The session's program becomes this version of it. False: it cannot be compiled, which is diagnosed.
bool set_relay_history(Session& session, RelayHistory history, Diagnostics& out);

}  // namespace rldb::session
