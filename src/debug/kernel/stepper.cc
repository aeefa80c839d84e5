// KernelStepper: saving and restoring tensors, and moving between the moments of a kernel's call.
#include "debug/kernel/stepper.h"

#include <algorithm>
#include <cstring>

#include "rldb/support/check.h"

namespace rldb::debug {

using eval::TirMachine;
using runtime::Value;

// ---- contents of the tensors ----

bool TensorBytes::save_storage(const support::Ref<runtime::Storage>& storage) {
  for (const auto& [kept, copy] : kept_)
    if (kept == storage) return true;
  auto copy = storage->clone();
  if (!copy.ok()) return false;
  kept_.emplace_back(storage, std::move(copy).value());
  return true;
}

bool TensorBytes::save(std::span<const Value> values, std::span<const Value> constants) {
  for (const Value& v : values) {
    if (!v.is(runtime::ValueKind::Tensor)) continue;  // a kernel takes tensors and numbers
    const auto& storage = v.as_tensor().storage();
    const bool constant = std::any_of(constants.begin(), constants.end(), [&](const Value& c) {
      return c.is(runtime::ValueKind::Tensor) && c.as_tensor().storage() == storage;
    });
    if (!constant && !save_storage(storage)) return false;
  }
  return true;
}

void TensorBytes::restore() const {
  for (const auto& [storage, copy] : kept_) {
    // Nobody shares it, unless another run was given it since.
    RLDB_CHECK(runtime::own(*storage).ok(), "memory to restore the arguments of a kernel");
    std::memcpy(storage->data(), copy->data(), copy->size());
  }
}

// ---- code ----

SelfStopping* KernelCode::find(const ir::PrimFunc* f, std::string_view name, std::span<const Probe> probes) {
  if (session_.options().engine != session::Engine::Jit) return nullptr;
  std::vector<std::uintptr_t> key{reinterpret_cast<std::uintptr_t>(f)};
  for (const Probe& p : probes)
    for (const std::uintptr_t part :
         {std::uintptr_t(p.arrival), reinterpret_cast<std::uintptr_t>(p.at), reinterpret_cast<std::uintptr_t>(p.axis),
          reinterpret_cast<std::uintptr_t>(p.condition.holds), std::uintptr_t(p.group), std::uintptr_t(p.asks)})
      key.push_back(part);
  // Code keeps the tensors that its conditions read.
  constexpr std::size_t kMostCode = 64;
  if (made_.size() >= kMostCode && !made_.contains(key)) made_.clear();
  const auto [it, fresh] = made_.try_emplace(std::move(key));
  if (fresh) {
    const auto asks = [](const Probe& p) { return p.asks; };
    if (std::any_of(probes.begin(), probes.end(), asks) && !session_.registry().find(Instrumented::kAsk))
      SelfStopping::register_in(session_.registry());
    auto made = SelfStopping::make(session_.context(), compiler_, f, name, probes);
    if (made.ok()) it->second = std::move(made).value();
  }
  return it->second.get();
}

// ---- arrivals, step by step ----

namespace {

bool has_new_value(std::span<const Probe> probes) {
  return std::any_of(probes.begin(), probes.end(),
                     [](const Probe& p) { return p.arrival == Probe::Arrival::NewValue; });
}

// Sees each moment of a machine, in order, and finds the probes that arrive there.
class Watcher {
 public:
  Watcher(const KernelSearch& search, const Window& window, std::vector<Arrivals>& groups)
      : search_(search), window_(window), groups_(groups), axes_(search.probes.size()) {}

  // The previous moment, from which an arrival is recognised.
  void begin_at(const TirMachine& m) { remember(m); }
  // True: a group stops here.
  bool moment(const TirMachine& m) {
    bool stops = false;
    for (std::size_t i = 0; i < search_.probes.size(); ++i) {
      const Probe& p = search_.probes[i];
      if (!arrives(i, m) || !counts(m.steps()) || !holds(p, m)) continue;
      Arrivals& group = groups_[p.group];
      const auto& pass = search_.pass[p.group];
      stops = stops || (pass && group.hits == *pass);
      ++group.hits;
      group.last = m.steps();
    }
    remember(m);
    return stops;
  }

 private:
  bool counts(std::uint64_t steps) const {
    return (!window_.after || steps > *window_.after) && (!window_.before || steps < *window_.before);
  }

