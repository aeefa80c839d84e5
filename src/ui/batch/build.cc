// rldb build FILE -o X.rlvm and rldb disasm FILE.
#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/file_names.h"
#include "ui/batch/batch.h"
#include "ui/batch/relay.h"
#include "ui/batch/relay_machine.h"

namespace rldb::ui {

int batch_build(const CommandLine& line, Console& console) {
  source::Diagnostics of_relay;
  if (const auto program = line.to_relax ? nullptr : read_relay_program(line.files[0], of_relay))
    return batch_build_relay(*program, of_relay, line, console, false);
  auto session = open_session(line, console);
  if (!session || !load(*session, line.files[0], line, console)) return kBadText;
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

int batch_disasm(const CommandLine& line, Console& console) {
  if (const auto bytes = relay_executable_bytes(line.files[0]))
    return batch_print_relay_executable(*bytes, line, console);
  source::Diagnostics of_relay;
  if (const auto program = line.to_relax ? nullptr : read_relay_program(line.files[0], of_relay))
    return batch_build_relay(*program, of_relay, line, console, true);
  auto session = open_session(line, console);
  if (!session || !load(*session, line.files[0], line, console)) return kBadText;
  source::Diagnostics diagnostics;
  auto built = session->viewable(diagnostics);
  if (!built || !diagnostics.all().empty()) report(diagnostics, session->sources(), line, console);
  if (!built) return kFailed;
  console.write(bytecode::as_text(*built->executable));
  return kGood;
}

}  // namespace rldb::ui
