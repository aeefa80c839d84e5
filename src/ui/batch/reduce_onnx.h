// `rldb reduce --onnx`: the smallest ONNX model as a file, before its translation is reduced as a module. Room-private.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/oracle.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"
#include "ui/batch/job.h"

namespace rldb::ui {

struct WrittenModel {
  std::vector<std::string> inputs;  // as texts, for a reduction of its translation that needs them
  bool only_translated = false;     // the command took models: there is nothing to ask about modules
  nlohmann::json json;
};
// The session's program becomes the translation of the written file, and the question one about it. None: `code` says
// why, and it is diagnosed.
std::optional<WrittenModel> write_smallest_model(const CommandLine& line, session::Session& session,
                                                 repro::Question& question, const Job& job, Console& console,
                                                 int& code);

}  // namespace rldb::ui
