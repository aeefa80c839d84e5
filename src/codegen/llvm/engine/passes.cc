// LLVM's passes for kernels.
//
// Schedules make the vectors, tiles and unrolled copies that count, so most of LLVM's default pipeline finds nothing to
// do in them, at half of the time of a compilation. These passes are those that kernels are faster for: clean-up,
// divisions by known ranges, memset and memcpy, and one round of the vectoriser with what it leaves behind, for loops
// that no schedule recognises.
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Error.h>

#include "codegen/llvm/engine/byte_divisions.h"
#include "codegen/llvm/engine/machine.h"
#include "codegen/llvm/engine/wrapping.h"
#include "codegen/llvm/lower/lowering.h"

namespace rldb::codegen {

namespace {

constexpr const char* kKeepWrapping = "keep-wrapping-loops-scalar";

// In LLVM's notation for pipelines. One round of `instcombine` is enough: three of them see each instruction.
constexpr const char* kKernelPasses =
    "function("
    "sroa,early-cse<memssa>,simplifycfg,instcombine<max-iterations=1;no-verify-fixpoint>,"
    "loop-mssa(loop-simplifycfg,licm),simplifycfg,correlated-propagation,"
    "loop(loop-idiom,loop-deletion,loop-unroll-full),sroa,"
    "keep-wrapping-loops-scalar,loop-vectorize,loop-load-elim,instcombine<max-iterations=1;no-verify-fixpoint>,"
    "simplifycfg,loop-unroll,early-cse<memssa>,loop-mssa(licm),adce)";

llvm::ModulePassManager kernel_passes(llvm::PassBuilder& builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != kKeepWrapping) return false;
        passes.addPass(KeepWrappingLoopsScalar());
        return true;
      });
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, kKernelPasses)) refuse(llvm::toString(std::move(error)));
  return passes;
}

llvm::ModulePassManager default_passes(llvm::PassBuilder& builder, Passes wanted) {
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) { passes.addPass(KeepWrappingLoopsScalar()); });
  return builder.buildPerModuleDefaultPipeline(wanted == Passes::Few ? llvm::OptimizationLevel::O1
                                                                     : llvm::OptimizationLevel::O3);
}

}  // namespace

static void run_passes(llvm::Module& module, llvm::TargetMachine& machine, Passes wanted, const JobState& job) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = wanted != Passes::Few;
  tuning.LoopInterleaving = wanted != Passes::Few;
  // The vectoriser of straight-line code narrows what it vectorises and forgets signs while doing so: in LLVM 19 the
  // conversion to float of an int8 that was cast to uint32 becomes one of a uint8. Schedules make the vectors that
  // count.
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  // The rest of an abandoned job is over soon.
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [&job](llvm::StringRef pass, llvm::Any unit) { return !job.abandoned && !relies_on_wrapping(pass, unit); });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes = wanted == Passes::Kernel ? kernel_passes(builder) : default_passes(builder, wanted);
  passes.run(module, modules);
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, Passes wanted, const JobState& job) {
  if (wanted != Passes::None) run_passes(module, machine, wanted, job);
  widen_byte_divisions(module);
}

}  // namespace rldb::codegen
