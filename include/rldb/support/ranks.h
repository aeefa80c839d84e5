// Ranks: the processes of one job, which `mpirun` of OpenMPI started on this machine or on several, and messages
// between them. libmpi is loaded at run time, and only in such a job: rldb itself is built and runs without it.
//
// Every rank has the same command line. Rank 0 has the work and the output, and the others answer; or each runs one
// program, and they meet at collectives (session/process_group.h). Used by session, repro and ui.
#pragma once

#include <list>
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
  // Whether this process is one of several that `mpirun` has started, before it joins them.
  static bool is_in_job();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // False: the message is too long, or the other rank is gone. A long message waits for its receiver.
  bool send(int to, std::string_view bytes);
  // The same without waiting: the bytes are kept until they have been sent, which `receive` sees to.
  bool post(int to, std::string bytes);
  // The next message, if one has arrived.
  std::optional<RankMessage> receive();
  // Whether messages that were posted are still on their way.
  bool posting();
  // Another rank has died: this one does not wait for it when it ends.
  void abandon() { abandoned_ = true; }

 private:
  struct Library;
  explicit Ranks(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
  int rank_ = 0, size_ = 1;
  struct Posted {
    std::string bytes;
    void* request = nullptr;
  };
  std::list<Posted> posted_;  // at addresses that stay
  bool abandoned_ = false;
};

}  // namespace rldb::support
