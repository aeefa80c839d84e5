// Every message begins with its kind and the number of the run that it belongs to.
#include "rldb/session/process_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "rldb/runtime/device_error.h"
#include "rldb/runtime/worker_groups.h"
#include "rldb/session/observed.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/vm/call_time.h"
#include "session/ranks/collectives.h"
#include "session/ranks/value_bytes.h"

namespace rldb::session {

using runtime::Collective;
using runtime::Error;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using support::ByteReader;
using support::ByteWriter;
using support::RankRow;
using support::RankState;

namespace {

enum class Kind : std::uint8_t { Contribution, Message, End, Told, Text, Question, Answer, Job, Over };

constexpr ::useconds_t kBetweenLooks = 200;
// Ranks that all wait, and do nothing for so long, wait for each other.
constexpr double kStillSeconds = 2;
constexpr double kTellSeconds = 5;
constexpr double kAnswerSeconds = 20;  // the other rank may have to compile first

double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

ByteWriter begin_message(Kind kind, std::uint64_t run) {
  ByteWriter out;
  out.u8(std::uint8_t(kind));
  out.u64(run);
  return out;
}

std::string place_in(const vm::Machine& m, const bytecode::DebugInfo& names) {
  const bytecode::Executable& exe = m.executable();
  const vm::Frame& frame = m.frame();
  std::string text = fmt::format("`{}`", exe.functions[std::size_t(frame.function)].name);
  const auto* debug = names.instruction(frame.pc);
  if (!debug) return text + fmt::format(", instruction {}", frame.pc);
  if (!debug->variable.empty()) text += ", " + debug->variable;
  const bytecode::Location& at = debug->location;
  if (at.file > 0 && at.file <= names.files.size()) text += fmt::format(" ({}:{})", names.files[at.file - 1], at.line);
  return text;
}

// Writes on the board where a rank is, binding by binding.
class PlaceHook : public vm::Hook {
 public:
  PlaceHook(const bytecode::DebugInfo& names, support::RankBoard* board) : names_(names), board_(board) {}

  bool before_instruction(const vm::Machine& m) override {
    const auto* debug = board_ ? names_.instruction(m.frame().pc) : nullptr;
    if (!debug || debug->variable.empty() || (debug->location == last_ && m.frame().function == function_))
      return false;
    last_ = debug->location;
    function_ = m.frame().function;
    board_->write(RankState::Running, place_in(m, names_));
    return false;
  }

