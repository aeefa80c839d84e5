#include "repro/bisect/round_seen.h"

#include "repro/other_ranks.h"

namespace rldb::repro {

std::string wire_of(const Seen& seen) {
  std::vector<std::string> stages;
  for (const std::size_t i : seen.stages) stages.push_back(std::to_string(i));
  const auto flag = [](bool b) { return std::string(b ? "1" : "0"); };
  return to_parts({flag(seen.tried), flag(seen.differs), flag(seen.compared), flag(seen.numbers), seen.why,
                   std::to_string(seen.runs), to_parts(stages), to_parts(seen.notes)});
}

Seen seen_from(const std::string& bytes) {
  Seen seen;
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() != 8) return seen;
  const auto flag = [&](std::size_t i) { return (*parts)[i] == "1"; };
  seen.tried = flag(0), seen.differs = flag(1), seen.compared = flag(2), seen.numbers = flag(3);
  seen.why = (*parts)[4];
  seen.runs = std::stoull((*parts)[5]);
  if (const auto stages = from_parts((*parts)[6]))
    for (const std::string& i : *stages) seen.stages.push_back(std::stoull(i));
  if (const auto notes = from_parts((*parts)[7])) seen.notes = *notes;
  return seen;
}

}  // namespace rldb::repro