  bool holds(const Probe& p, const TirMachine& m) const {
    if (p.condition && !p.condition.needs_code()) {
      auto v = m.value_of(p.condition.holds);
      return !v.ok() || v->as_int() != 0;
    }
    return !search_.condition || search_.condition(p.group, m);
  }

  bool arrives(std::size_t probe, const TirMachine& m) {
    const Probe& p = search_.probes[probe];
    switch (p.arrival) {
      case Probe::Arrival::Statement:
        if (m.current() != p.at) return false;
        if (ir::isa<ir::WhileStmt>(p.at)) return std::find(around_.begin(), around_.end(), p.at) == around_.end();
        return !m.inside(p.at);  // a loop or block: it begins
      case Probe::Arrival::Iteration:
        return current_ == p.at && m.inside(p.at);
      case Probe::Arrival::Block:
        return entered(p.at, m);
      case Probe::Arrival::NewValue:
        break;
    }
    if (!entered(p.at, m)) return false;
    auto value = m.value_of(p.axis);
    if (!value.ok()) return false;
    const std::int64_t now = value->as_int();
    return std::exchange(axes_[probe], now) != now;
  }

  bool entered(const ir::Stmt* block, const TirMachine& m) const {
    return current_ == block && !current_inside_ && m.inside(block);
  }

  void remember(const TirMachine& m) {
    current_ = m.current();
    current_inside_ = current_ && m.inside(current_);
    around_.clear();
    if (has_while_) around_ = m.enclosing();
  }

