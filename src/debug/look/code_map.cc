// CodeMap: source bindings, the instructions that belong to each, starts, user variables, dominators.
#include "debug/look/code_map.h"

#include <algorithm>
#include <map>

#include "debug/look/function_tables.h"
#include "debug/look/group_results.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/type.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::FunctionKind;
using bytecode::Instruction;
using bytecode::Opcode;

namespace {

constexpr int kMaxCodeDepth = 500;
constexpr std::size_t kMaxOrigins = 256;

// Nodes that belong to one place only: others (variables, operators, literals) are shared between bindings.
bool is_own(const ir::Node* n) {
  return ir::isa<ir::Call>(n) || ir::isa<ir::Tuple>(n) || ir::isa<ir::TupleGetItem>(n) || ir::isa<ir::If>(n) ||
         ir::isa<ir::ShapeExpr>(n) || ir::isa<ir::SeqExpr>(n) || ir::isa<ir::Function>(n);
}

bool receives(const Instruction& i, bytecode::RegName reg) {
  for (std::size_t a = 0; i.op == Opcode::Call && a < i.args.size(); ++a)
    if (i.arg(a) == bytecode::Arg::reg(reg)) return true;
  return false;
}

// The functions of `built` as they were loaded or entered, regardless of later passes. If the version is not in the
// history: its own functions.
std::vector<ir::ModuleEntry> written_functions(const pipeline::History& history, const ir::Module* built) {
  std::size_t version = history.position();
  if (history.size() == 0 || history.module_at(version) != pipeline::ModuleRef(built))
    return {built->entries.begin(), built->entries.end()};
  std::map<std::string_view, const ir::Expr*> functions;
  for (std::size_t v = 0; v <= version; ++v) {
    if (!history.is_edit(v)) continue;
    const auto* before = history.record(v).before.as<ir::Module>();
    const auto* after = history.module_at(v).as<ir::Module>();
    if (before)
      for (const ir::ModuleEntry& e : before->entries)
        if (!after->find(e.name)) functions.erase(e.name);
    for (const ir::ModuleEntry& e : after->entries)
      if (!before || before->find(e.name) != e.function) functions[e.name] = e.function;
  }
  std::vector<ir::ModuleEntry> list;
  for (const auto& [name, function] : functions) list.push_back({name, function});
  return list;
}

}  // namespace

CodeMap::CodeMap(std::shared_ptr<const session::Build> build, session::Session& session)
    : build_(std::move(build)), session_(session), starts_(build_->executable->instruction_count()) {
  const bytecode::Executable& exe = executable();
  const std::size_t count = std::size_t(exe.instruction_count());
  functions_.assign(count, -1);
  group_of_.assign(count, 0);
  for (std::size_t f = 0; f < exe.functions.size(); ++f)
    if (exe.functions[f].kind == FunctionKind::Bytecode)
      for (Pc pc = exe.functions[f].start; pc < exe.functions[f].end; ++pc)
        functions_[std::size_t(pc)] = FunctionIndex(f);
  if (build_->source) {
    written_ = written_functions(session.history(), build_->source);
    for (const ir::ModuleEntry& entry : written_) {
      const auto* f = ir::as<ir::Function>(entry.function);
      if (!f) continue;
      for (const ir::Var* p : f->params) user_variables_[p->id] = p;
      collect(entry.name, f->body, 0);
    }
    map_instructions();
    leave_out_entries();
    widen_groups();
  } else {
    map_locations();
  }
  has_code_.assign(bindings_.size(), false);
  for (const int g : group_of_)
    for (const int b : groups_[std::size_t(g)]) has_code_[std::size_t(b)] = true;
  mark_starts();
  name_variables();
}

// ---- source bindings ----

int CodeMap::add(UserBinding b) {
  place(b);
  bindings_.push_back(std::move(b));
  return int(bindings_.size()) - 1;
}

