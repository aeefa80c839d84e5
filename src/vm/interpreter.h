// The interpreter loop, written once and instantiated for each way to observe it (policies below).
//
// A policy specifies at compile time what it observes; a run without hooks contains no trace of them. Nothing here
// recurses: calls of bytecode push a frame. An instruction either completes (and counts) or leaves the machine
// unchanged: stops and faults come before effects.
#pragma once

#include <limits>

#include "rldb/support/take_cancel.h"
#include "rldb/vm/machine.h"
#include "vm/link.h"

namespace rldb::vm {

struct NoHook {
  static constexpr bool kBefore = false, kAfter = false, kCalls = false;
};

struct StopSetPolicy {
  static constexpr bool kBefore = true, kAfter = false, kCalls = false;
  const StopSet& stops;
  bool before(const Machine&, Pc pc) const { return stops.test(pc); }
};

// A hook that observes only some instructions.
struct ObservePolicy {
  static constexpr bool kBefore = true, kAfter = true, kCalls = false;
  Hook& hook;
  const StopSet& stops;
  const StopSet& observed;
  bool before(const Machine& m, Pc pc) const {
    return stops.test(pc) || (observed.test(pc) && hook.before_instruction(m));
  }
  bool after(const Machine& m, std::size_t depth, Pc pc) const {
    return observed.test(pc) && hook.after_instruction(m, depth, pc);
  }
};

struct HookPolicy {
  static constexpr bool kBefore = true, kAfter = true, kCalls = true;
  bool after(const Machine& m, std::size_t depth, Pc pc) const { return hook.after_instruction(m, depth, pc); }
  Hook& hook;
  const StopSet* stops = nullptr;
  bool before(const Machine& m, Pc pc) const { return (stops && stops->test(pc)) || hook.before_instruction(m); }
};

class Interpreter {
 public:
  explicit Interpreter(Machine& m) : m_(m), impl_(m.program_->impl()) {}

  // Runs at most `budget` instructions.
  template <class Policy>
  Outcome run(const Policy& policy, std::uint64_t budget);

  static void push_frame(Machine& m, FunctionIndex function, bytecode::RegName return_register);
  static runtime::Error* frame_error(Machine& m, FunctionIndex function, runtime::Error& storage);
  static Outcome fault(Machine& m, runtime::Error error);
  // The innermost frame becomes that of a call in tail position, with its arguments in the scratch buffer.
  static void replace_frame(Machine& m, FunctionIndex function, std::uint32_t count);
  bool replaces_frame(const Decoded& d) const { return d.tail && m_.frames_.size() >= m_.limits_.tail_frames; }

  // A program of another machine (other_machine.cc).
  static Outcome run_other(Machine& m, const StopSet* stops, std::uint64_t budget);
  // `observed`: the instructions that the hook observes; null: all.
  static Outcome run_other(Machine& m, Hook& hook, const StopSet* stops, const StopSet* observed, std::uint64_t budget);

 private:
  Outcome stopped(StopReason reason) { return stopped(m_, reason); }
  static Outcome stopped(Machine& m, StopReason reason) {
    m.at_stop_ = reason == StopReason::Hook;
    Outcome o;
    o.kind = Outcome::Kind::Stopped;
    o.reason = reason;
    return o;
  }

  const Value& argument(std::int32_t a, const Value* regs) const {
    return a >= 0 ? regs[a] : impl_.literals[std::size_t(~a)];
  }

  // Arguments into the machine's scratch buffer, whose values are null between calls; `Release` empties it whatever
  // happens.
  PackedArgs gather(const Decoded& d, const Value* regs) {
    if (m_.scratch_.size() < d.args_count) m_.scratch_.resize(d.args_count);
    Value* to = m_.scratch_.data();
    const std::int32_t* from = impl_.args.data() + d.args_begin;
    for (std::uint32_t i = 0; i < d.args_count; ++i) to[i] = argument(from[i], regs);
    return {to, d.args_count};
  }
  struct Release {
    std::vector<Value>& scratch;
    std::uint32_t count;
    ~Release() {
      for (std::uint32_t i = 0; i < count; ++i) scratch[i] = Value();
    }
  };
  // Consecutive registers already form an argument list: a native callee cannot change them.
  bool is_direct(const Decoded& d) const { return d.first_register >= 0; }
  PackedArgs arguments(const Decoded& d, const Value* regs) {
    if (is_direct(d)) return {regs + d.first_register, d.args_count};
    return gather(d, regs);
  }

