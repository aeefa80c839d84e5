// Machine: start, run and step in their variants; frames, faults, closures.
#include "rldb/vm/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/disassemble.h"
#include "rldb/runtime/foreign_code.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/support/check.h"
#include "rldb/support/text.h"
#include "rldb/vm/call_time.h"
#include "rldb/vm/instruction_set.h"
#include "vm/interpreter.h"

namespace rldb::vm {

using runtime::ErrorKind;
using runtime::ValueKind;

runtime::Error stack_overflow(std::size_t depth, std::string_view callee, const Limits& limits) {
  return {ErrorKind::StackOverflow,
          fmt::format("stack overflow: {} calls deep at the call of `{}`", depth, callee),
          {fmt::format("the limits are {} frames and {} registers", limits.max_frames, limits.max_registers)}};
}

bool StopSet::empty() const {
  return std::none_of(bits_.begin(), bits_.end(), [](std::uint8_t b) { return b != 0; });
}

void Machine::set_program(std::shared_ptr<const Program> program) {
  RLDB_CHECK(&program->executable() == &program_->executable(), "a machine keeps its executable");
  program_ = std::move(program);
}

// ---- frames, faults, closures: the interpreter's slow parts ----

void Interpreter::push_frame(Machine& m, FunctionIndex function, bytecode::RegName return_register) {
  const bytecode::FunctionEntry& f = m.executable().functions[std::size_t(function)];
  Frame frame;
  frame.function = function;
  frame.pc = f.start;
  frame.base = m.registers_.size();
  frame.size = std::size_t(f.register_file_size);
  frame.return_register = return_register;
  frame.entered = m.instructions_;
  m.registers_.resize(frame.base + frame.size);
  m.frames_.push_back(frame);
}

void Interpreter::replace_frame(Machine& m, FunctionIndex function, std::uint32_t count) {
  const bytecode::FunctionEntry& f = m.executable().functions[std::size_t(function)];
  Frame& frame = m.frames_.back();
  m.registers_.resize(frame.base);
  frame.function = function;
  frame.pc = f.start;
  frame.size = std::size_t(f.register_file_size);
  frame.entered = m.instructions_;
  ++frame.replaced;
  m.registers_.resize(frame.base + frame.size);
  std::move(m.scratch_.begin(), m.scratch_.begin() + count, m.registers_.begin() + std::ptrdiff_t(frame.base));
}

runtime::Error* Interpreter::frame_error(Machine& m, FunctionIndex function, runtime::Error& error) {
  const bytecode::FunctionEntry& f = m.executable().functions[std::size_t(function)];
  if (m.frames_.size() < m.limits_.max_frames &&
      m.registers_.size() + std::size_t(f.register_file_size) <= m.limits_.max_registers)
    return nullptr;
  error = stack_overflow(m.frames_.size(), f.name, m.limits_);
  return &error;
}

Outcome Interpreter::fault(Machine& m, runtime::Error error) {
  Fault f;
  f.error = std::move(error);
  if (!m.frames_.empty()) {
    f.function = m.frame().function;
    f.function_name = m.executable().functions[std::size_t(f.function)].name;
    f.pc = m.frame().pc;
    f.instruction = bytecode::instruction_text(m.executable(), f.pc);
  }
  m.fault_ = f;
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = std::move(f);
  return o;
}

namespace {
thread_local std::uint64_t time_of_call = 0;
}  // namespace

std::uint64_t call_time() { return time_of_call; }

Result<Value> Interpreter::call_packed(const runtime::PackedInfo& packed, PackedArgs args) {
  if (packed.arity >= 0 && std::size_t(packed.arity) != args.size())
    return runtime::fail(ErrorKind::ArgumentCount,
                         fmt::format("packed function `{}` takes {}, {} given", packed.function->name,
                                     support::counted(std::size_t(packed.arity), "argument"), args.size()));
  RLDB_TRY_VOID(runtime::check_devices(packed, args));
  time_of_call = m_.instructions_;
  if (m_.log_) return m_.log_->call(*m_.program_, m_.instructions_, *packed.function, args, &m_);
  return packed.function->native(args);
}

namespace {

const KernelWrites* writes_of(const Program& program, std::string_view kernel) {
  const KernelWritesOf& of = program.impl().kernel_writes;
  return of ? of(kernel) : nullptr;
}

}  // namespace

Result<support::Unit> Interpreter::own_written(const Decoded& d, PackedArgs args) const {
  if (d.writes == Writes::Heap) return args.size() > 1 ? runtime::own_all(args[1]) : support::Unit{};
  const bool dynamic = d.op == Op::CallBuiltin && d.writes == Writes::Kernel;
  const bool named = !dynamic || (!args.empty() && args[0].is(ValueKind::Function));
  const KernelWrites* writes = d.writes == Writes::Kernel && named
                                   ? writes_of(*m_.program_, dynamic ? args[0].as_function().name : callee_name(d))
                                   : nullptr;
  const std::size_t first = dynamic ? 1 : 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool known = writes && i >= first && i - first < writes->written.size();
    if (known && !writes->written[i - first]) continue;
    RLDB_TRY_VOID(runtime::own_all(args[i]));
  }
  return support::Unit{};
}

