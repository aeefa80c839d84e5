#include "rldb/ui/prompt/named_stage.h"

#include "rldb/source/diagnostic_repro.h"

namespace rldb::ui {

namespace {

void refuse(const repro::StageName& name, const std::string& why, source::Diagnostics& out) {
  out.add({}, source::message(diag::NoSuchStage, name.stage, name.folder, why));
}

}  // namespace

bool find_stage(const std::vector<repro::Stage>& stages, const repro::StageName& name, std::size_t& index,
                source::Diagnostics& out) {
  std::string problem;
  const auto found = repro::find_stage(stages, name.stage, problem);
  if (!found) refuse(name, problem, out);
  index = found.value_or(0);
  return found.has_value();
}

std::optional<NamedStage> read_stage(session::Session& session, const repro::StageName& name,
                                     source::Diagnostics& out) {
  NamedStage found;
  std::string problem;
  found.stages = repro::read_dump(session, name.folder, problem);
  if (!problem.empty()) {
    refuse(name, problem, out);
    return std::nullopt;
  }
  if (!find_stage(found.stages, name, found.index, out)) return std::nullopt;
  return found;
}

std::optional<repro::Stage> read_runnable_stage(session::Session& session, const repro::StageName& name,
                                                source::Diagnostics& out) {
  const auto named = read_stage(session, name, out);
  if (!named) return std::nullopt;
  if (named->stage().not_runnable.empty()) return named->stage();
  refuse(name, named->stage().not_runnable, out);
  return std::nullopt;
}

}  // namespace rldb::ui
