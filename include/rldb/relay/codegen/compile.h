// From a prepared module (relay/passes: prepare_for_vm) to an executable of the Relay VM, and the list of primitives
// that its kernels are made from. Users: session, tests.
#pragma once

#include <functional>
#include <optional>

#include "rldb/relay/passes/pass.h"
#include "rldb/relay/vm/executable.h"

namespace rldb::relay {

// Numbers go into files.
enum class KernelKind : std::uint8_t {
  Compute = 0,        // the primitive function
  Shape = 1,          // from the shapes of its operands, the dims of its results, as one int64 tensor each
  ShapeFromData = 2,  // the same from the operands themselves
  Copy = 4,           // from one tensor to another
};

// How a file describes a primitive: attributes of it, which TVM keeps and does not read.
namespace kernel_attr {
inline constexpr std::string_view Kind = "rldb.kind";
inline constexpr std::string_view Function = "rldb.function";
}  // namespace kernel_attr

struct Kernel {
  KernelKind kind;
  std::string name;  // in the executable's table
  const Function* function = nullptr;
};

struct CompiledModule {
  relay_bytecode::Executable executable;
  std::vector<Kernel> kernels;  // by index of the primitive
};

// The type of a variable that has none in the text; null: not known.
using TypeOfVariable = std::function<const Type*(const Var*)>;

// nullopt: diagnosed. `names`, `types`: the variables' names and types in the text, for debug info.
std::optional<CompiledModule> compile_vm(Context& ctx, const Module* m, source::Diagnostics& out,
                                         const TextNames* names = nullptr, TypeOfVariable types = nullptr);

}  // namespace rldb::relay