 private:
  const bytecode::DebugInfo& names_;
  support::RankBoard* board_;
  bytecode::Location last_;
  bytecode::FunctionIndex function_ = -1;
};

}  // namespace

struct ProcessGroup::Job {
  std::uint64_t run = 0;
  std::string executable, function;
  std::vector<Value> args;
};

ProcessGroup::ProcessGroup(support::Ranks& ranks, support::RankBoard* board, std::size_t groups)
    : ranks_(ranks), board_(board), group_size_(std::size_t(ranks.size()) / groups), ended_(std::size_t(ranks.size())) {
  runtime::set_workers(this);
  runtime::set_workers_in_group(std::int64_t(group_size_));
}

ProcessGroup::~ProcessGroup() {
  if (runtime::workers() == this) runtime::set_workers(nullptr);
}

// ---- messages ----

Result<support::Unit> ProcessGroup::send(std::size_t to, std::string bytes) {
  const std::size_t size = bytes.size();
  if (ranks_.post(int(to), std::move(bytes))) return support::Unit{};
  return runtime::fail(ErrorKind::Unsupported, fmt::format("{} bytes cannot be sent to rank {}", size, to));
}

void ProcessGroup::listen() {
  while (auto message = ranks_.receive()) take(std::size_t(message->from), message->bytes);
}

// Messages of runs before this one are late, and nobody waits for them.
void ProcessGroup::take(std::size_t from, const std::string& bytes) {
  ByteReader in(bytes);
  const auto kind = Kind(in.u8());
  const std::uint64_t run = in.u64();
  if (!in.ok()) return;
  const bool of_run = kind == Kind::Contribution || kind == Kind::Message || kind == Kind::End || kind == Kind::Told ||
                      kind == Kind::Text;
  if (of_run && run > run_) return early_.emplace_back(from, bytes), void();
  if (of_run && run < run_) return;
  switch (kind) {
    case Kind::Contribution: {
      const bool whole = in.u8() != 0;
      const std::uint64_t number = in.u64();
      const auto what = Collective(in.u8());
      std::string reduction = in.string();
      contributions_[{from, whole, number}] = {what, std::move(reduction), read_value(in)};
      return;
    }
    case Kind::Message:
      return messages_[from].push_back(read_value(in));
    case Kind::End:
      ended_[from] = in.u8() != 0;
      told_ = told_ || in.u8() != 0;
      if (std::string why = in.string(); !why.empty()) reason_ = std::move(why);
      return;
    case Kind::Told:
      told_ = true;
      return;
    case Kind::Text:
      texts_[from] = in.string();
      return;
    case Kind::Question:
      // One about a run that is about to begin is answered when it waits, or is over.
      if (!jobs_.empty()) return questions_.emplace_back(from, in.string()), void();
      return answer(from, in.string());
    case Kind::Answer:
      answer_ = std::string(in.raw(in.left()));
      return;
    case Kind::Job: {
      Job job{run, in.string(), in.string(), {}};
      for (std::uint64_t n = in.count(1, "arguments"); n > 0 && in.ok(); --n) job.args.push_back(read_value(in));
      if (in.ok()) jobs_.push_back(std::move(job));
      return;
    }
    case Kind::Over:
      over_ = true;
      return;
  }
}

void ProcessGroup::say(RankState state, const std::string& place) {
  if (board_) board_->write(state, place);
}

// ---- collectives ----

Result<Value> ProcessGroup::meet(Collective what, PackedArgs args) {
  // A command at the prompt of rank 0 that runs the program by itself.
  if (!machine_ && together_ == 0)
    return runtime::fail(ErrorKind::Unsupported,
                         fmt::format("rank {} calls `{}`, and the other ranks do not: `run` and "
                                     "`start` run all of them",
                                     rank(), name_of(what)));
  if (!args.empty()) RLDB_TRY_VOID(runtime::read_back(args[0]));
  const std::uint64_t moment = vm::call_time();
  const auto at = std::lower_bound(met_at_.begin(), met_at_.end(), moment);
  if (at != met_at_.end() && *at == moment) return repeat(std::size_t(at - met_at_.begin()), what, args);
  // Something else happened after a moment to which a debugger went back: the others have seen what happened first.
  if (at != met_at_.end())
    return runtime::fail(
        ErrorKind::Unsupported,
        fmt::format("rank {} calls `{}` at a time when it did not do so before: the other ranks cannot "
                    "go back",
                    rank(), name_of(what)));
  RLDB_TRY(Meeting meeting, is_send(what) || is_receive(what) ? pass_message(what, args) : exchange(what, args));
  met_at_.push_back(moment);
  met_.push_back(meeting);
  return runtime::run_collective(what, meeting.inputs, meeting.place, args);
}

// Of a debugger that went back: the others are not asked again.
Result<Value> ProcessGroup::repeat(std::size_t index, Collective what, PackedArgs args) {
  const Meeting& meeting = met_[index];
  if (meeting.what != what)
    return runtime::fail(ErrorKind::Unsupported, fmt::format("rank {} calls `{}`, where it called `{}` before", rank(),
                                                             name_of(what), name_of(meeting.what)));
  std::vector<Value> inputs = meeting.inputs;
  if (!args.empty() && !is_receive(what)) inputs[meeting.place] = args[0];
  return runtime::run_collective(what, inputs, meeting.place, args);
}

Result<ProcessGroup::Meeting> ProcessGroup::exchange(Collective what, PackedArgs args) {
  if (args.empty() || !args[0].is(runtime::ValueKind::Tensor))
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("`{}` takes a tensor", name_of(what)));
  const bool whole = !runtime::is_in_group(what, args);
  const std::uint64_t number = numbers_[whole ? 1 : 0]++;
  const std::size_t first = whole ? 0 : rank() / group_size_ * group_size_, count = whole ? size() : group_size_;
  // A contribution overwritten by its rank, which may go on first, is the one that was sent.
  RLDB_TRY(Value own, runtime::deep_copy(args[0]));
  const std::string reduction(runtime::reduction_of(what, args));
  const bool from_root = what == Collective::Broadcast || what == Collective::Scatter;
  const bool to_root = what == Collective::Gather;
  for (std::size_t other = first; other < first + count; ++other) {
    if (other == rank() || (from_root && rank() != first) || (to_root && other != first)) continue;
    ByteWriter out = begin_message(Kind::Contribution, run_);
    out.u8(whole ? 1 : 0);
    out.u64(number);
    out.u8(std::uint8_t(what));
    out.string(reduction);
    write_value(out, own);
    RLDB_TRY_VOID(send(other, out.take()));
  }
  const auto needed = [&](std::size_t other) {
    return other != rank() && (!from_root || other == first) && (!to_root || rank() == first);
  };
  RLDB_TRY_VOID(wait(what, [&] {
    Ranks missing;
    for (std::size_t other = first; other < first + count; ++other)
      if (needed(other) && !contributions_.contains({other, whole, number})) missing.push_back(other);
    return missing;
  }));
  Meeting meeting;
  meeting.what = what;
  meeting.place = rank() - first;
  for (std::size_t other = first; other < first + count; ++other) {
    const auto found = contributions_.find({other, whole, number});
    if (found == contributions_.end()) {
      meeting.inputs.push_back(own);
      continue;
    }
    if (found->second.what != what)
      return runtime::fail(ErrorKind::Unsupported, fmt::format("rank {} calls `{}` where rank {} calls `{}`", rank(),
                                                               name_of(what), other, name_of(found->second.what)));
    if (found->second.reduction != reduction)
      return support::Failure(other_reduction(reduction, other, found->second.reduction));
    meeting.inputs.push_back(std::move(found->second.value));
    contributions_.erase(found);
  }
  return meeting;
}

