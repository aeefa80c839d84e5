// Kernels scheduled for a GPU, on a device and on the evaluator: those of tests/codegen/opencl/kernels, and those of a
// folder of one's own: RLDB_OPENCL_KERNELS=DIR rldb_codegen_opencl_tests -tc="*folder*" prints a line for each kernel.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "codegen/opencl/on_device.h"
#include "golden/golden.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

std::string_view verdict_name(Compared::Verdict v) {
  static constexpr std::string_view kNames[] = {"equal",     "close", "DIFFERENT", "refused",
                                                "both fail", "FAILS", "not run"};
  return kNames[std::size_t(v)];
}

std::vector<std::filesystem::path> python_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Interrupts what takes too long.
class TimeLimit {
 public:
  explicit TimeLimit(int seconds)
      : thread_([this, seconds] {
          std::unique_lock lock(mutex_);
          if (!ended_.wait_for(lock, std::chrono::seconds(seconds), [this] { return done_; })) passed = true;
        }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }
  std::atomic<bool> passed = false;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

bool has_threads(const std::string& text) {
  return text.find("threadIdx") != std::string::npos || text.find("blockIdx") != std::string::npos;
}

}  // namespace

TEST_CASE("opencl: kernels give the evaluator's values") {
  if (!has_device()) return;
  for (const auto& path : golden::files_of("codegen/opencl/kernels", ".py")) {
    KernelText t(golden::read(path));
    INFO(path.filename().string());
    REQUIRE(t.problem == "");
    for (const auto& [name, f] : t.functions) {
      INFO(name);
      const Compared c = on_both(t.ctx, f, name);
      const bool close = golden::read(path).find("# close") != std::string::npos;
      CHECK_MESSAGE(c.verdict == (close ? Compared::Verdict::Close : Compared::Verdict::Equal), verdict_name(c.verdict),
                    ": ", c.why);
    }
  }
}

TEST_CASE("opencl: kernels of a folder") {
  const char* folder = std::getenv("RLDB_OPENCL_KERNELS");
  if (!folder || !has_device()) return;
  for (const auto& path : python_files(folder)) {
    const std::string text = golden::read(path);
    if (!has_threads(text)) continue;
    KernelText t(text);
    if (!t.problem.empty()) fmt::print("not read: {}\n", path.filename().string());
    for (const auto& [name, f] : t.functions) {
      TimeLimit limit(20);
      OnDevice how;
      how.options.interrupt = &limit.passed;
      const Compared c = on_both(t.ctx, f, name, how);
      fmt::print("{}: {}:{}: {}\n", verdict_name(c.verdict), path.filename().string(), name,
                 c.why.substr(0, c.why.find('\n')));
      std::fflush(stdout);
    }
  }
}
