// The thread that LLVM works on, and the wait of the caller, which may end before the work does.
#include "codegen/llvm/engine/job.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <vector>

#include "rldb/codegen/llvm/jit.h"
#include "rldb/support/cancel.h"
#include "rldb/support/memory.h"

namespace rldb::codegen {

struct Job {
  std::function<void(const JobState&)> work;
  JobState state;
  std::mutex mutex;
  std::condition_variable ended;
  bool started = false;  // guarded by the lock of all jobs
  bool done = false;
  std::exception_ptr problem;
};

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kStackBytes = 64 << 20;  // touched only as far as it is used

// Of the process; never destroyed, because a job may outlive statics.
struct Jobs {
  std::mutex mutex;
  std::condition_variable fewer;
  std::vector<std::shared_ptr<Job>> running;
  std::deque<std::shared_ptr<Job>> queued;
  unsigned waiting = 0;  // threads that wait for a job
  bool held = false;     // none is taken from the queue
  // Threads without a job, which keep what they have made for a while, and jobs that were given to them.
  unsigned idle = 0;
  std::deque<std::shared_ptr<Job>> given;
  std::condition_variable any_given;

  // The next of the queue that may run now; null: none.
  std::shared_ptr<Job> next() {
    if (held || queued.empty() || running.size() >= jobs_beside() + waiting) return nullptr;
    const std::shared_ptr<Job> job = std::move(queued.front());
    queued.pop_front();
    begin(job);
    return job;
  }
  void begin(const std::shared_ptr<Job>& job) {
    job->started = true;
    running.push_back(job);
  }
};
Jobs& jobs() {
  static auto* made = new Jobs();
  return *made;
}

// A process that ends while LLVM works would destroy what the job uses. Abandoned jobs end soon; if one does not, the
// process ends without destructors.
void at_exit(int status, void*) {
  Jobs& all = jobs();
  std::unique_lock lock(all.mutex);
  all.held = true;
  for (const auto& job : all.running) job->state.abandoned = true;
  if (all.fewer.wait_for(lock, 500ms, [&] { return all.running.empty(); })) return;
  std::fflush(nullptr);
  _exit(status);
}

// Handlers run in the opposite order: one that is registered before LLVM made its statics would run after they are
// destroyed, while a job that is left behind uses them.
void exit_before_llvm() {
  constexpr int kMost = 1000;  // each takes some memory
  static std::atomic<int> count = 0;
  if (count++ < kMost) (void)on_exit(at_exit, nullptr);
}

// Others go on when this one has ended.
bool jobs_run_on(const std::shared_ptr<Job>& ended) {
  const Jobs& all = jobs();
  const std::lock_guard lock(jobs().mutex);
  return !all.queued.empty() ||
         std::any_of(all.running.begin(), all.running.end(), [&](const auto& job) { return job != ended; });
}

void work_on(Job& job) {
  const support::MemoryLimitExempt exempt;
  try {
    // Everything owned by the work is destroyed here, on this thread, and not by the last holder of the job.
    const auto work = std::move(job.work);
    work(job.state);
  } catch (...) {
    job.problem = std::current_exception();
  }
}

void finish(const std::shared_ptr<Job>& job) {
  {
    const std::lock_guard lock(job->mutex);
    job->done = true;
  }
  job->ended.notify_all();
}

// The next job of a thread: one that is queued, or is given to it soon.
std::shared_ptr<Job> after(const std::shared_ptr<Job>& job) {
  constexpr auto kPatience = 1s;
  Jobs& all = jobs();
  std::unique_lock lock(all.mutex);
  std::erase(all.running, job);
  std::shared_ptr<Job> next = all.next();
  all.fewer.notify_all();
  if (next) return next;
  ++all.idle;
  const bool some = all.any_given.wait_for(lock, kPatience, [&] { return !all.given.empty(); });
  --all.idle;
  if (!some) return nullptr;
  next = std::move(all.given.front());
  all.given.pop_front();
  return next;
}

void* thread_main(void* given) {
  std::unique_ptr<std::shared_ptr<Job>> held(static_cast<std::shared_ptr<Job>*>(given));
  std::shared_ptr<Job> job = std::move(*held);
  held.reset();
  for (; job; job = after(job)) {
    work_on(*job);
    finish(job);
  }
  return nullptr;
}

// A thread for a job that is among the running ones: an idle one, or a new one.
bool start(const std::shared_ptr<Job>& job);

void start_queued() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      const std::lock_guard lock(jobs().mutex);
      job = jobs().next();
    }
    if (!job) return;
    if (start(job)) continue;
    const std::lock_guard lock(jobs().mutex);  // no thread available: whoever waits for it does the work
    std::erase(jobs().running, job);
    job->started = false;
    return;
  }
}

