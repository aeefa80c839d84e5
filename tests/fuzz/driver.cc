// A fuzz target as a program: seeded inputs, each tried in a child process, so that a crash or hang is one finding.
//
//   rldb_<target>_fuzz [--seed=N] [--runs=N] [--seconds=S] [--limit=S] [--findings=DIR] [--replay] FILE|DIR...
//
// The files are the pool from which inputs are made; with --replay they are the inputs. A child tries inputs one after
// the other; the current one is in memory shared with the parent, so that the input which ended the child is known.
// Last line: `N passed, N failed`, exit code 1 if there were findings.
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "fuzz/target.h"
#include "rldb/support/file.h"

namespace rldb::fuzz {

namespace {

constexpr std::size_t kMostBytes = std::size_t(1) << 20;

struct Arguments {
  std::uint64_t seed = 1;
  std::uint64_t runs = 100;
  double seconds = 0;  // 0: until the runs are done
  double limit = 10;   // of one input
  std::string findings;
  bool replay = false;
  std::vector<std::string> paths;
};

bool parse(int argc, char** argv, Arguments& a) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&](const char* name) -> const char* {
      const std::size_t n = std::strlen(name);
      return arg.compare(0, n, name) == 0 ? arg.c_str() + n : nullptr;
    };
    if (const char* v = value("--seed=")) {
      a.seed = std::strtoull(v, nullptr, 10);
    } else if (const char* v = value("--runs=")) {
      a.runs = std::strtoull(v, nullptr, 10);
    } else if (const char* v = value("--seconds=")) {
      a.seconds = std::strtod(v, nullptr);
    } else if (const char* v = value("--limit=")) {
      a.limit = std::strtod(v, nullptr);
    } else if (const char* v = value("--findings=")) {
      a.findings = v;
    } else if (arg == "--replay") {
      a.replay = true;
    } else if (arg[0] == '-') {
      return false;
    } else {
      a.paths.push_back(arg);
    }
  }
  return true;
}

bool suits(const std::string& path) {
  return kSeedEndings.empty() || std::any_of(kSeedEndings.begin(), kSeedEndings.end(),
                                             [&](const std::string& end) { return path.ends_with(end); });
}

void collect(const std::string& path, bool named, std::vector<std::string>& files) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) {
    if (named || (suits(path) && std::size_t(info.st_size) <= kMostBytes)) files.push_back(path);
    return;
  }
  DIR* folder = ::opendir(path.c_str());
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') collect(path + "/" + entry->d_name, false, files);
  ::closedir(folder);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The child's current activity, visible to the parent.
struct Shared {
  std::uint64_t done;
  double began;
  std::uint64_t size;
  char wrong[4096];  // a finding other than a crash
  char input[kMostBytes];
};

class Fuzzer {
 public:
  Fuzzer(const Arguments& a, Pool pool) : a_(a), pool_(std::move(pool)), end_(a.seconds > 0 ? now() + a.seconds : 0) {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = static_cast<Shared*>(memory);
  }

  int run() {
    const std::uint64_t total = a_.replay ? pool_.size() : a_.seconds > 0 ? ~std::uint64_t(0) : a_.runs;
    std::uint64_t next = 0;
    while (next < total && !out_of_time()) {
      shared_->done = next;
      shared_->wrong[0] = 0;
      const std::string ended = watch(start(next, total));
      next = shared_->done;
      if (ended.empty() && !shared_->wrong[0]) continue;
      report(next, ended.empty() ? shared_->wrong : ended);
      ++next;
      ++failed_;
    }
    std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(next - failed_),
                static_cast<unsigned long long>(failed_));
    return failed_ > 0 ? 1 : 0;
  }

 private:
  bool out_of_time() const { return end_ > 0 && now() >= end_; }

  // Input number n is the same whatever ran before it.
  std::string make(std::uint64_t n) {
    if (a_.replay) return pool_[n];
    Rng rng(a_.seed * 1000003 + n);
    std::string input = pool_.empty() ? std::string() : pool_[below(rng, pool_.size())];
    const std::size_t rounds = 1 + below(rng, 3);
    for (std::size_t i = 0; i < rounds; ++i) input = mutate_one(input, pool_, rng);
    if (input.size() > kMostBytes) input.resize(kMostBytes);
    return input;
  }

  pid_t start(std::uint64_t from, std::uint64_t total) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (!std::getenv("RLDB_FUZZ_VERBOSE")) {
      std::freopen("/dev/null", "w", stdout);
      std::freopen("/dev/null", "w", stderr);
    }
    // A long-lived child keeps what leaks: start a new one every so often.
    for (std::uint64_t n = from; n < total && n < from + 200 && !out_of_time(); ++n) {
      const std::string input = make(n);
      std::memcpy(shared_->input, input.data(), input.size());
      shared_->size = input.size();
      shared_->began = now();
      shared_->done = n;
      std::string wrong;
      try {
        wrong = run_one(input);
      } catch (const std::exception& error) {
        wrong = std::string("exception: ") + error.what();
      }
      if (!wrong.empty()) {
        std::snprintf(shared_->wrong, sizeof shared_->wrong, "%s", wrong.c_str());
        ::_exit(0);
      }
      shared_->done = n + 1;
    }
    ::_exit(0);
  }

  // How the child ended, if that is a finding.
  std::string watch(pid_t child) {
    shared_->began = now();
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(child, &status, WNOHANG);
      if (ended == child) {
        if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return "exit " + std::to_string(WEXITSTATUS(status));
        return {};
      }
      if (now() - shared_->began > a_.limit) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return "no answer within the limit";
      }
      ::usleep(2000);
    }
  }

  void report(std::uint64_t n, const std::string& what) {
    std::printf("input %llu: %s\n", static_cast<unsigned long long>(n), what.c_str());
    if (a_.findings.empty() || a_.replay) return;
    ::mkdir(a_.findings.c_str(), 0777);
    const std::string path = a_.findings + "/" + std::to_string(a_.seed) + "-" + std::to_string(n);
    if (support::write_file(path, std::string_view(shared_->input, shared_->size)).ok())
      std::printf("  in %s\n", path.c_str());
    std::fflush(stdout);
  }

  const Arguments& a_;
  Pool pool_;
  double end_;
  Shared* shared_ = nullptr;
  std::uint64_t failed_ = 0;
};

int run_program(int argc, char** argv) {
  Arguments a;
  if (!parse(argc, argv, a)) {
    std::fprintf(stderr,
                 "usage: %s [--seed=N] [--runs=N] [--seconds=S] [--limit=S] [--findings=DIR] [--replay] FILE|DIR...\n",
                 argv[0]);
    return 2;
  }
  std::vector<std::string> files;
  for (const std::string& path : a.paths) collect(path, true, files);
  std::sort(files.begin(), files.end());
  Pool pool;
  for (const std::string& file : files) {
    auto bytes = support::read_file(file, kMostBytes);
    if (!bytes.ok()) continue;
    pool.push_back(std::move(bytes).value());
    if (a.replay) std::printf("%zu is %s\n", pool.size() - 1, file.c_str());
  }
  return Fuzzer(a, std::move(pool)).run();
}

}  // namespace

}  // namespace rldb::fuzz

int main(int argc, char** argv) { return rldb::fuzz::run_program(argc, argv); }
