// The pool: threads that take pieces of the current work, one after another, until there are none left.
//
// The caller takes pieces too, so that it never waits for a thread that has not woken up: it waits only for pieces that
// are being done.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "rldb/runtime/threads.h"

namespace rldb::runtime {

namespace {

// A kernel often follows the last one at once; waking a thread takes longer than a small kernel.
constexpr int kSpins = 2000;
constexpr std::size_t kStackBytes = 8 << 20;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

thread_local bool t_in_piece = false;

struct Work {
  std::size_t count;
  PieceFn piece;
  void* context;
  std::atomic<std::size_t> next{0};

  void run() {
    t_in_piece = true;
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) piece(context, i);
    t_in_piece = false;
  }
};

class Pool {
 public:
  // False: somebody else has it, or this is a child of the process that made it.
  bool take() { return getpid() == owner_ && caller_.try_lock(); }

  void run(Work& work, std::size_t threads) {
    {
      const std::lock_guard lock(mutex_);
      while (started_ + 1 < threads && start()) ++started_;
      work_ = &work;
      places_ = threads - 1;
      turn_.fetch_add(1, std::memory_order_release);
      if (asleep_ > 0) wake_.notify_all();
    }
    work.run();
    {
      const std::lock_guard lock(mutex_);
      work_ = nullptr;
    }
    for (int i = 0; i < kSpins && busy_.load(std::memory_order_acquire) > 0; ++i) relax();
    if (busy_.load(std::memory_order_acquire) > 0) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return busy_.load(std::memory_order_acquire) == 0; });
    }
    caller_.unlock();
  }

 private:
  static void* thread_main(void* self) {
    static_cast<Pool*>(self)->serve();
    return nullptr;
  }

  bool start() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // ^C and timers are for the threads that know what to do with them.
    sigset_t all, before;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const bool started = pthread_create(&thread, &attributes, thread_main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
  }

  void serve() {
    std::size_t seen = 0;
    while (true) {
      for (int i = 0; i < kSpins && turn_.load(std::memory_order_acquire) == seen; ++i) relax();
      Work* work = nullptr;
      {
        std::unique_lock lock(mutex_);
        ++asleep_;
        wake_.wait(lock, [&] { return turn_.load(std::memory_order_relaxed) != seen; });
        --asleep_;
        seen = turn_.load(std::memory_order_relaxed);
        if (work_ && places_ > 0) {
          --places_;
          work = work_;
          busy_.fetch_add(1, std::memory_order_relaxed);
        }
      }
      if (!work) continue;
      work->run();
      if (busy_.fetch_sub(1, std::memory_order_release) == 1) {
        const std::lock_guard lock(mutex_);
        done_.notify_one();
      }
    }
  }

  const pid_t owner_ = getpid();
  std::mutex caller_;  // of the one whose work it is
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Work* work_ = nullptr;     // lives while busy_ is not 0
  std::size_t places_ = 0;   // threads that may still join in
  std::size_t started_ = 0;  // threads
  std::size_t asleep_ = 0;
  std::atomic<std::size_t> turn_{0};
  std::atomic<std::size_t> busy_{0};
};

// Never destroyed: its threads outlive statics.
Pool& pool() {
  static auto* made = new Pool();
  return *made;
}

std::size_t cpus() {
  static const std::size_t n = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int known = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return std::clamp<std::size_t>(std::size_t(known), 1, kMostThreads);
  }();
  return n;
}

std::atomic<std::size_t> g_threads{0};  // 0: the default

}  // namespace

std::size_t chosen_thread_count() { return g_threads.load(std::memory_order_relaxed); }
std::size_t thread_count() {
  const std::size_t set = chosen_thread_count();
  return set == 0 ? cpus() : set;
}
void set_thread_count(std::size_t n) { g_threads.store(std::min(n, kMostThreads), std::memory_order_relaxed); }

bool may_use_threads() { return !t_in_piece && thread_count() > 1; }

void do_pieces(std::size_t count, PieceFn piece, void* context) {
  const std::size_t threads = std::min(thread_count(), count);
  if (t_in_piece || threads < 2 || !pool().take()) {
    for (std::size_t i = 0; i < count; ++i) piece(context, i);
    return;
  }
  Work work{count, piece, context};
  pool().run(work, threads);
}

}  // namespace rldb::runtime
