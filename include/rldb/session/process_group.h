// ProcessGroup: this process is one of several ranks that run a program together, each on a machine of its own
// (`mpirun -n 4 rldb run ...`). A rank's contribution to a collective goes to the others as messages of MPI;
// the results are computed from the contributions in the order of the ranks, so that they are the same bits in every
// rank and in every run, and those of a Group (group.h).
//
// A rank that waits answers questions of others about its variables, and notices when nobody can go on, or when
// another rank has ended. Used by ui.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rldb/bytecode/debug_info.h"
#include "rldb/runtime/workers.h"
#include "rldb/session/session.h"
#include "rldb/support/rank_board.h"

namespace rldb::session {

class ProcessGroup : public runtime::Workers {
 public:
  // `groups` divides the number of ranks. `board` may be null. Both outlive it.
  ProcessGroup(support::Ranks& ranks, support::RankBoard* board, std::size_t groups);
  ~ProcessGroup() override;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  std::size_t size() const { return std::size_t(ranks_.size()); }
  std::size_t rank() const { return std::size_t(ranks_.rank()); }
  std::size_t groups() const { return size() / group_size_; }

  // ---- a run ----
  // Every rank begins each of its runs: what belongs to earlier ones is forgotten.
  void begin();
  // The names of the run's places, where they are not those of the lowered text.
  void set_names(bytecode::DebugInfo names) { names_ = std::move(names); }
  // Runs the function on this rank. Nullopt: it failed here, diagnosed; or in another rank, which tells why.
  std::optional<runtime::Value> run(Session& session, std::string_view function, std::span<const runtime::Value> args,
                                    Diagnostics& out);
  // Tells the others that this rank's run is over, and why it failed.
  void end(bool good, const std::string& why = {});
  // Waits until the run of each rank is over. False: one failed.
  bool wait_for_others();

  // After that: those that found the failure may each have left it to another to tell why. Then the first of them
  // does, and the rest wait for that.
  void tell(const std::function<void(const Diagnostics&)>& report);

  // Texts of all ranks at rank 0, in their order; elsewhere nothing.
  std::vector<std::string> gather(const std::string& text);

  // ---- questions ----
  // The value of a variable in the innermost frame of another rank, which waits or has stopped.
  runtime::Result<runtime::Value> ask(std::size_t rank, std::string_view variable);
  // State of another rank: "rank 2 waits at `runtime.disco.allreduce` in `main`, lv3".
  std::string place_of(std::size_t rank) const;

  // ---- a prompt at rank 0 ----
  // Lets the others run a program, the bytes of an executable, each with its arguments, up to where they need this
  // rank. False: an argument or the program cannot be sent, diagnosed.
  bool start_others(const std::string& executable, std::string_view function,
                    const std::vector<std::vector<runtime::Value>>& args, Diagnostics& out);
  // The run that a debugger begins after that is rank 0's part of it. True for the first that asks, until `close_run`.
  bool take_run() { return std::exchange(run_offered_, false); }
  void close_run() { run_offered_ = false; }
  // While a machine of that run executes: only then the others take part in a collective. Null: it is none.
  class Together {
   public:
    explicit Together(ProcessGroup* group) : group_(group) {
      if (group_) ++group_->together_;
    }
    ~Together() {
      if (group_) --group_->together_;
    }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    ProcessGroup* group_;
  };
  // Of every other rank: runs what `start_others` sends, until rank 0 has ended.
  void serve(Session& session);
  // Rank 0 has ended: the others do too.
  void stop_serving();

  std::int64_t id() const override { return std::int64_t(rank()); }
  runtime::Result<runtime::Value> meet(runtime::Collective what, runtime::PackedArgs args) override;

 private:
  struct Meeting {
    runtime::Collective what{};
    std::vector<runtime::Value> inputs;  // of the participants; where one's is not needed, this rank's own
    std::size_t place = 0;               // of this rank among them
  };
  struct Contribution {
    runtime::Collective what{};
    std::string reduction;  // of an all-reduce
    runtime::Value value;
  };
  // A rank, whether the collective is of all ranks, and how many of those came before it.
  using Key = std::tuple<std::size_t, bool, std::uint64_t>;
  struct Job;  // what rank 0 sent to be run
  using Ranks = std::vector<std::size_t>;

  runtime::Result<Meeting> exchange(runtime::Collective what, runtime::PackedArgs args);
  runtime::Result<Meeting> pass_message(runtime::Collective what, runtime::PackedArgs args);
  runtime::Result<runtime::Value> repeat(std::size_t index, runtime::Collective what, runtime::PackedArgs args);
  // Receives until no rank is missing; an error if that can never be.
  runtime::Result<support::Unit> wait(runtime::Collective what, const std::function<Ranks()>& missing);
  std::optional<runtime::Error> hopeless(runtime::Collective what, const Ranks& missing);
  bool nobody_goes_on();
  std::string deadlock(runtime::Collective what) const;
  bool speaks() const;

  void listen();
  void take(std::size_t from, const std::string& bytes);
  void answer(std::size_t from, std::string_view name);
  void answer_questions();
  runtime::Result<runtime::Value> variable(std::string_view name) const;
  runtime::Result<support::Unit> send(std::size_t to, std::string bytes);
  void say(support::RankState state, const std::string& place);
  void begin(std::uint64_t run);
  const bytecode::DebugInfo& names_of(const vm::Machine& m) const;
  void run_job(Session& session, const Job& job);
  std::optional<runtime::Value> run_on(vm::Machine& machine, Diagnostics& out);

  support::Ranks& ranks_;
  support::RankBoard* board_;
  std::size_t group_size_;
  bytecode::DebugInfo names_;
  std::uint64_t run_ = 0;              // the number of this run
  std::uint64_t numbers_[2] = {0, 0};  // collectives of the group, and of all ranks, to which this rank has come
  std::map<Key, Contribution> contributions_;
  std::map<std::size_t, std::deque<runtime::Value>> messages_;  // by sender
  std::vector<std::optional<bool>> ended_;                      // by rank: whether its run ended well
  std::vector<std::pair<std::size_t, std::string>> early_;      // of a run that has not begun here
  std::vector<Meeting> met_;
  std::vector<std::uint64_t> met_at_;  // moments of the run, ascending
  std::map<std::size_t, std::string> texts_;
  std::optional<std::string> answer_;
  std::vector<std::pair<std::size_t, std::string>> questions_;  // not yet answered
  std::string reason_;                                          // why another rank failed
  std::vector<Job> jobs_;
  bool serving_ = false, over_ = false;  // the others serve rank 0; it has ended
  bool run_offered_ = false;
  int together_ = 0;
  const vm::Machine* machine_ = nullptr;  // while it runs here
  bool told_elsewhere_ = false;           // another rank tells why the run failed
  bool told_ = false;                     // one has, or is about to before it ends
  Diagnostics untold_;                    // why it failed here, while another is to tell
  std::vector<std::uint64_t> seen_;       // of the board, since when nobody has gone on
  double seen_at_ = 0;
};

}  // namespace rldb::session
