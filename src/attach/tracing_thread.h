// The thread that traces a process: ptrace takes requests from the one that attached only. Work is given to it, and
// waited for.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

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

  // Empty work ends the thread. An exception of the work (out of memory) is thrown on here.
  void run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    busy_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
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
      try {
        if (more) work_();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  std::exception_ptr thrown_;
  bool busy_ = false;
  std::thread thread_;
};

}  // namespace rldb::attach
