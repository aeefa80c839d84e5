// Symptoms of Relay versions: what a pass refuses, what types and values become.
#include "repro/relay/relay_oracle.h"

#include "repro/borrow.h"
#include "repro/oracle/leaves.h"
#include "repro/values.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;

RelayOracle::RelayOracle(session::Session& session, const session::RelayText& program, const Question& question)
    : VersionOracle(session, question), program_(static_cast<session::RelayText*>(program.copy().release())) {
  program_->set_entry(question.function);
}

void RelayOracle::hold(pipeline::ModuleRef version) {
  std::unique_ptr<session::Program> program = program_->copy();
  program->push_edit(version);
  session_.set_program(std::move(program));
}

bool RelayOracle::start(pipeline::ModuleRef module) {
  why_.clear();
  reference_.clear();
  first_ = module;
  if (question_.kind == OracleKind::Memory || question_.kind == OracleKind::Time) {
    why_ = fmt::format("`--oracle={}` measures runs of the Relax VM", word_of(question_.kind));
    return false;
  }
  if (!wants_run() || validates()) return true;
  {
    const Borrow borrow(session_);
    hold(module);
    source::Diagnostics found;
    auto made = session_.arguments(question_.function, question_.inputs, found);
    if (!made) {
      why_ = found.first_error("there are no arguments");
      return false;
    }
    arguments_.clear();
    for (const session::Argument& a : *made) arguments_.push_back(a.value);
  }
  if (!question_.expected.empty() && question_.kind != OracleKind::Nan) {
    reference_ = question_.expected;
    return true;
  }
  auto result = run(module, why_);
  if (!result) return false;
  reference_ = *std::move(result);
  why_ = nothing_to_compare(reference_);
  return why_.empty();
}

// The leaves of the result. None: it failed.
std::optional<std::vector<Value>> RelayOracle::run(pipeline::ModuleRef version, std::string& error) {
  const Borrow borrow(session_);
  hold(version);
  source::Diagnostics found;
  const session::RunResult result = session_.run(question_.function, copies(arguments_), found);
  support::poll_cause();
  if (!result.ok) {
    error = found.first_error("the run failed");
    return std::nullopt;
  }
  std::vector<Value> leaves;
  flatten(result.value, leaves);
  return leaves;
}

std::optional<Symptom> RelayOracle::look(pipeline::ModuleRef version) {
  unseen_.clear();
  if (question_.kind == OracleKind::Command) {
    const CommandAnswer answer = ask_test_command(question_.command, relay::print(version.as<relay::Module>()));
    unseen_ = why_no_answer(question_.command, answer);
    if (answer.code != 0) return std::nullopt;
    return Symptom{SymptomKind::Command, {}, {}, "the test command reports the fault"};
  }
  if (!wants_run()) return std::nullopt;
  if (!why_.empty()) {
    unseen_ = why_;
    return std::nullopt;
  }
  if (!validates()) return look_at_values(version);
  const Validation v = validate_relay(program_->source().ctx, first_.as<relay::Module>(), version.as<relay::Module>(),
                                      session_.options());
  if (!v.difference.empty()) return Symptom{SymptomKind::Values, {}, {}, v.difference};
  if (v.compared.empty()) unseen_ = v.not_run.empty() ? "nothing of the program could be run" : v.not_run.front();
  for (const std::string& not_run : v.not_run)
    if (not_run.starts_with(question_.function + " (")) unseen_ = not_run;
  return std::nullopt;
}

std::optional<Symptom> RelayOracle::look_at_values(pipeline::ModuleRef version) {
  std::string error;
  const auto leaves = run(version, error);
  if (!leaves) return Symptom{SymptomKind::Values, {}, "error", "it fails: " + error, form_of(error)};
  return symptom_of_leaves(*leaves, reference_, question_);
}

PassBisection bisect_relay(session::Session& session, const session::RelayText& program,
                           const std::vector<pipeline::Invocation>& passes, const Question& question,
                           const BisectProgress& progress, support::Ranks* ranks) {
  RelayOracle oracle(session, program, question);
  return bisect_passes(oracle, program.module(), passes, progress, ranks);
}

}  // namespace rldb::repro
