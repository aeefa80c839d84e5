// Rules about Relax functions: scopes (4 to 8, 18), form (1, 9 to 11, 14, 15), purity (12, 13), annotations (16).
#include "rldb/ir/attr_name/relax.h"

#include <algorithm>

#include "ir/verify/verifier_impl.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"

namespace rldb::ir::verify_detail {

namespace {

// Expressions that may be operands without a binding of their own.
bool is_operand(const Expr* e) {
  switch (e->expr_kind()) {
    case ExprKind::Call: {
      // Intrinsics over scalars are scalar expressions.
      const auto* op = as<Op>(static_cast<const Call*>(e)->callee);
      return as<PrimType>(e->type) != nullptr && op != nullptr && !op::is_relax(op->name);
    }
#define RLDB_STEP(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return false;
    case ExprKind::ShapeExpr:
    case ExprKind::Tuple:
    case ExprKind::Binary:
#define RLDB_NAME(Kind, ...) case ExprKind::Kind:
#define RLDB_NUMBER(Kind, ...) case ExprKind::Kind:
#define RLDB_ATOM(Kind, ...) case ExprKind::Kind:
#define RLDB_WORD(Kind, ...) case ExprKind::Kind:
#define RLDB_TENSOR(Kind, ...) case ExprKind::Kind:
#define RLDB_SCALAR(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return true;
  }
  return true;
}

std::string describe_kind(const Expr* e) {
  if (e->kind == NodeKind::TupleGetItem) return "tuple access";
  if (e->kind == NodeKind::Call) return "call";
  if (e->kind == NodeKind::If) return "`if`";
  if (e->kind == NodeKind::Function || e->kind == NodeKind::PrimFunc) return "function";
  return std::string(to_string(e->kind));
}

// Inference does not see the module's devices: the declaration tells which one a copy goes to.
bool is_device_copy(const Expr* e) {
  const auto* call = as<Call>(e);
  const auto* op = call != nullptr ? as<Op>(call->callee) : nullptr;
  return op != nullptr && op->name == op::ToVdevice;
}

bool flag(Span<NamedAttr> attrs, std::string_view name) {
  const Attr* a = find_attr(attrs, name);
  if (a == nullptr) return false;
  if (a->is(AttrKind::Expr)) {
    const auto* n = as<IntImm>(a->node);
    return n != nullptr && n->value != 0;
  }
  return a->integer != 0;
}

// A parameter may have the shape that another one holds: in the type of the function, it belongs to the signature.
std::vector<const Var*> shapes_named_in(Span<const Type*> params) {
  std::vector<const Var*> found;
  for (const Type* p : params) collect_vars(p, found);
  std::erase_if(found, [](const Var* v) { return as<ShapeType>(v->type) == nullptr; });
  return found;
}

}  // namespace

RelaxVerifier::RelaxVerifier(Reporter& report, const Module* m, const VerifyOptions& options)
    : report_(report), ctx_(report.ctx()), module_(m), options_(options) {
  scopes_.push_back({ScopeKind::Function, false});
}

bool RelaxVerifier::deep() {
  if (depth_ < kMaxDepth) return false;
  if (!reported_deep_) report_.add(nullptr, diag::VerifyTooDeep, kMaxDepth);
  reported_deep_ = true;
  return true;
}

// ---- scopes ----

std::uint32_t RelaxVerifier::open_scope(ScopeKind kind) {
  scopes_.push_back({kind, true});
  open_.push_back(std::uint32_t(scopes_.size() - 1));
  return open_.back();
}

void RelaxVerifier::close_scope() {
  scopes_[open_.back()].open = false;
  open_.pop_back();
}

bool RelaxVerifier::visible(const Var* v) const {
  const std::uint32_t s = scope_of_.of(v->id);
  return s != 0 && scopes_[s].open;
}

void RelaxVerifier::define(const Var* v) {
  if (scope_of_.of(v->id) != 0) {
    report_.add_var(v, diag::VerifyRedefined, v->name);
    return;
  }
  scope_of_.set(v->id, open_.back());
  touched_.push_back(v->id);
  if (v->is_dataflow()) {
    if (dataflow_depth_ == 0) report_.add_var(v, diag::VerifyDataflowVarOutside, v->name);
  } else if (scopes_[open_.back()].kind == ScopeKind::Dataflow) {
    // An output of the block is visible in the block's scope.
    scope_of_.set(v->id, open_[open_.size() - 2]);
  }
}

void RelaxVerifier::define_symbol(const Var* v) {
  if (visible(v)) return;
  if (options_.defines_symbol) options_.defines_symbol(top_, v);
  auto [it, fresh] = symbol_of_.try_emplace(v, top_);
  if (!fresh && it->second != top_) report_.add_var(v, diag::VerifySharedSymbol, v->name, it->second, top_);
  std::uint32_t scope = open_.back();
  if (scopes_[scope].kind == ScopeKind::Dataflow) scope = open_[open_.size() - 2];
  scope_of_.set(v->id, scope);
  touched_.push_back(v->id);
}

void RelaxVerifier::use(const Var* v) {
  if (visible(v)) return;
  const std::uint32_t s = scope_of_.of(v->id);
  if (s == 0) {
    if (lacks_definitions_) return;
    // A scalar that no binding defines can only be a symbolic variable.
    bool symbol = as<PrimType>(v->type) != nullptr && !v->is_dataflow();
    report_.add_var(v, symbol ? diag::VerifyUndefinedSymbol : diag::VerifyUndefinedVar, v->name);
    return;
  }
  switch (scopes_[s].kind) {
    case ScopeKind::Dataflow:
      report_.add_var(v, diag::VerifyDataflowEscape, v->name);
      break;
    case ScopeKind::Branch:
      report_.add_var(v, diag::VerifyBranchEscape, v->name);
      break;
    case ScopeKind::Function:
    case ScopeKind::Signature:
      report_.add_var(v, diag::VerifyUndefinedVar, v->name);
      break;
  }
}

// ---- types ----

void RelaxVerifier::bind_symbols(const Type* t) {
  if (t == nullptr || deep()) return;
  ++depth_;
  auto bind_dims = [this](Span<const Expr*> dims) {
    for (const Expr* e : dims) {
      const auto* v = as<Var>(e);
      if (v != nullptr && as<PrimType>(v->type) != nullptr) define_symbol(v);
    }
  };
  if (const auto* x = as<TensorType>(t)) {
    bind_dims(x->shape);
  } else if (const auto* x = as<DTensorType>(t)) {
    bind_dims(x->tensor->shape);
  } else if (const auto* x = as<ShapeType>(t)) {
    bind_dims(x->values);
  } else if (const auto* x = as<TupleType>(t)) {
    for (const Type* f : x->fields) bind_symbols(f);
  }
  --depth_;
}

// Variables of a scalar expression; left-deep chains are walked with a loop.
void RelaxVerifier::scalar(const Expr* e) {
  if (e == nullptr || deep()) return;
  ++depth_;
  while (const auto* b = as<BinaryExpr>(e)) {
    scalar(b->b);
    e = b->a;
  }
  if (const auto* v = as<Var>(e)) {
    use(v);
  } else if (const auto* n = as<NotExpr>(e)) {
    scalar(n->a);
  } else if (const auto* c = as<CastExpr>(e)) {
    scalar(c->value);
  } else if (const auto* s = as<SelectExpr>(e)) {
    scalar(s->cond);
    scalar(s->true_value);
    scalar(s->false_value);
  } else if (const auto* call = as<Call>(e)) {
    for (const Expr* a : call->args) scalar(a);
  } else if (const auto* item = as<TupleGetItem>(e)) {
    scalar(item->tuple);
  }
  --depth_;
}

void RelaxVerifier::check_dim(const Expr* e) {
  if (!typed(e, "a shape value")) return;
  // A literal is an int64 of its own; anything else would need a conversion that no pass makes.
  if (e->dtype() != DType::Int(64)) {
    std::string type = as<PrimType>(e->type) != nullptr ? runtime::to_string(e->dtype()) : print_type(e->type);
    report_.add(e, diag::VerifyShapeNotInt, print_expr(e), type);
  }
  if (isa<IntImm>(e)) return;
  scalar(e);
}

void RelaxVerifier::check_type(const Type* t) {
  if (t == nullptr || deep()) return;
  ++depth_;
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      break;
    case TypeKind::Shape:
      for (const Expr* e : as<ShapeType>(t)->values) check_dim(e);
      break;
    case TypeKind::Tensor: {
      const auto* x = as<TensorType>(t);
      for (const Expr* e : x->shape) check_dim(e);
      if (const auto* v = as<Var>(x->shape_var)) use(v);
      break;
    }
    case TypeKind::DTensor:
      for (const Expr* e : as<DTensorType>(t)->tensor->shape) check_dim(e);
      break;
    case TypeKind::Tuple:
      for (const Type* f : as<TupleType>(t)->fields) check_type(f);
      break;
    case TypeKind::Func: {
      const auto* f = as<FuncType>(t);
      open_scope(ScopeKind::Signature);
      std::size_t before = touched_.size();
      for (const Type* p : f->params) bind_symbols(p);
      for (const Var* v : shapes_named_in(f->params)) define_symbol(v);
      for (const Type* p : f->params) check_type(p);
      check_type(f->ret);
      close_scope();
      // A callable's own symbols go out of scope: another callable type may reuse them.
      for (std::size_t k = before; k < touched_.size(); ++k) scope_of_.set(touched_[k], 0);
      touched_.resize(before);
      break;
    }
  }
  --depth_;
}