void CodeMap::place(UserBinding& b) {
  const source::Buffer* buffer = session_.sources().find(b.span.file);
  if (!buffer) return;
  b.file = buffer->name();
  b.line = buffer->line_column(b.span.begin).line;
}

void CodeMap::collect(std::string_view function, const ir::SeqExpr* body, int depth, int owner) {
  if (!body || depth > kMaxCodeDepth) return;
  UserBinding in;
  in.function = function;
  in.sequence = sequences_++;
  in.owner = owner;
  for (const ir::BindingBlock* block : body->blocks)
    for (const ir::Binding* b : block->bindings) add_binding(in, b, depth);
  // A result that is computed in place is a separate step.
  if (!is_own(body->body)) return;
  UserBinding result = std::move(in);
  result.node = body->body->id;
  result.span = session_.context().span_of(body->body);
  note_values(body->body, add(std::move(result)), function, depth);
}

void CodeMap::add_binding(UserBinding u, const ir::Binding* b, int depth) {
  ir::Context& ctx = session_.context();
  const std::string function = u.function;
  u.name = b->var->name;
  u.binding = b;
  u.node = b->id;
  u.span = ctx.span_of(b);
  if (!u.span) u.span = ctx.span_of(b->value);
  if (!u.span) u.span = ctx.span_of(b->var);
  const int index = add(std::move(u));
  by_node_[b->id] = index;
  by_node_[b->var->id] = index;
  by_variable_[b->var->id] = index;
  user_variables_[b->var->id] = b->var;
  note_values(b->value, index, function, depth);
}

// The nodes of a value, down to nested sequences, whose bindings are separate.
void CodeMap::note_values(const ir::Expr* value, int binding, std::string_view function, int depth) {
  if (!value || depth > kMaxCodeDepth) return;
  std::vector<const ir::Node*> inner;
  ir::walk(value, [&](const ir::Node* n) {
    if (is_own(n)) by_node_.try_emplace(n->id, binding);
    if (ir::isa<ir::SeqExpr>(n) || (ir::isa<ir::Function>(n) && n != value)) {
      inner.push_back(n);
      return false;
    }
    return true;
  });
  for (const ir::Node* n : inner) {
    const auto* f = ir::as<ir::Function>(n);
    if (f)
      for (const ir::Var* p : f->params) user_variables_[p->id] = p;
    collect(function, f ? f->body : ir::as<ir::SeqExpr>(n), depth + 1, binding);
  }
}

// ---- from instructions to bindings ----

std::vector<int> CodeMap::by_provenance(std::uint32_t a, std::uint32_t b) const {
  const auto& origins = session_.context().origins();
  std::vector<std::uint32_t> queue;
  std::vector<int> found;
  for (const std::uint32_t id : {a, b})
    if (id != 0) queue.push_back(id);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (const auto it = by_node_.find(queue[i]); it != by_node_.end()) {
      if (std::find(found.begin(), found.end(), it->second) == found.end()) found.push_back(it->second);
      continue;
    }
    if (queue.size() > kMaxOrigins || parameters_.contains(queue[i])) continue;
    for (const std::uint32_t id : origins.get(queue[i]))
      if (std::find(queue.begin(), queue.end(), id) == queue.end()) queue.push_back(id);
  }
  return found;
}

int CodeMap::group(std::vector<int> bindings) {
  if (bindings.empty()) return 0;
  std::sort(bindings.begin(), bindings.end());
  const auto [it, fresh] = group_numbers_.try_emplace(std::move(bindings), int(groups_.size()));
  if (fresh) groups_.push_back(it->first);
  return it->second;
}

