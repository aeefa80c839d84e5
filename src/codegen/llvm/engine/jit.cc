// Jit: kernels, their caches, and how a stopped one becomes an Error.
#include "rldb/codegen/llvm/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <unordered_map>

#include "codegen/llvm/engine/cache.h"
#include "codegen/llvm/engine/compile.h"
#include "codegen/llvm/engine/emitted.h"
#include "codegen/llvm/engine/engine.h"
#include "codegen/llvm/engine/guard.h"
#include "codegen/llvm/engine/helpers.h"
#include "codegen/llvm/engine/job.h"
#include "codegen/llvm/engine/work.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/guarded.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/support/cancel.h"
#include "rldb/support/hash.h"
#include "rldb/support/memory.h"
#include "rldb/support/progress.h"
#include "rldb/support/text.h"

namespace rldb::codegen {

using runtime::ErrorKind;
using runtime::fail;
using runtime::KernelSignature;
using runtime::PackedArgs;
using runtime::Value;
using runtime::ValueKind;
using support::Failure;
using support::Unit;

namespace {

// Code in memory.
struct Code {
  runtime::KernelEntry entry = nullptr;
  Tier tier = Tier::Full;
  std::vector<FaultRow> faults;
  bool from_disk = false;
  mutable std::chrono::steady_clock::duration spent{};  // in the quick tier, by all kernels that have this code
};

class JitKernel;

// Kernels that hold what LLVM will work on: a module with more has the others lowered again.
constexpr std::size_t kMostPrepared = 64;
// Kernels that wait for LLVM, for each CPU that works on them, while the caller runs others. A program that runs one of
// a thousand does not have all of them compiled.
constexpr std::size_t kAhead = 8;

// Calls of so many operations are over before LLVM's passes are: about a millisecond.
constexpr double kShortCall = 200'000;
// Code in the quick tier that ran for so long is used enough to be compiled again; that of an earlier process at once.
constexpr auto kImproveAfter = std::chrono::milliseconds(2);

// State that kernels share with their Jit, and keep alive.
struct Shared {
  explicit Shared(JitOptions o) : options(std::move(o)), cache(options.cache_dir, options.cache_bytes) {}
  // No compilation outlives the sessions: what LLVM uses is destroyed when the process ends.
  ~Shared() {
    std::vector<Compiling> all;
    for (const auto& [key, begun] : ahead) all.push_back(begun);
    give_up(all);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  JitOptions options;
  KernelCache cache;
  std::shared_ptr<Engine> engine;                                     // made when the first kernel is linked
  std::unordered_map<std::string, std::shared_ptr<const Code>> code;  // by cache key
  std::vector<std::weak_ptr<JitKernel>> kernels;                      // as they were added
  std::size_t next = 0;                                               // of them, to be compiled ahead
  std::unordered_map<std::string, Compiling> ahead;       // by cache key: in the queue or begun, not asked for
  std::size_t prepared = 0;                               // kernels that hold what LLVM will work on
  std::vector<std::weak_ptr<const Compiling>> improving;  // begun for kernels that run in the quick tier

  void compile_ahead(const std::string& now);  // `now`: the key of the kernel that is waited for

  // Whether the bits of both tiers are the same, and the quick one is quicker to make.
  bool has_tiers() const {
    return options.tiers && options.fp == FpMode::Strict && !options.check_accesses && options.opt_level >= 2;
  }
  bool may_improve() {
    std::erase_if(improving, [](const auto& begun) {
      const auto held = begun.lock();
      return !held || is_finished(*held);
    });
    return improving.size() < std::max(1U, jobs_beside());
  }
  CompileOptions compile_options(Tier tier = Tier::Full, runtime::NumericEvents events = 0) const {
    return {options.fp, options.check_bounds,   options.opt_level,      tier,
            events,     options.check_accesses, options.poisoned_memory};
  }
  std::string cache_key(std::string_view function, Tier tier, runtime::NumericEvents events) const {
    return fmt::format("{};{};fp{};bounds{};O{};schedule{};events{};again{};nan{};tier{}", host().key, function,
                       int(options.fp), int(options.check_bounds), options.opt_level, int(options.schedule),
                       int(events), int(options.check_accesses), int(options.poisoned_memory), int(tier));
  }
  support::Result<std::shared_ptr<const Code>, EngineProblem> link(const Artefact& a, Tier tier,
                                                                   bool from_disk = false) {
    if (!engine) {
      const support::MemoryLimitExempt exempt;
      RLDB_TRY(engine, Engine::create(options.interrupt));
    }
    const support::MemoryLimitExempt exempt;
    RLDB_TRY(const runtime::KernelEntry entry, engine->link(a.object, a.symbol));
    auto code = std::make_shared<Code>();
    code->entry = entry;
    code->tier = tier;
    code->from_disk = from_disk;
    code->faults = a.faults;
    return std::shared_ptr<const Code>(std::move(code));
  }
};

constexpr std::string_view kFlatNote = "for buffers of any dims: n is the number of their elements";

const char* signal_text(int signal) {
  switch (signal) {
    case SIGFPE:
      return "an arithmetic fault (SIGFPE)";
    case SIGBUS:
      return "a bus error (SIGBUS)";
    case SIGILL:
      return "an illegal instruction (SIGILL)";
    default:  // the guard catches these four
      return "an access to memory that is not its own (SIGSEGV)";
  }
}

class JitKernel : public runtime::Kernel {
 public:
  JitKernel(std::shared_ptr<Shared> shared, const ir::PrimFunc* f, KernelSignature signature,
            std::optional<CodeSource> source)
      : shared_(std::move(shared)), f_(f), signature_(std::move(signature)), source_(std::move(source)) {}
  ~JitKernel() override {
    if (improved_) give_up({&*improved_, 1});
    (void)take_prepared();
  }
  JitKernel(const JitKernel&) = delete;
  JitKernel& operator=(const JitKernel&) = delete;