bool RelaxVerifier::typed(const Expr* e, std::string_view what) {
  if (e->type != nullptr) return true;
  report_.add(e, diag::VerifyUntyped, what);
  return false;
}

// ---- functions ----

void RelaxVerifier::function(std::string_view name, const Function* f) {
  top_ = name;
  lacks_definitions_ = options_.lacks_definitions && options_.lacks_definitions(f);
  function_body(name, f);
  for (std::uint32_t id : touched_) scope_of_.set(id, 0);
  touched_.clear();
  scopes_.resize(1);
}

void RelaxVerifier::function_body(std::string_view name, const Function* f) {
  if (deep()) return;
  ++depth_;
  const Node* outer = report_.here();
  report_.at(f);
  if (flag(f->attrs, attr_name::ForcePure) && !f->is_pure) report_.add(f, diag::VerifyForcePure, name);
  functions_.push_back({f, name, demands_purity(f)});
  int dataflow = dataflow_depth_;
  dataflow_depth_ = 0;
  open_scope(ScopeKind::Function);
  typed(f, "function `" + std::string(name) + "`");
  // Scalar parameters first: the types of the others may mention them.
  const auto parameters = [&](bool scalars) {
    for (const Var* p : f->params) {
      if ((as<PrimType>(p->type) != nullptr) != scalars) continue;
      auto [it, fresh] = param_of_.try_emplace(p, name);
      if (!fresh) {
        report_.add_var(p, diag::VerifySharedParam, p->name, it->second, name);
      } else {
        define(p);
      }
    }
  };
  parameters(true);
  for (const Var* p : f->params) bind_symbols(p->type);
  parameters(false);
  for (const Var* p : f->params)
    if (typed(p, "parameter `" + std::string(p->name) + "`")) check_type(p->type);
  check_type(f->ret_type);
  if (f->body == nullptr || !isa<SeqExpr>(f->body)) {
    report_.add(f, diag::VerifyMisplacedSeq, "something else than the body of a function");
  } else {
    seq(f->body);
    report_.at(f->body);
    leaf(f->body->body, "the result of `" + std::string(name) + "`");
    // A declared result is trusted, as in TVM: code generation checks at run time what is not proved.
  }
  close_scope();
  dataflow_depth_ = dataflow;
  functions_.pop_back();
  report_.at(outer);
  --depth_;
}

