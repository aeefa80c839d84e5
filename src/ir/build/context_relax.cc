// Makers of Relax expressions, bindings and functions.
#include <fmt/format.h>

#include "ir/build/context_tables.h"
#include "ir/compare/describe.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_ir.h"
#include "rldb/support/text.h"

namespace rldb::ir {

using support::Failure;

const Var* Context::var(std::string_view name, const Type* type) {
  return make_expr<Var>(NodeKind::Var, type, str(name));
}
const Var* Context::dataflow_var(std::string_view name, const Type* type) {
  return make_expr<Var>(NodeKind::DataflowVar, type, str(name));
}

const GlobalVar* Context::global_var(std::string_view name, const Type* type) {
  name = str(name);
  const std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(name.data()), reinterpret_cast<std::uintptr_t>(type));
  const auto same = [&](const GlobalVar* g) { return g->type == type && g->name == name; };
  if (const GlobalVar* found = tables_->globals.find(hash, same)) return found;
  const auto* made = make_expr<GlobalVar>(NodeKind::GlobalVar, type, name);
  tables_->globals.insert(hash, made);
  return made;
}

const Constant* Context::constant(runtime::Value tensor) {
  RLDB_CHECK(tensor.is(runtime::ValueKind::Tensor), "a constant holds a tensor");
  std::vector<const Expr*> shape;
  for (std::int64_t d : tensor.as_tensor().shape()) shape.push_back(i64(d));
  const Type* type = this->tensor(shape, tensor.as_tensor().dtype());
  return constant_typed(std::move(tensor), type);
}
const Constant* Context::constant_typed(runtime::Value tensor, const Type* type) {
  tables_->values.push_back(std::move(tensor));
  return make_expr<Constant>(NodeKind::Constant, type, &tables_->values.back());
}
const MetaConstant* Context::meta_constant(std::string_view key, std::int64_t index, const Type* type) {
  return make_expr<MetaConstant>(NodeKind::MetaConstant, type ? type : any_, str(key), index);
}

const ShapeExpr* Context::shape(std::span<const Expr* const> values) {
  values = dims(values);
  return make_expr<ShapeExpr>(NodeKind::ShapeExpr, shape_type(values), list(values));
}
const ExternFunc* Context::extern_func(std::string_view symbol, const Type* type) {
  return make_expr<ExternFunc>(NodeKind::ExternFunc, type ? type : opaque_func_type(), str(symbol));
}

const Op* Context::op(std::string_view name) {
  const auto found = tables_->ops.find(name);
  if (found != tables_->ops.end()) return found->second;
  name = str(name);
  const IntrinsicInfo* intrinsic =
      name.starts_with(kTirPrefix) ? find_intrinsic(name.substr(kTirPrefix.size())) : nullptr;
  if (intrinsic && intrinsic->op != name) intrinsic = nullptr;  // another spelling is another Op
  const auto* made = make_expr<Op>(NodeKind::Op, any_, name, op::find(name), intrinsic);
  tables_->ops.emplace(name, made);
  return made;
}

const StringImm* Context::string(std::string_view text) {
  return make_expr<StringImm>(NodeKind::StringImm, any_, str(text));
}
const DTypeImm* Context::dtype(DType t) { return make_expr<DTypeImm>(NodeKind::DTypeImm, any_, t); }

const Tuple* Context::tuple(std::span<const Expr* const> items) {
  std::vector<const Type*> fields;
  fields.reserve(items.size());
  for (const Expr* e : items) fields.push_back(e->type);
  return make_expr<Tuple>(NodeKind::Tuple, tuple_type(fields), list(items));
}

Result<const TupleGetItem*> Context::tuple_get(const Expr* tuple, std::int64_t index) {
  RLDB_CHECK(tuple != nullptr, "tuple_get of nothing");
  const Type* type = any_;
  if (const auto* t = as<TupleType>(tuple->type)) {
    if (index < 0 || std::uint64_t(index) >= t->fields.size())
      return Failure(source::message(diag::TupleIndexRange, index, support::counted(t->fields.size(), "field")));
    type = t->fields[std::size_t(index)];
  } else if (tuple->type->kind != TypeKind::Any) {
    return Failure(source::message(diag::TupleOfNoTuple, describe(tuple->type)));
  }
  return make_expr<TupleGetItem>(NodeKind::TupleGetItem, type, tuple, index);
}

