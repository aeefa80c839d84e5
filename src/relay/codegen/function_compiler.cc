// Compiles expressions in A-normal form to instructions. Recursion is over scopes; chains of lets are loops.
#include "relay/codegen/function_compiler.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/vm/object.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

std::size_t FunctionCompiler::emit(Opcode op, std::vector<Word> fields) {
  fields.insert(fields.begin(), Word(op));
  code_.push_back(std::move(fields));
  places_.push_back(here_);
  return code_.size() - 1;
}

FunctionCompiler::Reg FunctionCompiler::emit_to(Opcode op, std::vector<Word> before, std::vector<Word> after) {
  const Reg dst = new_register();
  before.push_back(dst);
  before.insert(before.end(), after.begin(), after.end());
  emit(op, std::move(before));
  return dst;
}

void FunctionCompiler::patch_jump(std::size_t at, std::size_t field) {
  code_[at][field + 1] = Word(code_.size()) - Word(at);
}

void FunctionCompiler::kill(Reg r) {
  if (const auto held = held_.find(r); held != held_.end())
    for (const std::size_t v : held->second)
      if (variables_[v].end < 0) variables_[v].end = bytecode::Pc(code_.size());
  emit(Opcode::KillRegister, {r});
}

std::string FunctionCompiler::name_of(const Var* v) const {
  if (tables_.names)
    if (const auto known = tables_.names->find(v); known != tables_.names->end()) return known->second;
  return std::string(v->name.empty() ? "_" : v->name);
}

bool FunctionCompiler::is_hidden(const Var* v) const { return name_of(v).empty(); }

void FunctionCompiler::begin_variable(const Var* v, bool is_parameter) {
  bytecode::VariableRange range;
  range.name = name_of(v);
  range.reg = bytecode::RegName(of_.at(v));
  // An alias of a parameter exists from the first instruction on, and ranges begin after an instruction.
  range.begin = bytecode::Pc(std::max<std::size_t>(code_.size(), is_parameter ? 0 : 1));
  range.end = -1;
  range.is_parameter = is_parameter;
  const Type* type = v->annotation || !tables_.types ? v->annotation : tables_.types(v);
  if (type) range.type = print_type(type);
  held_[of_.at(v)].push_back(variables_.size());
  variables_.push_back(std::move(range));
}

void FunctionCompiler::end_scope(std::size_t count) {
  for (std::size_t i = count; i < variables_.size(); ++i)
    if (variables_[i].end < 0) variables_[i].end = std::max(variables_[i].begin, bytecode::Pc(code_.size()));
}

void FunctionCompiler::run() {
  const Function* f = definition_.function;
  relay_bytecode::FunctionEntry entry;
  entry.name = definition_.name->name;
  const auto add_params = [&](const Function* from) {
    for (const Var* p : from->params) {
      entry.params.emplace_back(p->name);
      entry.param_devices.push_back(std::int64_t(tables_.plan.device_of(p)));
      of_[p] = new_register();
      begin_variable(p, true);
    }
  };
  add_params(f);
  // A function that makes closures takes the captured values, then the arguments.
  if (has_attr(f, attr_name::Closure)) {
    f = as<Function>(f->body);
    if (!f) return unsupported(definition_.function, "a function marked `Closure` that returns no function");
    add_params(f);
  }
  const Reg result = scope(f->body);
  emit(Opcode::Ret, {result});
  entry.register_file_size = registers_;
  relay_bytecode::Executable& exe = tables_.exe;
  entry.start = exe.end();
  for (const auto& words : code_) exe.add(words);
  entry.end = exe.end();
  end_scope(0);
  bytecode::FunctionDebug debug;
  debug.span = tables_.ctx.span(definition_.function);
  for (bytecode::VariableRange& v : variables_) {
    v.begin += entry.start.value();
    v.end += entry.start.value();
  }
  debug.variables = std::move(variables_);
  exe.debug.functions.push_back(std::move(debug));
  exe.debug.instructions.insert(exe.debug.instructions.end(), places_.begin(), places_.end());
  exe.functions.push_back(std::move(entry));
}

void FunctionCompiler::unsupported(const Expr* e, std::string_view what) {
  tables_.out.add(tables_.ctx.span(e), source::message(diag::RelayNotCompiled, what));
}