void RelaxVerifier::seq(const SeqExpr* s) {
  for (const BindingBlock* block : s->blocks) {
    if (block->is_dataflow()) {
      open_scope(ScopeKind::Dataflow);
      ++dataflow_depth_;
    }
    for (const Binding* b : block->bindings) binding(b);
    if (block->is_dataflow()) {
      --dataflow_depth_;
      close_scope();
    }
  }
}

void RelaxVerifier::branch(const SeqExpr* s) {
  if (s == nullptr || !isa<SeqExpr>(s)) {
    report_.add(nullptr, diag::VerifyMisplacedSeq, "something else than the body of a branch");
    return;
  }
  open_scope(ScopeKind::Branch);
  int dataflow = dataflow_depth_;
  dataflow_depth_ = 0;
  seq(s);
  leaf(s->body, "the result of a branch");
  dataflow_depth_ = dataflow;
  close_scope();
}

void RelaxVerifier::binding(const Binding* b) {
  support::poll();
  std::vector<bool>* good = options_.good_bindings;
  if (good == nullptr) return fresh_binding(b);
  if (b->id < good->size() && (*good)[b->id]) {
    if (b->is_match_cast()) bind_symbols(b->cast_type);
    return define(b->var);
  }
  const std::size_t findings = report_.count();
  fresh_binding(b);
  if (report_.count() != findings) return;
  if (b->id >= good->size()) good->resize(std::max<std::size_t>(b->id + 1, good->size() * 2));
  (*good)[b->id] = true;
}

