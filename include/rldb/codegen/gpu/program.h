// A PrimFunc as code for a device: the text of its kernel functions (OpenCL C, PTX), and what the host does to launch
// them.
//
// The statements around the launches stay TensorIR: the host executes them (codegen/gpu/call.cc). Memory is named by
// the pointer variable behind a buffer (`ir::Buffer::data`).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/error.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

struct LaunchArgument {
  enum class Kind : std::uint8_t {
    Memory,  // the device's memory behind `var`
    Bytes,   // the size of that memory, int64
    Scalar,  // the value of `var`, computed by the host
    Fault,   // the record of faults, and the thread that is asked for: two arguments
    Stop,    // the word that is not zero when the kernel is to end
  };
  Kind kind;
  const ir::Var* var = nullptr;
};

// threadIdx.x or blockIdx.y with its size, which the host computes.
struct ThreadAxis {
  std::string_view tag;
  const ir::Expr* extent;
};

struct Launch {
  std::string function;
  std::vector<LaunchArgument> arguments;
  std::vector<ThreadAxis> axes;  // in the order in which threads are numbered, the slowest first
  std::size_t shared_bytes = 0;
  std::size_t private_bytes = 0;  // of the arrays of one thread
};

// A place that reports faults. The record has `kFaultNumbers` numbers, for the `{}` of the text.
struct FaultSite {
  runtime::ErrorKind kind = runtime::ErrorKind::Raised;
  std::string text;  // "access out of bounds: `A`, index {} is {}, but the extent is {}"
  std::string note;
  bool has_numbers = false;
};
inline constexpr std::size_t kFaultNumbers = 8;

struct Program {
  const ir::PrimFunc* f = nullptr;  // lowered
  std::string text;
  std::vector<Launch> launches;
  std::unordered_map<const ir::Stmt*, std::size_t> launch_of;  // of the statements that open threads
  std::vector<FaultSite> sites;
  std::unordered_set<const ir::Var*> read, written;            // memory, by any launch
  std::unordered_set<const ir::Var*> temporaries;              // memory that the host allocates
  std::unordered_map<const ir::Var*, const ir::Var*> aliases;  // the pointer of a declared buffer -> the memory's
  bool needs_float64 = false;
};

}  // namespace rldb::codegen
