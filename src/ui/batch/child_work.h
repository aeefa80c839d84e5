// ChildWork: a piece of work in a process of its own, and what it gave back as bytes. A crash there is that one's end
// and nobody else's. User: `rldb test`.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace rldb::ui {

class ChildWork {
 public:
  // Starts at once. `work` runs in the child, which ends with it.
  explicit ChildWork(const std::function<std::string()>& work);
  ~ChildWork();  // a child that is still there is killed
  ChildWork(const ChildWork&) = delete;
  ChildWork& operator=(const ChildWork&) = delete;

  int descriptor() const { return fd_; }
  // Takes what has come, without waiting. True: that was all.
  bool read();
  // After that. None: it did not come to its end; `ended_by` says how it ended (`signal 11`, `exit code 4`).
  std::optional<std::string> result();
  const std::string& ended_by() const { return ended_by_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string bytes_;
  std::string ended_by_;
};

}  // namespace rldb::ui
