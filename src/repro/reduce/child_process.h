// Work done in a process of its own, with limits, whose answer is bytes: what crashes or hangs there harms nobody.
// Room-private.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "rldb/support/folder.h"

namespace rldb::repro {

struct ChildLimits {
  double seconds = 10;
};

class ChildProcess {
 public:
  // `work` runs in the child, which is a copy of this process. An exception there is no answer.
  ChildProcess(const ChildLimits& limits, const std::function<std::string()>& work);
  ~ChildProcess();  // ends it, and what it started
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for it. None: it died, or is too slow. Throws Cancelled.
  std::optional<std::string> answer();
  // Whether `answer` need not wait.
  bool is_done() const;
  // That ended it without an answer; 0: none did.
  int signal() const { return signal_; }
  bool is_late() const { return is_late_; }  // it had no answer when its time was over

 private:
  [[noreturn]] void be_child(int fd, const ChildLimits& limits, const std::function<std::string()>& work) const;

  // The child's temporary files, and those of the commands it runs: a child that is killed removes nothing.
  support::TemporaryFolder scratch_{"candidate"};
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  int fd_ = -1, signal_ = 0;
  bool is_late_ = false;
};

}  // namespace rldb::repro
