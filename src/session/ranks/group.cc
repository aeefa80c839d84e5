// The ranks of a group take turns up to the next collective. When none can continue, those waiting at one meet, and
// each receives there what the others contribute.
#include "rldb/session/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/runtime/device_error.h"
#include "rldb/runtime/worker_groups.h"
#include "rldb/session/observed.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/vm/call_time.h"
#include "session/ranks/collectives.h"

namespace rldb::session {

using bytecode::Pc;
using runtime::Collective;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;

struct Group::Member {
  vm::Machine machine;
  std::string_view function;
  bool done = false;
  Value result;

  bool in_group() const { return waits_at() && is_in_group_at(machine); }

  const CollectiveName* waits_at() const {
    // A kernel that is run by itself has no frame.
    return done || !machine.running() ? nullptr : collective_at(machine.executable(), machine.frame().pc);
  }
  source::Span where() const {
    const bool nowhere = done || !machine.running();
    const auto* debug = nowhere ? nullptr : machine.executable().debug.instruction(machine.frame().pc);
    return debug ? debug->span : source::Span();
  }
};

namespace {

bool fails(source::Span where, std::size_t rank, const runtime::Error& error, Diagnostics& out) {
  source::Message text = source::message(diag::RankFailed, rank, error.message);
  for (const std::string& note : error.notes) text.notes.push_back({{}, note});
  out.add(where, std::move(text));
  return false;
}

}  // namespace

Group::Group(Session& session, std::size_t ranks, std::size_t groups)
    : session_(session), ranks_(ranks), group_size_(ranks / groups), meetings_(ranks), own_(ranks) {
  runtime::set_workers(this);
  runtime::set_workers_in_group(std::int64_t(group_size_));
}

Group::~Group() {
  if (runtime::workers() == this) runtime::set_workers(nullptr);
}

bool Group::run(std::string_view function, const std::vector<std::vector<Value>>& args, Diagnostics& out) {
  meetings_.assign(ranks_, {});
  messages_.clear();
  own_.assign(ranks_, {});
  ++runs_;
  results_.clear();
  arguments_.clear();
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
    members.push_back({std::move(*machine), function, false, {}});
  }
  arguments_ = args;
  (void)runtime::take_device_error();  // of what ran before
  together_ = true;
  bool going = true, good = true;
  while (going && good) {
    good = advance(members, out) && meet_some(members, out);
    going = std::any_of(members.begin(), members.end(), [](const Member& m) { return !m.done; });
  }
  together_ = false;
  rank_ = 0;
  for (Member& m : members) results_.push_back(std::move(m.result));
  return good;
}

// The present rank's turn. `advance` is given its observer's hook, null: nobody observes it.
template <class Advance>
vm::Outcome Group::in_turn(Advance advance) {
  if (!observer_) return advance(nullptr);
  observer_->turn(rank_, true);
  vm::Outcome outcome = advance(&observer_->hook(rank_));
  observer_->turn(rank_, false);
  return outcome;
}

// Runs each rank to its next collective, or to its end.
bool Group::advance(std::vector<Member>& members, Diagnostics& out) {
  const vm::StopSet stops = collectives_of(members[0].machine.executable());
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    Member& m = members[rank_];
    if (m.done || m.waits_at()) continue;
    vm::Outcome outcome =
        in_turn([&](vm::Hook* hook) { return hook ? m.machine.run(*hook, stops) : m.machine.run(stops); });
    if (outcome.finished()) {
      m.done = true;
      m.result = std::move(outcome.value);
    } else if (outcome.faulted()) {
      const auto* debug = m.machine.executable().debug.instruction(outcome.fault->pc);
      return fails(debug ? debug->span : source::Span(), rank_, outcome.fault->error, out);
    } else if (outcome.reason == vm::StopReason::Interrupted) {
      out.add({}, source::message(diag::RunInterrupted, m.machine.instructions()));
      return false;
    }
    // A copy that the device did not give is the fault of this rank, before others are given it.
    const auto lost = m.done ? lost_result(m.function, m.result) : runtime::take_device_error();
    if (lost) return fails(m.where(), rank_, *lost, out);
  }
  return true;
}

// No rank can continue by itself: executes every collective that all participants have reached.
bool Group::meet_some(std::vector<Member>& members, Diagnostics& out) {
  const auto waits = [](const Member& m) { return m.waits_at() != nullptr; };
  if (std::none_of(members.begin(), members.end(), waits)) return true;
  bool some = false;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const std::optional<bool> met = meet_one(members, rank, out);
    if (met && !*met) return false;
    some = some || met;
  }
  return some || report_waiting(members, out);
}

// Executes the collective at which a rank waits. None: it is not ready, or there is none; false: it failed, diagnosed.
std::optional<bool> Group::meet_one(std::vector<Member>& members, std::size_t rank, Diagnostics& out) {
  Member& m = members[rank];
  const CollectiveName* at = m.waits_at();
  if (!at) return std::nullopt;
  const std::vector<std::size_t> all = participants(m, rank);
  const auto same = [&](std::size_t other) {
    const CollectiveName* there = members[other].waits_at();
    return there && there->what == at->what && participants(members[other], other) == all;
  };
  if (!std::all_of(all.begin(), all.end(), same)) return std::nullopt;
  if (!same_reduction(members, all, out)) return false;
  Meeting meeting;
  meeting.what = at->what;
  const std::optional<std::size_t> peer = peer_of(m, rank);
  if (is_receive(at->what) && peer) {
    std::deque<Value>& sent = messages_[{*peer, rank}];
    if (sent.empty()) return std::nullopt;
    meeting.inputs.push_back(std::move(sent.front()));
    sent.pop_front();
  }
  for (const std::size_t other : is_receive(at->what) ? std::vector<std::size_t>() : all) {
    // Contributions may be overwritten as soon as a rank continues.
    const std::vector<Value> args = arguments_at(members[other].machine);
    const Value given = args.empty() ? Value() : args[0];
    if (const auto there = runtime::read_back(given); !there.ok())
      return fails(members[other].where(), other, there.error(), out);
    auto copy = runtime::deep_copy(given);
    if (!copy.ok()) return fails(members[other].where(), other, copy.error(), out);
    meeting.inputs.push_back(std::move(*copy));
  }
  if (is_send(at->what) && peer) messages_[{rank, *peer}].push_back(meeting.inputs[0]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    meeting.place = i;
    if (!take_part(members[all[i]], all[i], meeting, out)) return false;
  }
  return true;
}

