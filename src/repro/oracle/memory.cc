// Watches a run on the machine for the peak of the memory it holds.
#include "repro/oracle/memory.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

constexpr double kMostBytes = 0x1p60;
constexpr double kMostTimes = 0x1p20;

// Only calls allocate bytes.
class HeldMemory : public vm::Hook {
 public:
  explicit HeldMemory(const bytecode::Executable& exe) : exe_(exe), before_(runtime::memory_in_use()) {}

  void after_call(const vm::Machine& machine, const vm::CallEvent& event, const runtime::Value&) override {
    const std::size_t now = runtime::memory_in_use();
    if (now <= before_ || now - before_ <= most_) return;
    most_ = now - before_;
    pc_ = event.pc;
    function_ = machine.frames().back().function;
  }

  MemoryUse use() const {
    MemoryUse use{most_, "before the first instruction"};
    if (function_ < 0) return use;
    const auto* debug = exe_.debug.instruction(pc_);
    const bool named = debug && !debug->variable.empty() && debug->variable != "_";
    use.place = fmt::format("after {} in `{}`",
                            named ? fmt::format("`{}`", debug->variable) : fmt::format("instruction {}", pc_),
                            exe_.functions[std::size_t(function_)].name);
    return use;
  }

 private:
  const bytecode::Executable& exe_;
  std::size_t before_;
  std::size_t most_ = 0;
  bytecode::Pc pc_ = 0;
  bytecode::FunctionIndex function_ = -1;
};

}  // namespace

std::optional<MemoryLimit> parse_memory_limit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  const std::string_view unit(end, std::size_t(text.data() + text.size() - end));
  if (unit == "x") return number <= kMostTimes ? std::optional(MemoryLimit{0, number}) : std::nullopt;
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}};
  for (const auto& [name, bytes] : kUnits)
    if (unit == name && number * bytes >= 1 && number * bytes <= kMostBytes)
      return MemoryLimit{std::size_t(number * bytes), 1};
  return std::nullopt;
}

std::string to_string(const MemoryLimit& limit) {
  return limit.bytes > 0 ? std::to_string(limit.bytes) : fmt::format("{}x", limit.times);
}

MeasuredMemory measure_memory(session::Session& session, const ir::Module* module, const std::string& function,
                              const std::vector<runtime::Value>& args) {
  const Borrow borrow(session);
  session.set_program(module);
  if (session.options().engine == session::Engine::Eval) session.options().engine = session::Engine::Vm;
  source::Diagnostics found;
  const auto build = session.build(found);
  const std::vector<runtime::Value> own = copies(args);
  auto machine = build ? session.start(*build, function, own, found) : std::nullopt;
  support::poll_cause();
  if (!machine) return {std::nullopt, found.first_error()};
  HeldMemory held(*build->executable);
  const vm::Outcome outcome = machine->run(held);
  support::poll_cause();
  if (outcome.finished()) return {held.use(), {}};
  return {std::nullopt, outcome.faulted() ? outcome.fault->error.message : std::string("it does not end")};
}

}  // namespace rldb::repro
