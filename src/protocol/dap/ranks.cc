// The ranks of a program as the threads of a client.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "rldb/session/group.h"
#include "rldb/support/text.h"

namespace rldb::protocol::dap {

Answer Adapter::on_threads(const Request&) { return threads(); }

Json Adapter::threads() const {
  Json list = Json::array();
  if (!loaded_ || ended_) return {{"threads", std::move(list)}};
  const std::size_t ranks = runs_->count();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (runs_->is_live(rank) || rank == runs_->current())
      list.push_back({{"id", rank + 1}, {"name", ranks == 1 ? std::string("main") : fmt::format("rank {}", rank)}});
  return {{"threads", std::move(list)}};
}

// A run of the program begins; what is known of stops before it is old.
void Adapter::begin_ranks() {
  exit_code_ = 0;
  variables_->forget_all();
  runs_->begin();
  variables_->select(runs_->current(), runs_->count());
}

void Adapter::select_rank(std::size_t rank) {
  runs_->select(rank);
  variables_->select(runs_->current(), runs_->count());
}

std::optional<Failure> Adapter::select_thread(Fields& fields) {
  const std::int64_t thread = fields.integer("threadId");
  if (fields.failure()) return fields.failure();
  if (thread < 1 || thread > std::int64_t(runs_->count())) return Failure{fmt::format("there is no thread {}", thread)};
  const auto rank = std::size_t(thread - 1);
  if (rank == runs_->current()) return std::nullopt;
  if (!runs_->is_live(rank)) return Failure{fmt::format("rank {} has ended", rank), false};
  select_rank(rank);
  return std::nullopt;
}

// A reference of a rank that has ended belongs to an earlier stop, which is found by whoever looks for it.
void Adapter::select_rank_of_variables(std::int64_t reference) {
  const std::size_t rank = runs_->rank_of(reference);
  if (rank != runs_->current() && runs_->is_live(rank)) select_rank(rank);
}

// Before a text about the present rank; empty: there is only one.
std::string Adapter::rank_text() const {
  return runs_->count() == 1 ? std::string() : fmt::format("rank {}: ", runs_->current());
}

std::optional<std::size_t> Adapter::take_rank(std::string& text) const {
  const std::string_view trimmed = support::trim(text);
  const auto at = trimmed.rfind('@');
  if (runs_->count() == 1 || at == std::string_view::npos || at == 0 || trimmed[at - 1] == ' ') return std::nullopt;
  std::size_t rank = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [stop, error] = std::from_chars(trimmed.data() + at + 1, end, rank);
  if (error != std::errc() || stop != end || !runs_->is_live(rank)) return std::nullopt;
  text = std::string(trimmed.substr(0, at));
  return rank;
}

// The console has run the group again, or made another one: the other ranks have no runs any more.
void Adapter::follow_group() {
  if (runs_->is_of_this_group()) return;
  for (std::size_t rank = 0; rank < runs_->count(); ++rank)
    if (rank != runs_->current() && runs_->is_live(rank))
      channel_.event("thread", {{"reason", "exited"}, {"threadId", rank + 1}});
  begin_ranks();
}

// The client goes to the thread.
void Adapter::show_rank(std::size_t rank) {
  if (!runs_->is_live(rank)) return channel_.output("stderr", fmt::format("rank {} has ended\n", rank));
  select_rank(rank);
  send_stopped(repl_->debugger().last_stop(), "step", {});
}

// ---- begin and end ----

// After the present rank, which has run the group: each of the others runs to its first stop. The client's focus stays
// at the first one that has stopped.
void Adapter::start_other_ranks() {
  const std::size_t first = runs_->current();
  for (std::size_t rank = 0; rank < runs_->count() && !ended_; ++rank) {
    if (rank == first) continue;
    select_rank(rank);
    quiet_stop_ = runs_->is_live(first);
    const bool went = run(
        "run",
        [this, rank]() -> debug::StopReport {
          repl_->group->be(rank);
          source::Diagnostics diagnostics;
          const bool at_entry = (launch_.stop_on_entry && !launch_.no_debug) || pause_at_entry_;
          debug::StopReport stop =
              repl_->debugger().start(call_->function, call_->by_rank[rank], at_entry, diagnostics);
          repl_->report(diagnostics);
          return stop;
        },
        resume_verb());
    quiet_stop_ = false;
    if (!went) return;
  }
  starting_ = false;
  if (ended_) return;
  const auto next = runs_->is_live(first) ? std::optional(first) : runs_->first_live();
  if (!next) return end_program(exit_code_);
  select_rank(*next);
}

void Adapter::end_rank(int exit_code) {
  exit_code_ = std::max(exit_code_, exit_code);
  if (runs_->count() == 1) return end_program(exit_code_);
  forget_stop();
  runs_->end();
  channel_.event("thread", {{"reason", "exited"}, {"threadId", runs_->current() + 1}});
  if (starting_) return;  // others have yet to begin
  if (const auto next = runs_->first_live()) return select_rank(*next);
  end_program(exit_code_);
}

}  // namespace rldb::protocol::dap
