// ChildWork: a piece of work in a process of its own, and its result as bytes. A crash there ends only that process.
// User: `rldb test`.
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
  ~ChildWork();  // kills a child that is still running
  ChildWork(const ChildWork&) = delete;
  ChildWork& operator=(const ChildWork&) = delete;

  int descriptor() const { return fd_; }
  // Takes the bytes that have arrived, without waiting. True: that was all.
  bool read();
  // Call after that. None: the work did not finish; `ended_by` tells how it ended (`signal 11`, `exit code 4`).
  std::optional<std::string> result();
  const std::string& ended_by() const { return ended_by_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string bytes_;
  std::string ended_by_;
};

}  // namespace rldb::ui
