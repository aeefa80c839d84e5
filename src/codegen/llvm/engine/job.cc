// The thread that LLVM works on, and the wait of the caller, which may end before the work does.
#include "codegen/llvm/engine/job.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
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
bool jobs_run_on() {
  const std::lock_guard lock(jobs().mutex);
  return jobs().running.size() > 1;
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

void* thread_main(void* given) {
  const std::unique_ptr<std::shared_ptr<Job>> held(static_cast<std::shared_ptr<Job>*>(given));
  const std::shared_ptr<Job> job = *held;
  work_on(*job);
  {
    const std::lock_guard lock(job->mutex);
    job->done = true;
  }
  job->ended.notify_all();
  Jobs& all = jobs();
  const std::lock_guard lock(all.mutex);
  std::erase(all.running, job);
  all.fewer.notify_all();
  return nullptr;
}

// The child of a fork has the locks of these threads, but not the threads. One that is left behind in a long pass is
// not waited for until it ends: most children begin another program.
void before_fork() {
  Jobs& all = jobs();
  std::unique_lock lock(all.mutex);
  (void)all.fewer.wait_for(lock, 5s, [&] { return all.running.empty(); });
}

bool start(const std::shared_ptr<Job>& job) {
  static const int once = on_exit(at_exit, nullptr) + pthread_atfork(before_fork, nullptr, nullptr);
  (void)once;
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
  {
    const std::lock_guard lock(jobs().mutex);
    jobs().running.push_back(job);
  }
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, thread_main, held.get()) == 0;
  if (started) {
    (void)held.release();
  } else {
    const std::lock_guard lock(jobs().mutex);
    std::erase(jobs().running, job);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

std::shared_ptr<Job> start_job(std::function<void(const JobState&)> work) {
  auto job = std::make_shared<Job>();
  job->work = std::move(work);
  if (start(job)) return job;
  work_on(*job);  // no thread available: it works all the same
  job->done = true;
  return job;
}

void wait_for_job(Job& job) {
  std::unique_lock lock(job.mutex);
  while (!job.ended.wait_for(lock, 20ms, [&] { return job.done; })) {
    if (!support::cancel_flag()) continue;
    job.state.abandoned = true;
    exit_before_llvm();
    support::poll();
  }
  if (jobs_run_on()) exit_before_llvm();
  if (job.problem) std::rethrow_exception(job.problem);
}

bool is_done(Job& job) {
  const std::lock_guard lock(job.mutex);
  return job.done;
}

void abandon(Job& job) {
  std::unique_lock lock(job.mutex);
  job.state.abandoned = true;
  job.ended.wait_for(lock, 5s, [&] { return job.done; });
}

void run_job(std::function<void(const JobState&)> work) { wait_for_job(*start_job(std::move(work))); }

int compilations_left_behind() {
  const std::lock_guard lock(jobs().mutex);
  return int(jobs().running.size());
}

}  // namespace rldb::codegen
