// The map of a Relay program's code, and the interface of its instructions for vm::Machine.
#include "rldb/relay/vm/on_machine.h"

#include <fmt/format.h>

#include <set>

#include "relay/vm/copy.h"
#include "relay/vm/interpreter.h"
#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_vm {

using bytecode::Arg;
using bytecode::ExecutableBuilder;
using bytecode::FunctionKind;
using relay_bytecode::Instruction;
using relay_bytecode::Opcode;
using relay_bytecode::Word;

std::string opcode_name(Opcode op) { return fmt::format("relay.{}", relay_bytecode::info(op).text); }

namespace {

class Mapper {
 public:
  explicit Mapper(const relay_bytecode::Executable& exe) : exe_(exe) {}

  Result<bytecode::Executable> run() {
    for (const std::string& name : exe_.primitives)
      if (exe_.find_function(name) >= 0)
        return runtime::fail(
            runtime::ErrorKind::Unsupported,
            fmt::format("`{}` is a function and a primitive: a debugger cannot tell them apart", name));
    // The numbers of functions are the same in both.
    for (const relay_bytecode::FunctionEntry& f : exe_.functions) builder_.function(f.name, FunctionKind::Bytecode);
    for (const relay_bytecode::FunctionEntry& f : exe_.functions) RLDB_TRY_VOID(function(f));
    bytecode::Executable made = builder_.finish();
    made.debug = exe_.debug;
    for (Pc pc = 0; pc < exe_.end(); ++pc) {
      support::poll();
      made.metadata.emplace(bytecode::text_note(pc), relay_bytecode::instruction_text(exe_, pc));
    }
    return made;
  }

 private:
  Result<support::Unit> function(const relay_bytecode::FunctionEntry& f) {
    builder_.begin_function(f.name, f.params);
    for (Pc pc = f.start; pc < f.end; ++pc) {
      support::poll();
      RLDB_TRY_VOID(instruction(exe_.instruction(pc), pc));
    }
    builder_.end_function(f.register_file_size);
    return support::Unit{};
  }

  static std::vector<Arg> registers(std::span<const Word> list) {
    std::vector<Arg> args;
    for (const Word r : list) args.push_back(Arg::reg(RegName(r)));
    return args;
  }

  // The registers that an instruction reads.
  std::vector<Arg> reads(Pc pc) const {
    std::vector<Arg> args;
    relay_bytecode::for_each_field(exe_.words_of(pc), [&](relay_bytecode::FieldKind kind, Word word) {
      const bool read = kind == relay_bytecode::FieldKind::Read || kind == relay_bytecode::FieldKind::Registers;
      if (read && word >= 0) args.push_back(Arg::reg(RegName(word)));
    });
    return args;
  }

  Result<support::Unit> instruction(const Instruction& i, Pc pc) {
    switch (i.op) {
      case Opcode::Ret:
        builder_.ret(i.regs[0]);
        break;
      case Opcode::Fatal:
        builder_.ret(bytecode::kVoidRegister);  // the end of a path
        break;
      case Opcode::Goto:
        builder_.jump(i.numbers[0]);
        break;
      case Opcode::If:
        if (i.numbers[0] != 1)
          return runtime::fail(runtime::ErrorKind::Unsupported,
                               fmt::format("pc {}: an `if` that jumps by {} when its operands are equal cannot be "
                                           "shown to a debugger",
                                           pc, i.numbers[0]));
        builder_.branch(i.regs[0], i.numbers[1]);
        break;
      case Opcode::Invoke:
        builder_.call(exe_.functions[std::size_t(i.numbers[0])].name, registers(i.list), i.dst, FunctionKind::Bytecode);
        break;
      case Opcode::InvokeClosure: {
        std::vector<Arg> args = registers(i.list);
        args.insert(args.begin(), {Arg::reg(bytecode::kVmRegister), Arg::reg(i.regs[0])});
        builder_.call(builtin::InvokeClosure, args, i.dst);
        break;
      }
      case Opcode::InvokePacked:
        builder_.call(exe_.primitives[std::size_t(i.numbers[0])], registers(i.list));
        break;
      case Opcode::KillRegister:
        builder_.call(builtin::NullValue, {}, i.dst);
        break;
      case Opcode::Move:
#define RLDB_RELAY_VALUE(Id, ...) case Opcode::Id:
#include "rldb/relay/vm/opcode.def"
        builder_.call(opcode_name(i.op), i.has_shape() ? std::vector<Arg>() : reads(pc), i.dst);
        break;
    }
    return support::Unit{};
  }

  const relay_bytecode::Executable& exe_;
  ExecutableBuilder builder_;
};

class Instructions : public vm::InstructionSet {
 public:
  explicit Instructions(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  Outcome run(vm::MachineState state, const StopSet* stops, std::uint64_t budget) const override {
    return Interpreter(*program_, state).run(stops, budget);
  }
  Result<support::Unit> place_arguments(FunctionIndex function, std::span<Value> args) const override {
    return program_->place_arguments(function, args);
  }
  Result<support::Unit> copy(std::vector<Value>& values) const override { return copy_values(*program_, values); }
  bool leaves_arguments(std::string_view callee) const override {
    static const std::set<std::string, std::less<>> names = [] {
      std::set<std::string, std::less<>> all;
#define RLDB_RELAY_OPCODE(...)
#define RLDB_RELAY_VALUE(Id, ...) all.insert(opcode_name(Opcode::Id));
#include "rldb/relay/vm/opcode.def"
      return all;
    }();
    return names.contains(callee);
  }
  bool allocates(std::string_view callee) const override {
    for (const Opcode op : {Opcode::AllocStorage, Opcode::AllocTensor, Opcode::AllocTensorReg})
      if (callee == opcode_name(op)) return true;
    return false;
  }
  std::size_t copied_bytes(std::span<const Value> values) const override {
    return relay_vm::copied_bytes(*program_, values);
  }

 private:
  std::shared_ptr<const Program> program_;
};

}  // namespace

Result<bytecode::Executable> map_of(const relay_bytecode::Executable& exe) { return Mapper(exe).run(); }

std::shared_ptr<const vm::InstructionSet> instruction_set(std::shared_ptr<const Program> program) {
  return std::make_shared<const Instructions>(std::move(program));
}

}  // namespace rldb::relay_vm