void set_kernel_writes(const Program& program, KernelWritesOf of) { program.impl().kernel_writes = std::move(of); }
bool has_kernel_writes(const Program& program) { return bool(program.impl().kernel_writes); }

Interpreter::Invocation Interpreter::invoke(PackedArgs args) {
  auto failed = [](runtime::Error e) { return Invocation{-1, support::Failure(std::move(e))}; };
  if (args.size() < 2) return failed({ErrorKind::ArgumentCount, "invoke_closure needs a function", {}});
  Value callable = args[1];
  if (!callable.is(ValueKind::Function))
    return failed({ErrorKind::TypeMismatch, fmt::format("cannot call a {}", to_string(callable.kind())), {}});
  const runtime::Function& f = callable.as_function();
  std::size_t total = args.size() + f.captured.size();
  if (m_.scratch_.size() < total) m_.scratch_.resize(total);
  std::copy(f.captured.begin(), f.captured.end(), m_.scratch_.begin() + std::ptrdiff_t(args.size()));
  scratch_used_ = std::uint32_t(total);
  FunctionIndex index = own_bytecode(*m_.program_, f);
  if (index < 0) {
    PackedArgs all{m_.scratch_.data() + 2, total - 2};
    for (const Value& v : all)
      if (auto owned = runtime::own_all(v); !owned.ok()) return failed(std::move(owned).error());
    if (!f.native)
      return failed({ErrorKind::UnknownFunction, fmt::format("function `{}` is not part of this program", f.name), {}});
    return {-1, f.native(all)};
  }
  const bytecode::FunctionEntry& entry = m_.executable().functions[std::size_t(index)];
  if (std::size_t(entry.num_args) != total - 2) return failed(wrong_argument_count(entry, total - 2));
  runtime::Error error;
  if (frame_error(m_, index, error)) return failed(std::move(error));
  return {index, Value()};
}

// ---- Machine ----

Machine::Machine(std::shared_ptr<const Program> program, Limits limits)
    : program_(std::move(program)), limits_(limits) {}

// Everything except the scratch buffers, which are empty between instructions.
Machine::Machine(const Machine& o)
    : program_(o.program_),
      limits_(o.limits_),
      frames_(o.frames_),
      registers_(o.registers_),
      instructions_(o.instructions_),
      native_(o.native_),
      native_args_(o.native_args_),
      fault_(o.fault_),
      at_stop_(o.at_stop_),
      log_(o.log_) {}

Machine& Machine::operator=(const Machine& o) {
  if (this != &o) *this = Machine(o);
  return *this;
}

Result<support::Unit> Machine::start(std::string_view function, PackedArgs args) {
  Value callable = program_->find_function(function);
  if (callable.is_null()) return support::Failure(unknown_function(*program_, function));
  return start(callable, args);
}

