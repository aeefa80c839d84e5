// Options of a session: those changed by `:set` and the common flags. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/ir/printer.h"
#include "rldb/runtime/value.h"

namespace rldb::session {

enum class Engine : std::uint8_t {
  Jit,     // register VM, kernels compiled by LLVM
  Eval,    // the reference evaluator, Relax and kernels
  Vm,      // register VM, kernels run by the evaluator (every kernel statement can be stepped)
  OpenCl,  // register VM, kernels for a GPU run by OpenCL
  Cuda,    // register VM, kernels for a GPU run by CUDA's driver, as PTX
};
inline constexpr Engine kEngines[] = {Engine::Jit, Engine::Eval, Engine::Vm, Engine::OpenCl, Engine::Cuda};
std::string_view to_string(Engine engine);
std::optional<Engine> engine_named(std::string_view name);
// Whether kernels run on a device, in memory of its own.
inline bool is_on_device(Engine engine) { return engine == Engine::OpenCl || engine == Engine::Cuda; }
std::string engine_names();  // "jit, eval, vm, opencl, cuda"

// The target that Relay text is loaded for.
enum class Machine : std::uint8_t {
  Relax,  // translated to Relax, with all its facilities
  Relay,  // compiled for the Relay VM
};
std::string_view to_string(Machine machine);

struct Options {
  Engine engine = Engine::Jit;
  Machine machine = Machine::Relay;
  bool keep_document = false;  // of Relax text, for edits that are read in part (Session::edit_text)
  std::map<std::string, Engine, std::less<>> kernel_engines;  // of kernels with an engine of their own: not Vm
  bool fast_math = false;                                     // --fp=fast
  bool check_accesses = false;  // --check-accesses: once more, in the machine code; for testing rldb
  bool check_bounds = true;     // --no-check-bounds: wild accesses are a signal or found too late
  bool trust_kernels = false;   // --trust-kernels: run machine code stored in an executable
  std::string kernels_file;     // --kernels: a module that has the kernels of an executable
  bool rfc_functions = false;   // --rfc-functions: rldb's helpers for RFC 0089's examples are asked for
  runtime::DeviceList devices;  // --devices: those of the run, by number; none: the module's
  bool isolate = false;         // --isolate: plugins and unchecked kernels run in guard processes
  int opt_level = 3;
  bool quick_kernels = true;  // short calls of kernels may begin in code that is not optimised
  bool schedule = true;
  std::string cache_dir;  // kernels on disk; empty: memory only
  std::uint64_t seed = 0;
  std::int64_t default_dim = 4;              // for symbolic dims that are not set
  std::map<std::string, std::int64_t> dims;  // --dim n=7
  bool verify_each = true;
  bool poisoned_memory = false;       // fresh memory holds large numbers, not 0 (EvalEnv::poisoned_memory)
  std::uint64_t eval_statements = 0;  // limit on a run on the evaluator; 0: none
  // Of ONNX models: initialisers are constants of the module, else parameters; inputs with these values are constants.
  bool bind_params = true;
  std::map<std::string, runtime::Value, std::less<>> bound_inputs;
  runtime::Tolerance tolerance;
  ir::PrintOptions print;
};

}  // namespace rldb::session
