// Object code for libraries that run without rldb: kernels one by one, and the functions of a program for the Relax VM.
//
// A linker joins them with the runtime in C (src/aot/runtime), which they call. The code is for the CPU that rldb runs
// on. Nothing of LLVM is exposed. docs/aot.md. User: aot.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/codegen/llvm/jit.h"

namespace rldb::codegen {

// Where nodes are written in a text that a debugger shows.
struct SourceLines {
  std::string folder, file;
  std::unordered_map<const ir::Node*, int> lines;
};

struct AotKernel {
  struct Fault {
    runtime::ErrorKind kind = runtime::ErrorKind::Raised;
    std::string text, note;
  };
  runtime::KernelSignature signature;
  std::vector<Fault> faults;
  std::string symbol;
  std::string object;  // an ELF file
};

// The function as it is compiled, with its schedule: the one to be shown, and given to compile_kernel.
ir::Result<const ir::PrimFunc*> scheduled_kernel(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                                 const JitOptions& options);
// `f`: of scheduled_kernel; `original`: the function that it was made from.
ir::Result<AotKernel> compile_kernel(const ir::PrimFunc* f, const ir::PrimFunc* original, std::string_view name,
                                     std::string symbol, const JitOptions& options, const SourceLines& lines);

// An entry of the function table of the executable.
struct AotTarget {
  enum class Kind : std::uint8_t { Bytecode, Kernel, Builtin, External } kind = Kind::External;
  std::size_t kernel = 0;  // Kernel: its index
  std::string symbol;      // Builtin: of the runtime's function
  bool exported = false;   // Bytecode: under `__tvm_ffi_<name>`
};

struct AotProgram {
  std::string name;  // an identifier, in front of all symbols of the library
  const bytecode::Executable* executable = nullptr;
  std::vector<AotTarget> targets;  // parallel to its function table
  std::vector<AotKernel> kernels;
  std::string description;  // the executable as a file, for debuggers; constants may be left out
  bool standalone = false;  // for a program: the runtime's main finds the library
};
// The runtime's function for a builtin or packed function of that name; empty: it has none.
std::string_view runtime_symbol(std::string_view name);
// Whether the runtime has it for packed calls in kernels.
bool kernels_may_call(std::string_view name);
ir::Result<std::string> compile_program(const AotProgram& program);

}  // namespace rldb::codegen
