// `:save-repro`: the last failure, as one file.
#include <fmt/format.h>

#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/repro_file.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

// Entries that recreate the versions, up to the one that the failed entry used: they keep their numbers.
std::vector<std::string> versions_again(const pipeline::History& history, std::size_t last,
                                        const ir::PrintOptions& print) {
  std::vector<std::string> out;
  for (std::size_t v = 1; v <= last && v < history.size(); ++v)
    out.push_back(history.is_edit(v) ? module_text(history.module_at(v).as<ir::Module>(), print)
                                     : ":run-pass " + pipeline::to_string(history.record(v).pass));
  return out;
}

// An entry made at a stop means nothing without the run that stopped.
std::string entry_of(Repl& repl, const LastEntry& last) {
  if (last.run.empty()) return repl.carried(last.entry);
  return last.run;
}

}  // namespace

Status command_SaveRepro(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_write(rest, rest)) return Status::Failed;
  const LastEntry& last = repl.last_entry();
  if (!last.failed && last.expectation.empty()) return repl.fail(source::message(diag::NothingWrong));
  session::Session& session = repl.session();
  const pipeline::History& history = session.history();
  ReproFile repro;
  repro.seen = last.error.empty() ? last.expectation : last.error;
  repro.settings = settings_of(session.options());
  if (history.size() > 0) {
    repro.module = module_text(history.module_at(0).as<ir::Module>(), session.print_options());
    repro.before = versions_again(history, last.version, session.print_options());
  }
  for (const session::NamedValue& v : session.values().in_order())
    if (v.name != "_" && is_one_name(v.name)) repro.values.push_back({v.name, v.value, false});
  repro.entry = entry_of(repl, last);
  if (!last.expectation.empty())
    repro.expectations.push_back(last.expectation);
  else if (!last.error.empty())
    repro.expectations.push_back(not_error(last.error));
  if (last.failed) repro.expectations.emplace_back(":expect success");
  if (!write_repro(std::string(rest), repro, repl.console())) return Status::Failed;
  repl.print("wrote {}: `rldb test` fails on it until the fault is fixed\n", rest);
  return Status::Good;
}

}  // namespace rldb::ui