  const KernelSearch& search_;
  const Window& window_;
  std::vector<Arrivals>& groups_;
  std::vector<std::optional<std::int64_t>> axes_;
  const ir::Stmt* current_ = nullptr;
  bool current_inside_ = false;
  std::vector<const ir::Stmt*> around_;
  bool has_while_ = std::any_of(search_.probes.begin(), search_.probes.end(),
                                [](const Probe& p) { return ir::isa<ir::WhileStmt>(p.at); });
};

constexpr std::uint64_t kPollEvery = 1024;

}  // namespace

// ---- the call ----

std::unique_ptr<KernelStepper> KernelStepper::enter(KernelCode& code, std::string name, const ir::PrimFunc* f,
                                                    std::vector<Value> args, std::span<const Value> constants) {
  for (const Value& v : args)
    if (!runtime::own_all(v).ok()) return nullptr;
  auto made = std::unique_ptr<KernelStepper>(new KernelStepper(code, std::move(name), f, std::move(args)));
  if (!made->before_.save(made->args_, constants) || !made->start_again()) return nullptr;
  return made;
}

bool KernelStepper::start_again() {
  seen_.reset();
  before_.restore();
  machine_ = std::make_unique<TirMachine>(f_, &code_.session().registry());
  return machine_->start(args_).ok();
}

// Gives the tensors their contents at the place.
bool KernelStepper::put_to(const eval::TirPlace& place) {
  seen_.reset();
  auto machine = std::make_unique<TirMachine>(f_, &code_.session().registry());
  if (!machine->start(args_).ok() || !machine->seek(place).ok()) return false;
  machine_ = std::move(machine);
  return true;
}

KernelStepper::Found KernelStepper::walk_to(std::uint64_t steps) {
  seen_.reset();
  std::atomic<bool>& interrupt = code_.session().interrupt();
  const auto ran = machine_->run({.until = steps, .interrupt = &interrupt});
  if (!ran.ok()) return Found::No;
  if (*ran == TirMachine::Ran::Interrupted) {
    interrupt = false;
    return Found::Interrupted;
  }
  return machine_->running() ? Found::Yes : Found::No;
}

KernelStepper::Found KernelStepper::go_to(std::uint64_t steps) {
  const std::uint64_t now = machine_->steps();
  if (steps >= now && steps - now <= code_.near) return walk_to(steps);
  if (steps > code_.near) {
    if (SelfStopping* code = code_.find(f_, name_, {})) {
      before_.restore();
      auto ran = code->run(args_, Window{steps, {}, {}}, {});
      if (ran.ok() && !ran->place) return Found::No;
      if (ran.ok() && put_to(*ran->place)) return Found::Yes;
      if (!ran.ok() && ran.error().kind == runtime::ErrorKind::Interrupted) {
        code_.session().interrupt() = false;
        return Found::Interrupted;
      }
    }
  }
  if (!start_again()) return Found::No;
  return walk_to(steps);
}

// From the current moment; `reached`: it stopped at the limit.
KernelStepper::Found KernelStepper::walk(const KernelSearch& search, const Window& window, std::uint64_t limit,
                                         bool& reached, std::vector<Arrivals>& groups) {
  Watcher watcher(search, window, groups);
  groups.assign(search.pass.size(), {});
  // The walk comes from the moment of `after` itself.
  if (window.after && machine_->steps() == *window.after)
    watcher.begin_at(*machine_);
  else if (watcher.moment(*machine_))
    return Found::Yes;
  for (std::uint64_t walked = 1;; ++walked) {
    if (!machine_->running() || !machine_->step().ok() || !machine_->running()) return Found::No;
    if (window.before && machine_->steps() >= *window.before) return Found::No;
    if (watcher.moment(*machine_)) return Found::Yes;
    if (walked % kPollEvery == 0 && interrupted()) return Found::Interrupted;
    if (walked >= limit) {
      reached = true;
      return Found::No;
    }
  }
}

// The machine code's answer; nullopt: there is none.
std::optional<KernelStepper::Found> KernelStepper::run(const KernelSearch& search, const Window& window,
                                                       std::vector<Arrivals>& groups) {
  SelfStopping* code = code_.find(f_, name_, search.probes);
  if (!code) return std::nullopt;
  before_.restore();
  bool given_up = false;
  const auto ask = [&](std::size_t probe, const eval::TirPlace& place) -> std::optional<bool> {
    if (!search.condition) return true;
    TirMachine there(f_, &code_.session().registry());
    given_up = !there.start(args_).ok() || !there.seek(place).ok();
    return given_up ? std::nullopt : std::optional(search.condition(search.probes[probe].group, there));
  };
  auto ran = code->run(args_, window, search.pass, ask);
  if (given_up) return std::nullopt;
  if (!ran.ok()) {
    if (ran.error().kind == runtime::ErrorKind::Interrupted) {
      code_.session().interrupt() = false;
      return Found::Interrupted;
    }
    // It reached its fault without stopping first.
    if (ran.error().kind != runtime::ErrorKind::OutOfMemory) return Found::No;
    return std::nullopt;
  }
  groups = std::move(ran->groups);
  if (!ran->place) return Found::No;
  if (window.stop_at && ran->place->steps == *window.stop_at) return Found::No;
  return put_to(*ran->place) ? std::optional(Found::Yes) : std::nullopt;
}

KernelStepper::Found KernelStepper::search(const KernelSearch& search, const Window& window, bool from_beginning,
                                           std::vector<Arrivals>& groups) {
  seen_.reset();
  if (from_beginning && !start_again()) return Found::No;
  bool reached = false;
  // Without their code, conditions are slow here: the language decides.
  const bool slow = std::any_of(search.probes.begin(), search.probes.end(),
                                [](const Probe& p) { return p.asks || p.condition.needs_code(); });
  const Found near = walk(search, window, slow ? code_.near / 20 : code_.near, reached, groups);
  if (!reached) return near;
  if (const auto far = run(search, window, groups)) return *far;
  if (!start_again()) return Found::No;
  return walk(search, window, std::numeric_limits<std::uint64_t>::max(), reached, groups);
}

KernelStepper::Found KernelStepper::forward(const KernelSearch& search, bool from_beginning,
                                            std::optional<std::uint64_t> before, std::vector<Arrivals>& groups) {
  Window window;
  if (!from_beginning) window.after = machine_->steps();
  window.before = before;
  return this->search(search, window, from_beginning || has_new_value(search.probes), groups);
}

std::optional<std::uint64_t> KernelStepper::last_arrival(const KernelSearch& search,
                                                         std::optional<std::uint64_t> before,
                                                         std::vector<Arrivals>& groups) {
  KernelSearch counting = search;
  counting.pass.assign(search.pass.size(), std::nullopt);
  // Interrupted: the arrivals so far are not an answer.
  if (this->search(counting, Window{before, {}, before}, true, groups) == Found::Interrupted) return std::nullopt;
  std::optional<std::uint64_t> last;
  for (const Arrivals& a : groups)
    if (a.last && (!last || *a.last > *last)) last = a.last;
  return last;
}

}  // namespace rldb::debug
