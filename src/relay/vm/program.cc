// Linking: verifies and decodes, looks up primitives, finds tail calls.
#include <fmt/format.h>

#include "rldb/relay/vm/machine.h"
#include "rldb/runtime/copy.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_vm {

using relay_bytecode::Executable;
using relay_bytecode::Instruction;
using relay_bytecode::Opcode;
using runtime::ErrorKind;

const Primitive* PrimitiveTable::find(std::string_view name) const {
  if (const auto found = primitives_.find(name); found != primitives_.end()) return &found->second;
  Primitive made = fallback_ ? fallback_(name) : Primitive();
  if (!made) return nullptr;
  return &primitives_.emplace(std::string(name), std::move(made)).first->second;
}

namespace {

// Is the value that a call at `pc` leaves in its register returned by `ret`, with nothing else executed on the way?
bool is_tail(const Executable& exe, Pc pc) {
  RegName value = exe.instruction(pc).dst;
  ++pc;
  // Jumps forward only, so this ends.
  for (;;) {
    const Instruction i = exe.instruction(pc);
    switch (i.op) {
      case Opcode::Ret:
        return i.regs[0] == value;
      case Opcode::Move:
        if (i.regs[0] == value)
          value = i.dst;
        else if (i.dst == value)
          return false;
        break;
      case Opcode::KillRegister:
        if (i.dst == value) return false;
        break;
      case Opcode::Goto:
        if (i.numbers[0] <= 0) return false;
        pc += i.numbers[0];
        continue;
      case Opcode::Invoke:
      case Opcode::InvokeClosure:
      case Opcode::InvokePacked:
      case Opcode::If:
      case Opcode::Fatal:
#define RLDB_RELAY_VALUE(Id, ...) case Opcode::Id:
#include "rldb/relay/vm/opcode.def"
        return false;
    }
    ++pc;
  }
}

// Functions that have a path out through `ret` or `fatal`. The callee of a closure is not known, and may return.
class Returning {
 public:
  explicit Returning(const Executable& exe) : exe_(exe), returns_(exe.functions.size()), waits_(exe.functions.size()) {
    for (std::size_t f = 0; f < exe.functions.size(); ++f) open_.push_back(f);
    while (!open_.empty()) {
      support::poll();
      const std::size_t f = open_.back();
      open_.pop_back();
      if (returns_[f] || !leaves(f)) continue;
      returns_[f] = true;
      open_.insert(open_.end(), waits_[f].begin(), waits_[f].end());
      waits_[f].clear();
    }
  }
  bool test(FunctionIndex f) const { return returns_[std::size_t(f)]; }

 private:
  // Calls of functions not known to return end a path; `f` is visited again when they are.
  bool leaves(std::size_t f) {
    const relay_bytecode::FunctionEntry& entry = exe_.functions[f];
    std::vector<Pc> paths{entry.start};
    std::vector<bool> seen(std::size_t(entry.end - entry.start));
    while (!paths.empty()) {
      const Pc pc = paths.back();
      paths.pop_back();
      if (seen[std::size_t(pc - entry.start)]) continue;
      seen[std::size_t(pc - entry.start)] = true;
      const Instruction i = exe_.instruction(pc);
      if (i.op == Opcode::Ret || i.op == Opcode::Fatal) return true;
      if (i.op == Opcode::Invoke && !returns_[std::size_t(i.numbers[0])]) {
        waits_[std::size_t(i.numbers[0])].push_back(f);
        continue;
      }
      if (i.op == Opcode::Goto || i.op == Opcode::If) paths.push_back(pc + i.numbers[0]);
      if (i.op == Opcode::If) paths.push_back(pc + i.numbers[1]);
      if (i.op != Opcode::Goto && i.op != Opcode::If) paths.push_back(pc + 1);
    }
    return false;
  }

  const Executable& exe_;
  std::vector<bool> returns_;
  std::vector<std::vector<std::size_t>> waits_;
  std::vector<std::size_t> open_;
};

}  // namespace

Result<std::shared_ptr<const Program>> Program::link(std::shared_ptr<const Executable> exe, Environment env) {
  RLDB_TRY_VOID(relay_bytecode::verify(*exe));
  auto program = std::make_shared<Program>();
  program->exe_ = exe;
  program->env_ = std::move(env);
  for (const relay_bytecode::Constant& c : exe->constants) {
    Value tensor = c.tensor;
    if (tensor.is_null())
      if (const auto late = program->env_.late_constants.find(c.late_name); late != program->env_.late_constants.end())
        tensor = late->second;
    if (!tensor.is(runtime::ValueKind::Tensor))
      return runtime::fail(ErrorKind::BadFile,
                           fmt::format("the constant `{}` is bound late, and no tensor was given for it", c.late_name));
    RLDB_TRY(tensor, runtime::on_device(tensor, program->device(c.device)));
    program->constants_.push_back(std::move(tensor));
  }
  for (const std::string& name : exe->primitives)
    program->primitives_.push_back(program->env_.primitives ? program->env_.primitives->find(name) : nullptr);
  // A function that calls itself on every path would run for ever with no frames to show for it: it keeps its frames,
  // which are limited.
  const Returning returning(*exe);
  for (const relay_bytecode::FunctionEntry& f : exe->functions) {
    for (Pc pc = f.start; pc < f.end; ++pc) {
      Code code{exe->instruction(pc)};
      const Instruction& i = code.instruction;
      if (i.op == Opcode::Invoke) code.tail = returning.test(FunctionIndex(i.numbers[0]));
      if (i.op == Opcode::InvokeClosure) code.tail = true;
      code.tail = code.tail && program->env_.tail_calls && is_tail(*exe, pc);
      program->code_.push_back(code);
    }
  }
  if (!exe->constructors.empty()) program->constructors_ = std::make_shared<const Constructors>(exe->constructors);
  return std::shared_ptr<const Program>(program);
}

// The layout of TVM 0.8 has no table: numbers are types of devices.
runtime::Device Program::device(std::int64_t number) const {
  if (!env_.devices.empty()) return runtime::device_at(env_.devices, number);
  if (relay_bytecode::layout_of(exe_->version) == relay_bytecode::Layout::A)
    return {number > 0 ? std::int32_t(number) : 1, 0};
  if (number < 0 || std::size_t(number) >= exe_->devices.size()) return {};
  const relay_bytecode::Device& d = exe_->devices[std::size_t(number)];
  return {d.type, d.id};
}

Result<support::Unit> Program::place_arguments(FunctionIndex function, std::span<Value> args) const {
  const std::vector<std::int64_t>& devices = exe_->functions[std::size_t(function)].param_devices;
  for (std::size_t i = 0; i < args.size() && i < devices.size(); ++i) {
    RLDB_TRY(args[i], runtime::on_device(args[i], device(devices[i])));
  }
  return support::Unit{};
}

std::vector<std::string_view> Program::unresolved() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < primitives_.size(); ++i)
    if (!primitives_[i]) names.push_back(exe_->primitives[i]);
  return names;
}

Value Program::closure(FunctionIndex function, std::vector<Value> captured) const {
  return Value(support::Ref<runtime::Function>(support::make_ref<Closure>(
      exe_->functions[std::size_t(function)].name, int(std::int64_t(function)), std::move(captured))));
}

Value Program::function_value(FunctionIndex function) const { return closure(function, {}); }

}  // namespace rldb::relay_vm
