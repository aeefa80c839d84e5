// How much two versions of a program differ, by function.
#pragma once

#include <string>
#include <vector>

#include "rldb/session/program.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

struct DiffStat {
  std::string function;
  DiffCount count;  // lines of its text
  bool added = false, removed = false;
};
std::vector<DiffStat> diff_stat(const session::Program& program, pipeline::ModuleRef before, pipeline::ModuleRef after,
                                const std::vector<std::string>& functions);

}  // namespace rldb::ui