  const KernelSignature& signature() const override { return signature_; }

  ir::Result<Unit> compile(Tier tier = Tier::Full) {
    if (code_ && (code_->tier == Tier::Full || tier == Tier::Quick)) return Unit{};
    const auto begin = std::chrono::steady_clock::now();
    from_cache_ = tier == Tier::Quick && find_code(Tier::Full);  // what is at hand is the better one
    if (!from_cache_) from_cache_ = find_code(tier);
    if (!from_cache_) {
      const std::string key = cache_key(tier);
      const support::Doing doing(fmt::format("compiling kernel {}", signature_.name));
      RLDB_TRY(Compiling begun, begun_or_now(key, tier));
      shared_->compile_ahead(key);
      RLDB_TRY_VOID(finish(std::move(begun), tier));
    }
    compile_ns_ = std::uint64_t((std::chrono::steady_clock::now() - begin).count());
    if (code_->tier == Tier::Full) (void)take_prepared();  // another kernel has the same code
    return Unit{};
  }

  // Whether it can be lowered. One with code of either tier need not be tried: it was, when it was added, before that
  // code was made from a function and by options with this key. (A file that is no such code is found out at the first
  // run.)
  ir::Result<Unit> check() {
    const bool any = shared_->cache.enabled() || !shared_->code.empty();
    if (any && (is_made(Tier::Full) || (shared_->has_tiers() && is_made(Tier::Quick)))) return Unit{};
    RLDB_TRY(Compiling compiling, prepare_compile(source_->emitted, source_->signature, shared_->compile_options()));
    // Its first call will use it, as far as is known.
    if (shared_->prepared >= kMostPrepared || is_short({})) return Unit{};
    prepared_ = std::move(compiling);
    ++shared_->prepared;
    return Unit{};
  }

  // LLVM will compile it; false: it needs no compilation, or cannot be compiled, which its first run reports.
  bool begin_ahead(const std::string& now) {
    if (code_ || !source_ || events_ != 0) return false;
    const Tier tier = is_short({}) ? Tier::Quick : Tier::Full;
    const std::string key = cache_key(tier);
    if (key == now || shared_->ahead.contains(key) || is_made(Tier::Full) || is_made(tier)) return false;
    auto compiling = prepared(tier);
    if (!compiling.ok()) return false;
    queue(compiling.value());
    shared_->ahead.emplace(key, std::move(compiling).value());
    return true;
  }

