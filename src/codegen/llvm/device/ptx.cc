// From launches to PTX: a module for each, linked into one, LLVM's passes, the back end.
#include "rldb/codegen/llvm/ptx.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/engine/job.h"
#include "codegen/llvm/engine/machine.h"
#include "codegen/llvm/lower/launches.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/eval/eval.h"
#include "rldb/support/memory.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace rldb::codegen {

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kIsa = "+ptx63";  // what sm_70 and exchanges with a mask need

std::unique_ptr<llvm::TargetMachine> ptx_machine() {
  static const bool done = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)done;
  if (!make_machine(0)) refuse("LLVM has no code generator for this machine");  // installs its handlers of errors
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) refuse("LLVM was built without its back end for PTX");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // only where the code specifies `contract`
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, llvm::StringRef(kPtxProcessor), kIsa, options, llvm::Reloc::PIC_));
}

class PtxModule {
 public:
  explicit PtxModule(const PtxOptions& options) : options_(options), machine_(ptx_machine()) {}
  ~PtxModule() { module_.reset(); }  // before its context
  PtxModule(const PtxModule&) = delete;
  PtxModule& operator=(const PtxModule&) = delete;

  void add(ir::Context& ctx, const PtxLaunch& launch, Ptx& out) {
    auto signature = eval::signature_of(launch.f, launch.name);
    if (!signature.ok()) refuse(signature.error().text);
    LowerOptions wanted;
    wanted.device = true;
    wanted.threads = false;
    wanted.check_bounds = options_.check_bounds;
    wanted.fp = options_.fast_math ? FpMode::Fast : FpMode::Strict;
    wanted.events = options_.events;
    wanted.vector_bytes = 16;  // the widest access of a thread
    const auto loops = launches_as_loops(ctx, launch.f);
    if (!loops.ok()) refuse(loops.error());
    const schedule::BoundsFacts facts = schedule::prove_bounds(*loops);
    Lowering lowering(context_, wanted);
    Lowered made = lowering.run_on_device(launch.f, *signature, {launch.name, launch.axes, out.faults.size(), &facts});
    for (FaultRow& row : made.faults) out.faults.push_back({row.kind, std::move(row.text), std::move(row.note)});
    out.functions.push_back({made.shared_bytes, made.private_bytes});
    made.module->setTargetTriple(kTriple);
    made.module->setDataLayout(machine_->createDataLayout());
    if (!module_)
      module_ = std::move(made.module);
    else if (llvm::Linker::linkModules(*module_, std::move(made.module)))
      refuse("LLVM cannot link its launches");
  }

  std::string text() {
    const JobState state;
    optimise(*module_, *machine_, Passes::All, state);
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
      refuse("LLVM cannot write PTX");
    passes.run(*module_);
    return std::string(bytes.begin(), bytes.end());
  }

 private:
  PtxOptions options_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<llvm::Module> module_;
};

}  // namespace

support::Result<Ptx, PtxProblem> make_ptx(ir::Context& ctx, std::span<const PtxLaunch> launches,
                                          const PtxOptions& options) {
  if (launches.empty()) return Ptx();
  try {
    const support::MemoryLimitExempt exempt;
    Ptx out;
    auto work = std::make_shared<std::unique_ptr<PtxModule>>(std::make_unique<PtxModule>(options));
    for (const PtxLaunch& launch : launches) (*work)->add(ctx, launch, out);
    // LLVM's own work may be abandoned, so the job owns what it uses.
    auto text = std::make_shared<std::string>();
    run_job([work, text](const JobState&) {
      try {
        *text = (*work)->text();
      } catch (const FatalLlvm&) {
        (void)work->release();  // not touched again
        throw;
      }
    });
    out.text = std::move(*text);
    return out;
  } catch (const Refused& r) {
    return support::Failure(PtxProblem{r.why});
  } catch (const FatalLlvm& f) {
    return support::Failure(PtxProblem{"LLVM stopped: " + f.reason});
  }
}

}  // namespace rldb::codegen
