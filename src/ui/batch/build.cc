// rldb build FILE -o X.rlvm and rldb disasm FILE.
#include "rldb/debug/file_names.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/render/output_file.h"

namespace rldb::ui {

int batch_build(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  source::Diagnostics diagnostics;
  // Followed by the minimum build, `zero` is `cpu_generic`.
  if (line.optimise && !session->run_passes("zero", diagnostics)) {
    report(diagnostics, session->sources(), line, console);
    return kFailed;
  }
  auto bytes = debug::executable_file(*session, diagnostics);
  if (!bytes || !diagnostics.all().empty()) report(diagnostics, session->sources(), line, console);
  if (!bytes) return kFailed;
  return write_output(line.output, *bytes, console) ? kGood : kUsage;
}

int print_listing(session::Session& session, const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  const auto built = session.viewable(diagnostics);
  if (!built || !diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!built) return kFailed;
  console.write(session.program()->listing(*built));
  return kGood;
}

int batch_disasm(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  return print_listing(*session, line, console);
}

}  // namespace rldb::ui
