// A PrimFunc as OpenCL C: the text of its kernel functions, and what the host does to launch them. Room-private.
//
// The statements around the launches stay TensorIR: the host executes them (run/call.cc). Memory is named by the
// pointer variable behind a buffer (`ir::Buffer::data`).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

struct LaunchArgument {
  enum class Kind : std::uint8_t {
    Memory,  // the device's memory behind `var`
    Bytes,   // the size of that memory, int64
    Scalar,  // the value of `var`, computed by the host
    Fault,   // the record of faults, and the thread that is asked for: two arguments
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

// A place that reports faults. The record has three numbers.
struct FaultSite {
  enum class Kind : std::uint8_t { OutOfBounds, PastMemory, Division, Assertion };
  Kind kind;
  std::string text;  // the buffer, or the message of an assertion
};

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

struct EmitOptions {
  std::string_view name;
  bool check_bounds = true;
  bool strict = true;                 // functions are the formulas of runtime/float_formula.h
  runtime::NumericEvents events = 0;  // numbers to look for among those that are written to parameters
};

ir::Result<Program> emit_program(ir::Context& ctx, const ir::PrimFunc* f, const EmitOptions& options);

}  // namespace rldb::codegen