namespace {

// The result type of a call with an unknown signature: the one in the text, else that of the callee's type.
const Type* opaque_result(Context& ctx, Span<const Type*> ty_args, const Type* otherwise) {
  if (ty_args.empty()) return otherwise;
  return ty_args.size() == 1 ? ty_args[0] : ctx.tuple_type(ty_args);
}

}  // namespace

Result<const Call*> Context::call(const CallSpec& spec) {
  RLDB_CHECK(spec.callee != nullptr, "call without a callee");
  if (const auto* o = as<Op>(spec.callee)) {
    if (!typer_) return Failure(source::message(diag::NoOperatorRegistry, o->name));
    CallSpec full = spec;
    RLDB_TRY(full.attrs, typer_->complete_attrs(*this, spec));
    RLDB_TRY(const Type* type, typer_->infer(*this, full));
    return call_typed(full.callee, full.args, type, full.attrs, full.ty_args);
  }
  const auto* f = as<FuncType>(spec.callee->type);
  if (!f) return Failure(source::message(diag::NotCallable, print_expr(spec.callee), print_type(spec.callee->type)));
  if (f->opaque && spec.ty_args.empty() && typer_ && !f->derive_func.empty()) {
    RLDB_TRY(const Type* type, typer_->infer(*this, spec));
    return call_typed(spec.callee, spec.args, type, spec.attrs, spec.ty_args);
  }
  if (f->opaque)
    return call_typed(spec.callee, spec.args, opaque_result(*this, spec.ty_args, f->ret), spec.attrs, spec.ty_args);
  RLDB_TRY(const Type* type, call_result(*this, f, spec.args));
  return call_typed(spec.callee, spec.args, type, spec.attrs, spec.ty_args);
}

Result<const Call*> Context::call(std::string_view op_name, std::initializer_list<const Expr*> args,
                                  std::initializer_list<NamedAttr> attrs, std::initializer_list<const Type*> ty_args) {
  CallSpec spec;
  spec.callee = op(op_name);
  spec.args = std::span<const Expr* const>(args.begin(), args.size());
  spec.attrs = std::span<const NamedAttr>(attrs.begin(), attrs.size());
  spec.ty_args = std::span<const Type* const>(ty_args.begin(), ty_args.size());
  return call(spec);
}

const Call* Context::call_typed(const Expr* callee, std::span<const Expr* const> args, const Type* type,
                                std::span<const NamedAttr> attrs, std::span<const Type* const> ty_args) {
  RLDB_CHECK(callee != nullptr, "call without a callee");
  for (const Expr* a : args) RLDB_CHECK(a != nullptr, "call with a missing argument");
  return make_expr<Call>(NodeKind::Call, type, callee, list(args), list(attrs), list(ty_args));
}

const If* Context::if_expr(const Expr* cond, const SeqExpr* then_branch, const SeqExpr* else_branch, const Type* type) {
  RLDB_CHECK(cond && then_branch && else_branch, "an if needs a condition and two branches");
  return make_expr<If>(NodeKind::If, type, cond, then_branch, else_branch);
}

const Binding* Context::binding(const Var* var, const Expr* value) {
  RLDB_CHECK(var && value, "a binding needs a variable and a value");
  return make<Binding>(NodeKind::VarBinding, var, value, nullptr);
}
const Binding* Context::match_cast(const Var* var, const Expr* value, const Type* type) {
  RLDB_CHECK(var && value && type, "a match_cast needs a variable, a value and a type");
  return make<Binding>(NodeKind::MatchCast, var, value, type);
}
const BindingBlock* Context::block(std::span<const Binding* const> bindings, bool dataflow) {
  return make<BindingBlock>(dataflow ? NodeKind::DataflowBlock : NodeKind::BindingBlock, list(bindings));
}
const SeqExpr* Context::seq(std::span<const BindingBlock* const> blocks, const Expr* body) {
  RLDB_CHECK(body != nullptr, "a sequence needs a result");
  return make_expr<SeqExpr>(NodeKind::SeqExpr, body->type, list(blocks), body);
}

