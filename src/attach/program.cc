// The program of a process as a session's: its bytecode is listed, and `:run` is refused.
#include "rldb/attach/attach.h"
#include "rldb/source/diagnostic_attach.h"

namespace rldb::attach {

namespace {

class AttachedProgram final : public session::Program {
 public:
  AttachedProgram(session::Session& session, std::shared_ptr<Attached> attached)
      : Program(session, attached->library()),
        name_(attached->name()),
        build_(attached->build()),
        attached_(std::move(attached)) {}
  session::ProgramKind kind() const override { return session::ProgramKind::RelaxExecutable; }
  std::unique_ptr<Program> copy() const override { return std::make_unique<AttachedProgram>(*this); }

  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    for (const bytecode::FunctionEntry& f : build_->executable->functions)
      if (f.kind == bytecode::FunctionKind::Bytecode) names.push_back(f.name);
    return names;
  }
  std::optional<std::vector<session::Parameter>> parameters(std::string_view function, std::string& why) override {
    const auto index = build_->executable->find_function(function);
    if (index >= 0) why = "a function of " + name_;
    return std::nullopt;
  }
  std::shared_ptr<const session::Build> runnable(session::Diagnostics& out) override {
    out.add({}, source::message(diag::AttachNotRun, path_, name_));
    return nullptr;
  }
  std::shared_ptr<const session::Build> viewable(session::Diagnostics&) override { return build_; }
  std::optional<std::string> executable_file(session::Diagnostics& out, const bytecode::DebugInfo*) override {
    out.add({}, source::message(diag::AttachNotRun, path_, name_));
    return std::nullopt;
  }

 private:
  std::string name_;
  std::shared_ptr<const session::Build> build_;
  std::shared_ptr<Attached> attached_;  // kept as long as the program is the session's
};

}  // namespace

std::unique_ptr<session::Program> program_of(std::shared_ptr<Attached> attached, session::Session& session) {
  return std::make_unique<AttachedProgram>(session, std::move(attached));
}

}  // namespace rldb::attach