  Result<Value> call_kernel(runtime::Kernel& kernel, PackedArgs args) {
    RLDB_TRY_VOID(bind_arguments(kernel.signature(), args, m_.kernel_variables_));
    return kernel.run(args, m_.kernel_variables_);
  }

  // Memory that is shared with copies of the machine becomes its own before a call may write it.
  static bool may_be_shared(PackedArgs args) {
    for (const Value& v : args) {
      if (v.is(runtime::ValueKind::Tensor) && v.as_tensor().storage()->owner()) return true;
      if (v.is(runtime::ValueKind::Tuple) || v.is(runtime::ValueKind::Object)) return true;
    }
    return false;
  }
  Result<support::Unit> own_written(const Decoded& d, PackedArgs args) const;

  Result<Value> call_native(const Decoded& d, PackedArgs args, const CallSite& site) {
    if (d.writes != Writes::None && may_be_shared(args)) RLDB_TRY_VOID(own_written(d, args));
    switch (d.op) {
      case Op::CallBuiltin:
        return d.builtin(site, args);
      case Op::CallKernel:
        return call_kernel(*d.kernel, args);
      case Op::CallPacked:
        return call_packed(*d.packed, args);
      case Op::CallUnresolved:
        return support::Failure(unknown_function(*m_.program_, callee_name(d)));
      case Op::CallBytecode:
      case Op::InvokeClosure:
      case Op::Ret:
      case Op::Goto:
      case Op::If:
        break;
    }
    RLDB_UNREACHABLE("not a native call");
  }

  Result<Value> call_packed(const runtime::PackedInfo& packed, PackedArgs args);
  const std::string& callee_name(const Decoded& d) const {
    return m_.executable().functions[std::size_t(d.callee)].name;
  }

  // The action of InvokeClosure with scratch = [vm, callable, args...].
  struct Invocation {
    FunctionIndex bytecode = -1;  // push a frame for this, with scratch[2..count)
    Result<Value> result;         // or this is the result
  };
  Invocation invoke(PackedArgs args);
  std::uint32_t scratch_used_ = 0;

