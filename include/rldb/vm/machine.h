// Machine: the state of one run as plain data, and the operations that advance it.
//
// Copying a Machine clones the run: frames, registers, instruction counter (objects that registers refer to are
// shared; `snapshot` copies tensor data too). The innermost frame's pc is the next instruction; an outer frame's pc is
// its Call in progress. Frames are data: a call in the program costs no C++ stack. Time is (run, instructions()).
// After a fault the machine stays at the faulting instruction, for inspection; it cannot go on.
// Used by session (run to the end), debug (stepping, time travel), tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/vm/call_log.h"
#include "rldb/vm/program.h"

namespace rldb::vm {

using bytecode::RegName;

struct Limits {
  std::size_t max_frames = 100'000;
  // From this depth on a call in tail position takes the frame of its caller, so that a loop written as recursion does
  // not end at a limit of frames; up to this depth every call has a frame to look at.
  std::size_t tail_frames = 10'000;
  std::size_t max_tail_calls = 1'000'000;  // in one frame: recursion without an end is found
  std::size_t max_registers = 16'000'000;  // over all frames
  std::uint64_t max_instructions = 0;      // 0: no limit; counted from start
};

struct Frame {
  FunctionIndex function = 0;  // into the function table
  Pc pc = 0;
  std::size_t base = 0;                               // first register in the machine's register stack
  std::size_t size = 0;                               // registers
  RegName return_register = bytecode::kVoidRegister;  // in the caller's frame
  std::uint64_t entered = 0;  // instructions completed when it was called: no two calls share it
  std::size_t replaced = 0;   // calls that this frame was of before: each ended in a call in tail position
};

// Where and why a program stopped by itself.
struct Fault {
  runtime::Error error;
  FunctionIndex function = -1;
  std::string function_name;
  Pc pc = -1;
  std::string instruction;  // its text
};

enum class StopReason : std::uint8_t {
  Hook,         // a hook or breakpoint requested it; the instruction at pc has not run
  Stepped,      // the requested number of instructions has run
  Interrupted,  // the interrupt flag was seen
};

struct Outcome {
  enum class Kind : std::uint8_t { Finished, Stopped, Faulted };
  Kind kind = Kind::Finished;
  Value value;                           // Finished
  StopReason reason = StopReason::Hook;  // Stopped
  std::optional<Fault> fault;            // Faulted
  bool finished() const { return kind == Kind::Finished; }
  bool stopped() const { return kind == Kind::Stopped; }
  bool faulted() const { return kind == Kind::Faulted; }
};

// The error of a call that would exceed the limits.
runtime::Error stack_overflow(std::size_t depth, std::string_view callee, const Limits& limits);

class Machine;

// A Call that is about to run or has run. `callee` is an index of the function table.
struct CallEvent {
  Pc pc = 0;
  FunctionIndex callee = 0;
  PackedArgs args;  // as the callee receives them
};
enum class CallAction : std::uint8_t { Run, Skip };  // Skip: not called, dst is not written, no after_call

// A debugger's hook into a run. Every method may inspect the machine; none may change it.
class Hook {
 public:
  virtual ~Hook() = default;
  // Before the instruction at the innermost pc. True: stop there.
  virtual bool before_instruction(const Machine& machine) { return (void)machine, false; }
  // After an instruction: `frame_depth` (index into frames() at that time) and `pc` tell which one ran; registers show
  // its effect. A Call of bytecode has run when its frame is there; a Ret when its frame is popped. Not called for the
  // Ret of the outermost frame. True: stop before the next one.
  virtual bool after_instruction(const Machine& machine, std::size_t frame_depth, Pc pc) {
    return (void)machine, (void)frame_depth, (void)pc, false;
  }
  virtual CallAction before_call(const Machine& machine, const CallEvent& event) {
    return (void)machine, (void)event, CallAction::Run;
  }
  // When the callee has returned (for bytecode callees: at its Ret, with no args).
  virtual void after_call(const Machine& machine, const CallEvent& event, const Value& result) {
    (void)machine, (void)event, (void)result;
  }
};

// One flag per instruction: the cheap way to stop at a pc. A run with an empty set is as fast as a run without one.
class StopSet {
 public:
  explicit StopSet(std::int64_t instruction_count = 0) : bits_(std::size_t(instruction_count), 0) {}
  void set(Pc pc, bool on = true) { bits_[std::size_t(pc)] = on; }
  bool test(Pc pc) const { return bits_[std::size_t(pc)] != 0; }
  bool empty() const;
  Pc end() const { return Pc(bits_.size()); }  // one past the last instruction that it knows

