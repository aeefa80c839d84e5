// Storage that its user fills before anything reads it: while one of these lives, storages that this thread allocates
// are not cleared when their memory was used before. For scratch that no one else sees (codegen_llvm).
#pragma once

namespace rldb::runtime {

class AnyContents {
 public:
  AnyContents();
  ~AnyContents();
  AnyContents(const AnyContents&) = delete;
  AnyContents& operator=(const AnyContents&) = delete;

 private:
  bool before_;
};

}  // namespace rldb::runtime
