// FunctionCompiler: bindings, values, conditionals and calls of operators and functions to virtual instructions.
#include "codegen/vm/function_compiler.h"

#include <fmt/format.h>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/builtin/run.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/operator_text.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/legalize.h"
#include "rldb/runtime/copy.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::codegen {
namespace {

using namespace ir;
using bytecode::FunctionKind;
using bytecode::kVoidRegister;
using bytecode::Opcode;
using runtime::Value;

// Branches and tuples nest in the C++ stack.
constexpr int kMaxDepth = 1000;

bool is_void(const Type* type) {
  const auto* t = as<TupleType>(type);
  return t && t->fields.empty();
}

// An excerpt for a diagnostic: one line, not too long.
std::string brief(const Expr* e) {
  std::string text = print_expr(e);
  if (std::size_t line = text.find('\n'); line != std::string::npos) text = text.substr(0, line) + " ...";
  constexpr std::size_t kWidth = 100;
  if (text.size() > kWidth) text = text.substr(0, kWidth - 4) + " ...";
  return "`" + text + "`";
}

// For display of a register; a type can be longer than the program.
std::string shown(const Type* t) {
  constexpr std::size_t kWidth = 2'000;
  std::string text = print_type(t);
  return text.size() > kWidth ? text.substr(0, kWidth) + "..." : text;
}

}  // namespace

VirtualCode FunctionCompiler::compile(std::string_view name, const Function* f) {
  code_ = {};
  code_.name = name;
  code_.debug.node = f->id;
  code_.debug.span = ctx_.span_of(f);
  slots_ = SlotTable(module_, f);
  registers_.clear();
  for (const Var* p : f->params) {
    code_.params.emplace_back(p->name);
    RegName reg = fresh();
    code_.variables.push_back({std::string(p->name), p->id, reg, 0, ~std::size_t(0), true, shown(p->type)});
    registers_.insert_or_assign(p, Arg::reg(reg));
  }
  Arg result = sequence(f->body);
  debug_ = {};
  debug_.node = f->body->body->id;
  debug_.span = ctx_.span_of(f->body->body);
  VirtualInstruction ret;
  ret.op = Opcode::Ret;
  ret.reg = in_register(result);
  emit(std::move(ret));
  code_.debug.slots = slots_.finish();
  if (slots_.heap())
    if (auto it = registers_.find(slots_.heap()); it != registers_.end()) code_.heap = it->second.reg();
  return std::move(code_);
}

// ---- sequences and bindings ----

Arg FunctionCompiler::sequence(const SeqExpr* seq) {
  for (const BindingBlock* block : seq->blocks)
    for (const Binding* b : block->bindings) binding(b);
  return value(seq->body);
}

void FunctionCompiler::binding(const Binding* b) {
  support::poll();
  debug_ = {};
  debug_.node = b->value->id;
  debug_.binding = b->var->id;
  debug_.variable = b->var->name;
  debug_.span = ctx_.span_of(b);
  if (!debug_.span) debug_.span = ctx_.span_of(b->value);
  if (!debug_.span) debug_.span = ctx_.span_of(b->var);
  slots_.see(b, debug_);
  Arg result = value(b->value);
  // A variable that aliases another gets a register of its own: killing one must not kill the other. A match_cast
  // only gives a name; its checks are already code.
  if (!b->is_match_cast() && !isa<Call>(b->value) && !isa<If>(b->value) && !isa<Tuple>(b->value) &&
      !isa<TupleGetItem>(b->value) && !isa<SeqExpr>(b->value))
    result = emit_call(builtin::Copy, {result}, b->value->type);
  bind(b->var, result);
}

void FunctionCompiler::bind(const Var* var, Arg result) {
  registers_.insert_or_assign(var, result);
  if (result.kind() != bytecode::ArgKind::Register || bytecode::is_special(result.reg())) return;
  if (var->name == "_") return;
  code_.variables.push_back(
      {std::string(var->name), var->id, result.reg(), position(), ~std::size_t(0), false, shown(var->type)});
}

// ---- values ----

