#include "rldb/support/large_stack.h"

#include <pthread.h>

#include <exception>

namespace rldb::support {

namespace {

struct Work {
  const std::function<void()>& run;
  std::exception_ptr problem;
};

void* thread_main(void* given) {
  auto& work = *static_cast<Work*>(given);
  try {
    work.run();
  } catch (...) {
    work.problem = std::current_exception();
  }
  return nullptr;
}

// The lowest address of this thread's stack; null when it cannot be determined.
const char* stack_end() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<const char*>(low);
}

}  // namespace

void run_on_large_stack(std::size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  bool started = pthread_attr_init(&attributes) == 0;
  Work given{work, nullptr};
  if (started) {
    pthread_t thread{};
    started = pthread_attr_setstacksize(&attributes, bytes) == 0 &&
              pthread_create(&thread, &attributes, thread_main, &given) == 0;
    pthread_attr_destroy(&attributes);
    if (started) pthread_join(thread, nullptr);
  }
  if (!started) return work();
  if (given.problem) std::rethrow_exception(given.problem);
}

std::size_t stack_left() {
  thread_local const char* const end = stack_end();
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  return end && here > end ? std::size_t(here - end) : 0;
}

}  // namespace rldb::support
