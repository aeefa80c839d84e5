// A second check of every access, after LLVM's passes: the bounds are proved for the indices as they are written, and
// this looks at the addresses that the optimised code computes. For testing; it makes kernels many times slower.
#pragma once

namespace llvm {
class Module;
}

namespace rldb::codegen {

struct Run;

inline constexpr const char* kAccessHelper = "rldb_access";

// Before each load and store in memory that is not the function's own, a call of the helper above, with the address and
// the number of bytes: of each lane that is on, where lanes are masked or scattered.
void check_accesses_again(llvm::Module& module);

// The helper: leaves an error in the run for the first access outside of the memory of its arguments and allocations.
void note_access(const void* address, long long bytes);

}  // namespace rldb::codegen
