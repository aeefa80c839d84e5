// The memory of a process that lives, and what /proc says about it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "attach/memory.h"

namespace rldb::attach {

class ProcessMemory : public Memory {
 public:
  explicit ProcessMemory(pid_t process) : process_(process) {}
  ~ProcessMemory() override;
  bool read(Address at, void* to, std::size_t size) const override;

 private:
  pid_t process_;
  mutable int file_ = -1;  // /proc/PID/mem, where the system call is not allowed
};

Mappings mappings_of(pid_t process);
std::vector<pid_t> threads_of(pid_t process);
// Of one that does not run; 0: not known.
Address stack_pointer_of(pid_t process, pid_t thread);
// Its id as it sees itself: in the innermost of its namespaces.
pid_t own_id(pid_t process, pid_t thread);
// The process that a thread belongs to; the number itself if there is none.
pid_t process_of(pid_t thread);
std::string command_of(pid_t process);  // empty: not known

}  // namespace rldb::attach