Result<ProcessGroup::Meeting> ProcessGroup::pass_message(Collective what, PackedArgs args) {
  const auto peer = peer_of(what, args, rank(), group_size_);
  if (!peer || *peer < 0 || *peer >= std::int64_t(size()) || args.empty())
    return runtime::fail(ErrorKind::OutOfBounds, fmt::format("`{}` has no rank there", name_of(what)));
  const auto other = std::size_t(*peer);
  Meeting meeting;
  meeting.what = what;
  if (is_send(what)) {
    RLDB_TRY(Value own, runtime::deep_copy(args[0]));
    ByteWriter out = begin_message(Kind::Message, run_);
    if (const std::string why = write_value(out, own); !why.empty())
      return runtime::fail(ErrorKind::TypeMismatch, why + " cannot be sent");
    RLDB_TRY_VOID(send(other, out.take()));
    meeting.inputs.push_back(std::move(own));
    return meeting;
  }
  RLDB_TRY_VOID(wait(what, [&] { return messages_[other].empty() ? Ranks{other} : Ranks(); }));
  meeting.inputs.push_back(std::move(messages_[other].front()));
  messages_[other].pop_front();
  return meeting;
}

Result<support::Unit> ProcessGroup::wait(Collective what, const std::function<Ranks()>& missing) {
  listen();
  if (missing().empty()) return support::Unit{};
  say(RankState::Waiting, machine_ ? place_in(*machine_, names_of(*machine_)) + fmt::format(" at `{}`", name_of(what))
                                   : fmt::format("`{}`", name_of(what)));
  seen_.clear();
  answer_questions();
  for (;;) {
    listen();
    const Ranks still = missing();
    if (still.empty()) break;
    if (auto error = hopeless(what, still)) return support::Failure(*std::move(error));
    ::usleep(kBetweenLooks);
  }
  if (board_) board_->write(RankState::Running);
  return support::Unit{};
}

// Of those that this concerns, one rank tells.
bool ProcessGroup::speaks() const {
  for (std::size_t other = 0; other < rank(); ++other)
    if (!ended_[other]) return false;
  return true;
}

