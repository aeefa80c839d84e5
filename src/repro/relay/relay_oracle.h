// The oracle for Relay text (rldb/repro/oracle.h): the same questions, asked of versions that are Relay modules. Values
// are looked at on the Relay VM. Room-private.
#pragma once

#include "rldb/relay/passes/pass.h"
#include "rldb/repro/oracle.h"
#include "rldb/session/relay_text.h"

namespace rldb::repro {

class RelayOracle {
 public:
  RelayOracle(session::Session& session, const session::RelayText& program, const Question& question);
  ~RelayOracle();

  // For a program before its pipeline: its result is the reference. False: there is none, see `why`.
  bool start(const relay::Module* module);
  // As Oracle::look, apply and ask.
  std::optional<Symptom> look(const relay::Module* version);
  std::optional<Symptom> apply(const relay::PassInvocation& pass, const relay::Module* before,
                               const relay::Module*& after);
  std::optional<Symptom> ask(const relay::Module* module, const std::vector<relay::PassInvocation>& passes);
  bool wants_failures() const { return question_.kind == OracleKind::Any || question_.kind == OracleKind::Diagnostic; }
  const std::string& why() const { return why_; }
  const std::string& unseen() const { return unseen_; }

 private:
  bool wants_run() const { return question_.kind != OracleKind::Diagnostic && question_.kind != OracleKind::Command; }
  // All functions on made-up values of several sizes are compared, unless the question names values.
  bool validates() const {
    return question_.kind != OracleKind::Nan && question_.inputs.empty() && question_.expected.empty();
  }
  std::optional<std::vector<runtime::Value>> run(const relay::Module* version, std::string& error);
  std::optional<Symptom> look_at_values(const relay::Module* version);

  session::Session& session_;
  std::unique_ptr<session::RelayText> program_;  // with the version asked about
  Question question_;
  std::shared_ptr<relay::Evaluator> evaluator_;
  const relay::Module* first_ = nullptr;
  std::vector<runtime::Value> arguments_;
  std::vector<runtime::Value> reference_;  // leaves of the result
  std::string why_, unseen_;
};

}  // namespace rldb::repro