// NCCL leaves open which result ranks get that reduce in different ways.
bool Group::same_reduction(const std::vector<Member>& members, const std::vector<std::size_t>& all, Diagnostics& out) {
  const auto reduction = [&](std::size_t rank) {
    return runtime::reduction_of(members[rank].waits_at()->what, arguments_at(members[rank].machine));
  };
  for (const std::size_t rank : all)
    if (reduction(rank) != reduction(all[0]))
      return fails(members[rank].where(), rank, other_reduction(reduction(rank), all[0], reduction(all[0])), out);
  return true;
}

// The participants in the collective at which a rank waits.
std::vector<std::size_t> Group::participants(const Member& m, std::size_t rank) const {
  const Collective what = m.waits_at()->what;
  if (is_send(what) || is_receive(what)) return {rank};
  const bool whole = !m.in_group();
  const std::size_t first = whole ? 0 : rank / group_size_ * group_size_, count = whole ? ranks_ : group_size_;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

// The receiver, or sender, of a message; none: there is no such rank, which the call reports.
std::optional<std::size_t> Group::peer_of(const Member& m, std::size_t rank) const {
  const auto peer = session::peer_of(m.waits_at()->what, arguments_at(m.machine), rank, group_size_);
  if (!peer || *peer < 0 || *peer >= std::int64_t(ranks_)) return std::nullopt;
  return std::size_t(*peer);
}

bool Group::take_part(Member& m, std::size_t rank, Meeting meeting, Diagnostics& out) {
  const source::Span where = m.where();
  const Collective what = meeting.what;
  rank_ = rank;
  if ((is_send(what) || is_receive(what)) && !peer_of(m, rank)) {
    out.add(where, source::message(diag::RankFailed, rank, fmt::format("`{}` has no rank there", m.waits_at()->name)));
    return false;
  }
  meetings_[rank].push_back(std::move(meeting));
  meeting_ = true;
  const vm::Outcome outcome =
      in_turn([&](vm::Hook* hook) { return hook ? m.machine.step(1, *hook) : m.machine.step(1); });
  meeting_ = false;
  if (outcome.faulted()) return fails(where, rank, {outcome.fault->error.kind, outcome.fault->error.message}, out);
  const auto lost = runtime::take_device_error();
  return !lost || fails(where, rank, *lost, out);
}

std::string Group::place_of(const Member& m, std::size_t rank) const {
  const CollectiveName* at = m.waits_at();
  if (!at) return fmt::format("rank {} has ended", rank);
  std::string text = fmt::format("rank {} waits at `{}`", rank, at->name);
  if (is_receive(at->what)) text += fmt::format(" for rank {}", peer_of(m, rank).value_or(rank));
  if (group_size_ < ranks_ && m.in_group()) text += fmt::format(" of group {}", rank / group_size_);
  return text;
}

// No rank can continue, and they are not at the same place.
bool Group::report_waiting(const std::vector<Member>& members, Diagnostics& out) const {
  std::vector<std::string> where;
  source::Span span;
  std::vector<source::Note> notes;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    where.push_back(place_of(members[rank], rank));
    if (!members[rank].waits_at()) continue;
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
  if (!together_) return meet_again(what, args);
  if (!meeting_)
    return runtime::fail(
        ErrorKind::Unsupported,
        fmt::format("rank {} calls `{}` inside of a packed function, where it cannot wait", rank_, name_of(what)));
  const Meeting& now = meetings_[rank_].back();
  return runtime::run_collective(what, now.inputs, now.place, args);
}

// A moment seen before repeats its meeting; anything after it from another run is discarded.
Result<Value> Group::meet_again(Collective what, PackedArgs args) {
  if (!args.empty()) RLDB_TRY_VOID(runtime::read_back(args[0]));
  const std::vector<Meeting>& met = meetings_[rank_];
  const std::uint64_t now = vm::call_time();
  std::vector<std::uint64_t>& own = own_[rank_];
  const auto at = std::lower_bound(own.begin(), own.end(), now);
  const auto index = std::size_t(at - own.begin());
  if (at == own.end() || *at != now) {
    own.erase(at, own.end());
    own.push_back(now);
  }
  if (index >= met.size() || met[index].what != what)
    return runtime::fail(
        ErrorKind::Unsupported,
        index >= met.size()
            ? fmt::format("rank {} calls `{}`, and the other ranks do not", rank_, name_of(what))
            : fmt::format("rank {} calls `{}`, the other ranks `{}`", rank_, name_of(what), name_of(met[index].what)));
  std::vector<Value> inputs = met[index].inputs;
  if (!args.empty() && !is_receive(what)) inputs[met[index].place] = args[0];
  return runtime::run_collective(what, inputs, met[index].place, args);
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
