#include "rldb/repro/roundtrip.h"

#include "rldb/frontend/parse.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"

namespace rldb::repro {

std::string roundtrip(session::Session& session, const ir::PrintOptions& options, source::Diagnostics& out) {
  ir::PrintOptions print = options;
  print.show_meta = true;
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
    return "the reparsed module differs at " + difference->path + ": " + difference->left + " against " +
           difference->right;
  if (ir::print(again.module, print) != text) return "printing the reparsed module gives another text";
  return {};
}

}  // namespace rldb::repro