Result<support::Unit> Machine::start(const Value& callable, PackedArgs args) {
  if (!callable.is(ValueKind::Function))
    return runtime::fail(ErrorKind::TypeMismatch, fmt::format("cannot call a {}", to_string(callable.kind())));
  const runtime::Function& f = callable.as_function();
  std::vector<Value> all(args.begin(), args.end());
  all.insert(all.end(), f.captured.begin(), f.captured.end());
  frames_.clear();
  registers_.clear();
  fault_.reset();
  at_stop_ = false;
  instructions_ = 0;
  native_ = Value();
  native_args_.clear();
  FunctionIndex index = own_bytecode(*program_, f);
  if (index < 0) {
    if (!f.native)
      return runtime::fail(ErrorKind::UnknownFunction,
                           fmt::format("function `{}` is not part of this program", f.name));
    native_ = callable;
    native_args_ = std::move(all);
    return support::Unit{};
  }
  const bytecode::FunctionEntry& entry = executable().functions[std::size_t(index)];
  if (std::size_t(entry.num_args) != all.size()) return support::Failure(wrong_argument_count(entry, all.size()));
  runtime::Error error;
  if (Interpreter::frame_error(*this, index, error)) return support::Failure(std::move(error));
  if (const InstructionSet* other = instructions_of(*program_)) RLDB_TRY_VOID(other->place_arguments(index, all));
  Interpreter::push_frame(*this, index, bytecode::kVoidRegister);
  std::move(all.begin(), all.end(), registers_.begin());
  return support::Unit{};
}

namespace {

constexpr std::uint64_t kNoBudget = ~std::uint64_t(0);

Outcome not_started() {
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault.emplace();
  o.fault->error = {ErrorKind::Unsupported, "the machine has nothing to run", {}};
  return o;
}

}  // namespace

// A run is over, cannot go on, or is a single call of something that is not bytecode.
std::optional<Outcome> Machine::run_without_frames() {
  runtime::foreign_code_has_run();  // before this run
  if (fault_) {
    Outcome o;
    o.kind = Outcome::Kind::Faulted;
    o.fault = fault_;
    return o;
  }
  if (!frames_.empty() || foreign_program(*program_)) return std::nullopt;
  if (native_.is_null()) return not_started();
  Value callable = std::move(native_);
  std::vector<Value> args = std::move(native_args_);
  for (const Value& v : args)
    if (auto owned = runtime::own_all(v); !owned.ok()) return Interpreter::fault(*this, std::move(owned).error());
  Result<Value> result = callable.as_function().native(args);
  if (!result.ok()) {
    Outcome o = Interpreter::fault(*this, std::move(result).error());
    o.fault->function_name = callable.as_function().name;
    fault_ = o.fault;
    return o;
  }
  Outcome o;
  o.value = std::move(result).value();
  return o;
}

Outcome Machine::run() {
  if (auto done = run_without_frames()) return *std::move(done);
  if (instructions_of(*program_)) return Interpreter::run_other(*this, nullptr, kNoBudget);
  return Interpreter(*this).run(NoHook{}, kNoBudget);
}

Outcome Machine::run(const StopSet& stops) {
  if (auto done = run_without_frames()) return *std::move(done);
  if (stops.end() < executable().end()) return run_with_short_set(stops);
  if (instructions_of(*program_)) return Interpreter::run_other(*this, &stops, kNoBudget);
  return Interpreter(*this).run(StopSetPolicy{stops}, kNoBudget);
}

// A set made for another executable: instructions that it does not know are not in it.
Outcome Machine::run_with_short_set(const StopSet& stops) {
  StopSet full(executable().instruction_count());
  for (Pc pc = 0; pc < stops.end(); ++pc) full.set(pc, stops.test(pc));
  if (instructions_of(*program_)) return Interpreter::run_other(*this, &full, kNoBudget);
  return Interpreter(*this).run(StopSetPolicy{full}, kNoBudget);
}

Outcome Machine::run(Hook& hook) {
  if (auto done = run_without_frames()) return *std::move(done);
  if (instructions_of(*program_)) return Interpreter::run_other(*this, hook, nullptr, nullptr, kNoBudget);
  return Interpreter(*this).run(HookPolicy{hook}, kNoBudget);
}

Outcome Machine::run(Hook& hook, const StopSet& stops) {
  if (auto done = run_without_frames()) return *std::move(done);
  RLDB_CHECK(stops.end() >= executable().end(), "stop set of another executable");
  if (instructions_of(*program_)) return Interpreter::run_other(*this, hook, &stops, nullptr, kNoBudget);
  return Interpreter(*this).run(HookPolicy{hook, &stops}, kNoBudget);
}

Outcome Machine::step(std::uint64_t count) {
  if (auto done = run_without_frames()) return *std::move(done);
  at_stop_ = false;
  if (instructions_of(*program_)) return Interpreter::run_other(*this, nullptr, count);
  return Interpreter(*this).run(NoHook{}, count);
}

