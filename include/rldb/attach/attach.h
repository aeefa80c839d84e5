// Attaching to a process that runs a library or program of `rldb build`, or to its core: its frames, registers and
// shape heaps are shown as if its program ran here. Read-only: no value and no code of the process is changed.
//
// The process runs its own machine code. It is stopped at instructions of the bytecode by a gate that the library has
// (src/aot/runtime/watched.c); that gate's word is the only thing that is written. When the run of the debugger ends,
// in whatever way, the process goes on. docs/aot.md. User: ui/prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rldb/session/program.h"
#include "rldb/session/session.h"

namespace rldb::attach {

// A thread that runs the program now.
struct ThreadInfo {
  std::int64_t id = 0;
  bool current = false;  // whose frames the debugger shows
  std::string function;
  bytecode::Pc pc = -1;
};

class Attached {
 public:
  virtual ~Attached() = default;
  virtual std::string name() const = 0;     // `process 123 (server)`, `the core app.core`
  virtual std::string library() const = 0;  // its file, as the process has it
  // Others of this kind in the process, by their files.
  virtual std::vector<std::string> other_libraries() const = 0;
  virtual const std::shared_ptr<const session::Build>& build() const = 0;
  virtual std::vector<ThreadInfo> threads() = 0;
  // The debugger shows that thread from now on. False: it does not run the program.
  virtual bool select(std::int64_t thread) = 0;
  virtual void detach() = 0;
  virtual bool attached() const = 0;
};

// `target`: a process id, or the path of a core. `library`: the file name of one of several; empty: the one that runs.
// Null: diagnosed.
std::shared_ptr<Attached> attach(const std::string& target, std::string_view library, session::Session& session,
                                 source::Diagnostics& out);

// That which the build's machine shows; null: it is a program that runs here, or is attached no more.
std::shared_ptr<Attached> attached_to(const vm::Program& program);

// The program as the session's: it is listed, and not run here.
std::unique_ptr<session::Program> program_of(std::shared_ptr<Attached> attached, session::Session& session);

}  // namespace rldb::attach
