// The state of the debugger: its present run, snapshots, questions about it as a whole.
#include "rldb/debug/debugger.h"

#include "debug/impl.h"

namespace rldb::debug {

Debugger::Debugger(session::Session& session) : impl_(std::make_unique<Impl>(session)) {}
Debugger::~Debugger() = default;

Debugger::Impl& impl_of(Debugger& debugger) { return *debugger.impl_; }
const Debugger::Impl& impl_of(const Debugger& debugger) { return *debugger.impl_; }

bool Debugger::finished() const { return impl_->run && impl_->last.kind == StopKind::Finished; }

bool Debugger::ask_at_end() { return impl_->can_be_asked(); }

std::string Debugger::why_no_history() const { return impl_->run ? impl_->run->why_no_history() : std::string(); }

std::uint64_t Debugger::changes() const { return impl_->run ? impl_->run->changed_times() : 0; }

std::string Debugger::run_function() const { return impl_->run ? impl_->run->function() : std::string(); }

std::optional<vm::Machine> Debugger::machine_at(std::uint64_t time) const {
  return impl_->run ? impl_->run->machine_at(time) : std::nullopt;
}

std::optional<std::vector<runtime::Value>> Debugger::run_arguments() const {
  return impl_->run ? impl_->run->arguments() : std::nullopt;
}

bool Debugger::active() const { return impl_->active(); }

bool Debugger::Impl::active() const {
  // A process can be waited for: it may call the program again.
  return run && last.kind != StopKind::None && (last.kind != StopKind::Finished || run->is_foreign());
}

void Debugger::kill() {
  impl_->waiting.clear();
  impl_->beside.reset();
  impl_->parked.clear();
  kill_one();
}

void Debugger::kill_one() {
  impl_->run.reset();
  impl_->last = {};
  return_to_outer();
  impl_->catch_up_with_moves();
}

void Debugger::set_checkpoint(std::string name) {
  if (impl_->run) impl_->checkpoints[std::move(name)] = impl_->run->time();
}

std::optional<std::uint64_t> Debugger::checkpoint(std::string_view name) const {
  const auto it = impl_->checkpoints.find(name);
  return it == impl_->checkpoints.end() ? std::nullopt : std::optional(it->second);
}

const std::map<std::string, std::uint64_t, std::less<>>& Debugger::checkpoints() const { return impl_->checkpoints; }

const StopReport& Debugger::last_stop() const { return impl_->last; }

std::shared_ptr<Debugger::Snapshot> Debugger::snapshot() const {
  const Impl& d = *impl_;
  return std::make_shared<Snapshot>(Snapshot{d.breakpoints, d.next_number, d.run, d.run ? d.run->time() : 0, d.part,
                                             d.last, d.waiting, d.beside, d.parked});
}

void Debugger::restore(Snapshot& snapshot) {
  Impl& d = *impl_;
  d.run = std::move(snapshot.run);
  d.part = snapshot.part;
  d.last = std::move(snapshot.last);
  d.waiting = std::move(snapshot.waiting);
  if (snapshot.set_aside) {
    d.checkpoints = std::move(snapshot.checkpoints);
    resolve_breakpoints();
    return;
  }
  d.breakpoints = std::move(snapshot.breakpoints);
  d.next_number = snapshot.next_number;
  d.beside = std::move(snapshot.beside);
  d.parked = std::move(snapshot.parked);
  if (!d.run || d.last.kind == StopKind::None || d.last.kind == StopKind::Finished) return;
  if (d.run->is_foreign()) return;  // it is where it is
  // The abandoned instruction may have been executed in part.
  if (d.run->go_back(snapshot.time) == Run::Seek::Done) return;
  d.run.reset();
  d.last = {};
}

bool Debugger::Impl::look_back() {
  if (!run || last.kind != StopKind::Finished || !waiting.empty()) return false;
  const std::shared_ptr<const session::Build>& build = run->code().build();
  source::Diagnostics ignored;  // what does not build is not what ran
  if (build->source ? build->source != session.module() : session.runnable(ignored) != build) return false;
  if (run->machine().running()) return true;
  if (run->time() == 0 || run->timeline().empty()) return false;
  part = 0;
  return run->go_to(run->time() - 1) == Run::Seek::Done && run->machine().running();
}

void Debugger::Impl::to_end() {
  if (run && last.kind == StopKind::Finished && run->machine().running()) (void)run->advance(nullptr);
}

const vm::Machine* Debugger::machine() const {
  if (!impl_->run || (impl_->last.kind == StopKind::Finished && !impl_->run->machine().running())) return nullptr;
  return &impl_->run->machine();
}

std::shared_ptr<const session::Build> Debugger::build() const {
  if (!impl_->run || !impl_->run->code().build()->source) return nullptr;
  return impl_->run->code().build();
}

const ir::Module* Debugger::written_module() const { return build() ? impl_->run->code().written_module() : nullptr; }

}  // namespace rldb::debug
