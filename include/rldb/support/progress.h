// Progress: what the work at hand is doing, in words, for whoever shows it when the work takes long.
//
// Who does something that may take long (compiles a kernel, compares values at one choice of dims) says so while it
// lasts; the console asks from a thread of its own. Nobody is called, so saying it costs a lock and a copy.
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

// The innermost one; empty: nobody has said anything.
std::string doing_now();

}  // namespace rldb::support
