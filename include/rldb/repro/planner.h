// The pass that planned the storages of a function: the first version of the program that has any. Users: the commands
// and bisections that find two tensors in one storage.
#pragma once

#include <string>
#include <vector>

#include "rldb/repro/dump.h"
#include "rldb/repro/sanitize.h"

namespace rldb::repro {

// Names it in the findings about storages; versions and stages that plan nothing, or the first of which has storages
// already, leave them as they are.
void name_planners(std::vector<Finding>& findings, const passes::History& history);
void name_planners(std::vector<Finding>& findings, const std::vector<Stage>& stages);
// The same for a file of a folder that a compiler wrote pass by pass; of any other file nothing is known.
void name_planners(std::vector<Finding>& findings, session::Session& session, const std::string& file);

}  // namespace rldb::repro
