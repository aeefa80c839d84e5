// RankBoard: what the ranks of a job on one host are doing, in memory that they share, so that a rank that has died can
// be told from one that takes long, and so that it is known where it was.
//
// Each rank writes its own row and reads all of them. Used by session and ui.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rldb/support/ranks.h"

namespace rldb::support {

enum class RankState : std::uint8_t { Elsewhere, Running, Waiting, Stopped, Done };

struct RankRow {
  RankState state = RankState::Elsewhere;
  std::uint64_t changes = 0;  // counts what the rank has written
  std::string place;          // "`main`, lv3 (model.py:12)"; empty: it has not begun
  bool died = false;          // its process is gone, and it had not ended
};

class RankBoard {
 public:
  // Whether all ranks are on one host; else nobody is watched.
  static bool is_possible(const Ranks& ranks);
  // Then every rank of the job calls this, before any other message. Null: the memory cannot be shared.
  static std::unique_ptr<RankBoard> share(Ranks& ranks);
  ~RankBoard();  // this rank is done
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  void write(RankState state, std::string_view place);
  void write(RankState state);  // at the same place
  std::vector<RankRow> rows() const;

 private:
  struct Row;
  RankBoard(Row* rows, int rank, int size) : rows_(rows), rank_(rank), size_(size) {}
  bool is_complete() const;  // waits for that
  Row* rows_;
  int rank_, size_;
};

enum class RankEnd : std::uint8_t {
  Died,        // its process is gone: the lowest rank that lives on the host reports it
  Terminated,  // by SIGTERM from somebody else than mpirun: the rank itself reports it
};

// A thread that looks at the board ten times a second, and takes SIGTERM, by which mpirun ends the others when a rank
// has died. Made before other threads are.
class RankWatch {
 public:
  // Called on the watch's thread, with the rank and its place; the process ends after it.
  using Report = std::function<void(RankEnd, int, const std::string&)>;
  RankWatch(RankBoard& board, int rank, Report report);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

 private:
  void run();
  int dead_rank() const;  // -1: none
  void end(int dead);
  RankBoard& board_;
  int rank_;
  Report report_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rldb::support
