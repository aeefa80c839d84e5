// SelfStopping: calls of an instrumented kernel, and the place where one stopped.
#include "debug/kernel/self_stopping.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace rldb::debug {

using runtime::DType;
using runtime::Ref;
using runtime::Result;
using runtime::Value;

namespace {

std::int64_t word_of(const std::optional<std::uint64_t>& v, std::int64_t otherwise) {
  return v ? std::int64_t(*v) : otherwise;
}

}  // namespace

support::Result<std::unique_ptr<SelfStopping>, std::string> SelfStopping::make(ir::Context& ctx,
                                                                               session::AsideCompiler& compiler,
                                                                               const ir::PrimFunc* f,
                                                                               std::string_view name,
                                                                               std::span<const Probe> probes) {
  auto made = instrument(ctx, f, probes);
  if (!made.ok()) return support::Failure(std::move(made).error());
  source::Diagnostics out;
  auto kernel = compiler.compile(made->function, name, out);
  if (!kernel) return support::Failure(out.all().empty() ? std::string(name) : out.all()[0].message);
  return std::unique_ptr<SelfStopping>(new SelfStopping(std::move(made).value(), f, std::move(kernel), probes));
}

SelfStopping::SelfStopping(Instrumented made, const ir::PrimFunc* f, std::shared_ptr<runtime::Kernel> kernel,
                           std::span<const Probe> probes)
    : made_(std::move(made)), f_(f), kernel_(std::move(kernel)) {
  for (const Probe& p : probes) {
    group_of_.push_back(p.group);
    groups_ = std::max(groups_, p.group + 1);
  }
}

// Fresh tensors for the allocations, with shapes over the call's symbolic variables.
Result<std::vector<Value>> SelfStopping::memory(std::span<const Value> args) const {
  std::vector<Value> tensors;
  if (made_.memory.empty()) return tensors;
  eval::TirMachine machine(f_, nullptr);
  RLDB_TRY_VOID(machine.start(args));
  for (const Instrumented::Memory& m : made_.memory) {
    std::vector<std::int64_t> shape;
    for (const ir::Expr* d : m.shape) {
      RLDB_TRY(const Value v, machine.value_of(d));
      shape.push_back(v.as_int());
    }
    RLDB_TRY(auto tensor, runtime::Tensor::empty(std::move(shape), m.dtype));
    tensors.emplace_back(std::move(tensor));
  }
  return tensors;
}

