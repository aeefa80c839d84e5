// A folder of IR files that a compiler wrote pass by pass (TVM's `DumpIR` instrument, `rldb opt --dump-ir-to`): files
// `NNN_PassName.py`, each a whole module, in the order of their numbers.
//
// What a dump leaves out is made up: constants that were printed without their data get values from the seed and the
// number that they have in that file. Users: bisect, which gives a stage the values of the one before where it can
// tell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

struct Stage {
  std::string file;  // without the folder
  std::string pass;
  const ir::Module* module = nullptr;
  std::string not_runnable;  // why this stage is passed by; empty: it may run
  std::string ill_formed;    // the first rule that the module breaks; empty: none
  // Of constants that were printed without their data: the module with `MetaConstant`s in their places (null: there are
  // none), their types by index (null: no such constant), and these as text.
  const ir::Module* unfilled = nullptr;
  std::vector<const ir::TensorType*> constants;
  std::string made_up;
};

// A stage as a user names it: `FOLDER:STAGE`, by its file, its number or its pass.
struct StageName {
  std::string folder;
  std::string stage;
};
// None: there is no such folder in front of a colon.
std::optional<StageName> parse_stage_name(const std::string& text);
// The index; `problem`: there is none, or more than one.
std::optional<std::size_t> find_stage(const std::vector<Stage>& stages, std::string_view name, std::string& problem);

// The files of a folder that are stages, in their order; none when it cannot be read.
std::vector<std::string> stage_files(const std::string& folder);
// `problem` says why there is nothing to read: no folder, no such files.
std::vector<Stage> read_dump(session::Session& session, const std::string& folder, std::string& problem);

}  // namespace rldb::repro