std::string ProcessGroup::deadlock(Collective what) const {
  std::vector<std::string> places;
  for (std::size_t other = 0; other < size(); ++other)
    places.push_back(other == rank() ? fmt::format("rank {} waits at `{}`", other, name_of(what)) : place_of(other));
  return fmt::format("the ranks wait for each other: {}", fmt::join(places, "; "));
}

std::optional<Error> ProcessGroup::hopeless(Collective what, const Ranks& missing) {
  if (support::cancel_flag().load(std::memory_order_relaxed))
    return Error{ErrorKind::Interrupted, fmt::format("interrupted while it waits at `{}`", name_of(what)), {}};
  for (std::size_t other = 0; other < size(); ++other)
    if (told_ && ended_[other] && !*ended_[other]) {
      told_elsewhere_ = true;
      return Error{ErrorKind::Interrupted,
                   fmt::format("rank {} has failed{}{}", other, reason_.empty() ? "" : ": ", reason_),
                   {}};
    }
  const bool gone = std::any_of(missing.begin(), missing.end(), [&](std::size_t r) { return ended_[r].has_value(); });
  if (!gone && !nobody_goes_on()) return std::nullopt;
  told_elsewhere_ = !speaks();
  return Error{ErrorKind::Unsupported, deadlock(what), {}};
}

bool ProcessGroup::nobody_goes_on() {
  if (!board_ || ranks_.posting()) return false;
  std::vector<std::uint64_t> changes;
  for (const RankRow& row : board_->rows()) {
    if (row.state != RankState::Waiting && row.state != RankState::Done) return seen_.clear(), false;
    changes.push_back(row.changes);
  }
  if (changes != seen_) {
    seen_ = std::move(changes);
    seen_at_ = now();
  }
  return now() - seen_at_ > kStillSeconds;
}

// ---- runs ----

void ProcessGroup::begin() { begin(run_ + 1); }

void ProcessGroup::begin(std::uint64_t run) {
  run_ = run;
  numbers_[0] = numbers_[1] = 0;
  contributions_.clear();
  messages_.clear();
  std::fill(ended_.begin(), ended_.end(), std::nullopt);
  met_.clear();
  met_at_.clear();
  texts_.clear();
  told_elsewhere_ = told_ = false;
  untold_ = {};
  reason_.clear();
  for (const auto& [from, bytes] : std::exchange(early_, {})) take(from, bytes);
}

std::optional<Value> ProcessGroup::run(Session& session, std::string_view function, std::span<const Value> args,
                                       Diagnostics& out) {
  if (session.options().engine == Engine::Eval) {
    out.add({}, source::message(diag::RanksNeedMachine));
    return std::nullopt;
  }
  const std::shared_ptr<const Build> build = session.runnable(out);
  if (!build || !build->program) return std::nullopt;
  auto machine = session.start(*build, function, args, out);
  if (!machine) return std::nullopt;
  (void)runtime::take_device_error();  // of what ran before
  machine_ = &*machine;
  std::optional<Value> result = run_on(*machine, out);
  machine_ = nullptr;
  if (const auto lost = result ? lost_result(function, *result) : std::nullopt) {
    source::Message text = source::message(diag::RankFailed, rank(), lost->message);
    for (const std::string& note : lost->notes) text.notes.push_back({{}, note});
    out.add({}, std::move(text));
    return std::nullopt;
  }
  return result;
}

const bytecode::DebugInfo& ProcessGroup::names_of(const vm::Machine& m) const {
  return names_.instructions.empty() ? m.executable().debug : names_;
}

std::optional<Value> ProcessGroup::run_on(vm::Machine& machine, Diagnostics& out) {
  PlaceHook hook(names_of(machine), board_);
  say(RankState::Running, place_in(machine, names_of(machine)));
  vm::Outcome outcome = machine.run(hook);
  if (outcome.finished()) return std::move(outcome.value);
  if (!outcome.faulted()) {
    out.add({}, source::message(diag::RunInterrupted, machine.instructions()));
    return std::nullopt;
  }
  const auto* debug = names_of(machine).instruction(outcome.fault->pc);
  source::Message text = source::message(diag::RankFailed, rank(), outcome.fault->error.message);
  for (const std::string& note : outcome.fault->error.notes) text.notes.push_back({{}, note});
  text.notes.push_back({{}, "in " + place_in(machine, names_of(machine))});
  (told_elsewhere_ ? untold_ : out).add(debug ? debug->span : source::Span(), std::move(text));
  return std::nullopt;
}

