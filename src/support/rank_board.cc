// The board is a file without a name once every rank has mapped it.
#include "rldb/support/rank_board.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace rldb::support {

struct RankBoard::Row {
  static constexpr std::size_t kPlace = 440;
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint8_t> state;
  std::atomic<std::uint64_t> changes;  // odd while the place is written
  char place[kPlace];
};

namespace {

constexpr ::useconds_t kBetweenLooks = 500;
constexpr double kHandshakeSeconds = 20;

double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// The next message; empty after a time in which everybody should have answered.
std::string next_message(Ranks& ranks) {
  for (const double end = now() + kHandshakeSeconds; now() < end; ::usleep(kBetweenLooks))
    if (auto message = ranks.receive()) return message->bytes;
  return {};
}

void* map_file(int file, std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// A new file of zeros; -1: none can be made.
int make_file(std::string& path, std::size_t bytes) {
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    path = std::string(folder) + "/rldb-ranks-XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) continue;
    if (::ftruncate(file, off_t(bytes)) == 0) return file;
    ::close(file);
    ::unlink(path.c_str());
  }
  return -1;
}

// Gone, or a zombie that its parent has not noticed yet. Not by read_file: the watch looks while ^C cancels the work of
// the other threads.
bool is_gone(std::int32_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  const int file = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char bytes[512];
  const ssize_t size = ::read(file, bytes, sizeof bytes);
  ::close(file);
  const std::string_view status(bytes, size > 0 ? std::size_t(size) : 0);
  const std::size_t end = status.rfind(')');
  return end != std::string_view::npos && end + 2 < status.size() && (status[end + 2] == 'Z' || status[end + 2] == 'X');
}

}  // namespace

bool RankBoard::is_possible(const Ranks& ranks) {
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return here && std::atoi(here) == ranks.size();
}

// Rank 0 makes the file and tells the others its path. Nobody goes on until each has mapped it, so that no other
// message comes between.
std::unique_ptr<RankBoard> RankBoard::share(Ranks& ranks) {
  const std::size_t bytes = std::size_t(ranks.size()) * sizeof(Row);
  std::string path;
  int file = -1;
  if (ranks.rank() == 0) {
    file = make_file(path, bytes);
    for (int other = 1; other < ranks.size(); ++other) ranks.send(other, file < 0 ? "" : path);
  } else if (path = next_message(ranks); !path.empty()) {
    file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* at = file < 0 ? nullptr : map_file(file, bytes);
  if (file >= 0) ::close(file);
  std::unique_ptr<RankBoard> board;
  if (at) {
    board.reset(new RankBoard(static_cast<Row*>(at), ranks.rank(), ranks.size()));
    board->rows_[ranks.rank()].pid = ::getpid();
    board->write(RankState::Running, "");
  }
  const bool complete = board && board->is_complete();
  if (ranks.rank() == 0 && file >= 0) ::unlink(path.c_str());
  return complete ? std::move(board) : nullptr;
}

bool RankBoard::is_complete() const {
  for (const double end = now() + kHandshakeSeconds; now() < end; ::usleep(kBetweenLooks)) {
    bool all = true;
    for (int i = 0; i < size_; ++i) all = all && rows_[i].pid != 0;
    if (all) return true;
  }
  return false;
}

RankBoard::~RankBoard() {
  write(RankState::Done);
  ::munmap(rows_, std::size_t(size_) * sizeof(Row));
}

void RankBoard::write(RankState state, std::string_view place) {
  Row& row = rows_[rank_];
  ++row.changes;
  const std::size_t n = std::min(place.size(), Row::kPlace - 1);
  std::memcpy(row.place, place.data(), n);
  row.place[n] = '\0';
  row.state = std::uint8_t(state);
  ++row.changes;
}

void RankBoard::write(RankState state) {
  rows_[rank_].changes += 2;
  rows_[rank_].state = std::uint8_t(state);
}

std::vector<RankRow> RankBoard::rows() const {
  std::vector<RankRow> out;
  for (int i = 0; i < size_; ++i) {
    const Row& row = rows_[i];
    RankRow& r = out.emplace_back();
    r.state = RankState(row.state.load());
    r.changes = row.changes;
    const std::int32_t pid = row.pid;
    if (pid == 0) {
      r.state = RankState::Elsewhere;
      continue;
    }
    char place[Row::kPlace];
    std::memcpy(place, row.place, sizeof place);
    place[sizeof place - 1] = '\0';
    r.place = place;
    r.died = r.state != RankState::Done && is_gone(pid) && RankState(row.state.load()) != RankState::Done;
  }
  return out;
}

RankWatch::RankWatch(RankBoard& board, int rank, Report report)
    : board_(board), rank_(rank), report_(std::move(report)) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  sigaddset(&before, SIGTERM);  // of this thread, and those that it starts
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RankWatch::~RankWatch() {
  stop_ = true;
  thread_.join();
}

int RankWatch::dead_rank() const {
  const std::vector<RankRow> rows = board_.rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].died) return int(i);
  return -1;
}

// The lowest rank that lives speaks; the others leave it the time. This rank ends because of the dead one, and is done:
// nobody takes it for another that died.
void RankWatch::end(int dead) {
  const std::vector<RankRow> rows = board_.rows();
  board_.write(RankState::Done);
  for (int i = 0; i < rank_; ++i)
    if (rows[std::size_t(i)].state != RankState::Elsewhere && !rows[std::size_t(i)].died) {
      ::usleep(500000);
      ::_exit(1);
    }
  report_(RankEnd::Died, dead, rows[std::size_t(dead)].place);
  ::_exit(1);
}

void RankWatch::run() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  while (!stop_) {
    const timespec wait{0, 100'000'000};
    siginfo_t signal{};
    const bool ended = ::sigtimedwait(&term, &signal, &wait) == SIGTERM;
    if (const int dead = dead_rank(); dead >= 0) return end(dead);
    if (!ended) continue;
    // The rank because of which the others are ended may not be gone yet.
    for (int i = 0; i < 10; ++i, ::usleep(50000))
      if (const int dead = dead_rank(); dead >= 0) return end(dead);
    // mpirun, which started this process, ends a whole job, and says so. Somebody else has ended this rank alone.
    if (signal.si_pid != ::getppid()) report_(RankEnd::Terminated, rank_, board_.rows()[std::size_t(rank_)].place);
    board_.write(RankState::Done);
    ::_exit(128 + SIGTERM);
  }
}

}  // namespace rldb::support
