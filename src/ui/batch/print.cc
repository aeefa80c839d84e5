// rldb print FILE: canonical text.  rldb diff A B: structural equality.
#include <fmt/format.h>
#include <unistd.h>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_result.h"
#include "ui/batch/batch.h"
#include "ui/batch/relay.h"
#include "ui/batch/relay_machine.h"
#include "ui/text_diff.h"

namespace rldb::ui {

int batch_print(const CommandLine& line, Console& console) {
  if (const auto bytes = relay_executable_bytes(line.files[0]))
    return batch_print_relay_executable(*bytes, line, console);
  source::Diagnostics of_relay;
  if (const auto program = read_relay(line.files[0], of_relay))
    return batch_print_relay(*program, of_relay, line, console);
  auto session = open_session(line, console);
  if (!session || !load(*session, line.files[0], line, console)) return kBadText;
  source::Diagnostics diagnostics;
  if (!session->module()) {
    if (auto refusal = session::missing_ability("`rldb print`", session::kModule, *session))
      diagnostics.add({}, *std::move(refusal));
    report(diagnostics, session->sources(), line, console);
    return kBadText;
  }
  const std::vector<std::string> gaps = ir::unsayable(session->module(), line.options.print.syntax);
  if (!gaps.empty()) {
    for (const std::string& gap : gaps) diagnostics.add({}, source::message(diag::Unsayable, gap));
    report(diagnostics, session->sources(), line, console);
    return kFailed;
  }
  if (line.function.empty()) {
    console.write(ir::print(session->module(), line.options.print) + "\n");
    return kGood;
  }
  const ir::Expr* f = session->module()->find(line.function);
  if (!f) {
    diagnostics.add({}, source::message(diag::NoFunctionToRun, line.function)
                            .with_hint(fmt::format("functions: {}", fmt::join(session->function_names(), ", "))));
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  console.write(ir::print_function(line.function, f, line.options.print) + "\n");
  return kGood;
}

int batch_diff(const CommandLine& line, Console& console) {
  if (any_is_relay(line)) return batch_diff_relay(line, console);
  // One session each: the second program replaces the first in a session.
  auto a = open_session(line, console);
  if (!a || !load(*a, line.files[0], line, console)) return kBadText;
  const ir::Module* first = a->module();
  if (!load(*a, line.files[1], line, console)) return kBadText;
  const ir::Module* second = a->module();
  if (!first || !second) {
    source::Diagnostics diagnostics;
    if (auto refusal = session::missing_ability("`rldb diff`", session::kModule, session::ProgramKind::RelaxExecutable,
                                                line.files[first ? 1 : 0]))
      diagnostics.add({}, *std::move(refusal));
    report(diagnostics, a->sources(), line, console);
    return kBadText;
  }
  const auto difference = ir::first_difference(first, second);
  if (!difference) return kGood;
  console.print("first difference at {}\n  {}: {}\n  {}: {}\n", difference->path, line.files[0], difference->left,
                line.files[1], difference->right);
  const DiffOptions options = diff_options(line, console, STDOUT_FILENO);
  console.write(text_diff(ir::print(first), ir::print(second), line.files[0], line.files[1], options));
  return kFailed;
}

}  // namespace rldb::ui