void RelaxVerifier::fresh_binding(const Binding* b) {
  report_.at(b);
  std::string_view name = b->var->name;
  bool local_function = isa<Function>(b->value);
  if (local_function) define(b->var);  // visible inside itself
  value(b->value);
  report_.at(b);
  if (b->is_match_cast()) {
    bind_symbols(b->cast_type);
    check_type(b->cast_type);
  }
  if (b->var->type != nullptr || typed(b->var, "variable `" + std::string(name) + "`")) check_type(b->var->type);
  if (!local_function) define(b->var);
  const Type* declared = b->var->type;
  const Type* given = b->is_match_cast() ? b->cast_type : b->value->type;
  if (declared == nullptr || given == nullptr || declared == given) return;
  // A declaration may be more precise than inference can prove, on a device or a mesh too; it may not contradict it.
  const auto is_distributed = [](const Type* t) { return t->kind == TypeKind::DTensor; };
  if (is_distributed(declared) != is_distributed(given)) return;
  if (base_check(ctx_, declared, given) == BaseCheck::FailL0 && !is_device_copy(b->value))
    report_.add(b, diag::VerifyAnnotation, name, print_type(declared), print_type(given));
}

// The value of a binding: one operation over leaves.
void RelaxVerifier::value(const Expr* e) {
  support::poll();
  if (deep()) return;
  ++depth_;
  typed(e, "a value");
  if (const auto* c = as<Call>(e)) {
    call(c);
  } else if (const auto* item = as<TupleGetItem>(e)) {
    leaf(item->tuple, "the tuple of an access");
  } else if (const auto* i = as<If>(e)) {
    if (dataflow_depth_ > 0) report_.add(nullptr, diag::VerifyIfInDataflow);
    const Node* here = report_.here();
    leaf(i->cond, "the condition of an `if`");
    branch(i->then_branch);
    report_.at(here);
    branch(i->else_branch);
    report_.at(here);
  } else if (const auto* f = as<Function>(e)) {
    const auto* b = as<Binding>(report_.here());
    function_body(b != nullptr ? b->var->name : std::string_view("a local function"), f);
  } else if (isa<PrimFunc>(e)) {
    report_.add(nullptr, diag::VerifyInlinePrimFunc);
  } else if (const auto* s = as<SeqExpr>(e)) {
    report_.add(e, diag::VerifyMisplacedSeq, "the value of a binding");
    seq(s);
  } else {
    leaf(e, "a value");
  }
  --depth_;
}

void RelaxVerifier::leaf(const Expr* e, std::string_view role) {
  if (deep()) return;
  if (!isa<Op>(e) && !typed(e, role)) return;
  if (isa<SeqExpr>(e)) {
    report_.add(e, diag::VerifyMisplacedSeq, role);
    return;
  }
  if (isa<PrimFunc>(e)) {
    report_.add(e, diag::VerifyInlinePrimFunc);
    return;
  }
  if (!is_operand(e)) {
    report_.add(e, diag::VerifyNotLeaf, role, describe_kind(e));
    return;
  }
  ++depth_;
  if (const auto* v = as<Var>(e)) {
    use(v);
  } else if (const auto* g = as<GlobalVar>(e)) {
    if (module_ != nullptr && !options_.incomplete && module_->find(g->name) == nullptr)
      report_.add(e, diag::VerifyUnknownGlobal, g->name);
  } else if (const auto* t = as<Tuple>(e)) {
    for (const Expr* item : t->items) leaf(item, "a field of a tuple");
  } else if (const auto* s = as<ShapeExpr>(e)) {
    for (const Expr* d : s->values) check_dim(d);
  } else {
    scalar(e);
  }
  --depth_;
}

}  // namespace rldb::ir::verify_detail

bool rldb::ir::demands_purity(const Expr* function) {
  const auto* f = as<Function>(function);
  return f != nullptr && f->is_pure && !verify_detail::flag(f->attrs, attr_name::ForcePure);
}