  KernelStats stats() const {
    KernelStats out;
    out.name = signature_.name;
    out.compiled = code_ != nullptr;
    out.from_cache = from_cache_;
    out.compile_ns = compile_ns_;
    if (code_) out.tier = code_->tier;
    out.improving = improved_ != nullptr;
    return out;
  }

  ir::Result<Unit> use(const Artefact& made) {
    auto linked = shared_->link(made, Tier::Full);
    if (!linked.ok()) return Failure(unsupported(signature_.name, linked.error().text));
    code_ = std::move(linked).value();
    from_cache_ = true;
    return Unit{};
  }

  void prepare() override { (void)compile(); }

  void look_for(runtime::NumericEvents events) override {
    if (events == wanted_) return;
    wanted_ = events;
    if (events != 0 && !can_note_) can_note_ = source_ && can_note_numbers(source_->emitted);
    const runtime::NumericEvents now = events != 0 && *can_note_ ? events : 0;
    if (now == events_) return;
    code_of_[events_] = std::move(code_);
    events_ = now;
    code_ = code_of_[events_];
  }
  std::optional<bool> may_have_written() const override { return events_ == 0 ? std::nullopt : std::optional(noted_); }

  runtime::Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) override {
    if (!code_ || code_->tier == Tier::Quick) {
      // For a run, cancellation is a stop.
      try {
        auto compiled = compile_for(variables);
        if (!compiled.ok()) return fail(ErrorKind::Unsupported, compiled.error().text);
      } catch (const support::Cancelled&) {
        return fail(ErrorKind::Interrupted, fmt::format("interrupted while kernel `{}` was compiled", signature_.name));
      }
    }
    if (args.size() != signature_.params.size() || variables.size() != signature_.variables.size())
      return fail(ErrorKind::ArgumentCount,
                  fmt::format("kernel `{}` takes {}, {} given", signature_.name,
                              support::counted(signature_.params.size(), "argument"), args.size()));
    constexpr std::size_t kInline = 16;
    runtime::KernelWord small[kInline];
    std::vector<runtime::KernelWord> large;
    runtime::KernelWord* words = small;
    if (args.size() > kInline) {
      large.resize(args.size());
      words = large.data();
    }
    for (std::size_t i = 0; i < args.size(); ++i) words[i] = word_of(args[i], signature_.params[i]);

    Run state;
    state.args = args;
    state.registry = shared_->options.registry;
    state.check_memory = !shared_->options.check_bounds;
    state.outer = current_run();
    current_run() = &state;
    runtime::KernelFault fault;
    std::int32_t status = 0;
    const Code& code = *code_;  // which is kept: a packed function that the kernel calls may run it in another tier
    const bool quick = code.tier == Tier::Quick;
    const auto start = quick ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    const std::int64_t elements = source_ && source_->flat ? args[0].as_tensor().element_count() : 0;
    Trap trap =
        call_guarded(code.entry, words, source_ && source_->flat ? &elements : variables.data(), &fault, status);
    if (quick) code.spent += std::chrono::steady_clock::now() - start;
    current_run() = state.outer;
    if (trap.signal == 0) trap = state.trap;
    noted_ = fault.noted != 0;
    if (trap.signal == 0 && status == 0 && !state.error && untouched(args, state))
      return runtime::result_of(signature_, fault);
    runtime::Error error = error_of(code, trap, status, fault, state);
    error.notes.push_back(fmt::format("in kernel `{}`", signature_.name));
    return Failure(std::move(error));
  }

