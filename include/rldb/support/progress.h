// Progress: the current activity, in words, for display when the work takes long.
//
// Code that may take long (compiles a kernel, compares values at one choice of dims) describes it while it
// lasts; the console reads that from a thread of its own. Without a callback, the cost is a lock and a copy.
#pragma once

#include <cstdint>
#include <string>

namespace rldb::support {

class Doing {
 public:
  explicit Doing(std::string what);
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  std::uint64_t number_;
};

// The innermost one; empty: there is no description.
std::string doing_now();

}  // namespace rldb::support
