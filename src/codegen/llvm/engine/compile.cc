// From a PrimFunc to object code: lowering, LLVM's passes, code generation, all in a job that may be abandoned.
#include "codegen/llvm/engine/compile.h"

#include <fmt/format.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <algorithm>
#include <atomic>

#include "codegen/llvm/engine/accesses.h"
#include "codegen/llvm/engine/job.h"
#include "codegen/llvm/engine/machine.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/schedule/target.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/support/memory.h"

namespace rldb::codegen {

namespace {

constexpr int kFormatVersion = 8;  // of the code that is made: a cached kernel of another one is not used

void on_fatal(void*, const char* reason, bool) { throw FatalLlvm{reason ? reason : "unknown"}; }

void initialise() {
  static const bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::install_fatal_error_handler(on_fatal);
    llvm::install_bad_alloc_error_handler(on_fatal);
    return true;
  }();
  (void)done;
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(int opt_level) {
  initialise();
  std::string error;
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // only where the code specifies `contract`
  static constexpr llvm::CodeGenOptLevel kLevels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                                      llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Default};
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, host().cpu, host().features, options,
                                                                          llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                          kLevels[std::clamp(opt_level, 0, 3)], true));
}

void aim(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function& fn : module) {
    if (fn.isDeclaration()) continue;
    fn.addFnAttr("target-cpu", host().cpu);
    fn.addFnAttr("target-features", host().features);
    if (host().vector_bytes == 64) fn.addFnAttr("prefer-vector-width", "512");
  }
}

namespace {

// Everything that touches LLVM for one function; errors are returned as text.
class Compilation {
 public:
  explicit Compilation(const CompileOptions& options) : options_(options) {
    context_.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo* info, void* self) {
          if (info->getSeverity() != llvm::DS_Error) return;  // "loop not vectorized" and the like
          llvm::raw_string_ostream out(static_cast<Compilation*>(self)->error_);
          llvm::DiagnosticPrinterRawOStream printer(out);
          info->print(printer);
        },
        this);
  }

  void lower(const ir::PrimFunc* f, const runtime::KernelSignature& signature) {
    LowerOptions wanted;
    wanted.fp = options_.fp;
    wanted.check_bounds = options_.check_bounds;
    wanted.poisoned_memory = options_.poisoned_memory;
    wanted.events = options_.events;
    wanted.vector_bytes = host().vector_bytes;
    wanted.float16 = schedule::host_target().float16;
    wanted.byte_dots = schedule::host_target().byte_dots;
    wanted.lines = options_.lines;
    // Code that is instrumented runs on one thread, as does that of a library, whose runtime has no pool.
    wanted.threads =
        options_.events == 0 && !options_.check_accesses && options_.symbol.empty() && options_.tier == Tier::Full;
    wanted.fused = host().fma;
    Lowering lowering(context_, wanted);
    lowered = lowering.run(f, signature);
    if (options_.symbol.empty()) return;
    llvm::Function* entry = lowered.module->getFunction(kEntryName);
    entry->setName(options_.symbol);
    entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  // Needed only by code generation; starting LLVM's code generator costs milliseconds.
  void target() {
    machine_ = make_machine(options_.tier == Tier::Quick ? 0 : options_.opt_level);
    if (!machine_) refuse("LLVM has no code generator for this machine");
    aim(*lowered.module, *machine_);
  }
  void optimise_module(const JobState& job) {
    optimise(*lowered.module, *machine_, passes(), job);
    check();
    if (job.abandoned) refuse("it was cancelled");
    if (options_.check_accesses) check_accesses_again(*lowered.module);
  }
  std::string emit(llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, out, nullptr, type)) refuse("LLVM cannot write code for this machine");
    passes.run(*lowered.module);
    check();
    return std::string(bytes.begin(), bytes.end());
  }
  std::string text() {
    std::string out;
    llvm::raw_string_ostream stream(out);
    lowered.module->print(stream, nullptr);
    return out;
  }

  ~Compilation() { lowered.module.reset(); }  // before its context

  Lowered lowered;

 private:
  Passes passes() const {
    if (options_.tier == Tier::Quick || options_.opt_level <= 0) return Passes::None;
    if (options_.opt_level == 1) return Passes::Few;
    return options_.symbol.empty() ? Passes::Kernel : Passes::All;
  }
  void check() {
    if (!error_.empty()) refuse("LLVM says: " + error_);
  }
  CompileOptions options_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::string error_;
};

// For tests: the next compilation hits a fatal error in LLVM.
std::atomic<bool> g_fault_injection{false};
std::atomic<std::uint64_t> g_lowered{0};

