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
#include <map>
#include <mutex>

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

// Code generators that no job uses: each has tables of the CPU that take a part of a millisecond to make. Never
// destroyed, as the jobs.
class IdleMachines {
 public:
  std::unique_ptr<llvm::TargetMachine> take(int level) {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<llvm::TargetMachine>>& idle = idle_[level];
    if (idle.empty()) return nullptr;
    auto machine = std::move(idle.back());
    idle.pop_back();
    return machine;
  }
  void keep(int level, std::unique_ptr<llvm::TargetMachine> machine) {
    const std::lock_guard lock(mutex_);
    idle_[level].push_back(std::move(machine));
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::unique_ptr<llvm::TargetMachine>>> idle_;
};
IdleMachines& idle_machines() {
  static auto* made = new IdleMachines();
  return *made;
}

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
    machine_ = idle_machines().take(machine_level());
    if (!machine_) machine_ = make_machine(machine_level());
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

  ~Compilation() {
    lowered.module.reset();  // before its context
    if (machine_ && is_done_) idle_machines().keep(machine_level(), std::move(machine_));
  }
  // Everything has ended well: the code generator may serve again. LLVM leaves it in any state when it is left by an
  // exception.
  void done() { is_done_ = true; }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  Lowered lowered;

 private:
  int machine_level() const { return options_.tier == Tier::Quick ? 0 : options_.opt_level; }
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
  bool is_done_ = false;
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

// A job, and what it works on and makes, which may outlive the waiting caller. After a fatal error LLVM's structures
// are not touched again, not even to be freed.
struct CompileJob {
  struct Made {
    std::unique_ptr<Compilation> work;
    std::string text;
    std::vector<FaultRow> faults;
  };
  std::shared_ptr<Made> made = std::make_shared<Made>();
  std::shared_ptr<Job> thread;
};

namespace {

template <class Body>
std::shared_ptr<CompileJob> prepare_llvm(std::unique_ptr<Compilation> work, const Body& body) {
  auto job = std::make_shared<CompileJob>();
  job->made->work = std::move(work);
  job->thread = make_job([made = job->made, body](const JobState& state) {
    try {
      if (g_fault_injection.exchange(false)) llvm::report_fatal_error("injected");
      made->text = body(*made->work, state);
      made->work->done();
      made->faults = std::move(made->work->lowered.faults);
      made->work.reset();
    } catch (const FatalLlvm&) {
      (void)made->work.release();
      throw;
    } catch (...) {
      made->work.reset();
      throw;
    }
  });
  return job;
}

template <class Body>
std::shared_ptr<CompileJob> run_llvm(std::unique_ptr<Compilation> work, const Body& body) {
  auto job = prepare_llvm(std::move(work), body);
  wait_for_job(job->thread);
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

ir::Result<Compiling> prepare_compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                      const CompileOptions& options) {
  return guarded(signature.name, [&] {
    const auto job = prepare_llvm(lowered(f, signature, options), [](Compilation& c, const JobState& state) {
      c.target();
      c.optimise_module(state);
      return c.emit(llvm::CodeGenFileType::ObjectFile);
    });
    return Compiling{signature, options.symbol.empty() ? std::string(kEntryName) : options.symbol, job};
  });
}

void queue(const Compiling& compiling) { queue_job(compiling.job->thread); }

void start(const Compiling& compiling) { start_job(compiling.job->thread); }

ir::Result<Artefact> finish_compile(Compiling compiling) {
  return guarded(compiling.signature.name, [&] {
    wait_for_job(compiling.job->thread);
    Artefact out;
    out.signature = compiling.signature;
    out.symbol = compiling.symbol;
    out.object = std::move(compiling.job->made->text);
    out.faults = std::move(compiling.job->made->faults);
    return out;
  });
}

void give_up(std::span<const Compiling> given) {
  std::vector<std::shared_ptr<Job>> jobs;
  for (const Compiling& compiling : given) jobs.push_back(compiling.job->thread);
  abandon(jobs);
}

bool is_finished(const Compiling& compiling) { return is_done(*compiling.job->thread); }

ir::Result<Artefact> compile(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                             const CompileOptions& options) {
  RLDB_TRY(Compiling compiling, prepare_compile(f, signature, options));
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
    return std::move(job->made->text);
  });
}

}  // namespace rldb::codegen
