#include "repro/read_again.h"

#include "rldb/frontend/parse.h"

namespace rldb::repro {

const ir::Module* read_again(session::Session& session, std::string text) {
  const source::FileId file = session.sources().add("made", std::move(text));
  source::Diagnostics found;
  const auto parsed = frontend::parse(session.context(), session.sources(), file, found);
  return parsed.ok ? parsed.module : nullptr;
}

}  // namespace rldb::repro
