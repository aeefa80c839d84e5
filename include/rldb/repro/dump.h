// A folder of IR files that a compiler wrote pass by pass (TVM's `DumpIR` instrument, `rldb opt --dump-ir-to`): files
// `NNN_PassName.py`, each a whole module, in the order of their numbers.
//
// Data that a dump leaves out is generated: constants printed without their data get values from the seed and their
// number in that file. Users: bisect, which gives a stage the values of the one before where it can match
// them.
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
  // The whole module, for its kernels: also if it has no Relax function. Those of the packed calling
  // convention are as they were before it. Null: it was not read.
  const ir::Module* kernels = nullptr;
  std::optional<session::Engine> kernels_by;  // what runs its kernels; none: the session's engine
  std::string completed_by;                   // it has PrimFuncs only: the file whose Relax functions `module` has
  bool is_empty = false;                      // a file without a function
  std::string not_runnable;                   // why this stage is skipped; empty: it may run
  std::string ill_formed;                     // the first rule that the module breaks; empty: none
  // Constants that were printed without their data: the module with `MetaConstant`s in their places (null: there are
  // none), their types by index (null: no such constant), and these as text.
  const ir::Module* unfilled = nullptr;
  std::vector<const ir::TensorType*> constants;
  std::string made_up;
};

// A stage as specified by a user: `FOLDER:STAGE`, by its file, its number or its pass.
struct StageName {
  std::string folder;
  std::string stage;
};
// nullopt: there is no such folder before a colon.
std::optional<StageName> parse_stage_name(const std::string& text);
// The index; `problem`: there is none, or more than one.
std::optional<std::size_t> find_stage(const std::vector<Stage>& stages, std::string_view name, std::string& problem);

// The files of a folder that are stages, in their order; none when it cannot be read.
std::vector<std::string> stage_files(const std::string& folder);
// `problem` tells why there is nothing to read: no folder, no such files.
// `original`: a file with the module before the first pass, which becomes the first stage; empty: there is none.
std::vector<Stage> read_dump(session::Session& session, const std::string& folder, std::string& problem,
                             const std::string& original = {});

}  // namespace rldb::repro
