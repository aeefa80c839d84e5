// Program: an executable made ready to run. Verified, decoded, every callee resolved once; immutable and shared.
//
// A name in the function table resolves to: bytecode of this executable; else a kernel; else a builtin; else a
// registered packed function. A name that resolves to nothing links too (for the debugger's sake) and faults when
// it is called; `unresolved()` lists it. The kernel table, registry, output and interrupt flag of the Environment
// belong to the session and must outlive the Program. Made by session and tests; run by Machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::vm {

using bytecode::FunctionIndex;
using bytecode::Pc;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using support::Ref;

struct Environment {
  const runtime::KernelTable* kernels = nullptr;
  const runtime::PackedRegistry* registry = nullptr;
  runtime::Output* output = nullptr;  // null: standard output
  // Set by a signal handler or another thread; a machine that sees it clears it and stops before its next instruction.
  std::atomic<bool>* interrupt = nullptr;
  runtime::DeviceList devices;  // by the index in allocations; none: everything is on the host
};

enum class TargetKind : std::uint8_t { Unresolved, Bytecode, Builtin, Control, Kernel, Packed };

class Program : public std::enable_shared_from_this<Program> {
 public:
  static Result<std::shared_ptr<const Program>> link(std::shared_ptr<const bytecode::Executable> exe, Environment env);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const bytecode::Executable& executable() const { return *exe_; }
  const std::shared_ptr<const bytecode::Executable>& executable_ptr() const { return exe_; }
  const Environment& environment() const { return env_; }
  runtime::Output& output() const;

  TargetKind target_kind(FunctionIndex function) const;
  std::vector<std::string_view> unresolved() const;
  // The function as a value: callable by a machine, and by C++ through its `native` (which runs a machine of its own).
  const Value& function_value(FunctionIndex function) const;
  // A function of the program or environment by name, as a value; null when there is none.
  Value find_function(std::string_view name) const;
  // Runs a callable value to its end on a machine of its own. For packed functions that take functions.
  Result<Value> invoke(const Value& callable, PackedArgs args) const;

  struct Impl;  // src/vm/link.h: decoded instructions and call targets
  const Impl& impl() const { return *impl_; }

 private:
  Program() = default;
  std::shared_ptr<const bytecode::Executable> exe_;
  Environment env_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rldb::vm