void CodeMap::map_instructions() {
  const bytecode::Executable& exe = executable();
  for (std::size_t f = 0; f < exe.functions.size(); ++f)
    if (const bytecode::FunctionDebug* debug = exe.debug.function(FunctionIndex(f)))
      for (const bytecode::VariableRange& v : debug->variables)
        if (v.is_parameter && v.node != 0) parameters_.insert(v.node);
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> spans;
  auto key = [](source::Span s) { return std::pair(s.file.value, (std::uint64_t(s.begin) << 32) | s.end); };
  for (std::size_t i = 0; i < bindings_.size(); ++i)
    if (bindings_[i].span) spans.try_emplace(key(bindings_[i].span), int(i));
  for (Pc pc = 0; pc < exe.end(); ++pc) {
    const bytecode::InstructionDebug* debug = exe.debug.instruction(pc);
    if (!debug) continue;
    has_debug_info_ = true;
    std::vector<int> found = by_provenance(debug->binding, debug->node);
    if (found.empty() && debug->span)
      if (const auto it = spans.find(key(debug->span)); it != spans.end()) found.push_back(it->second);
    group_of_[std::size_t(pc)] = group(std::move(found));
  }
}

// The code with which a lifted function begins comes from the binding of the local function. That binding makes the
// closure, where the function is written: it is not done again in each call.
void CodeMap::leave_out_entries() {
  std::map<FunctionIndex, std::unordered_set<int>> owners;  // of the bindings that a function has code for
  for (std::size_t pc = 0; pc < group_of_.size(); ++pc)
    for (const int b : group_of(Pc(pc))) owners[functions_[pc]].insert(binding(b).owner);
  for (std::size_t pc = 0; pc < group_of_.size(); ++pc) {
    const std::vector<int>& all = group_of(Pc(pc));
    if (all.size() != 1) continue;
    const UserBinding& b = binding(all.front());
    const bool local = b.binding && ir::isa<ir::Function>(b.binding->value) && b.function != function_name(Pc(pc));
    if (local && owners[functions_[pc]].contains(all.front())) group_of_[pc] = 0;
  }
}

// The allocation before a fused kernel's call comes from the one binding that the tensor is for: it serves the whole
// group that the call serves.
void CodeMap::widen_groups() {
  std::unordered_map<int, int> largest;  // by binding
  for (std::size_t g = 1; g < groups_.size(); ++g)
    for (const int b : groups_[g]) {
      int& best = largest[b];
      if (groups_[g].size() > groups_[std::size_t(best)].size()) best = int(g);
    }
  for (int& g : group_of_) {
    if (g == 0) continue;
    const std::vector<int>& small = groups_[std::size_t(g)];
    const int wide = largest[small.front()];
    const std::vector<int>& all = groups_[std::size_t(wide)];
    if (std::includes(all.begin(), all.end(), small.begin(), small.end())) g = wide;
  }
}

// An executable from a file: one binding per source location, or, without locations, one per variable name.
void CodeMap::map_locations() {
  const bytecode::Executable& exe = executable();
  std::map<std::tuple<FunctionIndex, std::uint32_t, std::uint32_t, std::uint32_t, std::string>, int> known;
  std::map<std::pair<FunctionIndex, std::string>, int> named;  // the latest with a location
  for (Pc pc = 0; pc < exe.end(); ++pc) {
    const bytecode::InstructionDebug* debug = exe.debug.instruction(pc);
    if (!debug) continue;
    const bytecode::Location at = debug->location;
    if (debug->variable.empty() || (at.file == 0 && debug->variable == "_")) continue;
    has_debug_info_ = true;
    // Code that lowering adds for a variable, such as the tuple of a kernel's results, has no location of its own.
    if (const auto of = named.find({function_of(pc), debug->variable}); at.file == 0 && of != named.end()) {
      group_of_[std::size_t(pc)] = group({of->second});
      continue;
    }
    // Variables made by lowering are at the location of the binding they serve.
    const std::string name = at.file ? std::string() : debug->variable;
    const auto [it, fresh] = known.try_emplace({function_of(pc), at.file, at.line, at.column, name}, -1);
    if (fresh) {
      UserBinding b;
      b.function = function_name(pc);
      b.name = debug->variable;
      b.file = exe.debug.file(at);
      b.line = at.line;
      b.span = debug->span;  // in a loaded text
      bindings_.push_back(std::move(b));
      it->second = int(bindings_.size()) - 1;
    } else if (debug->variable != "_") {
      bindings_[std::size_t(it->second)].name = debug->variable;  // the last one is the user's name
    }
    if (at.file != 0 && debug->variable != "_") named.insert_or_assign({function_of(pc), debug->variable}, it->second);
    group_of_[std::size_t(pc)] = group({it->second});
  }
}

