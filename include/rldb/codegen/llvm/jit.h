// Jit: TensorIR -> LLVM IR -> machine code in this process (ORC), one kernel at a time, on first call.
//
// Compiled code is cached by structural hash in memory and, when a folder is given, on disk as object code. Kernels
// made here outlive the Jit, and check their arguments before the code runs (runtime::bind_arguments);
// with `check_bounds` the code itself reports buffer, indices and loop variables instead of crashing. The only room
// that includes LLVM headers; this header exposes nothing of LLVM. A PrimFunc that cannot be compiled (GPU threads,
// unknown intrinsic) is a Message, not a crash; the session then reports it and offers the evaluator. User: session.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::codegen {

enum class FpMode : std::uint8_t {
  Strict,  // results as the text specifies, bit for bit up to the libm
  Fast,    // reductions may be reassociated
};

// How much LLVM does for a kernel. Both give the same bits (NaN's sign and payload apart).
enum class Tier : std::uint8_t {
  Quick,  // as the text is written, without LLVM's passes: compiled in a few milliseconds, for calls that are short
  Full,   // scheduled and optimised
};

struct JitOptions {
  FpMode fp = FpMode::Strict;
  bool check_bounds = true;      // every access is proved to be in bounds or tested
  bool check_accesses = false;   // every access is checked once more after LLVM's passes: for testing, slow
  bool poisoned_memory = false;  // unwritten memory holds large numbers, not 0: a missing init shows
  int opt_level = 3;
  bool tiers = false;     // short calls begin in the quick tier; code that is used much is compiled again meanwhile
  bool schedule = true;   // functions not scheduled yet get the default schedule (rldb/schedule/schedule.h) first
  std::string cache_dir;  // empty: memory only
  std::uint64_t cache_bytes = std::uint64_t(256) << 20;  // limit of that folder
  const runtime::PackedRegistry* registry = nullptr;     // T.call_packed inside kernels
  std::atomic<bool>* interrupt = nullptr;                // polled in loops that run long
};

struct KernelStats {
  std::string name;
  std::uint64_t compile_ns = 0;
  bool from_cache = false;
  bool compiled = false;
  Tier tier = Tier::Full;  // of the code that runs
  bool improving = false;  // better code is being compiled
};

class Jit {
 public:
  static ir::Result<std::unique_ptr<Jit>> create(JitOptions options);
  ~Jit();

  // Cheap: the code is generated at the kernel's first run (or by `compile`). Scheduled functions live in the Context.
  ir::Result<std::shared_ptr<runtime::Kernel>> add(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);
  ir::Result<support::Unit> compile(std::string_view name);

  // Text for `:llvm f` and `:asm f`: optimised IR and host assembly.
  ir::Result<std::string> llvm_ir(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                  bool optimised = true);
  ir::Result<std::string> assembly(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);
  // For executables on disk: a blob of relocatable object code, the signature and the CPU it was made for; and the
  // reverse, which trusts nothing in the blob's header. Machine code is refused if it was made for another CPU or is
  // damaged, and is otherwise only as trustworthy as its producer: the session loads it only when the user trusts the
  // file.
  ir::Result<std::string> object_code(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);
  ir::Result<std::shared_ptr<runtime::Kernel>> add_object(std::string_view blob, std::string_view name);

  std::vector<KernelStats> stats() const;
  static std::string host_cpu();

 private:
  Jit();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Compilations that were cancelled but have not noticed yet: LLVM cannot be stopped in the middle of a pass. While
// there are any, the process must end by _exit: objects that static destructors destroy are still in use.
int compilations_left_behind();

}  // namespace rldb::codegen