Arg FunctionCompiler::value(const Expr* e) {
  if (++depth_ > kMaxDepth) {
    --depth_;
    return fail(e, "this expression", "it nests too deep");
  }
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  switch (e->expr_kind()) {
    case ExprKind::Var:
    case ExprKind::DataflowVar:
      return variable(cast<Var>(e));
    case ExprKind::Constant:
      return constant(cast<Constant>(e));
    case ExprKind::IntImm:
      return builder_.integer(cast<IntImm>(e)->value);
    case ExprKind::FloatImm:
      return builder_.constant(Value::of_float(cast<FloatImm>(e)->value));
    case ExprKind::StringImm:
      return string(cast<StringImm>(e)->value);
    case ExprKind::DTypeImm:
      return builder_.constant(Value::of_dtype(cast<DTypeImm>(e)->value));
    case ExprKind::ShapeExpr:
      return shape(cast<ShapeExpr>(e));
    case ExprKind::GlobalVar:
      return function_name(cast<GlobalVar>(e));
    case ExprKind::ExternFunc:
      return builder_.constant_function(cast<ExternFunc>(e)->symbol);
    case ExprKind::Tuple:
      return tuple(cast<Tuple>(e));
    case ExprKind::TupleGetItem: {
      const auto* get = cast<TupleGetItem>(e);
      return emit_call(builtin::TupleGetItem, {value(get->tuple), builder_.integer(get->index)}, nullptr);
    }
    case ExprKind::Call:
      return call(cast<Call>(e));
    case ExprKind::If:
      return conditional(cast<If>(e));
    case ExprKind::SeqExpr:
      return sequence(cast<SeqExpr>(e));
    case ExprKind::Function:
      return fail(e, "a local function", "it must be lifted into the module first (LambdaLift)");
    case ExprKind::MetaConstant:
      return fail(e, "a constant of a metadata section", "the text did not bring the section");
    case ExprKind::Op:
      return fail(e, brief(e), "an operator is not a value");
    case ExprKind::PrimFunc:
    case ExprKind::OpaqueFunc:
      return fail(e, "a function inside an expression", "it must be a function of the module");
    case ExprKind::Binary:
    case ExprKind::Not:
    case ExprKind::Cast:
    case ExprKind::Select:
    case ExprKind::Let:
      return fail(e, "the scalar expression " + brief(e),
                  "ComputePrimValue and VMShapeLower have not turned it into code");
    case ExprKind::BufferLoad:
    case ExprKind::ProducerLoad:
    case ExprKind::Ramp:
    case ExprKind::Broadcast:
    case ExprKind::Shuffle:
    case ExprKind::CommReducer:
    case ExprKind::Lambda:
      return fail(e, "a " + std::string(to_string(e->kind)), "it has no place in a Relax function");
  }
  RLDB_UNREACHABLE("node kind");
}

Arg FunctionCompiler::variable(const Var* v) {
  auto it = registers_.find(v);
  if (it != registers_.end()) return it->second;
  return fail(v, fmt::format("the variable `{}`", v->name),
              "it has no value here: a symbolic variable that VMShapeLower has not turned into code");
}

Arg FunctionCompiler::string(std::string_view text) {
  if (text.empty()) return builder_.constant(Value::of_string({}));
  const auto known = strings_.find(text.data());
  if (known != strings_.end()) return known->second;
  const Arg made = builder_.constant(Value::of_string(std::string(text)));
  strings_.emplace(text.data(), made);
  return made;
}

Arg FunctionCompiler::constant(const Constant* c) {
  const auto* t = as<TensorType>(c->type);
  std::string_view scope = t && t->vdevice ? t->vdevice->memory_scope : std::string_view();
  Value value = *c->value;
  if (t && t->vdevice) {
    // A program in memory finds it on its device. Files hold bytes, and are loaded to the first device.
    const runtime::Device device{runtime::device_type_of(t->vdevice->target_kind), t->vdevice->device_id};
    if (auto placed = runtime::on_device(value, device); placed.ok()) value = *std::move(placed);
  }
  return builder_.constant(std::move(value), scope == "global" ? std::string_view() : scope);
}

