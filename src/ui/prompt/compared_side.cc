#include "rldb/ui/prompt/compared_side.h"

#include <fmt/format.h>

namespace rldb::ui {

repro::Program side_at(const session::Session& session, std::size_t version) {
  const session::Program& program = *session.program();
  repro::Program side;
  side.label = program.version_name(version);
  if (session.module()) {
    side.module = session.history().module_at(version).as<ir::Module>();
  } else {
    std::unique_ptr<session::Program> other = program.copy();
    (void)other->go_to(version);  // an executable has only this one
    side.other = std::move(other);
  }
  return side;
}

namespace {

// The session with the side as its program, as long as this lives.
class AtSide {
 public:
  AtSide(session::Session& session, const repro::Program& side)
      : session_(session), before_(session.program() ? session.program()->copy() : nullptr) {
    if (side.module)
      session.set_program(side.module);
    else
      session.set_program(side.other->copy());
  }
  ~AtSide() { session_.set_program(std::move(before_)); }
  AtSide(const AtSide&) = delete;
  AtSide& operator=(const AtSide&) = delete;

 private:
  session::Session& session_;
  std::unique_ptr<session::Program> before_;
};

}  // namespace

bool apply_passes(session::Session& session, const std::string& passes, repro::Program& side,
                  source::Diagnostics& out) {
  const AtSide at(session, side);
  if (auto refusal = session::missing_ability("`--passes`", session::kVersions, session)) {
    out.add({}, *std::move(refusal));
    return false;
  }
  if (!session.program()->run_passes(passes, out)) return false;
  side.module = session.module();
  if (!side.module) side.other = session.program()->copy();
  side.label += " after " + passes;
  return true;
}

std::optional<repro::ComparedInputs> inputs_of(session::Session& session, const repro::Program& side,
                                               const std::vector<std::string>& texts, source::Diagnostics& out) {
  const AtSide at(session, side);
  return repro::compared_inputs(session, side.function, texts, out);
}

}  // namespace rldb::ui
