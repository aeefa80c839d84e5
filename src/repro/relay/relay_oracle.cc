// Symptoms of Relay versions: what a pass refuses, what types and values become.
#include "repro/relay/relay_oracle.h"

#include "repro/borrow.h"
#include "repro/oracle/leaves.h"
#include "repro/values.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/session/relay_code.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;

RelayOracle::RelayOracle(session::Session& session, const session::RelayText& program, const Question& question)
    : session_(session),
      program_(static_cast<session::RelayText*>(program.copy().release())),
      question_(question),
      evaluator_(session::make_evaluator(program.source().ctx, session.options())) {}
RelayOracle::~RelayOracle() = default;

bool RelayOracle::start(const relay::Module* module) {
  why_.clear();
  reference_.clear();
  first_ = module;
  if (question_.kind == OracleKind::Memory) {
    why_ = "`--oracle=memory` measures runs of the Relax VM";
    return false;
  }
  if (!wants_run() || validates()) return true;
  {
    const Borrow borrow(session_);
    program_->set_module(module);
    session_.set_program(program_->copy());
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
std::optional<std::vector<Value>> RelayOracle::run(const relay::Module* version, std::string& error) {
  const Borrow borrow(session_);
  program_->set_module(version);
  session_.set_program(program_->copy());
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

std::optional<Symptom> RelayOracle::look(const relay::Module* version) {
  unseen_.clear();
  if (question_.kind == OracleKind::Command) {
    if (run_test_command(question_.command, relay::print(version)) != 0) return std::nullopt;
    return Symptom{SymptomKind::Command, {}, {}, "the command says so"};
  }
  if (!wants_run()) return std::nullopt;
  if (!why_.empty()) {
    unseen_ = why_;
    return std::nullopt;
  }
  if (!validates()) return look_at_values(version);
  const Validation v = validate_relay(program_->source().ctx, first_, version, session_.options());
  if (!v.difference.empty()) return Symptom{SymptomKind::Values, {}, {}, v.difference};
  if (v.compared.empty()) unseen_ = v.not_run.empty() ? "nothing of the program could be run" : v.not_run.front();
  return std::nullopt;
}

std::optional<Symptom> RelayOracle::look_at_values(const relay::Module* version) {
  std::string error;
  const auto leaves = run(version, error);
  if (!leaves) return Symptom{SymptomKind::Values, {}, "error", "it fails: " + error, form_of(error)};
  return symptom_of_leaves(*leaves, reference_, question_);
}

std::optional<Symptom> RelayOracle::apply(const relay::PassInvocation& pass, const relay::Module* before,
                                          const relay::Module*& after) {
  source::Diagnostics found;
  relay::PassEnv env{program_->source().ctx, found, question_.function, nullptr, evaluator_.get()};
  after = relay::run_pass(pass, env, before);
  relay::Typing typing;
  const bool typed = after && relay::infer_types(program_->source().ctx, after, typing, found);
  support::poll_cause();
  if (typed) return std::nullopt;
  Symptom s{SymptomKind::Fails, std::string(relay::info(pass.id).name), after ? "types" : "", {}};
  const std::string error = found.first_error("no reason is given");
  s.text = (after ? "the result has no types: " : "the pass fails: ") + error;
  s.form = form_of(error);
  after = nullptr;
  return s;
}

std::optional<Symptom> RelayOracle::ask(const relay::Module* module, const std::vector<relay::PassInvocation>& passes) {
  if (!start(module) && !wants_failures()) return std::nullopt;
  const relay::Module* version = module;
  for (const relay::PassInvocation& pass : passes) {
    const relay::Module* after = nullptr;
    if (auto failed = apply(pass, version, after)) return wants_failures() ? failed : std::nullopt;
    version = after;
  }
  return look(version);
}

}  // namespace rldb::repro