// The child of a fork has the locks of these threads, but not the threads: none of them may hold the lock of all jobs
// then. A thread that is left behind in a long pass is not waited for until it ends: most children begin another
// program.
void before_fork() {
  Jobs& all = jobs();
  std::unique_lock lock(all.mutex);
  all.held = true;
  (void)all.fewer.wait_for(lock, 5s, [&] { return all.running.empty(); });
  (void)lock.release();
}
void after_fork_in_child() {
  Jobs& all = jobs();
  new (&all.mutex) std::mutex;
  for (std::condition_variable* waits : {&all.any_given, &all.fewer})
    new (waits) std::condition_variable;  // the old one remembers threads that are not here
  all.held = false;
  all.idle = 0;
  all.given.clear();
  // A job that a thread was at work on is in no state to be destroyed.
  (void)new std::vector<std::shared_ptr<Job>>(std::move(all.running));
  all.running.clear();
}
void after_fork() {
  jobs().held = false;
  jobs().mutex.unlock();
  start_queued();
}

bool start(const std::shared_ptr<Job>& job) {
  static const int once = on_exit(at_exit, nullptr) + pthread_atfork(before_fork, after_fork, after_fork_in_child);
  (void)once;
  {
    Jobs& all = jobs();
    const std::lock_guard lock(all.mutex);
    if (all.idle > all.given.size()) {
      all.given.push_back(job);
      all.any_given.notify_one();
      return true;
    }
  }
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // Signals of the terminal are for the waiting threads.
  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto held = std::make_unique<std::shared_ptr<Job>>(job);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, thread_main, held.get()) == 0;
  if (started) (void)held.release();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

// While it lives the CPU of the thread that waits has nothing to do.
struct Waiting {
  Waiting() {
    count(1);
    start_queued();
  }
  ~Waiting() { count(-1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  static void count(int by) {
    const std::lock_guard lock(jobs().mutex);
    jobs().waiting += unsigned(by);
  }
};

}  // namespace

unsigned jobs_beside() {
  static const unsigned count = [] {
    constexpr unsigned kMost = 7;
    ::cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0U;
    return std::min(kMost, unsigned(std::max(1, CPU_COUNT(&cpus))) - 1);
  }();
  return count;
}

std::shared_ptr<Job> make_job(std::function<void(const JobState&)> work) {
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  return job;
}

void start_job(const std::shared_ptr<Job>& job) {
  {
    Jobs& all = jobs();
    const std::lock_guard lock(all.mutex);
    if (job->started) return;
    std::erase(all.queued, job);
    all.begin(job);
  }
  if (start(job)) return;
  {
    const std::lock_guard lock(jobs().mutex);
    std::erase(jobs().running, job);
  }
  work_on(*job);  // no thread available: it works all the same
  finish(job);
}

void queue_job(const std::shared_ptr<Job>& job) {
  {
    const std::lock_guard lock(jobs().mutex);
    if (job->started) return;
    jobs().queued.push_back(job);
  }
  start_queued();
}

void wait_for_job(const std::shared_ptr<Job>& job) {
  start_job(job);
  {
    const Waiting waiting;
    std::unique_lock lock(job->mutex);
    while (!job->ended.wait_for(lock, 20ms, [&] { return job->done; })) {
      if (!support::cancel_flag()) continue;
      job->state.abandoned = true;
      exit_before_llvm();
      support::poll();
    }
  }
  if (jobs_run_on(job)) exit_before_llvm();
  if (job->problem) std::rethrow_exception(job->problem);
}

bool is_done(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.done;
}

void abandon(std::span<const std::shared_ptr<Job>> given) {
  std::vector<std::shared_ptr<Job>> started;
  {
    const std::lock_guard lock(jobs().mutex);
    for (const auto& job : given) {
      job->state.abandoned = true;
      std::erase(jobs().queued, job);
      if (job->started) started.push_back(job);
    }
  }
  for (const auto& job : started) {
    std::unique_lock lock(job->mutex);
    job->ended.wait_for(lock, 5s, [&] { return job->done; });
  }
}

void run_job(std::function<void(const JobState&)> work) { wait_for_job(make_job(std::move(work))); }

int compilations_left_behind() {
  const std::lock_guard lock(jobs().mutex);
  return int(jobs().running.size());
}

}  // namespace rldb::codegen