 private:
  static runtime::KernelWord word_of(const Value& v, const runtime::KernelParam& p) {
    runtime::KernelWord w;
    w.integer = 0;
    if (v.is(ValueKind::Tensor) && (p.is_tensor || p.opaque)) {
      w.pointer = v.as_tensor().data();
    } else if (v.is(ValueKind::Storage) && p.opaque) {
      w.pointer = v.storage_ref()->data();
    } else if (v.is(ValueKind::Tensor) && v.as_tensor().element_count() == 1) {
      const runtime::Tensor& t = v.as_tensor();
      if (p.dtype.is_float())
        w.floating = runtime::load_as_double(t.peek(), t.dtype());
      else
        w.integer = runtime::load_as_int(t.peek(), t.dtype());
    } else if (v.is(ValueKind::Float)) {
      if (p.dtype.is_float())
        w.floating = v.as_float();
      else
        w.integer = std::int64_t(v.as_float());
    } else if (v.is(ValueKind::Int) || v.is(ValueKind::Bool)) {
      if (p.dtype.is_float())
        w.floating = double(v.as_int());
      else
        w.integer = v.as_int();
    }
    return w;
  }

  // Unchecked code: checks that nothing was written next to the arguments and the allocations.
  bool untouched(PackedArgs args, const Run& state) const {
    if (shared_->options.check_bounds) return true;
    if (state.damaged) return false;
    for (const Value& v : args) {
      if (v.is(ValueKind::Tensor) && !runtime::intact(*v.as_tensor().storage())) return false;
      if (v.is(ValueKind::Storage) && !runtime::intact(*v.storage_ref())) return false;
    }
    return std::all_of(state.allocations.begin(), state.allocations.end(),
                       [](const auto& storage) { return runtime::intact(*storage); });
  }

  runtime::Error error_of(const Code& code, const Trap& trap, std::int32_t status, const runtime::KernelFault& fault,
                          Run& state) const {
    if (state.error && (status == 2 || shared_->options.check_accesses)) return std::move(*state.error);
    if (trap.signal != 0)
      return {ErrorKind::Raised,
              fmt::format("kernel `{}` was stopped by {}", signature_.name, signal_text(trap.signal)),
              {fmt::format("at address {:#x}", trap.address),
               "check-bounds code names the buffer and the index that are wrong"}};
    if (status == 0)
      return {ErrorKind::OutOfBounds,
              fmt::format("kernel `{}` has written past the memory of one of its buffers", signature_.name),
              {"check-bounds code names the buffer and the index that are wrong"}};
    const std::int64_t row = fault.code - 1;
    if (row < 0 || row >= std::int64_t(code.faults.size()))
      return {ErrorKind::Raised, fmt::format("kernel `{}` stopped without saying why", signature_.name), {}};
    const FaultRow& f = code.faults[std::size_t(row)];
    std::size_t next = 0;
    runtime::Error error{f.kind, fill_places(f.text, fault.values, kFaultValues, next), {}};
    if (!f.note.empty()) error.notes.push_back(fill_places(f.note, fault.values, kFaultValues, next));
    return error;
  }

  const ir::PrimFunc* source(Tier tier) const { return tier == Tier::Quick ? source_->written : source_->emitted; }
  std::string cache_key(Tier tier) {
    // Names count, because faults mention them; the function's own does not.
    if (function_key_.empty())
      function_key_ = fmt::format("{:016x};{:016x}", ir::structural_hash(source_->func),
                                  support::fnv1a(ir::print_function("kernel", source_->func)));
    return shared_->cache_key(function_key_, tier, events_);
  }

  // Whether a call with these values of the variables is over before optimised code would be there.
  bool is_short(std::span<const std::int64_t> variables) {
    if (!source_ || events_ != 0 || !shared_->has_tiers()) return false;
    if (!short_ || !std::ranges::equal(variables, short_of_)) {
      short_of_.assign(variables.begin(), variables.end());
      short_ = work_of(source_->flat ? f_ : source_->written, signature_, variables) <= kShortCall;
    }
    return *short_;
  }

  // Before a call: at any other time the code that runs does not change.
  ir::Result<Unit> compile_for(std::span<const std::int64_t> variables) {
    if (improved_ && events_ == 0 && is_finished(*improved_)) use_improved();
    if (!is_short(variables)) return compile(Tier::Full);
    if (!code_) return compile(Tier::Quick);
    const bool is_used = code_->from_disk || code_->spent >= kImproveAfter;
    if (code_->tier == Tier::Quick && !improved_ && !cannot_improve_ && is_used) improve();
    return Unit{};
  }