Arg FunctionCompiler::shape(const ShapeExpr* s) {
  std::vector<std::int64_t> dims;
  for (const Expr* d : s->values) {
    const auto* i = as<IntImm>(d);
    if (!i) return fail(s, "the symbolic shape " + brief(s), "VMShapeLower has not turned it into code");
    dims.push_back(i->value);
  }
  return builder_.constant(Value::of_shape(std::move(dims)));
}

Arg FunctionCompiler::tuple(const Tuple* t) { return emit_call(builtin::MakeTuple, values(t->items), nullptr); }

Arg FunctionCompiler::function_name(const GlobalVar* g) {
  const Expr* f = module_->find(g->name);
  if (const auto* external = as<ExternFunc>(f)) return builder_.constant_function(external->symbol);
  if (!f) return fail(g, fmt::format("the function `{}`", g->name), "the module does not have it");
  return Arg::function(builder_.function(g->name, isa<Function>(f) ? FunctionKind::Bytecode : FunctionKind::Packed));
}

std::vector<Arg> FunctionCompiler::values(Span<const Expr*> list) {
  std::vector<Arg> args;
  args.reserve(list.size() + 1);
  for (const Expr* e : list) args.push_back(value(e));
  return args;
}

std::vector<Arg> FunctionCompiler::packed_arguments(const Expr* e) {
  if (const auto* t = as<Tuple>(e)) return values(t->items);
  // A tuple that is a variable: its fields one by one.
  std::vector<Arg> args;
  const auto* type = as<TupleType>(e->type);
  if (!type) return {fail(e, "the arguments " + brief(e), "they are not a tuple")};
  Arg whole = value(e);
  for (std::size_t i = 0; i < type->fields.size(); ++i)
    args.push_back(emit_call(builtin::TupleGetItem, {whole, builder_.integer(std::int64_t(i))}, nullptr));
  return args;
}

Arg FunctionCompiler::conditional(const If* e) {
  bytecode::InstructionDebug outer = debug_;
  RegName merge = is_void(e->type) ? kVoidRegister : fresh();
  Arg cond = emit_call(builtin::ReadIfCond, {value(e->cond)}, nullptr);
  VirtualInstruction branch;
  branch.op = Opcode::If;
  branch.reg = cond.reg();
  std::size_t if_at = emit(std::move(branch));
  auto arm = [&](const SeqExpr* body) {
    std::size_t first = code_.variables.size();
    Arg result = sequence(body);
    debug_ = outer;
    if (merge != kVoidRegister) emit_call_to(builtin::Copy, {result}, merge);
    // Names in a branch end with it.
    for (std::size_t v = first; v < code_.variables.size(); ++v)
      code_.variables[v].end = std::min(code_.variables[v].end, position());
  };
  arm(e->then_branch);
  VirtualInstruction over;
  over.op = Opcode::Goto;
  std::size_t goto_at = emit(std::move(over));
  code_.instructions[if_at].target = position();
  arm(e->else_branch);
  // An empty else: the If and the Goto both land here.
  code_.instructions[goto_at].target = position();
  return Arg::reg(merge);
}

// ---- calls ----

Arg FunctionCompiler::call(const Call* c) {
  if (const auto* op = as<Op>(c->callee)) return call_operator(c, op->name);
  if (const auto* f = as<ExternFunc>(c->callee)) return emit_call(f->symbol, values(c->args), c->type);
  if (const auto* g = as<GlobalVar>(c->callee)) return call_global(c, g);
  if (const auto* v = as<Var>(c->callee)) {
    std::vector<Arg> args{Arg::vm(), variable(v)};
    for (Arg a : values(c->args)) args.push_back(a);
    return emit_call(builtin::InvokeClosure, std::move(args), c->type);
  }
  return fail(c, "the call " + brief(c), "its callee is neither a function of the module nor a variable");
}