// One call of the code.
class SelfStopping::Call {
 public:
  Call(const SelfStopping& code, std::vector<Value> memory, Ref<runtime::Tensor> ints, Ref<runtime::Tensor> floats,
       const Ask& ask)
      : code_(code), memory_(std::move(memory)), ints_(std::move(ints)), floats_(std::move(floats)), ask_(ask) {
    outer_ = std::exchange(t_current, this);
  }
  ~Call() { t_current = outer_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  static Call* current() { return t_current; }
  std::int64_t& word(std::size_t i) { return reinterpret_cast<std::int64_t*>(ints_->data())[i]; }

  eval::TirPlace place() {
    const Instrumented::Stop& at = code_.made_.sites[std::size_t(word(Instrumented::Site))];
    eval::TirPlace place;
    place.statement = at.statement;
    place.init_done = at.init_done;
    place.steps = std::uint64_t(word(Instrumented::Steps));
    const auto* numbers = reinterpret_cast<const double*>(floats_->data());
    for (const ir::Var* v : at.scope) {
      const std::size_t slot = code_.made_.slots.at(v);
      place.variables[v] = v->dtype().is_float() ? Value::of_float(numbers[slot]) : Value::of_int(word(slot));
    }
    for (const ir::ForStmt* loop : at.loops) place.loop_ends[loop] = word(code_.made_.slots.at(loop));
    for (std::size_t i = 0; i < memory_.size(); ++i) place.allocations[code_.made_.memory[i].key] = memory_[i];
    return place;
  }

  // Counts the arrivals of the probes that ask. Nothing is thrown through machine code.
  Result<bool> stops() {
    try {
      return ask_all();
    } catch (...) {
      thrown_ = std::current_exception();
      return runtime::fail(runtime::ErrorKind::Interrupted, "abandoned");
    }
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  Result<bool> ask_all() {
    const std::int64_t asking = word(Instrumented::Asking);
    bool stops = asking & Instrumented::kCodeStops || word(Instrumented::Steps) == word(Instrumented::StopAt);
    const eval::TirPlace here = place();
    for (std::size_t p = 0; p < code_.group_of_.size(); ++p) {
      if (!(asking >> p & 1)) continue;
      const auto holds = ask_ ? ask_(p, here) : std::nullopt;
      if (!holds) return runtime::fail(runtime::ErrorKind::Unsupported, "a condition cannot be evaluated here");
      if (!*holds) continue;
      const auto of_group = [&](Instrumented::GroupWord w) -> std::int64_t& {
        return word(Instrumented::group_word(code_.group_of_[p], w));
      };
      stops = stops || of_group(Instrumented::Hits) == of_group(Instrumented::Pass);
      ++of_group(Instrumented::Hits);
      of_group(Instrumented::Last) = word(Instrumented::Steps);
    }
    return stops;
  }

  static thread_local Call* t_current;
  const SelfStopping& code_;
  std::vector<Value> memory_;
  Ref<runtime::Tensor> ints_, floats_;
  const Ask& ask_;
  std::exception_ptr thrown_;
  Call* outer_ = nullptr;
};

thread_local SelfStopping::Call* SelfStopping::Call::t_current = nullptr;

void SelfStopping::register_in(runtime::PackedRegistry& registry) {
  const auto ask = [](runtime::PackedArgs) -> Result<Value> {
    Call* call = Call::current();
    if (!call) return runtime::fail(runtime::ErrorKind::Unsupported, "only the debugger's own code calls this");
    RLDB_TRY(const bool stops, call->stops());
    return Value::of_int(stops);
  };
  registry.register_function(std::string(Instrumented::kAsk), ask);
}

Result<SelfStopping::Outcome> SelfStopping::run(std::span<const Value> args, const Window& window,
                                                std::span<const std::optional<std::uint64_t>> pass, const Ask& ask) {
  RLDB_TRY(const std::vector<Value> memory, this->memory(args));
  RLDB_TRY(auto ints, runtime::Tensor::empty({Instrumented::kMaxWords}, DType::Int(64)));
  RLDB_TRY(auto floats, runtime::Tensor::empty({Instrumented::kMaxWords}, DType::Float(64)));
  Call call(*this, memory, ints, floats, ask);
  call.word(Instrumented::StopAt) = word_of(window.stop_at, Instrumented::kNever);
  call.word(Instrumented::After) = word_of(window.after, Instrumented::kNever);
  call.word(Instrumented::Before) = word_of(window.before, std::numeric_limits<std::int64_t>::max());
  for (std::size_t g = 0; g < groups_; ++g)
    call.word(Instrumented::group_word(g, Instrumented::Pass)) =
        word_of(g < pass.size() ? pass[g] : std::nullopt, Instrumented::kNever);

  std::vector<Value> all(args.begin(), args.end());
  all.insert(all.end(), memory.begin(), memory.end());
  all.insert(all.end(), made_.given.begin(), made_.given.end());
  all.emplace_back(ints);
  all.emplace_back(floats);
  const auto ran = runtime::call_kernel(*kernel_, all);
  call.rethrow();
  RLDB_TRY_VOID(ran);

  Outcome out;
  for (std::size_t g = 0; g < groups_; ++g) {
    Arrivals a;
    a.hits = std::uint64_t(call.word(Instrumented::group_word(g, Instrumented::Hits)));
    const std::int64_t last = call.word(Instrumented::group_word(g, Instrumented::Last));
    if (last >= 0) a.last = std::uint64_t(last);
    out.groups.push_back(a);
  }
  if (call.word(Instrumented::Stopped)) out.place = call.place();
  return out;
}

}  // namespace rldb::debug
