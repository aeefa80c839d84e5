// Engine: loads object code into this process (ORC, JITLink). Each kernel has its own dylib, so entries share a name.
// Symbols come from the table of helpers alone: object code can name nothing else in the process.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

struct EngineProblem {
  std::string text;
};

class Engine {
 public:
  static support::Result<std::shared_ptr<Engine>, EngineProblem> create(std::atomic<bool>* interrupt);
  ~Engine();
  support::Result<runtime::KernelEntry, EngineProblem> link(std::string_view object, std::string_view symbol);

 private:
  Engine();
  support::Result<runtime::KernelEntry, EngineProblem> link_now(std::string_view object, std::string_view symbol);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rldb::codegen