Arg FunctionCompiler::call_global(const Call* c, const GlobalVar* g) {
  const Expr* f = module_->find(g->name);
  if (const auto* external = as<ExternFunc>(f)) return emit_call(external->symbol, values(c->args), c->type);
  if (const auto* relax = as<Function>(f)) {
    if (relax->params.size() != c->args.size())
      return fail(c, "the call " + brief(c),
                  fmt::format("`{}` takes {}, {} given", g->name, support::counted(relax->params.size(), "argument"),
                              c->args.size()));
    // An empty tuple that it returns is a value like another; and a return to the void register fails in TVM.
    return emit_call(g->name, values(c->args), nullptr, FunctionKind::Bytecode);
  }
  if (isa<PrimFunc>(f)) return emit_call(g->name, values(c->args), c->type);
  return fail(c, fmt::format("the call of `{}`", g->name),
              f ? "it is not a function that runs here" : "the module does not have it");
}

Arg FunctionCompiler::call_operator(const Call* c, std::string_view op) {
  using Rule = Arg (FunctionCompiler::*)(const Call*);
  static constexpr op::RuleTable<Rule> kRules{
#define RLDB_OP_CODE(Op, function) {op::Id::Op, &FunctionCompiler::function},
#include "rldb/ir/op/rule.def"
  };
  if (const Rule rule = kRules.find(op)) return (this->*rule)(c);
  if (op::has(op, op::Trait::Inspects)) {
    std::vector<Arg> args = values(c->args);
    args.insert(args.begin() + 1, builder_.constant(Value::of_string(std::string(op.substr(op.rfind('.') + 1)))));
    return emit_call(builtin::RunInspect, std::move(args), c->type);
  }
  // A register of its own: a kill of the argument does not take the result.
  if (op::has(op, op::Trait::Identity) && !c->args.empty())
    return emit_call(builtin::Copy, {value(c->args[0])}, c->type);
  if (op::has(op, op::Trait::CallsClosure)) return with_tuple(c, builtin::InvokeClosure, {Arg::vm()});
  return without_code(c);
}

// An operator left by legalisation.
Arg FunctionCompiler::without_code(const Call* c) {
  std::string refusal = why_not_lowered(c);
  if (!refusal.empty() && has_open_type(c)) return at_run_time(c);
  return fail(c, brief(c), fmt::format("CodeGenVM cannot handle this intrinsic now: {}", as<Op>(c->callee)->name),
              std::move(refusal));
}

// f((a, b)) as builtin(args..., f, a, b)
Arg FunctionCompiler::with_tuple(const Call* c, std::string_view builtin, std::vector<Arg> args) {
  if (c->args.size() != 2) return without_code(c);
  args.push_back(value(c->args[0]));
  for (Arg a : packed_arguments(c->args[1])) args.push_back(a);
  return emit_call(builtin, std::move(args), c->type);
}

// The operands' types are known at run time: the operator gets its code then.
Arg FunctionCompiler::at_run_time(const Call* c) {
  at_run_time_.push_back(c);
  std::vector<Arg> args{builder_.constant(Value::of_string(operator_text(ctx_, c)))};
  for (Arg a : values(c->args)) args.push_back(a);
  return emit_call(builtin::CallOperator, std::move(args), c->type);
}

// Why legalisation rejects a call that is still an operator; empty when it does not.
std::string FunctionCompiler::why_not_lowered(const Call* c) {
  if (!ops::Legalizer::has_body(c)) return {};
  ir::ModuleBuilder scratch(ctx_);
  ops::Legalizer legalizer(ctx_, scratch);
  ir::BlockBuilder blocks(ctx_);
  blocks.begin_scope();
  auto made = legalizer.legalize(c, blocks);
  blocks.end_scope(c);
  return made.ok() ? std::string() : made.error().text;
}

Arg FunctionCompiler::call_with_context(const Call* c) {
  const auto* f = c->args.empty() ? nullptr : as<ExternFunc>(c->args[0]);
  if (!f || c->args.size() != 2) return fail(c, brief(c), "it needs a function's name and a tuple of arguments");
  std::vector<Arg> args{Arg::vm()};
  for (Arg a : packed_arguments(c->args[1])) args.push_back(a);
  return emit_call(f->symbol, std::move(args), c->type);
}

// Operands: shape, device index, dtype, scope.
Arg FunctionCompiler::alloc_storage(const Call* c) {
  if (c->args.size() != 4) return fail(c, brief(c), "it needs a shape, a device index, a dtype and a scope");
  std::vector<Arg> args{Arg::vm()};
  for (Arg a : values(c->args)) args.push_back(a);
  return emit_call(builtin::AllocStorage, std::move(args), c->type);
}