FunctionCompiler::Reg FunctionCompiler::scope(const Expr* e) {
  std::vector<const Let*> chain;
  for (; e->kind == ExprKind::Let; e = cast<Let>(e).body) chain.push_back(&cast<Let>(e));
  const bytecode::InstructionDebug outer = here_;
  const std::size_t outside = variables_.size();
  std::size_t owner = 0;  // the binding that owns unnamed ones before it
  for (std::size_t i = 0; i < chain.size(); ++i) {
    support::poll();
    if (i >= owner) {
      owner = i;
      while (owner + 1 < chain.size() && is_hidden(chain[owner]->var)) ++owner;
    }
    // An alias, and the kills after it, belong to the binding before them.
    const OpInfo* op = operator_of(chain[i]->value);
    if (chain[i]->value->kind != ExprKind::Var && (!op || op->id != op::MemoryKill)) {
      here_.span = tables_.ctx.span(chain[i]->value);
      here_.variable = is_hidden(chain[owner]->var) ? "_" : name_of(chain[owner]->var);
    }
    binding(*chain[i]);
    if (i == owner) ++owner;
  }
  here_ = outer;
  const Reg result = value(e);
  end_scope(outside);
  return result;
}

void FunctionCompiler::binding(const Let& l) {
  std::optional<Reg> made;
  const auto* c = as<Call>(l.value);
  if (!c || !machine_call(*c, made)) made = value(l.value);
  if (!made) {
    units_.insert(l.var);
    return;
  }
  of_[l.var] = *made;
  if (!is_hidden(l.var)) begin_variable(l.var);
}

FunctionCompiler::Reg FunctionCompiler::atom(const Expr* e) {
  if (const auto found = of_.find(e); found != of_.end()) return found->second;
  return value(e);
}

FunctionCompiler::Regs FunctionCompiler::atoms(Span<const Expr*> list) {
  Regs out;
  for (const Expr* e : list) out.push_back(atom(e));
  return out;
}

FunctionCompiler::Reg FunctionCompiler::value(const Expr* e) {
  switch (e->kind) {
    case ExprKind::Var:
      if (const auto found = of_.find(e); found != of_.end()) return found->second;
      if (units_.contains(e)) return emit_to(Opcode::AllocADT, {0, 0});
      unsupported(e, fmt::format("the variable `%{}`, which is not bound here,", cast<Var>(e).name));
      return 0;
    case ExprKind::Constant:
      return load(cast<Constant>(e));
    case ExprKind::GlobalVar: {
      const std::int64_t index = tables_.function(cast<GlobalVar>(e).name);
      if (index < 0)
        unsupported(e, fmt::format("a call of `@{}`, which the module does not have,", cast<GlobalVar>(e).name));
      return emit_to(Opcode::AllocClosure, {index, 0});
    }
    case ExprKind::Tuple: {
      const Regs fields = atoms(cast<Tuple>(e).fields);
      return emit_to(Opcode::AllocADT, {0, Word(fields.size())}, fields);
    }
    case ExprKind::Projection:
      return emit_to(Opcode::GetField, {atom(cast<Projection>(e).tuple), cast<Projection>(e).index});
    case ExprKind::Call:
      return call(cast<Call>(e));
    case ExprKind::If:
      return if_expr(cast<If>(e));
    case ExprKind::Match:
      return match(cast<Match>(e));
    case ExprKind::RefCreate:
      return emit_to(Opcode::Move, {atom(cast<RefCreate>(e).value)});
    case ExprKind::RefRead:
      return emit_to(Opcode::Move, {atom(cast<RefRead>(e).reference)});
    case ExprKind::RefWrite:
      return reference_write(cast<RefWrite>(e));
    case ExprKind::Op:
    case ExprKind::Constructor:
    case ExprKind::Function:
    case ExprKind::Let:
      break;
  }
  unsupported(e, fmt::format("a {} as a value", to_string(e->kind)));
  return 0;
}

FunctionCompiler::Reg FunctionCompiler::reference_write(const RefWrite& w) {
  invoke_packed(tables_.copy(), {atom(w.value)}, {atom(w.reference)});
  return emit_to(Opcode::AllocADT, {0, 0});
}

// Says where a value is, which is where it was made: a constant is loaded there.
FunctionCompiler::Reg FunctionCompiler::on_device(const Call& c) {
  const auto* constant = as<Constant>(c.args[0]);
  if (constant) return load(*constant, tables_.plan.device_of(&c));
  return emit_to(Opcode::Move, {atom(c.args[0])});
}

