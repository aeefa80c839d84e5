// An executable of the Relay VM as a session's program. Room-private.
#pragma once

#include "rldb/relay/vm/executable.h"
#include "rldb/session/session.h"
#include "session/relay/relay_build.h"

namespace rldb::session {

class Session::RelayExecutable final : public Program {
 public:
  using Program::Program;
  // Null: diagnosed.
  static std::unique_ptr<Program> open(Session& session, const std::string& path, const std::string& bytes,
                                       Diagnostics& out);
  ProgramKind kind() const override { return ProgramKind::RelayExecutable; }
  std::unique_ptr<Program> copy() const override;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  runtime::Result<runtime::Value> as_argument(runtime::Value given, const Parameter& p) const override;
  std::shared_ptr<const Build> runnable(Diagnostics& out) override;
  const Build* built() const { return build_.get(); }
  std::shared_ptr<const Build> viewable(Diagnostics&) override { return build_; }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;
  std::string listing(const Build& build) const override;

 private:
  std::shared_ptr<const RelayBuild> build_;
  Options built_with_;
};

}  // namespace rldb::session
