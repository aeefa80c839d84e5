// Skim: a hook that decides about each call.
#include "debug/run/skim.h"

#include <algorithm>
#include <array>
#include <map>

#include "debug/provenance/may_write.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/runtime/unused_contents.h"
#include "rldb/support/take_cancel.h"
#include "rldb/vm/call_log.h"
#include "rldb/vm/instruction_set.h"
#include "rldb/vm/partial_snapshot.h"

namespace rldb::debug {

using runtime::Storage;
using runtime::Value;
using runtime::ValueKind;
using vm::CallAction;

namespace {

// They look at the headers of tensors only, and write nothing but the shape heap and, if it is to be cleared, a tensor
// that they allocate.
constexpr std::array kOnlyHeaders{builtin::AllocShapeHeap,
                                  builtin::MatchShape,
                                  builtin::MatchPrimValue,
                                  builtin::MakeShape,
                                  builtin::MakePrimValue,
                                  builtin::CheckTensorInfo,
                                  builtin::CheckShapeInfo,
                                  builtin::CheckTupleInfo,
                                  builtin::CheckFuncInfo,
                                  builtin::CheckPrimValueInfo,
                                  builtin::AllocStorage,
                                  builtin::AllocTensor,
                                  builtin::AllocShaped,
                                  builtin::NullValue,
                                  builtin::Copy,
                                  builtin::Reshape,
                                  builtin::ShapeOf,
                                  builtin::MemoryView,
                                  builtin::MemoryViewAlias,
                                  builtin::MakeTuple,
                                  builtin::TupleGetItem,
                                  builtin::TupleResetItem,
                                  builtin::MakeClosure};

}  // namespace

bool reads_only_headers(std::string_view builtin) {
  return std::find(kOnlyHeaders.begin(), kOnlyHeaders.end(), builtin) != kOnlyHeaders.end();
}

namespace {

class SkimHook : public vm::Hook {
 public:
  SkimHook(const Run& run, const vm::StopSet* stops, const Run::Visit* visit)
      : run_(run), stops_(stops), visit_(visit) {}

  bool refused() const { return refused_; }
  const std::set<const Storage*>& unknown() const { return unknown_; }

  // The user's changes at the machine's time. False: one of them ends the skim.
  bool apply_changes(vm::Machine& m) {
    for (const Change& c : run_.changes().list()) {
      if (c.time != m.instructions() || !m.running()) continue;
      if (c.moves) return false;
      const Value* held = c.writes ? m.read_register(c.writes->frame, c.writes->reg) : nullptr;
      const bool tensor = held && held->is(ValueKind::Tensor);
      if (tensor && is_out_of_reach(held->as_tensor().storage().get()))
        unknown_.insert(held->as_tensor().storage().get());
      else if (c.apply(m))
        return false;
    }
    return true;
  }

  void see(const vm::Machine& m) {
    if (!visit_ || seen_ == m.instructions() + 1 || !stops_->test(m.frame().pc)) return;
    seen_ = m.instructions() + 1;
    (*visit_)(m);
  }

  bool before_instruction(const vm::Machine& m) override {
    see(m);
    return false;
  }
  bool after_instruction(const vm::Machine&, std::size_t, Pc) override { return refused_; }
  CallAction before_call(const vm::Machine& m, const vm::CallEvent& call) override {
    switch (m.program().target_kind(call.callee)) {
      case vm::TargetKind::Bytecode:
        return CallAction::Run;
      case vm::TargetKind::Kernel:
        return kernel(m, call.pc, call.args, 0);
      case vm::TargetKind::Builtin:
      case vm::TargetKind::Control:
        return builtin(m, call);
      case vm::TargetKind::Packed:
        // Memory that it writes elsewhere may not be copied.
        if (m.call_log() && !m.call_log()->changed_elsewhere(m.instructions()).empty()) return refuse();
        return whole(call.args);
      case vm::TargetKind::Unresolved:
        return whole(call.args);
    }
    RLDB_UNREACHABLE("target kind");
  }

