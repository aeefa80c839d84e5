#include "session/program/relay_executable.h"

#include "rldb/source/diagnostic_executable.h"
#include "session/inputs/executable_types.h"
#include "session/relay/relay_values.h"

namespace rldb::session {

std::unique_ptr<Program> Session::RelayExecutable::open(Session& session, const std::string& path,
                                                        const std::string& bytes, Diagnostics& out) {
  auto loaded = relay_bytecode::load(bytes);
  if (!loaded.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
    return nullptr;
  }
  auto program = std::make_unique<RelayExecutable>(session, path);
  program->built_with_ = session.options_;
  program->build_ = relay_build(
      session, path, RelayCode::open(std::move(loaded).value(), session.options_, session.output_, out), nullptr, out);
  if (!program->build_) return nullptr;
  return program;
}

std::unique_ptr<Program> Session::RelayExecutable::copy() const { return std::make_unique<RelayExecutable>(*this); }

std::vector<std::string> Session::RelayExecutable::function_names() const {
  return function_names_of(*build_->executable);
}

std::optional<std::vector<Parameter>> Session::RelayExecutable::parameters(std::string_view function, std::string&) {
  return parameters_of(*session_.ctx_, session_.sources_, *build_->executable, function);
}

runtime::Result<runtime::Value> Session::RelayExecutable::as_argument(runtime::Value given, const Parameter& p) const {
  return relay_argument(given, p.type);
}

// With the kernels that the session's options ask for.
std::shared_ptr<const Build> Session::RelayExecutable::runnable(Diagnostics& out) {
  if (same_code(built_with_, session_.options_)) return build_;
  auto code = RelayCode::open(build_->code->executable(), session_.options_, session_.output_, out);
  auto made = relay_build(session_, path_, std::move(code), nullptr, out);
  if (!made) return nullptr;
  built_with_ = session_.options_;
  return build_ = std::move(made);
}

std::optional<std::string> Session::RelayExecutable::executable_file(Diagnostics& out, const bytecode::DebugInfo*) {
  return relay_file(*build_->code, out);
}

std::string Session::RelayExecutable::listing(const Build& build) const {
  return relay_bytecode::as_text(relay_code(build).executable());
}

}  // namespace rldb::session
