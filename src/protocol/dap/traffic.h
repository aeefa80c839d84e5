// Traffic: the requests of a client on their way from the thread that reads to the one that works.
//
// A request waits for its turn unless the work at hand has to know of it now: `pause` and `cancel` interrupt it, as
// does the end of the session; while the program runs, requests for a stop are refused, and breakpoints are set by
// interrupting the run, which then goes on. Which request does what is a column of dap_request.def.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "protocol/dap/message.h"
#include "protocol/message_reader.h"

namespace rldb::protocol::dap {

enum class Needs : std::uint8_t { Nothing, Initialized, Program, Stopped };
enum class WhileRunning : std::uint8_t { Refused, Threads, Between, Waits, Ends };

struct RequestRow {
  std::string_view name;
  Needs needs;
  WhileRunning while_running;
};
// Null: no such request.
const RequestRow* find_request(std::string_view name);

class Traffic {
 public:
  explicit Traffic(Channel& channel) : channel_(channel) {}

  // ---- in the thread that reads ----
  // False: no more are wanted.
  bool take(Message message);
  void end();

  // ---- in the thread that works ----
  // Waits. nullopt: the client has gone.
  std::optional<Request> next();
  // The request returned last is done.
  void done();
  // From now on the program runs, until `end_run`; `threads` is the answer to that request meanwhile.
  void begin_run(Json threads);
  struct RunEnd {
    bool paused = false;   // by the client
    bool between = false;  // requests are waiting that are served between two parts of a run
    bool ending = false;   // the session ends
  };
  RunEnd end_run();
  // A waiting request that is served between two parts of a run.
  std::optional<Request> next_between();
  // No more requests are taken.
  void close();

 private:
  enum class Mode : std::uint8_t { Idle, Working, Running };
  void accept(Request request);
  void during_run(Request request);
  void cancel(const Request& request);
  void interrupt();

  Channel& channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  Mode mode_ = Mode::Idle;
  std::int64_t current_ = 0;  // the request that is worked on
  bool is_entry_ = false;     // of the console: it may take as long as a run
  RunEnd run_;
  Json threads_;
  bool ended_ = false;
  bool closed_ = false;
};

}  // namespace rldb::protocol::dap
