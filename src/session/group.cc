// The ranks of a group take turns up to the next collective, where the last one finds what the others brought.
#include "rldb/session/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/bytecode/runtime_function.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/vm/call_time.h"

namespace rldb::session {

using bytecode::Pc;
using runtime::Collective;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;

namespace {

struct CollectiveName {
  std::string_view name;
  Collective what;
};
constexpr CollectiveName kCollectives[] = {
    {runtime_function::DiscoAllreduce, Collective::Allreduce},
    {runtime_function::CustomAllreduce, Collective::Allreduce},
    {runtime_function::DiscoAllgather, Collective::Allgather},
    {runtime_function::DiscoBroadcast, Collective::Broadcast},
    {runtime_function::DiscoScatter, Collective::Scatter},
};

const CollectiveName* find_collective(std::string_view function) {
  for (const CollectiveName& c : kCollectives)
    if (c.name == function) return &c;
  return nullptr;
}

std::string_view name_of(Collective what) {
  for (const CollectiveName& c : kCollectives)
    if (c.what == what) return c.name;
  return {};
}

// The collective that an instruction calls; null: none.
const CollectiveName* collective_at(const bytecode::Executable& exe, Pc pc) {
  const bytecode::Instruction i = exe.instruction(pc);
  return i.op == bytecode::Opcode::Call ? find_collective(exe.functions[std::size_t(i.callee)].name) : nullptr;
}

vm::StopSet collectives_of(const bytecode::Executable& exe) {
  vm::StopSet stops(exe.instruction_count());
  for (Pc pc = 0; pc < exe.end(); ++pc)
    if (collective_at(exe, pc)) stops.set(pc);
  return stops;
}

// The tensor that the call at the machine's pc brings.
Value brought(const vm::Machine& m) {
  const bytecode::Instruction i = m.executable().instruction(m.frame().pc);
  if (i.args.empty()) return {};
  const bytecode::Arg arg = i.arg(0);
  if (arg.kind() == bytecode::ArgKind::Constant) return m.executable().constants[std::size_t(arg.value())];
  const Value* v = arg.kind() == bytecode::ArgKind::Register && !bytecode::is_special(arg.reg())
                       ? m.read_register(m.frames().size() - 1, arg.reg())
                       : nullptr;
  return v ? *v : Value();
}

}  // namespace

struct Group::Member {
  vm::Machine machine;
  bool done = false;
  Value result;

  const CollectiveName* waits_at() const {
    return done ? nullptr : collective_at(machine.executable(), machine.frame().pc);
  }
  source::Span where() const {
    const auto* debug = done ? nullptr : machine.executable().debug.instruction(machine.frame().pc);
    return debug ? debug->span : source::Span();
  }
};

Group::Group(Session& session, std::size_t ranks) : session_(session), ranks_(ranks) { runtime::set_workers(this); }

Group::~Group() {
  if (runtime::workers() == this) runtime::set_workers(nullptr);
}

bool Group::run(std::string_view function, const std::vector<std::vector<Value>>& args, Diagnostics& out) {
  meetings_.clear();
  own_.clear();
  results_.clear();
  if (session_.options().engine == Engine::Eval) {
    out.add({}, source::message(diag::RanksNeedMachine));
    return false;
  }
  const std::shared_ptr<const Build> build = session_.runnable(out);
  if (!build || !build->program) return false;
  std::vector<Member> members;
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    auto machine = session_.start(*build, function, args[rank_], out);
    if (!machine) return false;
    members.push_back({std::move(*machine), false, {}});
  }
  together_ = true;
  bool going = true, good = true;
  while (going && good) {
    good = advance(members, out) && meet_all(members, out);
    going = std::any_of(members.begin(), members.end(), [](const Member& m) { return !m.done; });
  }
  together_ = false;
  rank_ = 0;
  for (Member& m : members) results_.push_back(std::move(m.result));
  return good;
}

// Each rank up to its next collective, or to its end.
bool Group::advance(std::vector<Member>& members, Diagnostics& out) {
  const vm::StopSet stops = collectives_of(members[0].machine.executable());
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    Member& m = members[rank_];
    if (m.done || m.waits_at()) continue;
    vm::Outcome outcome = m.machine.run(stops);
    if (outcome.finished()) {
      m.done = true;
      m.result = std::move(outcome.value);
    } else if (outcome.faulted()) {
      const auto* debug = m.machine.executable().debug.instruction(outcome.fault->pc);
      source::Message text = source::message(diag::RankFailed, rank_, outcome.fault->error.message);
      for (const std::string& note : outcome.fault->error.notes) text.notes.push_back({{}, note});
      out.add(debug ? debug->span : source::Span(), std::move(text));
      return false;
    } else if (outcome.reason == vm::StopReason::Interrupted) {
      out.add({}, source::message(diag::RunInterrupted, m.machine.instructions()));
      return false;
    }
  }
  return true;
}

