// Linking: callees resolved, instructions and arguments decoded, functions as values.
#include "vm/link.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "rldb/bytecode/builtin_id.h"
#include "rldb/runtime/copy.h"
#include "rldb/source/diagnostic.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::vm {

// One function per row, in builtins/.
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) \
  Result<Value> builtin_##id(const CallSite& site, PackedArgs args);
#include "rldb/bytecode/builtin.def"

namespace {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::BuiltinId;
using bytecode::Executable;
using bytecode::FunctionEntry;
using bytecode::FunctionKind;
using bytecode::Instruction;
using bytecode::Opcode;
using runtime::ErrorKind;
using runtime::ValueKind;

BuiltinFn builtin_code(BuiltinId id) {
  switch (id) {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) \
  case BuiltinId::id:                                                      \
    return builtin_##id;
#include "rldb/bytecode/builtin.def"
  }
  RLDB_UNREACHABLE("builtin id");
}

// Programs that C++ functions call from inside a program nest on the C++ stack: a limit of their own.
constexpr int kMaxNestedRuns = 100;
thread_local int nested_runs = 0;

Result<Value> run_nested(const std::shared_ptr<const Program>& program, const Value& callable, PackedArgs args) {
  if (nested_runs >= kMaxNestedRuns)
    return runtime::fail(ErrorKind::StackOverflow,
                         fmt::format("{} calls from packed functions back into the program", kMaxNestedRuns));
  struct Depth {
    Depth() { ++nested_runs; }
    ~Depth() { --nested_runs; }
  } depth;
  Machine machine(program);
  RLDB_TRY_VOID(machine.start(callable, args));
  Outcome outcome = machine.run();
  switch (outcome.kind) {
    case Outcome::Kind::Finished:
      return outcome.value;
    case Outcome::Kind::Stopped:
      return runtime::fail(ErrorKind::Interrupted, "interrupted");
    case Outcome::Kind::Faulted:
      break;
  }
  runtime::Error error = outcome.fault->error;
  error.notes.push_back(fmt::format("in `{}`, instruction {}: {}", outcome.fault->function_name, outcome.fault->pc,
                                    outcome.fault->instruction));
  return support::Failure(std::move(error));
}

// A kernel as a value. The table that owns it lives at least as long as the program, and the value may live longer.
Value kernel_value(const std::string& name, runtime::Kernel* kernel, std::weak_ptr<const Program> weak) {
  return Value(
      support::make_ref<runtime::Function>(name, [kernel, weak = std::move(weak)](PackedArgs args) -> Result<Value> {
        auto program = weak.lock();
        if (!program) return runtime::fail(ErrorKind::Unsupported, "the program was freed");
        return call_kernel(*kernel, args);
      }));
}

class Linker {
 public:
  Linker(const Program& program, Program::Impl& out) : program_(program), exe_(program.executable()), out_(out) {}

  void run() {
    for (std::size_t f = 0; f < exe_.functions.size(); ++f) out_.targets.push_back(resolve(f));
    for (std::size_t f = 0; f < exe_.functions.size(); ++f) out_.targets[f].function = function_value(FunctionIndex(f));
    out_.literals.push_back(Value());  // void and vm registers read as null
    const runtime::Device first = runtime::device_at(program_.environment().devices, 0);
    for (const Value& v : exe_.constants) {
      // Those of the host; an executable in memory has some where they are needed.
      const bool moves = !first.is_host() && v.is(ValueKind::Tensor) && v.as_tensor().device().is_host();
      auto placed = moves ? runtime::on_device(v, first) : Result<Value>(v);
      out_.literals.push_back(placed.ok() ? *placed : v);
      remember_storages(out_.literals.back());
    }
    functions_begin_ = out_.literals.size();
    for (const Target& t : out_.targets) out_.literals.push_back(t.function);
    out_.code.reserve(exe_.instr_offset.size());
    for (Pc pc = 0; pc < exe_.end(); ++pc) out_.code.push_back(decode(exe_.instruction(pc)));
    for (const FunctionEntry& f : exe_.functions)
      if (f.kind == FunctionKind::Bytecode) mark_tail_calls(f);
    for (const FunctionEntry& f : exe_.functions)
      if (f.kind == FunctionKind::Bytecode) clear_what_may_stay_unwritten(f);
  }

