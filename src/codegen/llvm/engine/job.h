// Job: LLVM's work on one kernel, on a thread of its own.
//
// LLVM cannot be stopped from outside, recurses deeply and ends the process when it gives up. So it works on a thread
// with a large stack, in a context of its own, with a memory limit that does not fail, and the caller waits: when the
// current work is cancelled the caller leaves at once (support::Cancelled) and the job ends when it can, owning all
// that it touches. A fatal error ends the job, not the process. Internal to the room; independent of LLVM.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace rldb::codegen {

// LLVM's own way to fail is to end the process; thrown instead from its handlers.
struct FatalLlvm {
  std::string reason;
};

struct JobState {
  std::atomic<bool> abandoned{false};
};

// `work` owns what it uses; it should check `abandoned` now and then.
struct Job;
std::shared_ptr<Job> make_job(std::function<void(const JobState&)> work);  // waiting for it starts it
void start_job(const std::shared_ptr<Job>& job);                           // at once, if it is not started yet
// It begins when a CPU has nothing to do, after those that were queued before: `jobs_beside()` run at a time, one more
// while somebody waits, and the one that is waited for at once.
void queue_job(const std::shared_ptr<Job>& job);
// The CPUs that would have nothing to do while one works on something else.
unsigned jobs_beside();
// Its exceptions (Refused, FatalLlvm) are rethrown here. A job that nobody waits for ends by itself, before the process
// does; a fork waits for it (up to 5 s), because its locks would stay closed in the child.
void wait_for_job(const std::shared_ptr<Job>& job);
bool is_done(Job& job);
// Nobody will ask for them: they end soon, and are waited for, but no longer than some seconds.
void abandon(std::span<const std::shared_ptr<Job>> given);
void run_job(std::function<void(const JobState&)> work);  // starts it, and waits
// compilations_left_behind() in jit.h counts the running jobs.

}  // namespace rldb::codegen