template <class Body>
auto guarded(std::string_view name, const Body& body) -> ir::Result<decltype(body())> {
  try {
    return body();
  } catch (const Refused& r) {
    return support::Failure(source::message(diag::CodegenUnsupported, fmt::format("`{}`", name), r.why));
  } catch (const FatalLlvm& f) {
    return support::Failure(
        source::message(diag::CodegenUnsupported, fmt::format("`{}`", name), "LLVM stopped: " + f.reason));
  }
}

}  // namespace

const Host& host() {
  static const Host made = [] {
    Host h;
    h.cpu = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures features;
    const auto have = llvm::sys::getHostCPUFeatures();
    std::vector<std::pair<std::string, bool>> sorted;
    for (const auto& row : have) sorted.emplace_back(row.getKey().str(), row.getValue());
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, on] : sorted) features.AddFeature(name, on);
    h.features = features.getString();
    h.fma = have.lookup("fma");
    h.vector_bytes = schedule::host_vector_bytes();
    h.key = fmt::format("{};{};{};{}", kFormatVersion, LLVM_VERSION_STRING, h.cpu, h.features);
    return h;
  }();
  return made;
}

// The result of a job, which may outlive the waiting caller. After a fatal error LLVM's structures are not
// touched again, not even to be freed.
struct CompileJob {
  std::unique_ptr<Compilation> work;
  std::string made;
  std::vector<FaultRow> faults;
  std::shared_ptr<Job> thread;
};

namespace {

template <class Body>
std::shared_ptr<CompileJob> start_llvm(std::unique_ptr<Compilation> work, const Body& body) {
  auto job = std::make_shared<CompileJob>();
  job->work = std::move(work);
  job->thread = start_job([job, body](const JobState& state) {
    try {
      if (g_fault_injection.exchange(false)) llvm::report_fatal_error("injected");
      job->made = body(*job->work, state);
      job->faults = std::move(job->work->lowered.faults);
      job->work.reset();
    } catch (const FatalLlvm&) {
      (void)job->work.release();
      throw;
    } catch (...) {
      job->work.reset();
      throw;
    }
  });
  return job;
}

template <class Body>
std::shared_ptr<CompileJob> run_llvm(std::unique_ptr<Compilation> work, const Body& body) {
  auto job = start_llvm(std::move(work), body);
  wait_for_job(*job->thread);
  return job;
}

// Lowering reads the module's nodes, so it is done before the job begins.
std::unique_ptr<Compilation> lowered(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                     const CompileOptions& options) {
  const support::MemoryLimitExempt exempt;
  auto c = std::make_unique<Compilation>(options);
  g_lowered.fetch_add(1, std::memory_order_relaxed);
  c->lower(f, signature);
  return c;
}

}  // namespace

void fail_next_compilation() { g_fault_injection = true; }
std::uint64_t lowered_count() { return g_lowered.load(std::memory_order_relaxed); }

ir::Result<Compiling> begin_compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                    const CompileOptions& options) {
  return guarded(signature.name, [&] {
    const auto job = start_llvm(lowered(f, signature, options), [](Compilation& c, const JobState& state) {
      c.target();
      c.optimise_module(state);
      return c.emit(llvm::CodeGenFileType::ObjectFile);
    });
    return Compiling{signature, options.symbol.empty() ? std::string(kEntryName) : options.symbol, job};
  });
}

ir::Result<Artefact> finish_compile(Compiling compiling) {
  return guarded(compiling.signature.name, [&] {
    wait_for_job(*compiling.job->thread);
    Artefact out;
    out.signature = compiling.signature;
    out.symbol = compiling.symbol;
    out.object = std::move(compiling.job->made);
    out.faults = std::move(compiling.job->faults);
    return out;
  });
}

void give_up(const Compiling& compiling) { abandon(*compiling.job->thread); }

bool is_finished(const Compiling& compiling) { return is_done(*compiling.job->thread); }

ir::Result<Artefact> compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                             const CompileOptions& options) {
  RLDB_TRY(Compiling compiling, begin_compile(f, signature, options));
  return finish_compile(std::move(compiling));
}

ir::Result<std::string> compile_text(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                     const CompileOptions& options, TextKind kind) {
  return guarded(signature.name, [&] {
    const auto job = run_llvm(lowered(f, signature, options), [kind](Compilation& c, const JobState& state) {
      c.target();
      if (kind != TextKind::Raw) c.optimise_module(state);
      return kind == TextKind::Assembly ? c.emit(llvm::CodeGenFileType::AssemblyFile) : c.text();
    });
    return std::move(job->made);
  });
}

ir::Result<support::Unit> check_lowers(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                       const CompileOptions& options) {
  return guarded(signature.name, [&] {
    (void)lowered(f, signature, options);
    return support::Unit{};
  });
}

}  // namespace rldb::codegen
