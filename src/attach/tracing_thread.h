// The thread that traces a process: ptrace takes requests from the one that attached only. Work is given to it, and
// waited for.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rldb::attach {

class TracingThread {
 public:
  TracingThread() : thread_([this] { loop(); }) {}
  ~TracingThread() {
    run({});
    thread_.join();
  }
  TracingThread(const TracingThread&) = delete;
  TracingThread& operator=(const TracingThread&) = delete;

  // Empty work ends the thread.
  void run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    busy_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void loop() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // ^C is for the others
    for (bool more = true; more;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return busy_; });
      more = bool(work_);
      if (more) work_();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool busy_ = false;
  std::thread thread_;
};

}  // namespace rldb::attach