  void after_call(const vm::Machine&, const vm::CallEvent&, const Value& result) override {
    if (result.is(ValueKind::Storage)) made_.insert(result.storage_ref().get());
  }

 private:
  CallAction refuse() {
    refused_ = true;
    return CallAction::Skip;
  }
  // Memory that is not copied, or whose contents are not known.
  bool is_out_of_reach(const Storage* s) const { return s->size() >= run_.skim_from() || unknown_.contains(s); }
  // Memory that the checkpoint may have, too.
  bool is_shared(const Value& v) const {
    return v.is(ValueKind::Storage) && v.storage_ref()->size() >= run_.skim_from() &&
           !made_.contains(v.storage_ref().get());
  }
  bool reaches_out(const Value& v, int depth = 0) const {
    if (depth > 100 || v.is(ValueKind::Object)) return true;
    if (v.is(ValueKind::Tensor)) return is_out_of_reach(v.as_tensor().storage().get());
    if (v.is(ValueKind::Storage)) return is_out_of_reach(v.storage_ref().get());
    const auto any = [&](const std::vector<Value>& parts) {
      return std::any_of(parts.begin(), parts.end(), [&](const Value& part) { return reaches_out(part, depth + 1); });
    };
    if (v.is(ValueKind::Tuple)) return any(v.as_tuple().fields);
    return v.is(ValueKind::Function) && any(v.as_function().captured);
  }
  // A call that must be made with the true contents.
  CallAction whole(runtime::PackedArgs args) {
    const bool out = std::any_of(args.begin(), args.end(), [&](const Value& v) { return reaches_out(v); });
    return out ? refuse() : CallAction::Run;
  }

  CallAction kernel(const vm::Machine& m, Pc pc, runtime::PackedArgs args, std::size_t first) {
    if (std::none_of(args.begin(), args.end(), [&](const Value& v) { return reaches_out(v); })) return CallAction::Run;
    if (!bytecode::is_special(m.executable().instruction(pc).dst)) return refuse();
    const ir::PrimFunc* f = run_.kernel_function(m, pc);
    const std::vector<bool>* written = f ? &written_by(f) : nullptr;
    for (std::size_t i = first; i < args.size(); ++i) {
      if (!args[i].is(ValueKind::Tensor)) continue;
      if (!written || i - first >= written->size() || (*written)[i - first])
        unknown_.insert(args[i].as_tensor().storage().get());
    }
    return CallAction::Skip;
  }
  const std::vector<bool>& written_by(const ir::PrimFunc* f) {
    const auto known = written_.find(f);
    return known != written_.end() ? known->second : written_.emplace(f, may_write(f)).first->second;
  }

  CallAction builtin(const vm::Machine& m, const vm::CallEvent& call) {
    const std::string& name = m.executable().functions[std::size_t(call.callee)].name;
    if (name == builtin::CallTirDyn) return kernel(m, call.pc, call.args, 1);
    if (name == builtin::InvokeClosure) {
      const bool own = call.args.size() > 1 && call.args[1].is(ValueKind::Function) &&
                       is_bytecode(m.program(), call.args[1].as_function().name);
      return own ? CallAction::Run : whole(call.args);
    }
    if (!reads_only_headers(name)) return whole(call.args);
    if (vm::clears_memory(m.program(), call.pc) && is_shared(call.args[0])) return refuse();
    // A heap that is not copied must not be written.
    const bool matches = name == builtin::MatchShape || name == builtin::MatchPrimValue;
    if (matches && call.args.size() > 1 && reaches_out(call.args[1])) return refuse();
    if (name == builtin::MakeShape || name == builtin::MakePrimValue)
      return !call.args.empty() && reaches_out(call.args[0]) ? refuse() : CallAction::Run;
    return CallAction::Run;
  }
  static bool is_bytecode(const vm::Program& program, std::string_view name) {
    const auto& functions = program.executable().functions;
    for (std::size_t i = 0; i < functions.size(); ++i)
      if (functions[i].name == name)
        return program.target_kind(bytecode::FunctionIndex(std::int64_t(i))) == vm::TargetKind::Bytecode;
    return false;
  }