FunctionCompiler::Reg FunctionCompiler::call(const Call& c) {
  if (const auto* f = as<Function>(c.callee)) {
    unsupported(&c, is_primitive(f) ? "a call of a primitive function without storage for its results"
                                    : "a call of a function that was not lifted");
    return 0;
  }
  std::optional<Reg> machine;
  if (machine_call(c, machine)) return machine ? *machine : emit_to(Opcode::AllocADT, {0, 0});
  const OpInfo* says = operator_of(&c);
  if (says && says->id == op::OnDevice && c.args.size() == 1) return on_device(c);
  const Regs args = atoms(c.args);
  if (const auto* k = as<Constructor>(c.callee))
    return emit_to(Opcode::AllocADT, {relay_vm::constructor_tag(k->type_name, k->index), Word(args.size())}, args);
  if (const auto* g = as<GlobalVar>(c.callee)) {
    const std::int64_t index = tables_.function(g->name);
    const Function* callee = tables_.definition(g->name);
    if (index < 0) {
      unsupported(&c, fmt::format("a call of `@{}`, which the module does not have,", g->name));
      return 0;
    }
    const bool closure = has_attr(callee, attr_name::Closure);
    return emit_to(closure ? Opcode::AllocClosure : Opcode::Invoke, {index, Word(args.size())}, args);
  }
  if (const auto* o = as<Op>(c.callee)) {
    unsupported(&c, fmt::format("a call of `{}` outside of a primitive function", o->info->name));
    return 0;
  }
  return emit_to(Opcode::InvokeClosure, {atom(c.callee), Word(args.size())}, args);
}

FunctionCompiler::Reg FunctionCompiler::if_expr(const If& e) {
  const Reg condition = atom(e.condition);
  const Reg one = emit_to(Opcode::LoadConsti, {1});
  const Reg merged = new_register();
  const std::size_t branch = emit(Opcode::If, {condition, one, 1, 0});
  emit(Opcode::Move, {scope(e.consequence), merged});
  const std::size_t over = emit(Opcode::Goto, {0});
  patch_jump(branch, 3);
  emit(Opcode::Move, {scope(e.alternative), merged});
  patch_jump(over, 0);
  return merged;
}

void FunctionCompiler::test_fields(const Pattern* p, Reg value, std::vector<Jump>& misses) {
  for (std::size_t i = 0; i < p->parts.size(); ++i) {
    if (p->parts[i]->kind == PatternKind::Wildcard) continue;
    test(p->parts[i], emit_to(Opcode::GetField, {value, Word(i)}), misses);
  }
}

void FunctionCompiler::test(const Pattern* p, Reg value, std::vector<Jump>& misses) {
  switch (p->kind) {
    case PatternKind::Wildcard:
      return;
    case PatternKind::Variable:
      // A separate register, so that it can be released while the whole lives on.
      of_[p->var] = emit_to(Opcode::Move, {value});
      begin_variable(p->var);
      return;
    case PatternKind::Tuple:
      return test_fields(p, value, misses);
    case PatternKind::Constructor: {
      const Reg tag = emit_to(Opcode::GetTag, {value});
      const Reg wanted =
          emit_to(Opcode::LoadConsti, {relay_vm::constructor_tag(p->constructor->type_name, p->constructor->index)});
      misses.push_back({emit(Opcode::If, {tag, wanted, 1, 0}), 3});
      return test_fields(p, value, misses);
    }
  }
}

// Arm by arm: tests, which jump to the next arm; the body; a jump past the last. Code for each arm is emitted once.
FunctionCompiler::Reg FunctionCompiler::match(const Match& m) {
  const Reg value = atom(m.value);
  const Reg merged = new_register();
  std::vector<std::size_t> ends;
  bool open = true;  // can a value reach the code after the arms?
  for (const Arm& arm : m.arms) {
    if (!open) break;  // arms after one that matches everything
    std::vector<Jump> misses;
    const std::size_t outside = variables_.size();
    test(arm.pattern, value, misses);
    emit(Opcode::Move, {scope(arm.body), merged});
    end_scope(outside);
    ends.push_back(emit(Opcode::Goto, {0}));
    for (const Jump& j : misses) patch_jump(j.at, j.field);
    open = !misses.empty();
  }
  if (open) emit(Opcode::Fatal, {});
  for (const std::size_t at : ends) patch_jump(at, 0);
  return merged;
}

}  // namespace rldb::relay