void ProcessGroup::end(bool good, const std::string& why) {
  ended_[rank()] = good;
  const bool tells = !good && !told_elsewhere_;
  told_ = told_ || tells;
  for (std::size_t other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    ByteWriter out = begin_message(Kind::End, run_);
    out.u8(good ? 1 : 0);
    out.u8(tells ? 1 : 0);
    out.string(why);
    (void)send(other, out.take());  // it is small
  }
}

bool ProcessGroup::wait_for_others() {
  const auto open = [&] { return std::any_of(ended_.begin(), ended_.end(), [](const auto& e) { return !e; }); };
  for (listen(); open() || ranks_.posting(); listen()) {
    support::poll();
    ::usleep(kBetweenLooks);
  }
  return std::all_of(ended_.begin(), ended_.end(), [](const auto& e) { return *e; });
}

void ProcessGroup::tell(const std::function<void(const Diagnostics&)>& report) {
  const auto first = std::find(ended_.begin(), ended_.end(), std::optional(false));
  if (!told_ && std::size_t(first - ended_.begin()) == rank()) {
    report(untold_);
    told_ = true;
    for (std::size_t other = 0; other < size(); ++other)
      if (other != rank()) (void)send(other, begin_message(Kind::Told, run_).take());
  }
  // A process that ends takes the job with it, also one that has not written yet.
  for (const double end = now() + kTellSeconds; (!told_ || ranks_.posting()) && now() < end; listen()) {
    support::poll();
    ::usleep(kBetweenLooks);
  }
}

std::vector<std::string> ProcessGroup::gather(const std::string& text) {
  if (rank() != 0) {
    ByteWriter out = begin_message(Kind::Text, run_);
    out.string(text);
    (void)send(0, out.take());
    return {};
  }
  texts_[0] = text;
  for (listen(); texts_.size() < size(); listen()) {
    support::poll();
    ::usleep(kBetweenLooks);
  }
  std::vector<std::string> all;
  for (const auto& [from, own] : texts_) all.push_back(own);
  return all;
}

// ---- questions ----

std::string ProcessGroup::place_of(std::size_t rank) const {
  const std::vector<RankRow> rows = board_ ? board_->rows() : std::vector<RankRow>();
  if (ended_[rank]) return fmt::format("rank {} has ended", rank);
  if (rank >= rows.size()) return fmt::format("rank {} is on another host", rank);
  const RankRow& row = rows[rank];
  switch (row.state) {
    case RankState::Elsewhere:
      return fmt::format("rank {} is on another host", rank);
    case RankState::Running:
      return row.place.empty() ? fmt::format("rank {} has not begun", rank)
                               : fmt::format("rank {} runs in {}", rank, row.place);
    case RankState::Waiting:
      return fmt::format("rank {} waits in {}", rank, row.place);
    case RankState::Stopped:
      return fmt::format("rank {} has stopped", rank);
    case RankState::Done:
      return fmt::format("rank {} has ended", rank);
  }
  RLDB_UNREACHABLE("state of a rank");
}

Result<Value> ProcessGroup::variable(std::string_view name) const {
  if (!machine_ || !machine_->running())
    return runtime::fail(ErrorKind::Unsupported, fmt::format("rank {} runs nothing now", rank()));
  const vm::Frame& frame = machine_->frame();
  const auto* debug = machine_->executable().debug.function(frame.function);
  bool was_there = false, comes = false;
  for (const bytecode::VariableRange& v : debug ? debug->variables : std::vector<bytecode::VariableRange>()) {
    if (v.name != name) continue;
    was_there = was_there || v.end <= frame.pc;
    comes = comes || frame.pc < v.begin;
    if (frame.pc < v.begin || frame.pc >= v.end) continue;
    if (const Value* value = machine_->read_register(machine_->frames().size() - 1, v.reg)) return *value;
  }
  const std::string place = fmt::format("{}, where rank {} is", place_in(*machine_, names_of(*machine_)), rank());
  if (was_there)
    return runtime::fail(ErrorKind::Raised,
                         fmt::format("`{}` has no value any more in {}: its register was freed after "
                                     "its last use, and the rank has no history",
                                     name, place));
  if (comes) return runtime::fail(ErrorKind::Raised, fmt::format("`{}` is not computed yet in {}", name, place));
  return runtime::fail(ErrorKind::UnknownFunction, fmt::format("there is no `{}` in {}", name, place));
}