  void improve() {
    if (find_code(Tier::Full)) {
      from_cache_ = true;
      return;
    }
    if (!shared_->may_improve()) return;
    auto begun = prepared(Tier::Full);
    cannot_improve_ = !begun.ok();
    if (cannot_improve_) return;
    start(begun.value());
    improved_ = std::make_shared<const Compiling>(std::move(begun).value());
    shared_->improving.emplace_back(improved_);
  }

  // Code that cannot be made better stays as it is.
  void use_improved() {
    const auto begun = std::exchange(improved_, nullptr);
    cannot_improve_ = !finish(*begun, Tier::Full).ok();
    if (!cannot_improve_) from_cache_ = false;
  }

  ir::Result<Compiling> begun_or_now(const std::string& key, Tier tier) {
    if (tier == Tier::Full && events_ == 0 && improved_) return *std::exchange(improved_, nullptr);
    if (auto begun = shared_->ahead.extract(key)) {
      start(begun.mapped());
      return std::move(begun.mapped());
    }
    RLDB_TRY(Compiling compiling, prepared(tier));
    start(compiling);
    return compiling;
  }

  std::optional<Compiling> take_prepared() {
    if (prepared_) --shared_->prepared;
    return std::exchange(prepared_, std::nullopt);
  }
  // Lowered now, if it was not when the kernel was added.
  ir::Result<Compiling> prepared(Tier tier) {
    if (tier == Tier::Full && events_ == 0)
      if (auto compiling = take_prepared()) return *std::move(compiling);
    return prepare_compile(source(tier), source_->signature, shared_->compile_options(tier, events_));
  }

  ir::Result<Unit> finish(Compiling begun, Tier tier) {
    RLDB_TRY(const Artefact made, finish_compile(std::move(begun)));
    auto linked = shared_->link(made, tier);
    if (!linked.ok()) return Failure(unsupported(signature_.name, linked.error().text));
    code_ = std::move(linked).value();
    const std::string key = cache_key(tier);
    shared_->code.emplace(key, code_);
    if (!shared_->cache.enabled()) return Unit{};
    const std::string stored = shared_->cache.full_key(key);
    shared_->cache.write(stored, to_blob(made, stored));
    return Unit{};
  }

  bool is_made(Tier tier) {
    const std::string key = cache_key(tier);
    return shared_->code.contains(key) || shared_->cache.has(shared_->cache.full_key(key));
  }

  // In memory or on disk. A file that is damaged or made for another machine is ignored: it is written anew.
  bool find_code(Tier tier) {
    const std::string key = cache_key(tier);
    if (const auto it = shared_->code.find(key); it != shared_->code.end()) {
      code_ = it->second;
      return true;
    }
    const std::string stored = shared_->cache.full_key(key);
    const auto bytes = shared_->cache.read(stored);
    if (!bytes) return false;
    auto read = from_blob(*bytes, stored);
    if (!read.ok()) return false;
    auto linked = shared_->link(read.value(), tier, true);
    if (!linked.ok()) return false;
    code_ = std::move(linked).value();
    shared_->code.emplace(key, code_);
    return true;
  }