 private:
  Target resolve(std::size_t index) {
    const FunctionEntry& f = exe_.functions[index];
    Target t;
    if (f.kind == FunctionKind::Bytecode) {
      t.kind = TargetKind::Bytecode;
      return t;
    }
    const Environment& env = program_.environment();
    if (env.kernels && (t.kernel = env.kernels->find(f.name))) {
      t.kind = TargetKind::Kernel;
      return t;
    }
    if (f.kind == FunctionKind::VmTir) return t;
    if (auto id = bytecode::find_builtin(f.name)) {
      t.builtin = builtin_code(*id);
      t.kind = *id == BuiltinId::InvokeClosure ? TargetKind::Control : TargetKind::Builtin;
      return t;
    }
    if (env.registry && (t.packed = env.registry->find(f.name))) t.kind = TargetKind::Packed;
    return t;
  }

  Value function_value(FunctionIndex index) {
    const FunctionEntry& f = exe_.functions[std::size_t(index)];
    const Target& t = out_.targets[std::size_t(index)];
    std::weak_ptr<const Program> weak = program_.weak_from_this();
    switch (t.kind) {
      case TargetKind::Bytecode:
        return Value(Ref<runtime::Function>(support::make_ref<BytecodeFunction>(f.name, index, weak)));
      case TargetKind::Builtin:
      case TargetKind::Control: {
        BuiltinFn code = t.builtin;
        return native(f.name, [weak, code](PackedArgs args) -> Result<Value> {
          auto program = weak.lock();
          if (!program) return runtime::fail(ErrorKind::Unsupported, "the program was freed");
          return code(CallSite{*program}, args);
        });
      }
      case TargetKind::Kernel:
        return kernel_value(f.name, t.kernel, std::move(weak));
      case TargetKind::Packed:
        return Value(t.packed->function);
      case TargetKind::Unresolved:
        break;
    }
    return native(f.name, [weak, name = f.name](PackedArgs) -> Result<Value> {
      auto program = weak.lock();
      if (!program) return runtime::fail(ErrorKind::Unsupported, "the program was freed");
      return support::Failure(unknown_function(*program, name));
    });
  }

  static Value native(const std::string& name, runtime::PackedFn fn) {
    return Value(support::make_ref<runtime::Function>(name, std::move(fn)));
  }

  void remember_storages(const Value& v) {
    if (v.is(ValueKind::Tensor)) out_.constant_storages.insert(v.as_tensor().storage().get());
    if (v.is(ValueKind::Storage)) out_.constant_storages.insert(v.storage_ref().get());
  }

  Decoded decode(const Instruction& i) {
    Decoded d;
    switch (i.op) {
      case Opcode::Call:
        decode_call(i, d);
        break;
      case Opcode::Ret:
        d.op = Op::Ret;
        d.reg = plain(i.reg);
        break;
      case Opcode::Goto:
        d.op = Op::Goto;
        d.jump = std::int32_t(i.offset);
        d.checks_interrupt = i.offset < 0;
        break;
      case Opcode::If:
        d.op = Op::If;
        d.reg = plain(i.reg);
        d.jump = std::int32_t(i.offset);
        break;
    }
    return d;
  }

  void decode_call(const Instruction& i, Decoded& d) {
    const Target& t = out_.targets[std::size_t(i.callee)];
    d.checks_interrupt = true;
    d.callee = std::int32_t(i.callee);
    d.dst = plain(i.dst);
    switch (t.kind) {
      case TargetKind::Bytecode:
        d.op = Op::CallBytecode;
        break;
      case TargetKind::Builtin:
        d.op = Op::CallBuiltin;
        d.builtin = t.builtin;
        if (d.builtin == builtin_MatchShape || d.builtin == builtin_MatchPrimValue) d.writes = Writes::Heap;
        if (d.builtin == builtin_CallTirDyn) d.writes = Writes::Kernel;
        break;
      case TargetKind::Control:
        d.op = Op::InvokeClosure;
        break;
      case TargetKind::Kernel:
        d.op = Op::CallKernel;
        d.kernel = t.kernel;
        d.writes = Writes::Kernel;
        break;
      case TargetKind::Packed:
        d.op = Op::CallPacked;
        d.packed = t.packed;
        d.writes = Writes::Anything;
        break;
      case TargetKind::Unresolved:
        d.op = Op::CallUnresolved;
        break;
    }
    d.args_begin = std::uint32_t(out_.args.size());
    d.args_count = std::uint32_t(i.args.size());
    for (std::size_t a = 0; a < i.args.size(); ++a) out_.args.push_back(decode_arg(i.arg(a)));
    d.first_register = consecutive(std::span(out_.args).subspan(d.args_begin));
  }

