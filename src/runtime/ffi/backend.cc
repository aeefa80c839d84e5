// Parallel loops run their tasks on threads of their own, because the tasks of one loop may wait for each other. Errors
// are thread-local: that of the first task that failed is raised again in the thread that launched the loop.
#include "runtime/ffi/backend.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "rldb/runtime/threads.h"
#include "runtime/ffi/call.h"
#include "runtime/ffi/export.h"

namespace rldb::runtime::ffi {

namespace {

constexpr std::size_t kWorkspaceAlignment = 64;

// The tasks of one loop. A task that has ended is waited for by none.
class Tasks {
 public:
  explicit Tasks(int count) : alive_(count) {}

  void meet() {
    std::unique_lock lock(mutex_);
    if (++waiting_ == alive_) return release();
    const std::uint64_t turn = turn_;
    met_.wait(lock, [&] { return turn_ != turn; });
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --alive_;
    if (alive_ > 0 && waiting_ == alive_) release();
  }

 private:
  void release() {
    waiting_ = 0;
    ++turn_;
    met_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable met_;
  int alive_, waiting_ = 0;
  std::uint64_t turn_ = 0;
};

// As in TVM's c_backend_api.h.
struct GroupEnvironment {
  void* tasks;
  std::int32_t count;
};
using TaskCode = int (*)(int task, GroupEnvironment* environment, void* data);

struct TaskOutcome {
  int status = 0;
  Handle error;
};

TaskOutcome run_task(TaskCode code, int task, GroupEnvironment& environment, void* data) {
  TaskOutcome out;
  try {
    out.status = code(task, &environment, data);
  } catch (...) {
    raise("RuntimeError", "a task threw an exception");
    out.status = -1;
  }
  if (out.status != 0) {
    TVMFFIObjectHandle raised = nullptr;
    TVMFFIErrorMoveFromRaised(&raised);
    out.error = Handle::adopt(static_cast<TVMFFIObject*>(raised));
  }
  static_cast<Tasks*>(environment.tasks)->leave();
  return out;
}

// ^C and timers are for the threads that know what to do with them.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

int launch(TaskCode code, void* data, int count) {
  Tasks tasks(count);
  GroupEnvironment environment{&tasks, count};
  std::vector<TaskOutcome> outcomes{std::size_t(count)};
  std::vector<std::thread> threads;
  const Scope& scope = current_scope();
  bool started = true;
  {
    const BlockSignals block;
    for (int i = 1; i < count && started; ++i) try {
        threads.emplace_back([&, i] {
          const EnterScope enter(scope);
          outcomes[std::size_t(i)] = run_task(code, i, environment, data);
        });
      } catch (const std::system_error&) {
        started = false;
        for (int missing = i; missing < count; ++missing) tasks.leave();
      }
  }
  outcomes[0] = run_task(code, 0, environment, data);
  for (std::thread& t : threads) t.join();
  if (!started) {
    raise("RuntimeError", fmt::format("{} threads of {} could be started", threads.size() + 1, count));
    return -1;
  }
  for (TaskOutcome& out : outcomes) {
    if (out.status == 0) continue;
    if (out.error) TVMFFIErrorSetRaised(out.error.get());
    return out.status;
  }
  return 0;
}

// A function that looks its name up in the registry of whoever calls it: generated code keeps it as long as its library
// is loaded, which may serve several sessions.
Handle function_by_name(const std::string& name) {
  return make_function(Value(support::make_ref<Function>(
                           name,
                           [name](PackedArgs args) -> Result<Value> {
                             const PackedRegistry* registry = current_scope().registry.get();
                             if (const auto* known = registry ? registry->find(name) : nullptr)
                               return known->function->native(args);
                             return fail(ErrorKind::UnknownFunction, fmt::format("there is no function `{}`", name));
                           })),
                       call_value);
}

}  // namespace

extern "C" {

RLDB_FFI_EXPORT void* TVMBackendAllocWorkspace(int, int, std::uint64_t bytes, int, int) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kWorkspaceAlignment, bytes == 0 ? 1 : bytes) == 0) return memory;
  raise("MemoryError", fmt::format("no memory for a workspace of {} bytes", bytes));
  return nullptr;
}

RLDB_FFI_EXPORT int TVMBackendFreeWorkspace(int, int, void* memory) {
  std::free(memory);
  return 0;
}

// `count` 0: as many tasks as there are threads.
RLDB_FFI_EXPORT int TVMBackendParallelLaunch(TaskCode code, void* data, int count) {
  constexpr int kMostTasks = int(kMostThreads);
  if (count < 0 || count > kMostTasks) {
    raise("ValueError", fmt::format("{} tasks; {} is the limit", count, kMostTasks));
    return -1;
  }
  return launch(code, data, count == 0 ? int(thread_count()) : count);
}

RLDB_FFI_EXPORT int TVMBackendParallelBarrier(int, GroupEnvironment* environment) {
  static_cast<Tasks*>(environment->tasks)->meet();
  return 0;
}

// The library's own context is no object here: imports of an exported library are bytes that rldb does not load.
RLDB_FFI_EXPORT int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle, const char* name, TVMFFIObjectHandle* out) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, Handle, std::less<>>();
  if (!name || !out || !find_global(name)) {
    raise("RuntimeError", fmt::format("Cannot find function {} in the imported modules or global registry.",
                                      name ? name : "of no name"));
    return -1;
  }
  const std::lock_guard lock(mutex);
  Handle& handle = (*known)[name];
  const PackedRegistry* registry = current_scope().registry.get();
  if (!handle) handle = registry && registry->find(name) ? function_by_name(name) : find_global(name);
  *out = handle.get();
  return 0;
}
}

void set_context_symbols(void* library) {
  const auto set = [&](const char* variable, void* function) {
    if (auto** at = static_cast<void**>(dlsym(library, variable))) *at = function;
  };
#define RLDB_CONTEXT_SYMBOL(function) set("__" #function, reinterpret_cast<void*>(&function));
#include "runtime/ffi/context_symbol.def"
  for (const auto& [variable, symbol] : registered_context_symbols()) set(variable.c_str(), symbol);
}

}  // namespace rldb::runtime::ffi
