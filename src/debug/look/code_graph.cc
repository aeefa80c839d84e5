// Variables of code, and those that each is computed from, read off registers.
#include "debug/look/code_graph.h"

#include <algorithm>

#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

namespace {

using bytecode::Instruction;
using bytecode::Opcode;

// The name under which relay/vm maps the instruction.
constexpr std::string_view kRelayKill = "relay.kill_register";

class CodeReader {
 public:
  CodeReader(const CodeMap& map, FunctionIndex function, BindingGraph& out)
      : map_(map), exe_(map.executable()), function_(function), out_(out) {}

  void run() {
    std::vector<const UserVariable*> variables;
    for (const UserVariable& v : map_.variables(function_)) variables.push_back(&v);
    std::stable_sort(variables.begin(), variables.end(), [](const UserVariable* a, const UserVariable* b) {
      return a->range->is_parameter != b->range->is_parameter ? a->range->is_parameter : a->begin < b->begin;
    });
    for (const UserVariable* v : variables)
      if (find(v->name) < 0 && (v->range->is_parameter || is_written(v->name))) add(*v);
    const bytecode::FunctionEntry& f = exe_.functions[std::size_t(function_)];
    for (Pc pc = f.start; pc < f.end; ++pc) {
      support::poll();
      instruction(pc, exe_.instruction(pc));
    }
  }

 private:
  // The text has a line for it; others are the compiler's.
  bool is_written(const std::string& name) const {
    const int b = map_.find_binding(out_.function, name, -1);
    return b >= 0 && map_.binding(b).line > 0;
  }
  void add(const UserVariable& v) {
    GraphNode n;
    n.name = v.name;
    n.type = v.range->type;
    n.parameter = v.range->is_parameter;
    out_.nodes.push_back(std::move(n));
  }
  int find(std::string_view name) const {
    for (std::size_t i = 0; i < out_.nodes.size(); ++i)
      if (out_.nodes[i].name == name) return int(i);
    return -1;
  }
  // The variable that a register holds when the instruction reads it; -1: none.
  int held_by(bytecode::RegName reg, Pc pc) const {
    for (const UserVariable& v : map_.variables(function_))
      if (v.range->reg == reg && v.begin <= pc && pc < v.range->end) return find(v.name);
    return -1;
  }
  // The variable that the instruction serves; -1: none.
  int computed_at(Pc pc) const {
    const std::vector<int>& group = map_.group_of(pc);
    return group.empty() ? -1 : find(map_.binding(group.back()).name);
  }

  void instruction(Pc pc, const Instruction& i) {
    const int to = computed_at(pc);
    if (i.op == Opcode::Ret) {
      if (const int v = held_by(i.reg, pc); v >= 0) out_.nodes[std::size_t(v)].result = true;
    }
    if (i.op != Opcode::Call || to < 0) return;
    GraphNode& node = out_.nodes[std::size_t(to)];
    node.line = int(map_.binding(map_.group_of(pc).back()).line);
    // A tensor is not computed from its storage, and nothing from a register that is cleared.
    const std::string& callee = exe_.functions[std::size_t(i.callee)].name;
    if (callee == builtin::AllocTensor || callee == builtin::NullValue || callee == kRelayKill) return;
    if (!node.parameter) node.value = bytecode::instruction_text(exe_, pc);
    for (std::size_t a = 0; a < i.args.size(); ++a)
      if (i.arg(a).kind() == bytecode::ArgKind::Register) connect(held_by(i.arg(a).reg(), pc), to);
  }
  void connect(int from, int to) {
    std::vector<int>& inputs = out_.nodes[std::size_t(to)].inputs;
    if (from < 0 || from == to || std::find(inputs.begin(), inputs.end(), from) != inputs.end()) return;
    inputs.push_back(from);
    out_.nodes[std::size_t(from)].users.push_back(to);
  }

  const CodeMap& map_;
  const bytecode::Executable& exe_;
  FunctionIndex function_;
  BindingGraph& out_;
};

}  // namespace

void add_code(const CodeMap& map, FunctionIndex function, BindingGraph& out) { CodeReader(map, function, out).run(); }

}  // namespace rldb::debug
