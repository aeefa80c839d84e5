// Machine: start, run and step in their variants; snapshots.
#include "rldb/relay/vm/machine.h"

#include <fmt/format.h>

#include <limits>

#include "relay/vm/interpreter.h"
#include "rldb/support/text.h"

namespace rldb::relay_vm {

using runtime::ErrorKind;
using runtime::ValueKind;

namespace {

constexpr std::uint64_t kNoBudget = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Machine::Machine(std::shared_ptr<const Program> program, Limits limits)
    : program_(std::move(program)), limits_(limits) {}

Result<support::Unit> Machine::start(std::string_view function, PackedArgs args) {
  const FunctionIndex index = executable().find_function(function);
  if (index < 0) return runtime::fail(ErrorKind::UnknownFunction, fmt::format("there is no function `{}`", function));
  return start(program_->function_value(index), args);
}

Result<support::Unit> Machine::start(const Value& closure, PackedArgs args) {
  if (!closure.is(ValueKind::Function) || closure.as_function().bytecode_index < 0 ||
      std::size_t(closure.as_function().bytecode_index) >= executable().functions.size())
    return runtime::fail(ErrorKind::TypeMismatch, "only a function of the program can be run");
  std::vector<Value> all = closure.as_function().captured;
  all.insert(all.end(), args.begin(), args.end());
  const FunctionIndex index(closure.as_function().bytecode_index);
  const relay_bytecode::FunctionEntry& f = executable().functions[std::size_t(index)];
  if (all.size() != f.params.size())
    return runtime::fail(ErrorKind::ArgumentCount, fmt::format("`{}` takes {} ({}), {} given", f.name,
                                                               support::counted(f.params.size(), "argument"),
                                                               fmt::join(f.params, ", "), all.size()));
  frames_.clear();
  registers_.clear();
  instructions_ = 0;
  fault_.reset();
  at_stop_ = false;
  RLDB_TRY_VOID(program_->place_arguments(index, all));
  Interpreter interpreter(*program_, state());
  RLDB_TRY_VOID(interpreter.room_for(index, false));
  interpreter.push_frame(index, bytecode::kVoidRegister);
  std::move(all.begin(), all.end(), registers_.begin());
  return support::Unit{};
}

vm::MachineState Machine::state() { return {limits_, frames_, registers_, instructions_, fault_, at_stop_}; }

Outcome Machine::run() { return step(kNoBudget); }

Outcome Machine::run(const StopSet& stops) { return step(kNoBudget, stops); }

namespace {

std::optional<Outcome> cannot_go_on(const Machine& m) {
  if (m.running() && !m.fault()) return std::nullopt;
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = m.fault();
  if (!o.fault) {
    o.fault.emplace();
    o.fault->error = {ErrorKind::Unsupported, "the machine has nothing to run", {}};
  }
  return o;
}

}  // namespace

Outcome Machine::step(std::uint64_t count) {
  if (auto over = cannot_go_on(*this)) return *std::move(over);
  return Interpreter(*program_, state()).run(nullptr, count);
}

Outcome Machine::step(std::uint64_t count, const StopSet& stops) {
  if (auto over = cannot_go_on(*this)) return *std::move(over);
  RLDB_CHECK(stops.end() >= executable().end(), "stop set of another executable");
  return Interpreter(*program_, state()).run(&stops, count);
}

const Value* Machine::read_register(std::size_t frame, RegName r) const {
  if (frame >= frames_.size() || r < 0 || std::size_t(r) >= frames_[frame].size) return nullptr;
  return &registers_[frames_[frame].base + std::size_t(r)];
}

bool Machine::write_register(std::size_t frame, RegName r, Value value) {
  if (!read_register(frame, r)) return false;
  registers_[frames_[frame].base + std::size_t(r)] = std::move(value);
  return true;
}

bool Machine::at_tail_call() const { return running() && program_->code_[std::size_t(frame().pc)].tail; }

Outcome call(const std::shared_ptr<const Program>& program, std::string_view function, PackedArgs args, Limits limits) {
  Machine machine(program, limits);
  auto started = machine.start(function, args);
  if (started.ok()) return machine.run();
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault.emplace();
  o.fault->error = std::move(started).error();
  o.fault->function_name = function;
  return o;
}

}  // namespace rldb::relay_vm
