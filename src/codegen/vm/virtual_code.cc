// From virtual to real registers (linear scan), and the instructions and variable ranges of the finished function.
#include "codegen/vm/virtual_code.h"

#include <algorithm>
#include <queue>

#include "rldb/support/cancel.h"

namespace rldb::codegen {
namespace {

using bytecode::ArgKind;
using bytecode::is_special;
using bytecode::Opcode;

struct Interval {
  std::size_t first = ~std::size_t(0);
  std::size_t last = 0;
  bool used() const { return first != ~std::size_t(0); }
  void touch(std::size_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

// Without loops a value is dead after its last use in the order of the text: a branch that comes later in the text
// than the last use cannot run after it.
std::vector<Interval> live_intervals(const VirtualCode& code) {
  std::vector<Interval> live(std::size_t(code.register_count));
  auto touch = [&](RegName reg, std::size_t at) {
    if (!is_special(reg)) live[std::size_t(reg)].touch(at);
  };
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const VirtualInstruction& v = code.instructions[i];
    switch (v.op) {
      case Opcode::Call:
        touch(v.dst, i);
        for (Arg a : v.args)
          if (a.kind() == ArgKind::Register) touch(a.reg(), i);
        break;
      case Opcode::Ret:
      case Opcode::If:
        touch(v.reg, i);
        break;
      case Opcode::Goto:
        break;
    }
  }
  std::size_t end = code.instructions.size();
  for (std::size_t p = 0; p < code.params.size(); ++p) live[p] = {0, end};
  if (code.heap >= 0) live[std::size_t(code.heap)].touch(end);
  return live;
}

}  // namespace

Assignment assign_registers(const VirtualCode& code) {
  std::vector<Interval> live = live_intervals(code);
  Assignment out;
  out.real.assign(live.size(), -1);
  for (std::size_t p = 0; p < code.params.size(); ++p) out.real[p] = RegName(p);
  out.register_count = RegName(code.params.size());

  std::vector<std::size_t> order;
  for (std::size_t v = code.params.size(); v < live.size(); ++v)
    if (live[v].used()) order.push_back(v);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return live[a].first != live[b].first ? live[a].first < live[b].first : a < b;
  });
  using Ending = std::pair<std::size_t, RegName>;  // last use, real register
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> active;
  std::priority_queue<RegName, std::vector<RegName>, std::greater<>> free;
  for (std::size_t v : order) {
    while (!active.empty() && active.top().first < live[v].first) {
      free.push(active.top().second);
      active.pop();
    }
    RegName real = out.register_count;
    if (free.empty()) {
      ++out.register_count;
    } else {
      real = free.top();
      free.pop();
    }
    out.real[v] = real;
    active.emplace(live[v].last, real);
  }
  return out;
}

namespace {

class Emitter {
 public:
  Emitter(const VirtualCode& code, bytecode::ExecutableBuilder& out)
      : code_(code), out_(out), registers_(assign_registers(code)) {}

  void run() {
    base_ = out_.next_pc();
    bytecode::FunctionDebug debug = code_.debug;
    if (code_.heap >= 0) debug.heap_register = real(code_.heap);
    out_.begin_function(code_.name, code_.params, std::move(debug));
    for (std::size_t i = 0; i < code_.instructions.size(); ++i) instruction(i);
    add_variables();
    out_.end_function(registers_.register_count.value());
  }

 private:
  RegName real(RegName reg) const { return is_special(reg) ? reg : registers_.real[std::size_t(reg)]; }

  void instruction(std::size_t i) {
    support::poll();
    const VirtualInstruction& v = code_.instructions[i];
    out_.at(v.debug);
    switch (v.op) {
      case Opcode::Call: {
        std::vector<Arg> args = v.args;
        for (Arg& a : args)
          if (a.kind() == ArgKind::Register) a = Arg::reg(real(a.reg()));
        out_.call(v.callee, args, real(v.dst), v.callee_kind);
        break;
      }
      case Opcode::Ret:
        out_.ret(real(v.reg));
        break;
      case Opcode::Goto:
        out_.jump(std::int64_t(v.target) - std::int64_t(i));
        break;
      case Opcode::If:
        out_.branch(real(v.reg), std::int64_t(v.target) - std::int64_t(i));
        break;
    }
  }

  // Where each real register is written: a name ends there.
  void add_variables() {
    std::vector<std::vector<std::size_t>> writes(std::size_t(registers_.register_count));
    for (std::size_t i = 0; i < code_.instructions.size(); ++i) {
      const VirtualInstruction& v = code_.instructions[i];
      if (v.op == Opcode::Call && !is_special(v.dst)) writes[std::size_t(real(v.dst))].push_back(i);
    }
    for (const VirtualVariable& v : code_.variables) {
      if (is_special(v.reg) || real(v.reg) < 0) continue;
      bytecode::VariableRange range;
      range.name = v.name;
      range.node = v.node;
      range.reg = real(v.reg);
      range.is_parameter = v.is_parameter;
      range.type = v.type;
      const std::vector<std::size_t>& w = writes[std::size_t(range.reg)];
      auto next = std::lower_bound(w.begin(), w.end(), v.begin);
      std::size_t end = std::min(v.end, code_.instructions.size());
      // The value is still there when the overwriting instruction is about to run.
      if (next != w.end()) end = std::min(end, *next + 1);
      range.begin = base_ + std::int64_t(v.begin);
      range.end = base_ + std::int64_t(end);
      if (range.begin < range.end) out_.function_debug().variables.push_back(std::move(range));
    }
  }

  const VirtualCode& code_;
  bytecode::ExecutableBuilder& out_;
  Assignment registers_;
  Pc base_ = 0;
};

}  // namespace

void emit(const VirtualCode& code, bytecode::ExecutableBuilder& out) { Emitter(code, out).run(); }

}  // namespace rldb::codegen
