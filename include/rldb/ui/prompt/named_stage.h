// A stage of a folder of IR files as named in commands, `FOLDER:STAGE`. Users: `rldb compare`, `:compare`.
#pragma once

#include <optional>
#include <vector>

#include "rldb/repro/dump.h"

namespace rldb::ui {

struct NamedStage {
  std::vector<repro::Stage> stages;  // of the folder
  std::size_t index = 0;
  const repro::Stage& stage() const { return stages[index]; }
};
// None: diagnosed.
std::optional<NamedStage> read_stage(session::Session& session, const repro::StageName& name, source::Diagnostics& out);
// A stage that can be run. None: diagnosed.
std::optional<repro::Stage> read_runnable_stage(session::Session& session, const repro::StageName& name,
                                                source::Diagnostics& out);
// A stage of a folder already read. False: diagnosed.
bool find_stage(const std::vector<repro::Stage>& stages, const repro::StageName& name, std::size_t& index,
                source::Diagnostics& out);

}  // namespace rldb::ui
