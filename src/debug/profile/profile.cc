// Runs a program for a profile: on the machine, on the ranks of a group, on the evaluator.
#include "rldb/debug/profile.h"

#include <algorithm>
#include <unordered_set>

#include "debug/profile/eval_observer.h"
#include "debug/profile/machine_observer.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/runtime/copy.h"
#include "rldb/session/observed.h"
#include "rldb/session/prepare.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::debug {

using runtime::Value;

namespace {

using Build = std::shared_ptr<const session::Build>;

// Where the engine of a kernel runs it, as Session::make_kernel decides; nullopt: on the host, or where tensors are.
std::optional<runtime::Device> engine_device(const session::Session& session, std::string_view kernel,
                                             const ir::PrimFunc* f) {
  const auto& own = session.options().kernel_engines;
  const auto given = own.find(kernel);
  const session::Engine engine = given == own.end() ? session.options().engine : given->second;
  if (!session::is_on_device(engine) || ir::find_attr(f->attrs, attr_name::IsHostFunc)) return std::nullopt;
  return runtime::parse_device(engine == session::Engine::Cuda ? "cuda" : "opencl");
}

// One worker's profile in the making.
class Recording {
 public:
  Recording(session::Session& session, const ProfileRequest& request, std::size_t rank)
      : session_(session), function_(request.function) {
    profile.function = request.function;
    profile.engine = to_string(session.options().engine);
    profile.bounds_checked = session.options().check_bounds;
    profile.rank = rank;
    profile.peaks = request.peaks;
    profile.devices = request.devices;
    held_ = runtime::device_uses();
    std::unordered_set<const runtime::Storage*> seen;
    for (const Value& v : request.arguments[rank]) take_argument(v, seen);
  }

  void observe(const Build& build) {
    build_ = build;
    code = std::make_unique<ObservedCode>(build, session_, collector);
    if (vm::instructions_of(*build->program))
      hook = std::make_unique<RelayObserver>(*code, collector, costs);
    else
      hook = std::make_unique<MachineObserver>(*code, collector, costs);
  }

  // The clock runs, and the function is entered.
  void begin(runtime::PackedArgs args) {
    collector.begin_run();
    const FunctionIndex f = code->executable().find_function(function_);
    if (f >= 0 && code->kind(f) == CallKind::Function) {
      collector.enter(code->callee(f), -1, CallKind::Function);
      return;
    }
    const ir::Expr* lowered = build_->lowered ? build_->lowered->find(function_) : nullptr;
    const int callee = code->callee_named(function_, CallKind::Kernel);
    const auto& found = costs.of_kernel(~std::size_t(0), ir::as<ir::PrimFunc>(lowered), callee, args);
    collector.enter(callee, -1, CallKind::Kernel, found.cost, found.shapes);
  }

  void end(const source::Diagnostics& found) {
    collector.end_run();
    if (found.has_errors()) profile.stopped = found.first_error();
  }

  Profile take() {
    if (code) code->note_callees(profile);
    for (ProfileRow& row : profile.bindings)
      if (row.counts.calls == 0) row.counts.calls = row.counts.builtin_calls;
    profile.tree[0].self_ns = profile.wall_ns;
    for (std::size_t i = 1; i < profile.tree.size(); ++i)
      if (profile.tree[i].parent == 0)
        profile.tree[0].self_ns -= std::min(profile.tree[0].self_ns, profile.tree[i].total_ns);
    profile.traffic = runtime::device_uses();
    for (runtime::DeviceUse& use : profile.traffic)
      for (const runtime::DeviceUse& held : held_)
        if (held.device == use.device) use.peak -= std::min(use.peak, held.bytes);
    profile.overhead_ns = std::uint64_t(cost_of_observing() * double(profile.calls));
    return std::move(profile);
  }

  Profile profile;
  Collector collector{profile};
  CallCosts costs{profile, collector, [this](std::string_view callee, const ir::PrimFunc* f) {
                    return engine_device(session_, callee, f);
                  }};
  std::unique_ptr<ObservedCode> code;
  std::unique_ptr<vm::Hook> hook;

 private:
  // An argument's memory belongs to the run, wherever it is.
  void take_argument(const Value& v, std::unordered_set<const runtime::Storage*>& seen) {
    if (v.is(runtime::ValueKind::Tuple))
      for (const Value& field : v.as_tuple().fields) take_argument(field, seen);
    if (!v.is(runtime::ValueKind::Tensor)) return;
    const runtime::Storage& s = *v.as_tensor().storage();
    if (!seen.insert(&s).second) return;
    profile.arguments_bytes += s.size();
    for (runtime::DeviceUse& held : held_)
      if (held.device == s.device()) held.bytes -= std::min(held.bytes, s.size());
  }

