// The memory plan of a function for inspection: storages, the tensors that live in them, when, and how large.
//
// Read off the allocations in the text, so it works both for plans of StaticPlanBlockMemory and for lowered
// modules written by TVM (R.memory.*, R.vm.*). A function without storages is planned first, on a copy. Lifetimes
// are counted in bindings, from 1, branches in the order of the text. The memory of parameters and constants is not
// counted. Users: ui (`:mem`, `rldb opt --memory-report`).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rldb/passes/pass.h"

namespace rldb::passes {

// Why a tensor has memory of its own: the planner does not know when it is free again.
enum class Escape : std::uint8_t {
  None,
  Returned,
  Captured,  // by a closure, or by a function inside this one
  Passed,    // to something that is not a kernel and may keep it
  Elsewhere  // used in another block of bindings than its own
};

// Bytes as the program computes them, and as a number when the dims in it have values.
struct MemorySize {
  const ir::Expr* bytes = nullptr;  // null: only known at run time
  std::optional<std::int64_t> value;
};

// Properties that two pieces of memory must have in common to be one.
struct MemoryKind {
  ir::DType dtype;
  std::string scope;
  std::int64_t device = 0;
  bool operator==(const MemoryKind&) const = default;
};

struct MemoryTensor {
  std::string name;         // the program's name for it if there is one
  const ir::Call* alloc;    // leads to the user's line
  std::size_t storage = 0;  // index
  std::size_t begin = 0;    // the binding that allocates it
  std::size_t end = 0;      // the last one that uses it or an alias of it; past the last: the result
  MemorySize size;
  MemoryKind kind;
  Escape escape = Escape::None;
  std::string escapes_to;  // Passed: the callee
};

struct MemoryStorage {
  std::string name;
  std::size_t begin = 0;
  std::size_t end = 0;  // when it is killed, or the last use of its last tensor
  MemorySize size;
  MemoryKind kind;
  bool shared = false;               // an allocation of storage, which tensors can share; else one tensor's own
  std::vector<std::size_t> tensors;  // indices, in the order of their allocation
};

// A sum of sizes: a number, or text over symbolic dims that have no value.
struct MemorySum {
  std::optional<std::int64_t> value;
  std::string text;
};

struct FunctionMemory {
  std::string function;
  bool preview = false;               // not planned yet: shows what the planner would do
  std::vector<std::string> bindings;  // their variables' names: binding i is bindings[i - 1]
  std::vector<MemoryStorage> storages;
  std::vector<MemoryTensor> tensors;
  MemorySum total;     // of all storages
  MemorySum unshared;  // of all tensors, as if none shared
  // The most memory held at once, by storages and by tensors in use, and the first binding that reaches it. Nullopt
  // while some size has no value.
  std::optional<std::int64_t> peak;
  std::optional<std::int64_t> needed;
  std::size_t peak_at = 0;
  std::size_t needed_at = 0;
  std::vector<std::string> open_dims;  // symbolic dims that the sizes depend on
};

// Of every Relax function, or of one. `dims` are values of symbolic dims; others count at the upper bounds that the
// function's attributes give (`tir_var_upper_bound`).
ir::Result<std::vector<FunctionMemory>> memory_of(PassEnv& env, const ir::Module* module,
                                                  const std::map<std::string, std::int64_t>& dims,
                                                  std::string_view function = {});

// Why two tensors have different storages, or that they share one.
std::string why_apart(const FunctionMemory& memory, std::size_t a, std::size_t b);
// Why a tensor is excluded from sharing; empty when it is not.
std::string why_alone(const FunctionMemory& memory, const MemoryTensor& tensor);

}  // namespace rldb::passes
