// SelfStopping: calls of an instrumented kernel, and the place where one stopped.
#include "debug/kernel/self_stopping.h"

#include <algorithm>

namespace rldb::debug {

using runtime::DType;
using runtime::Result;
using runtime::Value;

namespace {

std::size_t group_count(std::span<const Probe> probes) {
  std::size_t count = 0;
  for (const Probe& p : probes) count = std::max(count, p.group + 1);
  return count;
}

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
  return std::unique_ptr<SelfStopping>(
      new SelfStopping(std::move(made).value(), f, std::move(kernel), group_count(probes)));
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

Result<SelfStopping::Outcome> SelfStopping::run(std::span<const Value> args, const Window& window,
                                                std::span<const std::optional<std::uint64_t>> pass) {
  RLDB_TRY(const std::vector<Value> memory, this->memory(args));
  RLDB_TRY(auto ints, runtime::Tensor::empty({Instrumented::kMaxWords}, DType::Int(64)));
  RLDB_TRY(auto floats, runtime::Tensor::empty({Instrumented::kMaxWords}, DType::Float(64)));
  auto* words = reinterpret_cast<std::int64_t*>(ints->data());
  const auto* numbers = reinterpret_cast<const double*>(floats->data());
  words[Instrumented::StopAt] = word_of(window.stop_at, Instrumented::kNever);
  words[Instrumented::After] = word_of(window.after, Instrumented::kNever);
  words[Instrumented::Before] = word_of(window.before, std::numeric_limits<std::int64_t>::max());
  for (std::size_t g = 0; g < groups_; ++g)
    words[Instrumented::group_word(g, Instrumented::Pass)] =
        word_of(g < pass.size() ? pass[g] : std::nullopt, Instrumented::kNever);

  std::vector<Value> all(args.begin(), args.end());
  all.insert(all.end(), memory.begin(), memory.end());
  all.insert(all.end(), made_.given.begin(), made_.given.end());
  all.emplace_back(ints);
  all.emplace_back(floats);
  RLDB_TRY_VOID(runtime::call_kernel(*kernel_, all));

  Outcome out;
  for (std::size_t g = 0; g < groups_; ++g) {
    Arrivals a;
    a.hits = std::uint64_t(words[Instrumented::group_word(g, Instrumented::Hits)]);
    const std::int64_t last = words[Instrumented::group_word(g, Instrumented::Last)];
    if (last >= 0) a.last = std::uint64_t(last);
    out.groups.push_back(a);
  }
  if (!words[Instrumented::Stopped]) return out;
  const Instrumented::Stop& at = made_.sites[std::size_t(words[Instrumented::Site])];
  eval::TirPlace place;
  place.statement = at.statement;
  place.init_done = at.init_done;
  place.steps = std::uint64_t(words[Instrumented::Steps]);
  for (const ir::Var* v : at.scope) {
    const std::size_t slot = made_.slots.at(v);
    place.variables[v] = v->dtype().is_float() ? Value::of_float(numbers[slot]) : Value::of_int(words[slot]);
  }
  for (const ir::ForStmt* loop : at.loops) place.loop_ends[loop] = words[made_.slots.at(loop)];
  for (std::size_t i = 0; i < memory.size(); ++i) place.allocations[made_.memory[i].key] = memory[i];
  out.place = std::move(place);
  return out;
}

}  // namespace rldb::debug