const Function* Context::function(std::span<const Var* const> params, const SeqExpr* body, const Type* ret_type,
                                  bool pure, std::span<const NamedAttr> attrs) {
  RLDB_CHECK(body && ret_type, "a function needs a body and a return type");
  std::vector<const Type*> types;
  types.reserve(params.size());
  for (const Var* p : params) types.push_back(p->type);
  return make_expr<Function>(NodeKind::Function, func_type(types, ret_type, pure), list(params), body, ret_type, pure,
                             list(attrs));
}

const PrimFunc* Context::prim_func(std::span<const PrimParam> params, const Type* ret_type, const Stmt* body,
                                   std::span<const NamedAttr> attrs, bool s_tir) {
  RLDB_CHECK(body != nullptr, "a PrimFunc needs a body");
  if (!ret_type) ret_type = void_type();
  // Typed from the same fields that relax_type_of reads.
  PrimFunc fields{{{NodeKind::PrimFunc, 0}, any_}, params, ret_type, body, attrs, s_tir};
  const FuncType* type = relax_type_of(&fields);
  return make_expr<PrimFunc>(NodeKind::PrimFunc, type, list(params), ret_type, body, list(attrs), s_tir);
}

const OpaqueFunc* Context::opaque_func(std::string_view name, std::string_view text) {
  return make_expr<OpaqueFunc>(NodeKind::OpaqueFunc, opaque_func_type(), str(name), str(text));
}

namespace {

// Leaving a loop or the function is no effect on anything else.
bool is_jump(const Call* c) {
  const IntrinsicInfo* row = called_intrinsic(c);
  return row && (row->id == intrin::Ret || row->id == intrin::BreakLoop || row->id == intrin::ContinueLoop);
}

// A call of code that is not TensorIR: of another function, or of a library's.
bool leaves_program(const Call* c) {
  const IntrinsicInfo* row = called_intrinsic(c);
  if (!row) return !isa<Op>(c->callee);
  return row->id == intrin::CallExtern || row->id == intrin::TvmCallPacked || row->id == intrin::TvmCallCpacked;
}

bool has_no_effect(const Call* c) {
  const IntrinsicInfo* row = called_intrinsic(c);
  return row && row->purity == IntrinsicPurity::Pure;
}

// Whether the body leaves memory alone that it did not allocate itself. A kernel that writes to its arguments does not.
bool is_pure_body(const Stmt* body) {
  std::unordered_set<const Var*> own;
  bool pure = true;
  walk(body, [&](const Node* n) {
    if (const auto* a = as<AllocBuffer>(n)) own.insert(a->buffer->data);
    if (const auto* a = as<AllocateStmt>(n)) own.insert(a->var);
    if (const auto* b = as<SBlock>(n))
      for (const Buffer* a : b->alloc_buffers) own.insert(a->data);
    if (const auto* s = as<BufferStore>(n)) pure = pure && own.count(s->buffer->data) > 0;
    if (const auto* e = as<Evaluate>(n))
      if (const auto* c = as<Call>(e->value)) pure = pure && (is_jump(c) || has_no_effect(c));
    if (const auto* c = as<Call>(n)) pure = pure && !leaves_program(c);
    return pure;
  });
  return pure;
}

}  // namespace

const FuncType* Context::relax_type_of(const PrimFunc* f) {
  std::vector<const Type*> types;
  types.reserve(f->params.size());
  for (const PrimParam& p : f->params) {
    if (p.buffer) {
      types.push_back(tensor(p.buffer->shape, p.buffer->dtype));
    } else {
      types.push_back(p.var->type->kind == TypeKind::Pointer ? any_ : p.var->type);
    }
  }
  return func_type(types, f->ret_type, is_pure_body(f->body));
}

}  // namespace rldb::ir