Outcome Machine::step(std::uint64_t count, Hook& hook) {
  if (auto done = run_without_frames()) return *std::move(done);
  if (instructions_of(*program_)) return Interpreter::run_other(*this, hook, nullptr, nullptr, count);
  return Interpreter(*this).run(HookPolicy{hook}, count);
}

Outcome Machine::step(std::uint64_t count, const StopSet& stops) {
  if (auto done = run_without_frames()) return *std::move(done);
  RLDB_CHECK(stops.end() >= executable().end(), "stop set of another executable");
  if (instructions_of(*program_)) return Interpreter::run_other(*this, &stops, count);
  return Interpreter(*this).run(StopSetPolicy{stops}, count);
}

Outcome Machine::step(std::uint64_t count, const StopSet& stops, Hook& hook, const StopSet& observed) {
  if (auto done = run_without_frames()) return *std::move(done);
  const Pc end = executable().end();
  RLDB_CHECK(stops.end() >= end && observed.end() >= end, "stop set of another executable");
  if (instructions_of(*program_)) return Interpreter::run_other(*this, hook, &stops, &observed, count);
  return Interpreter(*this).run(ObservePolicy{hook, stops, observed}, count);
}

bool Machine::skip() {
  if (frames_.empty() || fault_) return false;
  Frame& f = frames_.back();
  const bytecode::Instruction i = executable().instruction(f.pc);
  if (i.op != bytecode::Opcode::Call) return false;
  ++f.pc;
  ++instructions_;
  at_stop_ = false;
  return true;
}

std::optional<Outcome> Machine::return_value(Value value) {
  if (frames_.empty()) return std::nullopt;
  fault_.reset();
  at_stop_ = false;
  ++instructions_;
  const bytecode::RegName to = frames_.back().return_register;
  registers_.resize(frames_.back().base);
  frames_.pop_back();
  if (frames_.empty()) {
    Outcome o;
    o.value = std::move(value);
    return o;
  }
  if (!bytecode::is_special(to)) registers_[frames_.back().base + std::size_t(to)] = std::move(value);
  ++frames_.back().pc;
  return std::nullopt;
}

bool Machine::write_slot(std::size_t frame, std::size_t slot, std::int64_t value) {
  auto heap = shape_heap(frame);
  if (slot >= heap.size()) return false;
  const auto* debug = executable().debug.function(frames_[frame].function);
  if (!runtime::own_all(*read_register(frame, debug->heap_register)).ok()) return false;
  heap = shape_heap(frame);
  const_cast<std::int64_t&>(heap[slot]) = value;  // the heap is a tensor of this machine
  return true;
}

const Value* Machine::read_register(std::size_t frame, RegName reg) const {
  if (frame >= frames_.size() || reg < 0 || std::size_t(reg) >= frames_[frame].size) return nullptr;
  return &registers_[frames_[frame].base + std::size_t(reg)];
}

bool Machine::write_register(std::size_t frame, RegName reg, Value value) {
  if (!read_register(frame, reg)) return false;
  registers_[frames_[frame].base + std::size_t(reg)] = std::move(value);
  return true;
}

std::span<const std::int64_t> Machine::shape_heap(std::size_t frame) const {
  if (frame >= frames_.size()) return {};
  const auto* debug = executable().debug.function(frames_[frame].function);
  if (!debug) return {};
  const Value* heap = read_register(frame, debug->heap_register);
  if (!heap || !heap->is(ValueKind::Tensor)) return {};
  const runtime::Tensor& t = heap->as_tensor();
  if (t.dtype() != runtime::DType::Int(64)) return {};
  return {reinterpret_cast<const std::int64_t*>(t.data()), std::size_t(t.element_count())};
}

Outcome call(const std::shared_ptr<const Program>& program, std::string_view function, PackedArgs args, Limits limits) {
  Machine machine(program, limits);
  auto started = machine.start(function, args);
  if (!started.ok()) {
    Outcome o;
    o.kind = Outcome::Kind::Faulted;
    o.fault.emplace();
    o.fault->error = std::move(started).error();
    o.fault->function_name = function;
    return o;
  }
  return machine.run();
}

}  // namespace rldb::vm
