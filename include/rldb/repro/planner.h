// The pass that planned the storages of a function: the first version of the program that has any. Users: the commands
// and bisections that find two tensors in one storage.
#pragma once

#include <string>
#include <vector>

#include "rldb/repro/dump.h"
#include "rldb/repro/sanitize.h"

namespace rldb::repro {

// Names it in the findings about storages. If no version or stage plans any, or the first one has storages already, the
// findings are left unchanged.
void name_planners(std::vector<Finding>& findings, const pipeline::History& history);
void name_planners(std::vector<Finding>& findings, const std::vector<Stage>& stages);
// The same for a file of a folder that a compiler wrote pass by pass; for any other file the planner is not known.
void name_planners(std::vector<Finding>& findings, session::Session& session, const std::string& file);

}  // namespace rldb::repro
