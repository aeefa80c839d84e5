// The few functions of MPI that ranks need, found in OpenMPI's library by their names.
#include "rldb/support/ranks.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace rldb::support {

namespace {

constexpr const char* kLibraries[] = {"libmpi.so.40", "libmpi.so"};
// Set by OpenMPI's mpirun, and by those of other implementations.
constexpr const char* kSize = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kOthers[] = {"PMI_SIZE", "MPI_LOCALNRANKS"};
// Children that never call MPI are what its warning about fork is not about.
constexpr const char* kWarnOnFork = "OMPI_MCA_mpi_warn_on_fork";

// The launcher's name of a job.
constexpr const char* kJob = "PMIX_NAMESPACE";
// Set by a rank to its job, for the commands that it starts: they have the job's variables and are not of it. Where it
// is inherited further, another job has another name.
constexpr const char* kStartedByRank = "RLDB_STARTED_BY_RANK";

constexpr int kTag = 1;
constexpr int kAnySource = -1;

// As OpenMPI lays it out.
struct Status {
  int source, tag, error, cancelled;
  std::size_t bytes;
};

std::string job_name() {
  const char* name = std::getenv(kJob);
  return name ? name : "a job";
}

bool is_started_by_rank() {
  const char* job = std::getenv(kStartedByRank);
  return job && job_name() == job;
}

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

}  // namespace

struct Ranks::Library {
  void* handle = nullptr;
  void *world = nullptr, *byte = nullptr;
  int (*init)(int*, char***) = nullptr;
  int (*finalize)() = nullptr;
  int (*abort)(void*, int) = nullptr;
  int (*rank)(void*, int*) = nullptr;
  int (*size)(void*, int*) = nullptr;
  int (*send)(const void*, int, void*, int, int, void*) = nullptr;
  int (*isend)(const void*, int, void*, int, int, void*, void**) = nullptr;
  int (*test)(void**, int*, Status*) = nullptr;
  int (*recv)(void*, int, void*, int, int, void*, Status*) = nullptr;
  int (*iprobe)(int, int, void*, int*, Status*) = nullptr;
  int (*get_count)(const Status*, void*, int*) = nullptr;

  template <class F>
  bool find(F& f, const char* name) {
    f = reinterpret_cast<F>(::dlsym(handle, name));
    return f != nullptr;
  }
  // False: `why`.
  bool load(std::string& why) {
    for (const char* name : kLibraries)
      if (!handle) handle = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) {
      const char* error = ::dlerror();
      why = error ? error : "libmpi is not there";
      return false;
    }
    const bool all = find(world, "ompi_mpi_comm_world") && find(byte, "ompi_mpi_byte") && find(init, "MPI_Init") &&
                     find(finalize, "MPI_Finalize") && find(abort, "MPI_Abort") && find(rank, "MPI_Comm_rank") &&
                     find(size, "MPI_Comm_size") && find(send, "MPI_Send") && find(isend, "MPI_Isend") &&
                     find(test, "MPI_Test") && find(recv, "MPI_Recv") && find(iprobe, "MPI_Iprobe") &&
                     find(get_count, "MPI_Get_count");
    if (!all) why = "libmpi is not OpenMPI's";
    return all;
  }
};

Ranks::Ranks(std::unique_ptr<Library> library) : library_(std::move(library)) {
  library_->rank(library_->world, &rank_);
  library_->size(library_->world, &size_);
}

bool Ranks::is_in_job() { return number_in(kSize) > 1 && !is_started_by_rank(); }

std::unique_ptr<Ranks> Ranks::join(std::string& why) {
  if (is_started_by_rank()) return nullptr;
  for (const char* other : kOthers)
    if (number_in(other) > 1 && number_in(kSize) <= 1) why = "the ranks were not started by OpenMPI's mpirun";
  if (number_in(kSize) <= 1 || !why.empty()) return nullptr;
  ::setenv(kWarnOnFork, "0", 0);
  ::setenv(kStartedByRank, job_name().c_str(), 1);
  auto library = std::make_unique<Library>();
  if (!library->load(why)) return nullptr;
  if (library->init(nullptr, nullptr) != 0) {
    why = "MPI_Init failed";
    return nullptr;
  }
  return std::unique_ptr<Ranks>(new Ranks(std::move(library)));
}

// Without the other ranks MPI_Finalize would not return, and mpirun not end: the job ends with the process, and with
// its exit code.
Ranks::~Ranks() {
  if (!abandoned_) {
    library_->finalize();
    return;
  }
  static Library* at_exit = nullptr;
  at_exit = library_.release();
  ::on_exit(
      [](int code, void*) {
        std::fflush(nullptr);
        at_exit->abort(at_exit->world, code);
      },
      nullptr);
}

bool Ranks::send(int to, std::string_view bytes) {
  if (bytes.size() > std::size_t(std::numeric_limits<int>::max())) return false;
  return library_->send(bytes.data(), int(bytes.size()), library_->byte, to, kTag, library_->world) == 0;
}

bool Ranks::post(int to, std::string bytes) {
  if (bytes.size() > std::size_t(std::numeric_limits<int>::max())) return false;
  Posted& p = posted_.emplace_back(Posted{std::move(bytes)});
  return library_->isend(p.bytes.data(), int(p.bytes.size()), library_->byte, to, kTag, library_->world, &p.request) ==
         0;
}

bool Ranks::posting() {
  posted_.remove_if([&](Posted& p) {
    int done = 0;
    Status status{};
    return library_->test(&p.request, &done, &status) == 0 && done != 0;
  });
  return !posted_.empty();
}

std::optional<RankMessage> Ranks::receive() {
  posting();
  int there = 0, count = 0;
  Status status{};
  if (library_->iprobe(kAnySource, kTag, library_->world, &there, &status) != 0 || there == 0) return std::nullopt;
  library_->get_count(&status, library_->byte, &count);
  RankMessage message{status.source, std::string(std::size_t(count < 0 ? 0 : count), '\0')};
  if (library_->recv(message.bytes.data(), count, library_->byte, status.source, kTag, library_->world, &status) != 0)
    return std::nullopt;
  return message;
}

}  // namespace rldb::support