  Machine& m_;
  const Program::Impl& impl_;
};

template <class Policy>
Outcome Interpreter::run(const Policy& policy, std::uint64_t budget) {
  const Decoded* code = impl_.code.data();
  std::atomic<bool>* interrupt = m_.program_->environment().interrupt;
  std::uint64_t limit = m_.instructions_ + std::min(budget, ~std::uint64_t(0) - m_.instructions_);
  bool limit_is_fault = false;
  if (m_.limits_.max_instructions != 0 && m_.limits_.max_instructions < limit) {
    limit = m_.limits_.max_instructions;
    limit_is_fault = true;
  }
  Frame* frame = &m_.frames_.back();
  Value* regs = m_.registers_.data() + frame->base;
  auto refresh = [&] {
    frame = &m_.frames_.back();
    regs = m_.registers_.data() + frame->base;
  };

  for (;;) {
    if (m_.instructions_ >= limit) {
      if (limit_is_fault)
        return fault(m_, {runtime::ErrorKind::Interrupted,
                          "the limit of " + std::to_string(limit) + " instructions is reached",
                          {}});
      return stopped(StopReason::Stepped);
    }
    const Pc pc = frame->pc;
    const Decoded& d = code[pc.value()];
    if (d.checks_interrupt && interrupt && interrupt->load(std::memory_order_relaxed)) {
      (void)support::take_cancel(*interrupt);
      bool keep = m_.at_stop_;
      Outcome o = stopped(StopReason::Interrupted);
      m_.at_stop_ = keep;
      return o;
    }
    if constexpr (Policy::kBefore) {
      if (!m_.at_stop_ && policy.before(m_, pc)) return stopped(StopReason::Hook);
      m_.at_stop_ = false;
    }
    [[maybe_unused]] const std::size_t depth = m_.frames_.size() - 1;

    switch (d.op) {
      case Op::CallBuiltin:
      case Op::CallKernel:
      case Op::CallPacked:
      case Op::CallUnresolved: {
        PackedArgs args = arguments(d, regs);
        Release release{m_.scratch_, is_direct(d) ? 0 : d.args_count};
        if constexpr (Policy::kCalls) {
          if (policy.hook.before_call(m_, {pc, FunctionIndex(d.callee), args}) == CallAction::Skip) {
            ++frame->pc;
            break;
          }
        }
        Result<Value> result = call_native(d, args, CallSite{*m_.program_, frame->function, pc});
        if (!result.ok()) return fault(m_, std::move(result).error());
        if constexpr (Policy::kCalls) policy.hook.after_call(m_, {pc, FunctionIndex(d.callee), args}, *result);
        if (d.dst >= 0) regs[d.dst] = std::move(result).value();
        ++frame->pc;
        break;
      }
      case Op::CallBytecode: {
        if constexpr (Policy::kCalls) {
          PackedArgs args = gather(d, regs);
          Release release{m_.scratch_, d.args_count};
          if (policy.hook.before_call(m_, {pc, FunctionIndex(d.callee), args}) == CallAction::Skip) {
            ++frame->pc;
            break;
          }
        }
        runtime::Error error;
        if (replaces_frame(d)) {
          if (frame->replaced >= m_.limits_.max_tail_calls)
            return fault(m_, stack_overflow(frame->replaced + m_.frames_.size(), callee_name(d), m_.limits_));
          gather(d, regs);
          Release release{m_.scratch_, d.args_count};
          replace_frame(m_, FunctionIndex(d.callee), d.args_count);
          refresh();
          break;
        }
        if (frame_error(m_, FunctionIndex(d.callee), error)) return fault(m_, std::move(error));
        std::size_t caller_base = frame->base;
        push_frame(m_, FunctionIndex(d.callee), d.dst >= 0 ? RegName(d.dst) : bytecode::kVoidRegister);
        refresh();
        const Value* caller = m_.registers_.data() + caller_base;
        const std::int32_t* from = impl_.args.data() + d.args_begin;
        for (std::uint32_t i = 0; i < d.args_count; ++i) regs[i] = argument(from[i], caller);
        break;
      }
      case Op::InvokeClosure: {
        PackedArgs args = gather(d, regs);
        scratch_used_ = d.args_count;
        struct ReleaseAll {
          Interpreter& self;
          ~ReleaseAll() { const Release all{self.m_.scratch_, self.scratch_used_}; }
        } release{*this};
        if constexpr (Policy::kCalls) {
          if (policy.hook.before_call(m_, {pc, FunctionIndex(d.callee), args}) == CallAction::Skip) {
            ++frame->pc;
            break;
          }
        }
        Invocation i = invoke(args);
        if (!i.result.ok()) return fault(m_, std::move(i.result).error());
        if (i.bytecode >= 0) {
          push_frame(m_, i.bytecode, d.dst >= 0 ? RegName(d.dst) : bytecode::kVoidRegister);
          refresh();
          for (std::uint32_t a = 2; a < scratch_used_; ++a) regs[a - 2] = std::move(m_.scratch_[a]);
          break;
        }
        if constexpr (Policy::kCalls)
          policy.hook.after_call(m_, {pc, FunctionIndex(d.callee), {m_.scratch_.data(), scratch_used_}}, *i.result);
        if (d.dst >= 0) regs[d.dst] = std::move(i.result).value();
        ++frame->pc;
        break;
      }
      case Op::Ret: {
        Value result = d.reg >= 0 ? std::move(regs[d.reg]) : Value();
        ++m_.instructions_;
        const bytecode::RegName to = frame->return_register;
        m_.registers_.resize(frame->base);
        m_.frames_.pop_back();
        if (m_.frames_.empty()) {
          Outcome o;
          o.value = std::move(result);
          return o;
        }
        refresh();
        const Pc call_pc = frame->pc;
        if constexpr (Policy::kCalls)
          policy.hook.after_call(m_, {call_pc, FunctionIndex(code[call_pc.value()].callee), {}}, result);
        // A void destination swallows the value (TVM 17389 writes it out of range).
        if (!bytecode::is_special(to)) regs[to.value()] = std::move(result);
        ++frame->pc;
        if constexpr (Policy::kAfter) {
          if (policy.after(m_, depth, pc)) return stopped(StopReason::Stepped);
        }
        continue;  // counted above
      }
      case Op::Goto:
        frame->pc += d.jump;
        break;
      case Op::If: {
        const Value& condition = regs[d.reg];
        if (!condition.is(runtime::ValueKind::Int) && !condition.is(runtime::ValueKind::Bool))
          return fault(m_, {runtime::ErrorKind::TypeMismatch,
                            "the condition of If is a " + std::string(to_string(condition.kind())) + ", not an integer",
                            {}});
        frame->pc += condition.as_int() != 0 ? 1 : d.jump;
        break;
      }
    }
    ++m_.instructions_;
    if constexpr (Policy::kAfter) {
      if (policy.after(m_, depth, pc)) return stopped(StopReason::Stepped);
    }
  }
}

}  // namespace rldb::vm
