// Ranks: the processes of one job, which `mpirun` of OpenMPI started on this machine or on several, and messages
// between them. libmpi is loaded at run time, and only in such a job: rldb itself is built and runs without it.
//
// Every rank has the same command line. Rank 0 has the work and the output; the others answer. Used by repro and ui.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::support {

struct RankMessage {
  int from = 0;
  std::string bytes;
};

class Ranks {
 public:
  // The job that this process belongs to. Null: it runs alone; or, if `why` is not empty, it is one of several and
  // cannot talk to the others, so that each would do all the work.
  static std::unique_ptr<Ranks> join(std::string& why);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // False: the message is too long, or the other rank is gone.
  bool send(int to, std::string_view bytes);
  // The next message, if one has arrived.
  std::optional<RankMessage> receive();

 private:
  struct Library;
  explicit Ranks(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
  int rank_ = 0, size_ = 1;
};

}  // namespace rldb::support