  void mark_tail_calls(const FunctionEntry& f) {
    for (Pc pc = f.start; pc < f.end; ++pc) {
      Decoded& d = out_.code[std::size_t(pc)];
      if (d.op == Op::CallBytecode && d.dst >= 0) d.tail = returns_register(f, pc + 1, d.dst);
    }
  }

  // Whether from `pc` on the function only returns that register: after jumps, copies of it, and clearing of others.
  bool returns_register(const FunctionEntry& f, Pc pc, std::int32_t reg) const {
    while (pc < f.end) {
      const Decoded& d = out_.code[std::size_t(pc)];
      if (d.op == Op::Ret) return d.reg == reg;
      if (d.op == Op::Goto && d.jump > 0) {
        pc = pc + d.jump;
        continue;
      }
      if (d.op != Op::CallBuiltin) return false;
      const bool copies = d.builtin == builtin_Copy && d.args_count == 1 && out_.args[d.args_begin] == reg;
      const bool clears = d.builtin == builtin_NullValue && d.dst != reg;
      if (!copies && !clears) return false;
      if (copies) reg = d.dst;
      ++pc;
    }
    return false;
  }

  // Tensors for kernels that may leave elements unwritten, and for packed functions (which may too), are cleared when
  // they are allocated.
  void clear_what_may_stay_unwritten(const FunctionEntry& f) {
    std::unordered_map<std::int32_t, Decoded*> allocated;  // register: the last call that allocated a tensor for it
    for (Pc pc = f.start; pc < f.end; ++pc) {
      Decoded& d = out_.code[std::size_t(pc)];
      if (d.op == Op::CallKernel || d.op == Op::CallPacked)
        for (std::uint32_t a = 0; a < d.args_count; ++a) {
          const auto it = allocated.find(out_.args[d.args_begin + a]);
          if (it != allocated.end() && (d.op == Op::CallPacked || leaves_unwritten(*d.kernel, a)))
            it->second->builtin = alloc_cleared_tensor;
        }
      if (d.op > Op::InvokeClosure) continue;
      const bool allocates =
          d.op == Op::CallBuiltin && (d.builtin == builtin_AllocTensor || d.builtin == alloc_cleared_tensor);
      if (allocates) {
        allocated[d.dst] = &d;
      } else {
        allocated.erase(d.dst);
      }
    }
  }

  static bool leaves_unwritten(const runtime::Kernel& kernel, std::uint32_t argument) {
    const auto& params = kernel.signature().params;
    return argument < params.size() && params[argument].may_leave_unwritten;
  }

  // The first of registers r, r + 1, r + 2, ...; -1 when the arguments are anything else.
  static std::int32_t consecutive(std::span<const std::int32_t> args) {
    if (args.empty() || args[0] < 0) return -1;
    for (std::size_t a = 1; a < args.size(); ++a)
      if (args[a] != args[0] + std::int32_t(a)) return -1;
    return args[0];
  }

  std::int32_t decode_arg(Arg arg) {
    switch (arg.kind()) {
      case ArgKind::Register:
        return bytecode::is_special(arg.reg()) ? ~0 : std::int32_t(arg.value());
      case ArgKind::Immediate:
        return immediate(arg.value());
      case ArgKind::Constant:
        return ~std::int32_t(1 + arg.value());
      case ArgKind::Function:
        return ~std::int32_t(functions_begin_ + std::size_t(arg.value()));
    }
    RLDB_UNREACHABLE("argument kind");
  }

  std::int32_t immediate(std::int64_t value) {
    auto [it, fresh] = immediates_.try_emplace(value, std::int32_t(out_.literals.size()));
    if (fresh) out_.literals.push_back(Value::of_int(value));
    return ~it->second;
  }

  static std::int32_t plain(bytecode::RegName reg) {
    return bytecode::is_special(reg) ? kNoRegister : std::int32_t(reg);
  }

  const Program& program_;
  const Executable& exe_;
  Program::Impl& out_;
  std::size_t functions_begin_ = 0;
  std::map<std::int64_t, std::int32_t> immediates_;
};

}  // namespace

BytecodeFunction::BytecodeFunction(std::string name, FunctionIndex index, std::weak_ptr<const Program> weak)
    : runtime::Function(std::move(name), int(index)), owner(std::move(weak)) {
  // For C++ functions that receive this one. The captured values are among the arguments by then.
  native = [name = this->name, index, weak_owner = owner](PackedArgs args) -> Result<Value> {
    auto program = weak_owner.lock();
    if (!program) return runtime::fail(ErrorKind::Unsupported, "the program was freed");
    return run_nested(program, program->function_value(index), args);
  };
}

