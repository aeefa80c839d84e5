// A time limit of one run inside of longer work, which goes on. User: comparisons of programs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace rldb::support {

// Requests cancellation when `seconds` have passed; 0 or less: never. Also inside of a Deadline; not nested in itself.
class RunLimit {
 public:
  explicit RunLimit(double seconds);
  ~RunLimit();
  RunLimit(const RunLimit&) = delete;
  RunLimit& operator=(const RunLimit&) = delete;
  // To be called when the run has ended, or Cancelled was caught: whether this limit ended it, which is cleared then.
  bool end();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false, has_passed_ = false;
  std::thread watch_;
};

}  // namespace rldb::support