// Operands: storage, offset, shape, dtype, and the index of a device that gives the memory scope.
Arg FunctionCompiler::alloc_tensor(const Call* c) {
  if (c->args.size() != 5)
    return fail(c, brief(c), "it needs a storage, an offset, a shape, a dtype and a device index");
  std::vector<Arg> args = values(c->args.first(4));
  const auto* index = as<IntImm>(c->args[4]);
  if (!index) return fail(c, brief(c), "its device index is not a literal");
  if (index->value >= 0 && std::size_t(index->value) < module_->vdevices.size())
    args.push_back(
        builder_.constant(Value::of_string(std::string(module_->vdevices[std::size_t(index->value)]->memory_scope))));
  return emit_call(builtin::AllocTensor, std::move(args), c->type);
}

Arg FunctionCompiler::call_tir_dyn(const Call* c) { return with_tuple(c, builtin::CallTirDyn, {}); }
Arg FunctionCompiler::make_closure(const Call* c) { return with_tuple(c, builtin::MakeClosure, {}); }
Arg FunctionCompiler::null_value(const Call* c) { return emit_call(builtin::NullValue, {}, c->type); }

Arg FunctionCompiler::kill_object(const Call* c) {
  const auto* var = c->args.size() == 1 ? as<Var>(c->args[0]) : nullptr;
  if (!var) return fail(c, brief(c), "only a variable can be killed");
  Arg victim = variable(var);
  if (victim.kind() == bytecode::ArgKind::Register && !bytecode::is_special(victim.reg()))
    emit_call_to(builtin::NullValue, {}, victim.reg());
  return Arg::reg(kVoidRegister);
}

// ---- instructions ----

Arg FunctionCompiler::emit_call(std::string_view callee, std::vector<Arg> args, const Type* type, FunctionKind kind) {
  RegName dst = type && is_void(type) ? kVoidRegister : fresh();
  emit_call_to(callee, std::move(args), dst, kind);
  return Arg::reg(dst);
}

void FunctionCompiler::emit_call_to(std::string_view callee, std::vector<Arg> args, RegName dst, FunctionKind kind) {
  // By name a function of the module can be given any number of arguments. Then the call fails when it is made, as in
  // TVM, and not the executable, whose direct calls are right.
  const auto* own = as<Function>(module_->find(callee));
  if (own && own->params.size() != args.size()) {
    args.insert(args.begin(), {Arg::vm(), Arg::function(builder_.function(callee, FunctionKind::Bytecode))});
    callee = builtin::InvokeClosure;
    kind = FunctionKind::Packed;
  }
  VirtualInstruction i;
  i.op = Opcode::Call;
  i.callee = callee;
  i.callee_kind = kind;
  i.args = std::move(args);
  i.dst = dst;
  builder_.function(callee, kind);
  emit(std::move(i));
}

RegName FunctionCompiler::in_register(Arg a) {
  if (a.kind() == bytecode::ArgKind::Register) return a.reg();
  return emit_call(builtin::Copy, {a}, nullptr).reg();
}

std::size_t FunctionCompiler::emit(VirtualInstruction i) {
  i.debug = debug_;
  // The slots belong to the binding's own call, which is the last instruction that it emits; helpers before it (reading
  // fields of an argument tuple) are rare and do not touch the heap.
  const bool touches_heap = i.op == Opcode::Call && i.callee != builtin::TupleGetItem;
  if (!touches_heap) {
    i.debug.slots_read.clear();
    i.debug.slots_written.clear();
  }
  code_.instructions.push_back(std::move(i));
  return position() - 1;
}

Arg FunctionCompiler::fail(const Node* at, std::string what, std::string why, std::string note) {
  source::Span span = ctx_.span_of(at);
  source::Message m = source::message(diag::CodegenUnsupported, what, why);
  if (!note.empty()) m.notes.push_back({{}, std::move(note)});
  out_.add(span ? span : debug_.span, std::move(m));
  return Arg::reg(kVoidRegister);
}

}  // namespace rldb::codegen