void ProcessGroup::answer(std::size_t from, std::string_view name) {
  const Result<Value> value = variable(name);
  ByteWriter content;
  std::string why = value.ok() ? write_value(content, *value) : value.error().message;
  if (value.ok() && !why.empty()) why += " is not sent from rank to rank";
  ByteWriter out = begin_message(Kind::Answer, run_);
  out.string(why);
  if (why.empty()) out.raw(content.bytes());
  (void)send(from, out.take());
}

void ProcessGroup::answer_questions() {
  for (const auto& [from, name] : std::exchange(questions_, {})) answer(from, name);
}

Result<Value> ProcessGroup::ask(std::size_t rank, std::string_view variable) {
  ByteWriter out = begin_message(Kind::Question, run_);
  out.string(variable);
  answer_.reset();
  RLDB_TRY_VOID(send(rank, out.take()));
  for (const double end = now() + kAnswerSeconds; !answer_; ::usleep(kBetweenLooks)) {
    listen();
    support::poll();
    if (now() > end)
      return runtime::fail(ErrorKind::Interrupted, fmt::format("rank {} does not answer: {}", rank, place_of(rank)));
  }
  ByteReader in(*answer_);
  if (const std::string why = in.string(); !why.empty()) return runtime::fail(ErrorKind::Unsupported, why);
  Value value = read_value(in);
  if (!in.ok()) return runtime::fail(ErrorKind::BadFile, "the answer is damaged");
  return value;
}

// ---- a prompt at rank 0 ----

bool ProcessGroup::start_others(const std::string& executable, std::string_view function,
                                const std::vector<std::vector<Value>>& args, Diagnostics& out) {
  std::vector<std::string> jobs(size());
  for (std::size_t other = 1; other < size(); ++other) {
    ByteWriter job = begin_message(Kind::Job, run_ + 1);
    job.string(executable);
    job.string(function);
    job.u64(args[other].size());
    for (const Value& v : args[other])
      if (const std::string why = write_value(job, v); !why.empty()) {
        out.add({}, source::message(diag::RankFailed, other, fmt::format("an argument is {}, which is not sent", why)));
        return false;
      }
    jobs[other] = job.take();
  }
  if (serving_) end(false);  // they may still wait for the run before
  serving_ = true;
  for (std::size_t other = 1; other < size(); ++other)
    if (const auto sent = send(other, std::move(jobs[other])); !sent.ok()) {
      out.add({}, source::message(diag::RankFailed, other, sent.error().message));
      return false;
    }
  begin();
  run_offered_ = true;
  return true;
}

void ProcessGroup::run_job(Session& session, const Job& job) {
  begin(job.run);
  Diagnostics out;
  bool loaded = false;
  {
    const support::TemporaryFolder folder("rank");
    const std::string path = folder.path() + "/program";
    const auto written = support::write_file(path, job.executable, support::Durable::No);
    if (written.ok())
      loaded = session.load_file(path, out);
    else
      out.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
  }
  const auto result = loaded ? run(session, job.function, job.args, out) : std::nullopt;
  end(result.has_value(), out.first_error());
}

void ProcessGroup::serve(Session& session) {
  for (listen(); !over_; listen()) {
    support::poll();
    if (jobs_.empty()) {
      ::usleep(kBetweenLooks);
      continue;
    }
    const Job job = std::move(jobs_.front());
    jobs_.erase(jobs_.begin());
    run_job(session, job);
    answer_questions();
  }
}

void ProcessGroup::stop_serving() {
  if (serving_) end(false);
  for (std::size_t other = 1; other < size(); ++other) (void)send(other, begin_message(Kind::Over, run_).take());
  while (ranks_.posting()) ::usleep(kBetweenLooks);
}

}  // namespace rldb::session
