#include "repro/read_again.h"

#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/verifier.h"
#include "rldb/repro/reduce.h"
#include "rldb/support/file.h"

namespace rldb::repro {

const ir::Module* read_again(session::Session& session, std::string text) {
  const source::FileId file = session.sources().add("made", std::move(text));
  source::Diagnostics found;
  const auto parsed = frontend::parse(session.context(), session.sources(), file, found);
  return parsed.ok ? parsed.module : nullptr;
}

const ir::Module* read_ill_formed(session::Session& session, const std::string& path, source::Diagnostics& broken) {
  auto text = support::read_regular_file(path, source::kMaxBytes);
  if (!text.ok() || bytecode::is_executable_file(*text) || frontend::is_relay(path, *text)) return nullptr;
  const source::FileId file = session.sources().add(path, std::move(text).value());
  frontend::ParseOptions options;
  options.check_well_formed = false;
  source::Diagnostics found;
  const auto parsed = frontend::parse(session.context(), session.sources(), file, found, options);
  if (!parsed.ok || !parsed.module || ir::verify(session.context(), parsed.module, broken)) return nullptr;
  session.history().start(parsed.module);
  return parsed.module;
}

}  // namespace rldb::repro
