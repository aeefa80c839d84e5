// A folder of IR files that a compiler wrote pass by pass (TVM's `DumpIR` instrument, `rldb opt --dump-ir-to`): files
// `NNN_PassName.py`, each a whole module, in the order of their numbers.
//
// What a dump leaves out is made up: constants that were printed without their data get values from the seed, the same
// ones in each stage that has constants of the same types in the same order. Users: bisect.
#pragma once

#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

struct Stage {
  std::string file;  // without the folder
  std::string pass;
  const ir::Module* module = nullptr;
  std::string not_runnable;  // why this stage is passed by; empty: it may run
  std::string ill_formed;    // the first rule that the module breaks; empty: none
  // The types of the constants that were made up, in order: stages that differ in it cannot be compared.
  std::string made_up;
};

// `problem` says why there is nothing to read: no folder, no such files.
std::vector<Stage> read_dump(session::Session& session, const std::string& folder, std::string& problem);

}  // namespace rldb::repro