FunctionIndex own_bytecode(const Program& program, const runtime::Function& f) {
  if (f.bytecode_index < 0) return -1;
  const auto* own = dynamic_cast<const BytecodeFunction*>(&f);
  if (!own || own->owner.lock().get() != &program) return -1;
  return FunctionIndex(f.bytecode_index);
}

Ref<runtime::Function> make_closure(const runtime::Function& f, PackedArgs captured) {
  Ref<runtime::Function> closure;
  if (const auto* own = dynamic_cast<const BytecodeFunction*>(&f))
    closure = support::make_ref<BytecodeFunction>(f.name, FunctionIndex(f.bytecode_index), own->owner);
  else
    closure = support::make_ref<runtime::Function>(f.name, f.native);
  closure->captured.assign(captured.begin(), captured.end());
  closure->captured.insert(closure->captured.end(), f.captured.begin(), f.captured.end());
  return closure;
}

Result<std::shared_ptr<const Program>> link_other(std::shared_ptr<const Executable> map, Environment env,
                                                  std::shared_ptr<const InstructionSet> instructions) {
  RLDB_TRY(std::shared_ptr<const Program> program, Program::link(std::move(map), env));
  const_cast<Program::Impl&>(program->impl()).instructions = std::move(instructions);  // not shared yet
  return program;
}

const InstructionSet* instructions_of(const Program& program) { return program.impl().instructions.get(); }

Result<std::shared_ptr<const Program>> Program::link(std::shared_ptr<const Executable> exe, Environment env) {
  RLDB_TRY_VOID(bytecode::verify(*exe));
  std::shared_ptr<Program> program(new Program());
  program->exe_ = std::move(exe);
  program->env_ = env;
  program->impl_ = std::make_unique<Impl>();
  Linker(*program, *program->impl_).run();
  return std::shared_ptr<const Program>(std::move(program));
}

Program::~Program() = default;

runtime::Output& Program::output() const { return env_.output ? *env_.output : runtime::stdout_output(); }

TargetKind Program::target_kind(FunctionIndex function) const { return impl_->targets[std::size_t(function)].kind; }

std::vector<std::string_view> Program::unresolved() const {
  std::vector<std::string_view> names;
  for (std::size_t f = 0; f < impl_->targets.size(); ++f)
    if (impl_->targets[f].kind == TargetKind::Unresolved) names.push_back(exe_->functions[f].name);
  return names;
}

const Value& Program::function_value(FunctionIndex function) const {
  return impl_->targets[std::size_t(function)].function;
}

Value Program::find_function(std::string_view name) const {
  if (FunctionIndex f = exe_->find_function(name); f >= 0) return function_value(f);
  if (env_.kernels) {
    if (runtime::Kernel* kernel = env_.kernels->find(name))
      return kernel_value(std::string(name), kernel, weak_from_this());
  }
  if (env_.registry) {
    if (const runtime::PackedInfo* packed = env_.registry->find(name)) return Value(packed->function);
  }
  return Value();
}

Result<Value> Program::invoke(const Value& callable, PackedArgs args) const {
  if (!callable.is(ValueKind::Function))
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("cannot call a {}", to_string(callable.kind())));
  return run_nested(shared_from_this(), callable, args);
}

runtime::Error unknown_function(const Program& program, std::string_view name) {
  runtime::Error error{ErrorKind::UnknownFunction,
                       fmt::format("Cannot find PackedFunc {} in either Relax VM kernel library, "
                                   "or in TVM runtime PackedFunc registry, or in global Relax "
                                   "functions of the VM executable",
                                   name),
                       {}};
  const Environment& env = program.environment();
  std::vector<std::string_view> known;
  if (env.kernels) known = env.kernels->names();
  if (env.registry)
    for (std::string_view n : env.registry->names()) known.push_back(n);
  for (const bytecode::BuiltinInfo& b : bytecode::builtins()) known.push_back(b.name);
  std::string_view near = source::nearest(name, known);
  if (!near.empty()) error.notes.push_back(fmt::format("did you mean `{}`?", near));
  return error;
}

runtime::Error wrong_argument_count(const FunctionEntry& f, std::size_t given) {
  std::string params = fmt::format("{}", fmt::join(f.param_names, ", "));
  return {ErrorKind::ArgumentCount,
          fmt::format("The number of provided parameters doesn't match the number of arguments "
                      "for function `{}({})`: takes {} but {} given",
                      f.name, params, f.num_args, given),
          {}};
}

}  // namespace rldb::vm
