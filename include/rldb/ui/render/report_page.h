// The page of `rldb opt --html`: a pipeline pass by pass, the changes of each, the memory plan, the resulting module.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rldb/ir/printer.h"
#include "rldb/passes/memory_report.h"
#include "rldb/passes/pass.h"
#include "rldb/ui/render/memory_view.h"

namespace rldb::ui {

struct MemoryPlan {
  std::vector<passes::FunctionMemory> functions;
  std::string problem;  // why there is none; empty: there is one
};

struct PipelineReport {
  std::string file, pipeline;
  const ir::Module* before = nullptr;
  const ir::Module* after = nullptr;  // of the last pass that succeeded
  bool failed = false;
  std::vector<passes::PassRecord> records;
  std::vector<std::pair<std::size_t, std::string>> validations;  // for records[first]: the result of comparing values
  std::string diagnostics;                                       // rendered
  MemoryPlan memory_before, memory_after;
  MemoryView memory_view;
  ir::PrintOptions print;
};
std::string report_page(const PipelineReport& report, std::string_view made);

}  // namespace rldb::ui
