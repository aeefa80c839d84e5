// Isolation: code that may crash, exit or hang runs in a guard process, and its outcome there is a value.
//
// A guard process is a fork of this one. Values cross as bytes that both sides check, tensors through shared memory
// that is copied in and out; so stray writes of a failed call do not reach this process. A call that did not end
// well is an Error that names the function and the signal; ^C while a guard hangs kills it and is an Interrupted error.
// Kernels get a fork per call, because they are code and pointers; a plugin has one guard, because it may keep state,
// and gets a new one after a crash (runtime/plugin.h). Made by session; off, everything runs in this process.
#pragma once

#include <atomic>
#include <memory>

#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::runtime {

struct Isolation {
  const bool* on = nullptr;                // the option; read at each call
  std::atomic<bool>* interrupt = nullptr;  // ^C, time limits
  // Where programs' output goes. A guard process redirects it to its channel back to this process.
  Output** output = nullptr;

  // Also false inside a guard process, which is isolated already.
  bool enabled() const;
};

// A kernel whose calls run in guard processes while isolation is on.
std::shared_ptr<Kernel> isolated_kernel(std::shared_ptr<Kernel> inner, std::shared_ptr<const Isolation> isolation);

}  // namespace rldb::runtime