// All of them wait, at one collective: it is made.
bool Group::meet_all(std::vector<Member>& members, Diagnostics& out) {
  const auto waiting = std::count_if(members.begin(), members.end(), [](const Member& m) { return m.waits_at(); });
  if (waiting == 0) return true;
  const CollectiveName* first = members[0].waits_at();
  for (const Member& m : members)
    if (!first || !m.waits_at() || m.waits_at()->what != first->what) return report_waiting(members, out);
  Meeting meeting;
  meeting.what = first->what;
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    // What is brought may be written over as soon as a rank goes on.
    auto copy = runtime::deep_copy(brought(members[rank_].machine));
    if (!copy.ok()) {
      out.add(members[rank_].where(), source::message(diag::RankFailed, rank_, copy.error().message));
      return false;
    }
    meeting.inputs.push_back(std::move(*copy));
  }
  meetings_.push_back(std::move(meeting));
  meeting_ = true;
  bool good = true;
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    Member& m = members[rank_];
    const source::Span where = m.where();
    const vm::Outcome outcome = m.machine.step(1);
    if (!outcome.faulted()) continue;
    out.add(where, source::message(diag::RankFailed, rank_, outcome.fault->error.message));
    good = false;
    break;
  }
  meeting_ = false;
  return good;
}

// No rank can go on, and they are not at one place.
bool Group::report_waiting(const std::vector<Member>& members, Diagnostics& out) const {
  std::vector<std::string> where;
  source::Span span;
  std::vector<source::Note> notes;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const CollectiveName* at = members[rank].waits_at();
    where.push_back(at ? fmt::format("rank {} waits at `{}`", rank, at->name) : fmt::format("rank {} has ended", rank));
    if (!at) continue;
    if (!span) {
      span = members[rank].where();
    } else {
      notes.push_back({members[rank].where(), fmt::format("rank {} waits here", rank)});
    }
  }
  source::Message text = source::message(diag::RanksDeadlock, fmt::format("{}", fmt::join(where, ", ")));
  text.notes = std::move(notes);
  out.add(span, std::move(text));
  return false;
}

Result<Value> Group::meet(Collective what, PackedArgs args) {
  if (together_ && !meeting_)
    return runtime::fail(
        ErrorKind::Unsupported,
        fmt::format("rank {} comes to `{}` inside of a packed function, where it cannot wait", rank_, name_of(what)));
  if (together_) return runtime::run_collective(what, meetings_.back().inputs, rank_, args);
  // A moment that was there before is the meeting that it was; what lay behind it in another run is forgotten.
  const std::uint64_t now = vm::call_time();
  const auto at = std::lower_bound(own_.begin(), own_.end(), now);
  const auto index = std::size_t(at - own_.begin());
  if (at == own_.end() || *at != now) {
    own_.erase(at, own_.end());
    own_.push_back(now);
  }
  if (index >= meetings_.size() || meetings_[index].what != what)
    return runtime::fail(ErrorKind::Unsupported,
                         index >= meetings_.size()
                             ? fmt::format("rank {} comes to `{}`, and the other ranks do not", rank_, name_of(what))
                             : fmt::format("rank {} comes to `{}`, the other ranks to `{}`", rank_, name_of(what),
                                           name_of(meetings_[index].what)));
  std::vector<Value> inputs = meetings_[index].inputs;
  if (!args.empty()) inputs[rank_] = args[0];
  return runtime::run_collective(what, inputs, rank_, args);
}

// ---- inputs ----

std::optional<std::vector<std::string>> inputs_of_rank(std::span<const std::string> texts, std::size_t rank,
                                                       std::size_t ranks, Diagnostics& out) {
  std::vector<std::string> common, own, names;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::size_t at = text.substr(0, equals).rfind('@');
    if (equals == std::string::npos || at == std::string::npos || at == 0) {
      common.push_back(text);
      continue;
    }
    std::size_t wanted = 0;
    const char *begin = text.data() + at + 1, *end = text.data() + equals;
    const auto [stop, error] = std::from_chars(begin, end, wanted);
    if (error != std::errc() || stop != end || wanted >= ranks) {
      out.add({}, source::message(diag::NoSuchRank, std::string(begin, end), text, ranks));
      return std::nullopt;
    }
    if (wanted != rank) continue;
    names.push_back(text.substr(0, at) + "=");
    own.push_back(text.substr(0, at) + text.substr(equals));
  }
  std::erase_if(common, [&](const std::string& text) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return text.starts_with(n); });
  });
  common.insert(common.end(), own.begin(), own.end());
  return common;
}

}  // namespace rldb::session
