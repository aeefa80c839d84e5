// How much two versions of a program differ, by function.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/printer.h"
#include "rldb/session/program.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

struct DiffStat {
  std::string function;
  DiffCount count;  // lines of its text
  bool added = false, removed = false;
};
std::vector<DiffStat> diff_stat(const session::Program& program, std::size_t before, std::size_t after,
                                const std::vector<std::string>& functions);
std::vector<DiffStat> diff_stat(const ir::Module* before, const ir::Module* after,
                                const std::vector<std::string>& functions, const ir::PrintOptions& print);
// A function's text; empty: the module has no function of that name.
std::string function_text(const ir::Module* module, const std::string& name, const ir::PrintOptions& print);

}  // namespace rldb::ui
