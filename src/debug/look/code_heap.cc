// The shape heap of code without debug info, which another compiler wrote: what binds its slots is in the instructions.
#include "debug/look/code_heap.h"

#include <fmt/format.h>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/runtime/value.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::FunctionEntry;
using bytecode::Instruction;
using bytecode::MatchShapeCode;
using bytecode::Opcode;
using bytecode::Pc;
using runtime::Value;
using runtime::ValueKind;

namespace {

class CodeHeap {
 public:
  CodeHeap(const vm::Machine& m, std::size_t frame)
      : m_(m), frame_(frame), function_(m.executable().functions[std::size_t(m.frames()[frame].function)]) {}

  std::vector<SlotInfo> slots() {
    for (Pc pc = function_.start; pc < m_.frames()[frame_].pc; ++pc) {
      support::poll();
      const Instruction i = m_.executable().instruction(pc);
      if (i.op != Opcode::Call) continue;
      const std::string& callee = m_.executable().functions[std::size_t(i.callee)].name;
      if (callee == builtin::AllocShapeHeap) take_heap(i);
      if (callee == builtin::MatchShape && number(i, 2))
        for (std::int64_t d = 0; d < *number(i, 2); ++d)
          bind(i, std::size_t(3 + 2 * d), fmt::format("{}, dimension {}", name_of(i), d));
      if (callee == builtin::MatchPrimValue) bind(i, 2, name_of(i));
    }
    return std::move(slots_);
  }

 private:
  void take_heap(const Instruction& i) {
    const Value* heap = bytecode::is_special(i.dst) ? nullptr : m_.read_register(frame_, i.dst);
    if (!heap || !heap->is(ValueKind::Tensor) || heap->as_tensor().dtype() != runtime::DType::Int(64)) return;
    const runtime::Tensor& t = heap->as_tensor();
    const auto* values = reinterpret_cast<const std::int64_t*>(t.peek());
    slots_.clear();
    // A heap begins with zeros: another value was computed.
    for (std::int64_t s = 0; s < t.element_count(); ++s)
      slots_.push_back({s, "", values[s], values[s] != 0, values[s] != 0 ? "computed" : ""});
  }

  std::optional<std::int64_t> number(const Instruction& i, std::size_t a) const {
    if (a >= i.args.size() || i.arg(a).kind() != ArgKind::Immediate) return std::nullopt;
    return i.arg(a).value();
  }

  std::string name_of(const Instruction& i) const {
    const Arg from = i.arg(0);
    if (from.kind() != ArgKind::Register || bytecode::is_special(from.reg())) return "a value";
    const auto reg = std::size_t(from.reg().value());
    if (reg < function_.param_names.size()) return fmt::format("parameter `{}`", function_.param_names[reg]);
    return fmt::format("%{}", reg);
  }

  void bind(const Instruction& i, std::size_t code, std::string by) {
    const auto what = number(i, code), slot = number(i, code + 1);
    if (!what || !slot || *what != std::int64_t(MatchShapeCode::StoreToHeap)) return;
    if (*slot < 0 || std::size_t(*slot) >= slots_.size()) return;
    slots_[std::size_t(*slot)].set = true;
    slots_[std::size_t(*slot)].bound_by = std::move(by);
  }

  const vm::Machine& m_;
  std::size_t frame_;
  const FunctionEntry& function_;
  std::vector<SlotInfo> slots_;
};

}  // namespace

std::vector<SlotInfo> slots_by_code(const vm::Machine& m, std::size_t frame) { return CodeHeap(m, frame).slots(); }

}  // namespace rldb::debug
