// The result of linking an executable: one Decoded per instruction, one Target per table entry, one flat argument pool.
//
// An argument is one int: a register number, or ~i for `literals[i]` (immediates, constants, functions, null). So the
// interpreter gathers arguments with one test each and no decoding.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "rldb/vm/kernel_writes.h"
#include "rldb/vm/program.h"

namespace rldb::vm {

class InstructionSet;

// Where a builtin runs: the services available to it.
struct CallSite {
  const Program& program;
  FunctionIndex function = -1;  // -1: not called from bytecode
  Pc pc = -1;
};
using BuiltinFn = Result<Value> (*)(const CallSite&, PackedArgs);

// AllocTensor for a consumer that may not write each element: reused storage contains other tensors' values.
Result<Value> alloc_cleared_tensor(const CallSite& site, PackedArgs args);

enum class Op : std::uint8_t {
  CallBytecode,
  CallBuiltin,
  CallKernel,
  CallPacked,
  CallUnresolved,
  InvokeClosure,
  Ret,
  Goto,
  If,
};

inline constexpr std::int32_t kNoRegister = -1;

// Which of its arguments a call may write.
enum class Writes : std::uint8_t { None, Heap, Kernel, Anything };

struct Decoded {
  Op op = Op::Ret;
  bool checks_interrupt = false;  // calls and backward jumps
  bool tail = false;              // CallBytecode whose result is what the function returns, and nothing runs between
  Writes writes = Writes::None;
  std::int32_t dst = kNoRegister;  // Call
  std::int32_t reg = kNoRegister;  // Ret, If
  std::int32_t callee = -1;        // Call: table index
  std::int32_t jump = 0;           // Goto, If: offset
  std::uint32_t args_begin = 0;
  std::uint32_t args_count = 0;
  std::int32_t first_register = -1;  // arguments are consecutive registers from here: passed without copying
  union {
    BuiltinFn builtin = nullptr;
    runtime::Kernel* kernel;
    const runtime::PackedInfo* packed;
  };
};

struct Target {
  TargetKind kind = TargetKind::Unresolved;
  BuiltinFn builtin = nullptr;
  runtime::Kernel* kernel = nullptr;
  const runtime::PackedInfo* packed = nullptr;
  Value function;  // the callee as a value
};

struct Program::Impl {
  std::vector<Decoded> code;
  std::vector<std::int32_t> args;
  std::vector<Value> literals;
  std::vector<Target> targets;
  // Storages of the constants: a snapshot of a machine shares them.
  std::unordered_set<const runtime::Storage*> constant_storages;
  std::shared_ptr<const InstructionSet> instructions;  // of another machine's program
  mutable KernelWritesOf kernel_writes;                // told later than the program is linked
};

// A function of a program as a value. `owner` tells a machine whether it may push a frame for it.
class BytecodeFunction : public runtime::Function {
 public:
  BytecodeFunction(std::string name, FunctionIndex index, std::weak_ptr<const Program> owner);
  std::weak_ptr<const Program> owner;
};
// The table index when `f` is bytecode of `program`, else -1.
FunctionIndex own_bytecode(const Program& program, const runtime::Function& f);
// A closure over `f` with more captured values.
Ref<runtime::Function> make_closure(const runtime::Function& f, PackedArgs captured);

// A value that shares no mutable data with `value`, as in a snapshot.
Result<Value> copy_value(const Program& program, const Value& value);

// Errors with TVM's wording, used by machine and linker.
runtime::Error unknown_function(const Program& program, std::string_view name);
runtime::Error wrong_argument_count(const bytecode::FunctionEntry& f, std::size_t given);

}  // namespace rldb::vm