  std::shared_ptr<Shared> shared_;
  const ir::PrimFunc* f_;  // null: from object code
  KernelSignature signature_;
  std::optional<CodeSource> source_;  // none: from object code
  std::string function_key_;
  std::shared_ptr<const Code> code_;
  bool from_cache_ = false;
  std::uint64_t compile_ns_ = 0;
  // Of the quick tier: the variables of the last call and whether it is short, the better code.
  std::vector<std::int64_t> short_of_;
  std::optional<bool> short_;
  std::shared_ptr<const Compiling> improved_;
  bool cannot_improve_ = false;
  std::optional<Compiling> prepared_;  // for the full tier: lowered when it was added
  // Code that looks for numbers is compiled separately.
  runtime::NumericEvents wanted_ = 0, events_ = 0;  // requested; what code_ looks for
  std::optional<bool> can_note_;
  std::map<runtime::NumericEvents, std::shared_ptr<const Code>> code_of_;
  bool noted_ = false;  // by the last run
};

// A program that runs a kernel runs the others of its module too, as a rule.
void Shared::compile_ahead(const std::string& now) {
  auto unfinished = std::size_t(
      std::count_if(ahead.begin(), ahead.end(), [](const auto& begun) { return !is_finished(begun.second); }));
  for (; unfinished < kAhead * jobs_beside() && next < kernels.size(); ++next)
    if (const auto kernel = kernels[next].lock()) unfinished += kernel->begin_ahead(now);
  if (next < kernels.size()) return;
  kernels.clear();
  next = 0;
}

}  // namespace

struct Jit::Impl {
  std::shared_ptr<Shared> shared;  // made by create
  std::map<std::string, std::shared_ptr<JitKernel>, std::less<>> kernels;
};

Jit::Jit() : impl_(std::make_unique<Impl>()) {}
Jit::~Jit() = default;

ir::Result<std::unique_ptr<Jit>> Jit::create(JitOptions options) {
  std::unique_ptr<Jit> made(new Jit());
  made->impl_->shared = std::make_shared<Shared>(std::move(options));
  return made;
}

ir::Result<std::shared_ptr<runtime::Kernel>> Jit::add(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  RLDB_TRY(KernelSignature signature, eval::signature_of(f, name));
  RLDB_TRY(CodeSource source, code_source(ctx, f, name, impl_->shared->options));
  auto kernel = std::make_shared<JitKernel>(impl_->shared, f, std::move(signature), std::move(source));
  RLDB_TRY_VOID(kernel->check());
  impl_->shared->kernels.push_back(kernel);
  impl_->kernels.insert_or_assign(std::string(name), kernel);
  return std::shared_ptr<runtime::Kernel>(std::move(kernel));
}

ir::Result<Unit> Jit::compile(std::string_view name) {
  const auto it = impl_->kernels.find(name);
  if (it == impl_->kernels.end()) return Failure(unsupported(name, "no kernel of that name was added"));
  return it->second->compile();
}

ir::Result<std::string> Jit::llvm_ir(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name, bool optimised) {
  RLDB_TRY(const CodeSource source, code_source(ctx, f, name, impl_->shared->options));
  RLDB_TRY(const std::string text, compile_text(source.emitted, source.signature, impl_->shared->compile_options(),
                                                optimised ? TextKind::Optimised : TextKind::Raw));
  return source.flat ? fmt::format("; {}\n{}", kFlatNote, text) : text;
}

ir::Result<std::string> Jit::assembly(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  RLDB_TRY(const CodeSource source, code_source(ctx, f, name, impl_->shared->options));
  RLDB_TRY(const std::string text,
           compile_text(source.emitted, source.signature, impl_->shared->compile_options(), TextKind::Assembly));
  return source.flat ? fmt::format("# {}\n{}", kFlatNote, text) : text;
}

ir::Result<std::string> Jit::object_code(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  RLDB_TRY(const KernelSignature signature, eval::signature_of(f, name));
  RLDB_TRY(const ir::PrimFunc* emitted, emitted(ctx, f, name, impl_->shared->options));
  RLDB_TRY(const Artefact made, codegen::compile(emitted, signature, impl_->shared->compile_options()));
  return to_blob(made, host().key);
}

ir::Result<std::shared_ptr<runtime::Kernel>> Jit::add_object(std::string_view blob, std::string_view name) {
  auto read = from_blob(blob, host().key);
  if (!read.ok()) return Failure(source::message(diag::KernelObject, name, read.error().text));
  Artefact made = std::move(read).value();
  made.signature.name = std::string(name);
  auto kernel = std::make_shared<JitKernel>(impl_->shared, nullptr, made.signature, std::nullopt);
  RLDB_TRY_VOID(kernel->use(made));
  impl_->kernels.insert_or_assign(std::string(name), kernel);
  return std::shared_ptr<runtime::Kernel>(std::move(kernel));
}

std::vector<KernelStats> Jit::stats() const {
  std::vector<KernelStats> out;
  for (const auto& [name, kernel] : impl_->kernels) out.push_back(kernel->stats());
  return out;
}

std::string Jit::host_cpu() { return host().cpu; }

}  // namespace rldb::codegen
