#include "rldb/debug/debugger.h"

#include "debug/impl.h"

namespace rldb::debug {

Debugger::Debugger(session::Session& session) : impl_(std::make_unique<Impl>(session)) {}
Debugger::~Debugger() = default;

bool Debugger::active() const {
  return impl_->run && impl_->last.kind != StopKind::None && impl_->last.kind != StopKind::Finished;
}

void Debugger::kill() {
  impl_->run.reset();
  impl_->last = {};
}

const StopReport& Debugger::last_stop() const { return impl_->last; }

const vm::Machine* Debugger::machine() const {
  return impl_->run && impl_->last.kind != StopKind::Finished ? &impl_->run->machine() : nullptr;
}

std::shared_ptr<const session::Build> Debugger::build() const {
  if (!impl_->run || !impl_->run->code().build()->source) return nullptr;
  return impl_->run->code().build();
}

}  // namespace rldb::debug
