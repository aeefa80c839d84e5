// The page of `rldb opt --html`: a pipeline pass by pass, the changes of each, the memory plan, the resulting module.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rldb/passes/memory_report.h"
#include "rldb/pipeline/run.h"
#include "rldb/session/program.h"
#include "rldb/ui/render/memory_view.h"

namespace rldb::ui {

struct MemoryPlan {
  std::vector<passes::FunctionMemory> functions;
  std::string problem;  // why there is none; empty: there is one
};

struct PipelineReport {
  const session::Program& program;  // for the texts of its modules
  std::string file, passes;
  pipeline::ModuleRef after;  // of the last pass that succeeded
  bool failed = false;
  std::vector<pipeline::Record> records;
  std::vector<std::pair<std::size_t, std::string>> validations;  // for records[first]: the result of comparing values
  std::string diagnostics;                                       // rendered
  std::optional<MemoryPlan> memory_before, memory_after;         // none: no Relax module
  MemoryView memory_view;
};
std::string report_body(const PipelineReport& report, std::string_view made);
std::string report_page(const PipelineReport& report, std::string_view made);

}  // namespace rldb::ui