// Registers are cleared, and memory is allocated, at other places than where a binding's result is computed.
CodeMap::Work CodeMap::work_at(Pc pc) const {
  const Instruction i = executable().instruction(pc);
  if (i.op != Opcode::Call) return Work::None;
  const std::string& callee = executable().functions[std::size_t(i.callee)].name;
  if (callee == builtin::NullValue) return Work::None;
  return callee == builtin::AllocStorage || callee == builtin::AllocTensor ? Work::Memory : Work::Result;
}

bool CodeMap::is_inlined(Pc pc) const {
  const std::vector<int>& group = group_of(pc);
  return std::all_of(group.begin(), group.end(), [&](int b) { return binding(b).function != function_name(pc); });
}

void CodeMap::mark_starts() {
  const Pc end = executable().end();
  if (bindings_.empty()) {
    for (Pc pc = 0; pc < end; ++pc) starts_.set(pc);
    return;
  }
  FunctionIndex function = -1;
  std::vector<FunctionIndex> seen(groups_.size(), -1);  // function in which the group was last seen
  int last = 0;                                         // the group that was worked for last
  std::vector<FunctionIndex> done(groups_.size(), -1);  // function in which work for the group was seen
  for (Pc pc = 0; pc < end; ++pc) {
    function = function_of(pc);
    const int g = group_of_[std::size_t(pc)];
    // A function that was inlined more than once: its bindings begin anew.
    if (const Work work = work_at(pc); g != 0 && work != Work::None) {
      const bool again = g != last && done[std::size_t(g)] == function && is_inlined(pc);
      if (again) seen[std::size_t(g)] = done[std::size_t(g)] = -1;
      if (work == Work::Result) done[std::size_t(g)] = function;
      last = g;
    }
    if (g == 0 || seen[std::size_t(g)] == function) continue;
    // A result that is merely returned is not a step.
    const Instruction i = executable().instruction(pc);
    if (i.op == Opcode::Ret) continue;
    seen[std::size_t(g)] = function;
    starts_.set(pc);
  }
}

// ---- queries ----

const std::string& CodeMap::function_name(Pc pc) const {
  static const std::string none;
  const FunctionIndex f = pc >= 0 && std::size_t(pc) < functions_.size() ? function_of(pc) : -1;
  return f < 0 ? none : executable().functions[std::size_t(f)].name;
}

std::vector<Site> CodeMap::starts_of(int binding) const {
  std::vector<Site> found;
  if (!has_code(binding)) return found;
  for (Pc pc = 0; pc < Pc(group_of_.size()); ++pc) {
    if (!starts_.test(pc)) continue;
    const std::vector<int>& group = group_of(pc);
    const auto at = std::find(group.begin(), group.end(), binding);
    if (at != group.end()) found.push_back({pc, int(at - group.begin())});
  }
  return found;
}

int CodeMap::find_binding(std::string_view function, std::string_view name, int at) const {
  int found = -1;
  for (int i = 0; i < int(bindings_.size()); ++i) {
    const UserBinding& b = binding(i);
    if (b.name != name || b.function != function) continue;
    if (found < 0 || i <= at) found = i;
  }
  return found;
}

