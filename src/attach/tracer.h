// The threads of a process under ptrace: stopped and resumed together, and one by one at the gate of the AOT runtime.
//
// Signals of the process are its own: each is delivered when its thread goes on. A process that was stopped by a signal
// (SIGSTOP) stays so. All calls come from one thread, as ptrace wants it; attach/process.cc keeps it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attach/memory.h"

namespace rldb::attach {

class Tracer {
 public:
  explicit Tracer(pid_t process) : process_(process) {}
  ~Tracer() { detach(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // All threads are stopped then. Empty: done; else why not.
  std::string attach();
  void detach();  // the threads go on
  // A word of the process; some thread has to be stopped.
  bool write(Address at, std::uint64_t word);
  // `at_gates`: threads stop when they pass the gate.
  void resume(bool at_gates);
  void resume_thread(pid_t thread);
  void stop();

  struct Event {
    enum class Kind { Nothing, Gate, Ended } kind = Kind::Nothing;
    pid_t thread = 0;
  };
  // Whether the thread that makes a system call does so at the gate.
  using IsGate = std::function<bool(pid_t)>;
  // The next event; Nothing: none for about a millisecond.
  Event wait(const IsGate& is_gate);
  // Threads that came to the gate while all were stopped, and have not passed it.
  std::vector<pid_t> take_waiting();

  bool ended() const { return !ended_.empty(); }
  const std::string& how_it_ended() const { return ended_; }

 private:
  // Held: stopped here, and by a signal of its own too; Listening: by that alone. Gone: it has ended, but not the
  // process.
  enum class State { Running, Stopped, Held, Listening, Gone };
  struct Thread {
    State state = State::Running;
    int signal = 0;  // to be delivered when it goes on
  };
  bool seize(pid_t thread);
  void set_stopped(Thread& t, int status);
  Event take(pid_t thread, int status, const IsGate& is_gate, bool stopping);
  void go_on(pid_t thread, Thread& t);
  void end(std::string how);
  void leader_gone();
  bool any_running() const;

  pid_t process_;
  std::map<pid_t, Thread> threads_;
  std::vector<pid_t> waiting_;
  std::string ended_;
  bool at_gates_ = false;
};

}  // namespace rldb::attach