  session::Session& session_;
  std::string function_;
  Build build_;
  std::vector<runtime::DeviceUse> held_;  // before the run, by others
};

// The primitives of the Relay VM are compiled for the dims of their first calls. They have no effects.
bool warm_up(const session::Build& build, const ProfileRequest& request, source::Diagnostics& out) {
  std::vector<Value> copies;
  for (const Value& v : request.arguments[0]) {
    auto copy = runtime::deep_copy(v);
    copies.push_back(copy.ok() ? std::move(copy).value() : v);
  }
  return session::run_observed(build, request.function, copies, nullptr, out).ok;
}

std::vector<Profile> profile_on_machine(session::Session& session, const ProfileRequest& request,
                                        std::vector<Value>& results, source::Diagnostics& out) {
  const Build build = session.runnable(out);
  if (!build || !build->program) return {};
  const bool relay = vm::instructions_of(*build->program) != nullptr;
  if (relay) {
    source::Diagnostics again;  // a fault is reported by the run that counts
    (void)warm_up(*build, request, again);
    runtime::reset_device_traffic();
  } else {
    session::prepare_kernels(*build, request.function);
  }
  Recording recording(session, request, 0);
  recording.observe(build);
  for (std::size_t run = 0; run < request.runs && !out.has_errors(); ++run) {
    recording.begin(request.arguments[0]);
    session::RunResult result =
        session::run_observed(*build, request.function, request.arguments[0], recording.hook.get(), out);
    recording.end(out);
    recording.profile.instructions += result.instructions;
    results.assign(1, std::move(result.value));
  }
  std::vector<Profile> profiles;
  profiles.push_back(recording.take());
  return profiles;
}

std::vector<Profile> profile_on_evaluator(session::Session& session, const ProfileRequest& request,
                                          std::vector<Value>& results, source::Diagnostics& out) {
  Recording recording(session, request, 0);
  EvalObserver observer(session, recording.collector, recording.costs);
  for (std::size_t run = 0; run < request.runs && !out.has_errors(); ++run) {
    session::RunResult result =
        session.run_watched(session.module(), request.function, request.arguments[0], observer, out);
    recording.end(out);
    results.assign(1, std::move(result.value));
  }
  if (recording.profile.tree.empty()) return {};
  observer.note_callees(recording.profile);
  std::vector<Profile> profiles;
  profiles.push_back(recording.take());
  return profiles;
}

// The recordings of a group: each clock runs in its rank's turns only.
class RankRecordings : public session::Group::Observer {
 public:
  RankRecordings(session::Session& session, const ProfileRequest& request, const Build& build) {
    for (std::size_t rank = 0; rank < request.arguments.size(); ++rank) {
      recordings.push_back(std::make_unique<Recording>(session, request, rank));
      recordings.back()->observe(build);
    }
  }
  vm::Hook& hook(std::size_t rank) override { return *recordings[rank]->hook; }
  void turn(std::size_t rank, bool begins) override {
    begins ? recordings[rank]->collector.resume() : recordings[rank]->collector.pause();
  }
  std::vector<std::unique_ptr<Recording>> recordings;
};

std::vector<Profile> profile_on_ranks(session::Session& session, session::Group& group, const ProfileRequest& request,
                                      std::vector<Value>& results, source::Diagnostics& out) {
  const Build build = session.runnable(out);
  if (!build || !build->program) return {};
  session::prepare_kernels(*build, request.function);
  RankRecordings ranks(session, request, build);
  group.observe(&ranks);
  for (std::size_t run = 0; run < request.runs && !out.has_errors(); ++run) {
    for (std::size_t r = 0; r < ranks.recordings.size(); ++r) {
      ranks.recordings[r]->begin(request.arguments[r]);
      ranks.recordings[r]->collector.pause();
    }
    (void)group.run(request.function, request.arguments, out);  // diagnosed
    for (const auto& r : ranks.recordings) r->end(out);
    results = group.results();
  }
  group.observe(nullptr);
  std::vector<Profile> profiles;
  for (const auto& r : ranks.recordings) profiles.push_back(r->take());
  return profiles;
}

}  // namespace

std::vector<Profile> profile_run(session::Session& session, session::Group* group, const ProfileRequest& request,
                                 std::vector<Value>& results, source::Diagnostics& out) {
  if (request.arguments.empty()) return {};
  if (group) return profile_on_ranks(session, *group, request, results, out);
  if (session.options().engine == session::Engine::Eval && session.module())
    return profile_on_evaluator(session, request, results, out);
  return profile_on_machine(session, request, results, out);
}

}  // namespace rldb::debug