std::vector<int> CodeMap::find_bindings(std::string_view function, std::string_view name, int at) const {
  std::vector<int> before, after;
  for (int i = 0; i < int(bindings_.size()); ++i) {
    if (binding(i).name != name || binding(i).function != function) continue;
    (i <= at ? before : after).push_back(i);
  }
  std::reverse(before.begin(), before.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

BindingReach CodeMap::reached(int binding, int here) const {
  // From `here` outwards: the binding that runs, by sequence. One whose value contains the place is not computed yet.
  std::unordered_map<int, int> running;
  for (int at = here; at >= 0; at = this->binding(at).owner) running.emplace(this->binding(at).sequence, at);
  bool outer = false;  // the binding is in one that is in the same sequence as a running one
  for (int at = binding; at >= 0; at = this->binding(at).owner, outer = true) {
    const auto it = running.find(this->binding(at).sequence);
    if (it == running.end()) continue;
    if (at < it->second) return outer ? BindingReach::Perhaps : BindingReach::Yes;
    return BindingReach::No;  // later, or in another branch of the `if` that runs
  }
  return BindingReach::No;
}

int CodeMap::last_binding_before(Pc pc) const {
  const FunctionIndex function = function_of(pc);
  if (function < 0) return -1;
  int last = -1;
  for (Pc at = executable().functions[std::size_t(function)].start; at < pc; ++at)
    if (starts_.test(at) && !group_of(at).empty()) last = std::max(last, group_of(at).back());
  return last;
}

int CodeMap::binding_of_variable(const ir::Var* v) const {
  const auto it = by_variable_.find(v->id);
  return it == by_variable_.end() ? -1 : it->second;
}

const ir::Var* CodeMap::alias_of(const ir::Var* v) const {
  const int i = binding_of_variable(v);
  const ir::Binding* b = i < 0 ? nullptr : binding(i).binding;
  if (!b) return nullptr;
  const auto* other = ir::as<ir::Var>(b->value);
  return other ? other : overwritten_by(b);
}

const ir::Var* CodeMap::overwritten_by(const ir::Binding* b) const {
  const auto* call = ir::as<ir::Call>(b->value);
  const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
  if (!op || op->name != op::CallTirInplace || call->args.size() < 2 || ir::as<ir::TupleType>(b->var->type))
    return nullptr;
  const ir::Attr* indices = ir::find_attr(call->attrs, op_attr::InplaceIndices);
  const auto* args = ir::as<ir::Tuple>(call->args[1]);
  if (!indices || !args || indices->items.size() != 1) return nullptr;
  const std::int64_t i = indices->items[0]->integer;
  return i < 0 || std::size_t(i) >= args->items.size() ? nullptr : ir::as<ir::Var>(args->items[std::size_t(i)]);
}

bool CodeMap::overwrites() const {
  return std::any_of(bindings_.begin(), bindings_.end(), [](const UserBinding& b) {
    const auto* call = b.binding ? ir::as<ir::Call>(b.binding->value) : nullptr;
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    return op && (op->name == op::CallTirInplace || op->name == op::CallInplacePacked);
  });
}

Pc CodeMap::computed_at(int binding, FunctionIndex function) const {
  const bytecode::FunctionEntry& f = executable().functions[std::size_t(function)];
  Pc found = -1;
  for (Pc pc = f.start; pc < f.end; ++pc) {
    const std::vector<int>& group = group_of(pc);
    if (work_at(pc) == Work::Result && std::find(group.begin(), group.end(), binding) != group.end()) found = pc + 1;
  }
  return found;
}

Pc CodeMap::value_begins(const UserVariable& v) const {
  const Pc made = v.range->begin - 1;
  if (made < 0 || work_at(made) != Work::Memory) return v.begin;
  for (Pc pc = v.range->begin; pc < v.range->end; ++pc)
    if (work_at(pc) == Work::Result && receives(executable().instruction(pc), v.range->reg))
      return std::max(v.begin, pc + 1);
  return v.begin;
}

bool CodeMap::has_variable(FunctionIndex function, std::uint32_t variable) const {
  const std::vector<UserVariable>& all = variables(function);
  return std::any_of(all.begin(), all.end(), [&](const UserVariable& v) { return v.id == variable; });
}

bool CodeMap::was_executed(int binding, Pc pc) const {
  for (const Site& site : starts_of(binding))
    if (runs_before(site.pc, pc)) return true;
  return false;
}

const ir::Module* CodeMap::written_module() const {
  if (!written_module_ && build_->source) {
    ir::ModuleBuilder builder(session_.context());
    for (const ir::ModuleEntry& e : written_) builder.set(e.name, e.function);
    builder.set_global_infos(build_->source->global_infos, build_->source->vdevices);
    written_module_ = builder.build();
  }
  return written_module_;
}

std::string CodeMap::kernel_of_group(Pc pc) const {
  const int g = group_of_[std::size_t(pc)];
  const bytecode::FunctionEntry& f = executable().functions[std::size_t(function_of(pc))];
  std::string name;
  for (Pc at = pc; at < f.end; ++at) {
    if (group_of_[std::size_t(at)] != g) continue;
    const Instruction i = executable().instruction(at);
    if (i.op != Opcode::Call) continue;
    const std::string& callee = executable().functions[std::size_t(i.callee)].name;
    if (!build_->lowered || !ir::isa<ir::PrimFunc>(build_->lowered->find(callee))) continue;
    if (!name.empty() && name != callee) return {};
    name = callee;
  }
  return name;
}

int CodeMap::only_call(std::string_view function, std::string_view callee) const {
  int found = -1;
  for (int i = 0; i < int(bindings_.size()); ++i) {
    const UserBinding& b = binding(i);
    const auto* call = b.function == function && b.binding ? ir::as<ir::Call>(b.binding->value) : nullptr;
    const auto* target = call ? ir::as<ir::GlobalVar>(call->callee) : nullptr;
    if (!target || target->name != callee) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

Pc CodeMap::entry(FunctionIndex function) const {
  const bytecode::FunctionEntry& f = executable().functions[std::size_t(function)];
  if (!bindings_.empty())
    for (Pc pc = f.start; pc < f.end; ++pc)
      if (starts_.test(pc)) return pc;
  return f.start;
}

std::vector<Pc> CodeMap::returns(FunctionIndex function) const {
  const bytecode::FunctionEntry& f = executable().functions[std::size_t(function)];
  std::vector<Pc> found;
  for (Pc pc = f.start; pc < f.end; ++pc)
    if (executable().instruction(pc).op == Opcode::Ret) found.push_back(pc);
  return found;
}

Position CodeMap::position(Pc pc, int part) const {
  Position p;
  p.pc = pc;
  if (pc < 0 || std::size_t(pc) >= functions_.size()) return p;
  p.function = function_name(pc);
  const bytecode::InstructionDebug* debug = executable().debug.instruction(pc);
  const std::vector<int>& group = group_of(pc);
  if (!group.empty()) {
    const UserBinding& b = binding(group[std::min(std::size_t(part), group.size() - 1)]);
    p.part = part;
    p.written_in = b.function;
    p.binding = b.name;
    p.node = b.node;
    p.span = b.span;
    if (group.size() > 1) {
      p.kernel = kernel_of_group(pc);
      for (const int i : group) p.group.push_back(binding(i).name);
    }
  } else if (debug) {
    p.node = debug->node;
    p.span = debug->span;
  }
  if (!p.span && function_of(pc) >= 0)
    if (const bytecode::FunctionDebug* f = executable().debug.function(function_of(pc))) p.span = f->span;
  return p;
}

const ir::Var* CodeMap::written_variable(const bytecode::VariableRange& v) const {
  std::vector<std::uint32_t> queue{v.node};
  for (std::size_t i = 0; i < queue.size() && queue.size() < kMaxOrigins; ++i) {
    if (const auto it = user_variables_.find(queue[i]); it != user_variables_.end()) return it->second;
    for (const std::uint32_t id : session_.context().origins().get(queue[i])) queue.push_back(id);
  }
  return nullptr;
}

Pc CodeMap::filled_at(const bytecode::VariableRange& v, int binding) const {
  Pc begin = v.begin;
  const auto serves = [&](Pc pc) {
    const std::vector<int>& group = group_of(pc);
    return std::find(group.begin(), group.end(), binding) != group.end();
  };
  for (Pc pc = v.begin; pc < v.end && serves(pc); ++pc) {
    const Instruction i = executable().instruction(pc);
    if (receives(i, v.reg)) begin = pc + 1;
  }
  return begin;
}

std::optional<UserVariable> CodeMap::user_variable(const bytecode::VariableRange& v,
                                                   const GroupResults& results) const {
  if (v.name == "_") return std::nullopt;
  if (!build_->source || v.node == 0) return UserVariable{v.name, 0, &v, v.begin};
  const ir::Var* written = written_variable(v);
  if (!written)
    return v.is_parameter ? std::optional(UserVariable{v.name, 0, &v, v.begin}) : result_variable(v, results);
  UserVariable made{std::string(written->name), written->id, &v, v.begin};
  if (written->id == v.node || v.is_parameter) return made;
  // Lowering made it for the variable: its value, or an intermediate shape or storage.
  if (const std::vector<int>& group = group_filling(v); group.size() > 1) return shared_variable(v, group, results);
  if (!can_hold(v.type, written->type)) return std::nullopt;
  made.begin = filled_at(v, binding_of_variable(written));
  return made;
}

const std::vector<int>& CodeMap::group_filling(const bytecode::VariableRange& v) const {
  const Pc made = std::max<Pc>(v.begin - 1, 0);
  if (work_at(made) != Work::Memory) return group_of(made);
  for (Pc pc = v.begin; pc < v.end; ++pc)
    if (const Instruction i = executable().instruction(pc); work_at(pc) == Work::Result && receives(i, v.reg))
      return group_of(pc);
  return groups_.front();
}

// Of code that serves several bindings.
std::optional<UserVariable> CodeMap::shared_variable(const bytecode::VariableRange& v, const std::vector<int>& group,
                                                     const GroupResults& results) const {
  const int b = results.result_of(group, v.type);
  if (b < 0 || binding(b).name == "_") return std::nullopt;
  return UserVariable{binding(b).name, binding(b).binding->var->id, &v, filled_at(v, b)};
}

// The tensor, tuple or shape that lowered code makes for a binding's result under another name.
std::optional<UserVariable> CodeMap::result_variable(const bytecode::VariableRange& v,
                                                     const GroupResults& results) const {
  if (v.is_parameter || v.begin < 1) return std::nullopt;
  if (const std::vector<int>& group = group_filling(v); group.size() > 1) return shared_variable(v, group, results);
  const std::vector<int> from = by_provenance(v.node, 0);
  const int b = from.empty() ? -1 : from.front();
  if (b < 0 || !binding(b).binding || binding(b).name == "_") return std::nullopt;
  const ir::Type* type = binding(b).binding->var->type;
  if (!is_of_one_kind(type) || !can_hold(v.type, type)) return std::nullopt;
  return UserVariable{binding(b).name, binding(b).binding->var->id, &v, filled_at(v, b)};
}

void CodeMap::name_variables() {
  const bytecode::Executable& exe = executable();
  const GroupResults results(bindings_, written_);
  variables_.resize(exe.functions.size());
  for (std::size_t f = 0; f < exe.functions.size(); ++f) {
    const bytecode::FunctionDebug* debug = exe.debug.function(FunctionIndex(f));
    if (!debug) continue;
    std::unordered_map<std::string_view, std::uint32_t> ids;  // for a program without a module: told apart by name
    for (const bytecode::VariableRange& v : debug->variables) {
      auto made = user_variable(v, results);
      if (!made) continue;
      if (!build_->source) made->id = ids.try_emplace(v.name, std::uint32_t(ids.size() + 1)).first->second;
      variables_[f].push_back(*std::move(made));
    }
  }
}

const FunctionTables& CodeMap::tables(FunctionIndex function) const {
  std::shared_ptr<const FunctionTables>& made = tables_[function];
  if (!made) made = std::make_shared<const FunctionTables>(*this, function);
  return *made;
}

// The tree of a function's instructions (relative pcs) by immediate dominator, found by the algorithm of Cooper, Harvey
// and Kennedy. Jumps go forward in compiled code, so one sweep in text order is enough; hand-made loops need more.
const CodeMap::DominatorTree& CodeMap::dominators(FunctionIndex function) const {
  if (const auto it = dominators_.find(function); it != dominators_.end()) return it->second;
  std::vector<std::int64_t> idom;
  const bytecode::FunctionEntry& f = executable().functions[std::size_t(function)];
  const std::int64_t count = f.end - f.start;
  std::vector<std::vector<std::int64_t>> before(static_cast<std::size_t>(count));
  auto edge = [&](std::int64_t from, std::int64_t to) {
    if (to >= 0 && to < count) before[std::size_t(to)].push_back(from);
  };
  for (std::int64_t at = 0; at < count; ++at) {
    const Instruction i = executable().instruction(f.start + at);
    switch (i.op) {
      case Opcode::Call:
        edge(at, at + 1);
        break;
      case Opcode::If:
        edge(at, at + 1);
        edge(at, at + i.offset);
        break;
      case Opcode::Goto:
        edge(at, at + i.offset);
        break;
      case Opcode::Ret:
        break;
    }
  }
  idom.assign(std::size_t(count), -1);
  if (count > 0) idom[0] = 0;
  auto meet = [&](std::int64_t a, std::int64_t b) {
    while (a != b) (a > b ? a : b) = idom[std::size_t(a > b ? a : b)];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::int64_t at = 1; at < count; ++at) {
      support::poll();
      std::int64_t best = -1;
      for (const std::int64_t from : before[std::size_t(at)])
        if (idom[std::size_t(from)] >= 0) best = best < 0 ? from : meet(best, from);
      if (best >= 0 && best < at && idom[std::size_t(at)] != best) {
        idom[std::size_t(at)] = best;
        changed = true;
      }
    }
  }
  // Numbered so that what an instruction dominates follows it without a gap. A dominator is before what it dominates.
  std::vector<std::int64_t> size(idom.size(), 1);
  for (std::size_t at = idom.size(); at-- > 1;)
    if (idom[at] >= 0) size[std::size_t(idom[at])] += size[at];
  DominatorTree tree;
  tree.number.assign(idom.size(), -1);
  tree.end.assign(idom.size(), -1);
  std::vector<std::int64_t> next(idom.size(), 0);  // number of the next instruction that this one dominates
  for (std::size_t at = 0; at < idom.size(); ++at) {
    if (idom[at] < 0) continue;
    std::int64_t& number = next[std::size_t(idom[at])];
    tree.number[at] = number;
    tree.end[at] = number + size[at];
    number += size[at];
    next[at] = tree.number[at] + 1;
  }
  return dominators_.emplace(function, std::move(tree)).first->second;
}

bool CodeMap::runs_before(Pc earlier, Pc later) const {
  const FunctionIndex function = function_of(later);
  if (function < 0 || function_of(earlier) != function || earlier >= later) return false;
  const DominatorTree& tree = dominators(function);
  const Pc start = executable().functions[std::size_t(function)].start;
  const auto a = std::size_t(earlier - start), b = std::size_t(later - start);
  return tree.number[a] >= 0 && tree.number[b] >= tree.number[a] && tree.number[b] < tree.end[a];
}

}  // namespace rldb::debug
