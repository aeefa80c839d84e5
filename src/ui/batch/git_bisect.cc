#include "ui/batch/git_bisect.h"

#include "rldb/repro/oracle.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/file.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/terminal/script_path.h"

namespace rldb::ui {

namespace {

// The module that a script contains, or the text itself when it is not a script. None: diagnosed.
std::optional<std::string> module_of(const std::string& path, source::Diagnostics& out) {
  auto text = support::read_file(path, source::kMaxBytes);
  if (!text.ok()) {
    out.add({}, source::message(diag::FileNotFound, path, text.error().reason));
    return std::nullopt;
  }
  if (!is_script_path(path)) return std::move(*text);
  ScriptReader reader(*text);
  while (const auto entry = reader.next())
    if (const auto document = here_document(entry->text); document && document->first.starts_with(":load"))
      return std::string(document->body);
  out.add({}, source::message(diag::NoModuleInScript, path));
  return std::nullopt;
}

}  // namespace

int git_bisect(const CommandLine& line, Console& console) {
  bool unknown = false;
  for (const std::string& path : line.files) {
    source::Diagnostics diagnostics;
    const auto text = module_of(path, diagnostics);
    console.diagnose(diagnostics, {});
    if (!text) {
      unknown = true;
      console.print("?     {}\n", path);
      continue;
    }
    const repro::CommandAnswer answer = repro::ask_test_command(line.test_command, *text);
    if (answer.code == 0) {
      console.print("FAIL  {}: the command shows the fault\n", path);
      return kFailed;
    }
    const std::string why = repro::why_no_answer(line.test_command, answer);
    if (!why.empty()) unknown = true;
    console.print("{}  {}{}{}\n", why.empty() ? "ok  " : "?   ", path, why.empty() ? "" : ": ", why);
  }
  return unknown ? kCannotTell : kGood;
}

}  // namespace rldb::ui
