// A Relay program on the Relay VM: compiled, with kernels for its primitives, and run.
//
// Kernels are made through Relax, in a session of their own, on the engine that the options name: a primitive function
// becomes a Relax function, which is legalised and compiled as any other. A primitive with operands of unknown dims
// is compiled for the dims that it is called with, once for each; the shapes of its results are found
// by inferring types with those dims. Users: the kinds of programs on the Relay VM,
// repro, conformance tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/relay/codegen/compile.h"
#include "rldb/relay/ir/context.h"
#include "rldb/relay/vm/machine.h"
#include "rldb/session/session.h"
#include "rldb/support/entry_function.h"

namespace rldb::session {

class KernelMaker;

class RelayCode {
 public:
  // For a module that has types: `entry` and everything reachable from it. Null: diagnosed. `ctx` outlives the program.
  // `names`: of graph variables, for debug info.
  static std::unique_ptr<RelayCode> compile(relay::Context& ctx, const relay::Module* m, const Options& options,
                                            runtime::Output* output, source::Diagnostics& out,
                                            std::string_view entry = support::kEntryFunction,
                                            const relay::TextNames* names = nullptr);
  // For an executable from a file. The operation of a primitive is derived from its name (`vm_mod_fused_add`).
  static std::unique_ptr<RelayCode> open(relay_bytecode::Executable exe, const Options& options,
                                         runtime::Output* output, source::Diagnostics& out);
  ~RelayCode();
  RelayCode(const RelayCode&) = delete;
  RelayCode& operator=(const RelayCode&) = delete;

  const relay_bytecode::Executable& executable() const { return *exe_; }
  const std::shared_ptr<const relay_vm::Program>& linked() const { return linked_; }
  // Primitives whose functions are known, and where those are kept.
  const std::vector<relay::Kernel>& kernels() const { return kernels_; }
  relay::Context& context() const { return *ctx_; }
  // Of the kernels of primitives that have run.
  std::vector<Session::KernelState> kernel_states() const;
  relay_vm::Outcome run(std::string_view function, runtime::PackedArgs args) const {
    return relay_vm::call(linked_, function, args);
  }

 private:
  RelayCode() = default;
  bool link(source::Diagnostics& out);
  void primitives_of(const relay_bytecode::Executable& exe);
  std::unique_ptr<relay::Context> own_;  // of an executable
  relay::Context* ctx_ = nullptr;
  std::vector<relay::Kernel> kernels_;
  std::shared_ptr<const relay_bytecode::Executable> exe_;
  std::shared_ptr<KernelMaker> maker_;
  runtime::DeviceList devices_;  // of the run; none: the program's
  relay_vm::PrimitiveTable primitives_;
  std::shared_ptr<const relay_vm::Program> linked_;
};

// Computes constants for the passes, on the engine selected in the options. `ctx` outlives it.
std::shared_ptr<relay::Evaluator> make_evaluator(relay::Context& ctx, const Options& options);

}  // namespace rldb::session