  const Run& run_;
  const vm::StopSet* stops_;
  const Run::Visit* visit_;
  std::uint64_t seen_ = 0;  // one more than the time visited last
  bool refused_ = false;
  std::set<const Storage*> unknown_;
  std::set<const Storage*> made_;  // by this execution
  std::map<const ir::PrimFunc*, std::vector<bool>> written_;
};

std::optional<vm::Machine> begin_at(const Run& run, std::uint64_t time) {
  const bool skims = run.skim_from() != Run::kNoSkim;
  const vm::Machine* point = !skims ? nullptr : run.timeline().at_or_before(time);
  if (!point || !point->running() || vm::instructions_of(point->program())) return std::nullopt;
  auto copy = vm::partial_snapshot(*point, run.skim_from());
  return copy.ok() ? std::optional(*std::move(copy)) : std::nullopt;
}

SkimEnd run_to(const Run& run, vm::Machine& m, std::uint64_t end, SkimHook& hook) {
  const runtime::UnusedContents left_out;
  const auto together = run.with_ranks();
  const Timeline::KeepStart keep(run.timeline());
  while (hook.apply_changes(m)) {
    if (m.instructions() >= end) return SkimEnd::Done;
    // As a machine takes it: a step backward that is interrupted is made again (protocol/dap).
    if (support::take_cancel(support::cancel_flag())) return SkimEnd::Interrupted;
    const vm::Outcome o = m.step(run.changes().next(m.instructions(), end) - m.instructions(), hook);
    if (was_interrupted(o)) return SkimEnd::Interrupted;
    if (hook.refused() || !o.stopped()) return SkimEnd::Refused;
  }
  return SkimEnd::Refused;
}

}  // namespace

SkimEnd skim_to(const Run& run, std::uint64_t time, std::optional<Skimmed>& reached) {
  return run.quietly([&] {
    auto m = begin_at(run, time);
    SkimHook hook(run, nullptr, nullptr);
    const SkimEnd end = m ? run_to(run, *m, time, hook) : SkimEnd::Refused;
    if (end == SkimEnd::Done) reached = Skimmed{*std::move(m), hook.unknown()};
    return end;
  });
}

SkimEnd skim_before(const Run& run, std::uint64_t end, const vm::StopSet& stops, const Run::Visit& begun,
                    const Run::Visit& visit, const Run::Visit& ended) {
  return run.quietly([&] {
    auto m = begin_at(run, end > 0 ? end - 1 : 0);
    if (!m) return SkimEnd::Refused;
    SkimHook hook(run, &stops, &visit);
    begun(*m);
    if (m->instructions() < end) hook.see(*m);
    const SkimEnd how = run_to(run, *m, end, hook);
    if (how == SkimEnd::Done) ended(*m);
    return how;
  });
}

Run::Seek search_frames(const Run& run, const vm::StopSet& stops, const Run::Visit& visit,
                        const std::function<void()>& again, const std::function<bool()>& leave) {
  // A skim looks at each instruction: where there are many, executing them is faster.
  constexpr std::uint64_t kMostSkimmed = 20'000;
  if (!run.machine().running()) return run.search(stops, visit, leave);
  for (std::uint64_t end = run.time(); end > 0;) {
    const vm::Machine* point = run.timeline().at_or_before(end - 1);
    if (!point) return Run::Seek::NoHistory;
    const std::uint64_t begin = point->instructions();
    const auto nothing = [](const vm::Machine&) {};
    const SkimEnd skimmed =
        end - begin > kMostSkimmed ? SkimEnd::Refused : skim_before(run, end, stops, nothing, visit, nothing);
    if (skimmed == SkimEnd::Interrupted) return Run::Seek::Interrupted;
    if (skimmed == SkimEnd::Refused) {
      again();
      const Run::Seek replayed = run.replay_before(end, stops, nothing, visit, nothing);
      if (replayed != Run::Seek::Done) return replayed;
    }
    if (leave()) return Run::Seek::Done;
    end = begin;
  }
  return Run::Seek::NoHistory;
}

}  // namespace rldb::debug
