// Compile: from a PrimFunc to object code or text, for the CPU that rldb runs on. Internal to the room; no LLVM here.
#pragma once

#include <span>

#include "codegen/llvm/engine/artefact.h"
#include "rldb/codegen/llvm/aot.h"
#include "rldb/codegen/llvm/jit.h"

namespace rldb::codegen {

struct Host {
  std::string cpu;
  std::string features;
  std::string key;  // everything object code depends on: format version, LLVM version, CPU, features
  unsigned vector_bytes = 16;
  bool fma = false;
};
const Host& host();

struct CompileOptions {
  FpMode fp = FpMode::Strict;
  bool check_bounds = false;
  int opt_level = 3;
  Tier tier = Tier::Full;
  runtime::NumericEvents events = 0;  // the code notes whether it writes one of these
  bool check_accesses = false;        // see accesses.h
  bool poisoned_memory = false;       // see jit.h
  // For object code that a linker joins with other: the entry's symbol, and where the statements are written.
  std::string symbol;
  const SourceLines* lines = nullptr;
};

enum class TextKind : std::uint8_t { Raw, Optimised, Assembly };

ir::Result<Artefact> compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                             const CompileOptions& options);
// The same in steps: LLVM works on a thread while the caller does other things. The function is read in the first;
// one that cannot be compiled is refused there. LLVM begins with `queue`, when a CPU has nothing to do, with `start`,
// or with `finish_compile`.
struct CompileJob;
struct Compiling {
  runtime::KernelSignature signature;
  std::string symbol;
  std::shared_ptr<CompileJob> job;
};
ir::Result<Compiling> prepare_compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                      const CompileOptions& options);
void queue(const Compiling& compiling);
void start(const Compiling& compiling);  // at once
ir::Result<Artefact> finish_compile(Compiling compiling);
bool is_finished(const Compiling& compiling);
void give_up(std::span<const Compiling> given);  // nobody will ask for them
ir::Result<std::string> compile_text(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                     const CompileOptions& options, TextKind kind);

// Whether the code can look for numbers as it writes them, without being slower for it.
bool can_note_numbers(const ir::PrimFunc* f);

// Fault injection for tests: LLVM hits a fatal error in the next compilation.
void fail_next_compilation();
// For tests: how often a function was lowered, in this process.
std::uint64_t lowered_count();

}  // namespace rldb::codegen
