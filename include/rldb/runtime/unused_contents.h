// Memory of which little or nothing will be used: the storages that this thread allocates until the end of the scope
// are made of new pages, which cost nothing until they are touched, and are not kept afterwards. User: the debugger,
// where it executes a part of a run without the work on large tensors.
#pragma once

namespace rldb::runtime {

class UnusedContents {
 public:
  UnusedContents();
  ~UnusedContents();
  UnusedContents(const UnusedContents&) = delete;
  UnusedContents& operator=(const UnusedContents&) = delete;

 private:
  bool before_;
};

}  // namespace rldb::runtime
