#include "rldb/repro/roundtrip.h"

#include "rldb/bytecode/exported_library.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/runtime/library_data.h"
#include "rldb/session/relay_text.h"
#include "rldb/support/file.h"

namespace rldb::repro {

namespace {

std::string of_relax(session::Session& session, const ir::PrintOptions& options, source::Diagnostics& out) {
  ir::PrintOptions print = options;
  print.show_meta = true;
  print.check_well_formed = session.check_well_formed();
  const ir::Module* module = session.module();
  const std::string text = ir::print(module, print);
  const source::FileId file = session.sources().add(session.program_path() + " (printed)", text);
  frontend::ParseOptions read;
  read.check_well_formed = session.check_well_formed();
  const auto again = frontend::parse(session.context(), session.sources(), file, out, read);
  if (!again.ok || !again.module) return "the printed text does not parse";
  // As in TVM, undefined variables correspond in order of occurrence.
  ir::EqualOptions free;
  free.map_free_vars = true;
  if (const auto difference = ir::first_difference(module, again.module);
      difference && ir::first_difference(module, again.module, free))
    return "the reparsed module differs at " + difference->path + ": " + difference->left + " vs " + difference->right;
  if (ir::print(again.module, print) != text) return "printing the reparsed module gives another text";
  return {};
}

std::string of_relay(const session::RelayText& program) {
  const std::string text = relay::print(program.module());
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const source::FileId file = sources.add("printed.relay", text);
  const relay::Module* again = frontend::parse_relay(ctx, sources, file, found).module;
  if (!again) return "the printed text does not read back: " + found.first_error("no reason is given");
  if (const auto difference = relay::first_difference(program.module(), again))
    return "the printed text is another program at " + difference->path;
  return relay::print(again) == text ? "" : "the printed text prints differently";
}

// Written again, a file has the same bytes; of a library, the executable in it.
std::string of_executable(session::Session& session, source::Diagnostics& out) {
  const auto file = support::read_file(session.program_path(), source::kMaxBytes);
  if (!file.ok()) return "the file cannot be read again: " + file.error().reason;
  const auto again = session.serialise(out);
  if (!again) return "it cannot be written";
  std::string_view before = *file;
  if (runtime::is_library_file(before)) {
    const auto exported = bytecode::executable_in_library(before, session.program_path());
    if (!exported.ok()) return "the file cannot be read again: " + exported.error().message;
    before = exported->bytes;
  }
  return *again == before ? "" : "written again, it has other bytes";
}

}  // namespace

std::string roundtrip(session::Session& session, const ir::PrintOptions& options, source::Diagnostics& out) {
  if (session.module()) return of_relax(session, options, out);
  if (const session::RelayText* relay = session::relay_text(session.program())) return of_relay(*relay);
  return of_executable(session, out);
}

}  // namespace rldb::repro
