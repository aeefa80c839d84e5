// The oracle for Relay text (rldb/repro/oracle.h): the same questions, asked of versions that are Relay modules. Values
// are looked at on the Relay VM. Room-private.
#pragma once

#include "rldb/relay/passes/pass.h"
#include "rldb/repro/oracle.h"
#include "rldb/session/relay_text.h"

namespace rldb::repro {

class RelayOracle : public VersionOracle {
 public:
  RelayOracle(session::Session& session, const session::RelayText& program, const Question& question);
  bool start(pipeline::ModuleRef module) override;
  std::optional<Symptom> look(pipeline::ModuleRef version) override;

 private:
  void hold(pipeline::ModuleRef version) override;
  // All functions on made-up values of several sizes are compared, unless the question names values.
  bool validates() const {
    return question_.kind != OracleKind::Nan && question_.inputs.empty() && question_.expected.empty();
  }
  std::optional<std::vector<runtime::Value>> run(pipeline::ModuleRef version, std::string& error);
  std::optional<Symptom> look_at_values(pipeline::ModuleRef version);

  std::unique_ptr<session::RelayText> program_;  // of which the versions are
  pipeline::ModuleRef first_;
};

}  // namespace rldb::repro