 private:
  std::vector<std::uint8_t> bits_;
};

class Machine {
 public:
  explicit Machine(std::shared_ptr<const Program> program, Limits limits = {});
  Machine(const Machine& other);
  Machine(Machine&&) noexcept = default;
  Machine& operator=(const Machine& other);
  Machine& operator=(Machine&&) noexcept = default;

  // Puts a call on an idle machine; nothing has run yet. Errors: UnknownFunction, ArgumentCount (names the parameters).
  // A callable that is not bytecode (a kernel, a packed function) runs at the first `run`.
  Result<support::Unit> start(std::string_view function, PackedArgs args);
  Result<support::Unit> start(const Value& callable, PackedArgs args);

  // Runs until finished, stopped or faulted. After a stop any of these goes on; a StopSet or Hook is not queried for
  // the very instruction that the machine is stopped at (so that "continue" leaves a breakpoint).
  Outcome run();
  Outcome run(const StopSet& stops);
  Outcome run(Hook& hook);
  Outcome run(Hook& hook, const StopSet& stops);
  // Runs `count` instructions.
  Outcome step(std::uint64_t count = 1);
  Outcome step(std::uint64_t count, Hook& hook);
  // At most `count` instructions, to the next one of the set (which is queried for the first one too after a stop that
  // no set or hook caused). The set must be one for this executable.
  Outcome step(std::uint64_t count, const StopSet& stops);
  // The same, and the hook is called before and after each instruction of `observed` (calls are not announced). Other
  // instructions cost no more than with a stop set alone.
  Outcome step(std::uint64_t count, const StopSet& stops, Hook& hook, const StopSet& observed);

  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& program_ptr() const { return program_; }
  const bytecode::Executable& executable() const { return program_->executable(); }
  const Limits& limits() const { return limits_; }
  void set_limits(const Limits& limits) { limits_ = limits; }

  bool running() const { return !frames_.empty(); }
  std::uint64_t instructions() const { return instructions_; }  // completed since start
  std::span<const Frame> frames() const { return frames_; }     // outermost first
  const Frame& frame() const { return frames_.back(); }
  std::span<const Value> registers(std::size_t frame) const {
    return {registers_.data() + frames_[frame].base, frames_[frame].size};
  }
  const Value* read_register(std::size_t frame, RegName reg) const;  // null: no such register
  // For `set` in the debugger and for watches.
  bool write_register(std::size_t frame, RegName reg, Value value);
  // ---- changes by a debugger; each counts as an instruction, so that time goes on ----
  // The Call at pc is not made and its destination is left unchanged. False: it is not a Call, or nothing is running.
  bool skip();
  // The innermost frame returns this value, skipping the rest of it, even a fault. An outcome: it was the outermost.
  std::optional<Outcome> return_value(Value value);
  bool write_slot(std::size_t frame, std::size_t slot, std::int64_t value);  // no instruction; false: no such slot
  // Goes on with another program of the same executable (other kernels): no instruction.
  void set_program(std::shared_ptr<const Program> program);
  // Results of packed functions are recorded there, and taken from there when they are called again at the same time.
  void set_call_log(std::shared_ptr<CallLog> log) { log_ = std::move(log); }
  CallLog* call_log() const { return log_.get(); }

  // The frame's shape heap from debug info; empty: none, or not created yet.
  std::span<const std::int64_t> shape_heap(std::size_t frame) const;
  const std::optional<Fault>& fault() const { return fault_; }

  // A copy that shares no tensor data with this machine except the executable's constants: kept by time travel.
  // Aliases stay aliases: two tensors over one storage share it in the copy too.
  Result<Machine> snapshot() const;
  // Bytes of tensor data that a snapshot would copy.
  std::size_t snapshot_bytes() const;

 private:
  friend class Interpreter;
  std::optional<Outcome> run_without_frames();
  Outcome run_with_short_set(const StopSet& stops);
  std::shared_ptr<const Program> program_;
  Limits limits_;
  std::vector<Frame> frames_;
  std::vector<Value> registers_;
  std::uint64_t instructions_ = 0;
  Value native_;  // started with a callable that is not bytecode
  std::vector<Value> native_args_;
  std::optional<Fault> fault_;
  bool at_stop_ = false;  // skip the query for the instruction at pc
  std::shared_ptr<CallLog> log_;
  // Of the call in progress; empty between instructions, kept for their capacity.
  std::vector<Value> scratch_;
  std::vector<std::int64_t> kernel_variables_;
};

// Starts and runs to the end on a machine of its own.
Outcome call(const std::shared_ptr<const Program>& program, std::string_view function, PackedArgs args,
             Limits limits = {});

}  // namespace rldb::vm
