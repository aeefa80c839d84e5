// Races of GPU threads, in each kernel that is called.
#include "repro/sanitize/race.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/sanitize/thread_accesses.h"
#include "repro/values.h"
#include "rldb/eval/machine_view.h"
#include "rldb/ir/module.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass.h"
#include "rldb/passes/pass_id.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using runtime::PackedArgs;
using runtime::Value;

namespace {

constexpr std::uint64_t kMostStatements = 20'000'000, kMostOfOne = 2'000'000;
// From loops over threads to launches with barriers; reductions over threads are exchanges, not races.
std::string to_launches() {
  using passes::PassId;
  std::string text;
  for (const PassId id :
       {PassId::LowerCrossThreadReduction, PassId::LowerInitBlock, PassId::ConvertBlocksToOpaque,
        PassId::UnifyThreadBinding, PassId::LowerMatchBuffer, PassId::LowerOpaqueBlock, PassId::ThreadSync})
    text += fmt::format("{},", passes::info(id).name);
  return text + fmt::format("{}(storage_scope=\"shared.dyn\")", passes::info(PassId::ThreadSync).name);
}

bool has_thread_loops(const ir::PrimFunc* f) {
  bool found = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* loop = as<ir::ForStmt>(n);
    found = found || (loop && is_thread_index(ir::thread_tag(loop)));
    return !found;
  });
  return found;
}

bool has_launches(const ir::PrimFunc* f) {
  bool found = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* attr = as<ir::AttrStmt>(n);
    found = found || (attr && is_launch(attr));
    return !found;
  });
  return found;
}

}  // namespace

runtime::Result<support::Unit> RaceRecorder::calling(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  if (races_ && f && (only_.empty() || only_ == name)) look_for_races(name, f, args);
  if (!only_.empty() && (statements_ >= kMostOfOne || !findings().empty()))
    return runtime::fail(runtime::ErrorKind::Unsupported, "enough of it was seen");
  return UninitRecorder::calling(name, f, args);
}

const ir::PrimFunc* RaceRecorder::launched(const ir::PrimFunc* f) {
  const auto [it, fresh] = launched_.try_emplace(f, nullptr);
  if (!fresh) return it->second;
  source::Diagnostics ignored;
  passes::PassEnv env{ctx_, ignored};
  ir::ModuleBuilder one(ctx_);
  constexpr std::string_view kName = "kernel";
  one.set(kName, f);
  const auto pipeline = passes::parse_pipeline(to_launches());
  const auto lowered = passes::run_pipeline(env, one.build(), *pipeline);
  if (lowered.ok()) it->second = as<ir::PrimFunc>((*lowered)->find(kName));
  return it->second;
}

void RaceRecorder::look_for_races(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  const auto give_up = [&](std::string_view why) { not_followed_.try_emplace(std::string(name), why); };
  if (has_thread_loops(f)) {
    f = launched(f);
    if (!f) return give_up("its loops over threads cannot be lowered");
  }
  if (!has_launches(f)) return;
  eval::TirMachine machine(f, &registry());
  eval::keep_to_written_barriers(machine);  // a missing one is what is looked for
  ThreadAccesses accesses(machine);
  machine.watch(&accesses);
  const std::vector<Value> own = copies({args.begin(), args.end()});
  auto ran = machine.start(own);
  // In each call, or in all calls of the one kernel.
  const std::uint64_t most = only_.empty() ? kMostStatements : kMostOfOne;
  if (only_.empty()) statements_ = 0;
  for (; ran.ok() && machine.running() && statements_ < most && !accesses.is_full(); ++statements_) {
    support::poll();
    accesses.see_statement();
    ran = machine.step();
  }
  if (!ran.ok()) give_up(ran.error().message);
  if (statements_ >= most || accesses.is_full()) give_up("too many accesses");
  if (accesses.passed_memory()) give_up("a packed function accesses its memory");
  for (Finding& found : accesses.take()) tell(std::move(found), name);
}

bool has_gpu_threads(const ir::PrimFunc* f) { return has_thread_loops(f) || has_launches(f); }

RaceSearch race_in_kernel(session::Session& session, const Program& program, const std::string& kernel) {
  Sanitizers which;
  which.race = true;
  RaceRecorder recorder(session.context(), memory_for_copies(), which, session.registry(), kernel);
  (void)record(session, program, recorder);
  std::vector<Finding>& found = recorder.findings();
  const auto race =
      std::find_if(found.begin(), found.end(), [](const Finding& f) { return f.kind == Finding::Kind::Race; });
  RaceSearch search;
  if (race != found.end()) search.race = std::move(*race);
  const auto cut = recorder.not_followed().find(kernel);
  if (cut != recorder.not_followed().end()) search.not_followed = cut->second;
  return search;
}

}  // namespace rldb::repro
