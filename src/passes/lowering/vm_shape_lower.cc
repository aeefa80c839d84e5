// VMShapeLower: lowers symbolic shapes to the shape heap, and types to run-time checks (TVM: src/relax/backend/vm).
//
// A function starts with its heap (R.null_value() when it has no slots), checks of its parameters, the match of their
// shapes (store a new symbol, assert a known one, skip what cannot be computed yet), one host PrimFunc `shape_func`
// that computes every compound expression whose symbols are known, and the match of the skipped ones. A match_cast does
// the same for its value; the result is checked where its type is not precise enough. Symbolic R.shape(...) values
// become vm.builtin.make_shape, symbolic scalars vm.builtin.make_prim_value.
//
// Types of values are left unchanged: from them code generation knows which slot belongs to which symbol and how it is
// bound (codegen/vm/slots.h), also in modules that were already lowered when read.
#include <algorithm>

#include "passes/lowering/inferred_type.h"
#include "passes/lowering/shape_lowered.h"
#include "passes/lowering/shape_slots.h"
#include "passes/lowering/shape_var_casts.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/support/planted.h"

namespace rldb::passes {

using namespace ir;
using bytecode::MakeShapeCode;
using bytecode::MatchShapeCode;
using source::message;
using source::Message;
using support::Failure;

namespace {

// A value whose dims are to be matched.
struct MatchItem {
  const Expr* value;
  Span<const Expr*> dims;
  const Expr* context;  // a string, shared by all checks of one annotation
};

// Whether every tuple of the annotation has the number of fields that is known of the value.
bool has_fields_of(const Type* annotation, const Type* known) {
  const auto *a = as<TupleType>(annotation), *b = as<TupleType>(known);
  if (!a || !b) return true;
  if (a->fields.size() != b->fields.size()) return false;
  for (std::size_t i = 0; i < a->fields.size(); ++i)
    if (!has_fields_of(a->fields[i], b->fields[i])) return false;
  return true;
}

// Host functions that compute shapes, shared by the functions of the module.
class ShapeFuncs {
 public:
  ShapeFuncs(Context& ctx, ModuleBuilder& builder) : ctx_(ctx), builder_(builder) {}

  const GlobalVar* add(const PrimFunc* f) {
    const std::uint64_t hash = structural_hash(f);
    auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (structural_equal(it->second.first, f)) return it->second.second;
    const std::string_view name = builder_.unique_name("shape_func");
    builder_.set(name, f);
    const GlobalVar* g = ctx_.global_var(name, ctx_.relax_type_of(f));
    known_.emplace(hash, std::pair(f, g));
    return g;
  }

 private:
  Context& ctx_;
  ModuleBuilder& builder_;
  std::unordered_multimap<std::uint64_t, std::pair<const PrimFunc*, const GlobalVar*>> known_;
};

class ShapeLowerer {
 public:
  ShapeLowerer(Context& ctx, ShapeFuncs& funcs, std::string_view name, const ShapeVarChecks& checks, bool contexts)
      : ctx_(ctx),
        funcs_(funcs),
        name_(name),
        function_(checks.function),
        written_(checks.written),
        contexts_(contexts),
        slots_(function_) {}

  Result<const Function*> run() {
    std::vector<const BindingBlock*> blocks;
    prologue();
    blocks.push_back(take_block(false));
    lower_blocks(function_->body, blocks);
    const Expr* result = leaf(function_->body->body);
    check_result(result);
    blocks.push_back(take_block(false));
    if (error_) return Failure(std::move(*error_));
    const SeqExpr* body = make_seq(ctx_, blocks, result, function_->body);
    return refine_result(ctx_, with_body(ctx_, function_, body));
  }

 private:
  // ---- emitting ----
  const Var* emit(std::string_view name, const Expr* value) {
    const Binding* b = bind_new(ctx_, name, value, origin_ ? origin_ : function_);
    if (dataflow_) {
      const Var* v = ctx_.dataflow_var(name, value->type);
      ctx_.set_origin(v, b);
      b = remake_binding(ctx_, b, v, value);
    }
    out_.push_back(b);
    return b->var;
  }
  void emit_check(std::string_view symbol, std::span<const Expr* const> args) {
    emit("_", packed_call(ctx_, symbol, args, ctx_.void_type(), {ctx_.void_type()}));
  }
  void emit_check(std::string_view symbol, std::initializer_list<const Expr*> args) {
    emit_check(symbol, std::span(args.begin(), args.size()));
  }
  const BindingBlock* take_block(bool dataflow) {
    const BindingBlock* b = ctx_.block(out_, dataflow);
    out_.clear();
    fields_.clear();
    return b;
  }
  void fail(Message m) {
    if (!error_) error_ = std::move(m).with_note(origin_ ? ctx_.span_of(origin_) : ctx_.span_of(function_), "here");
  }
  // Literals that remain are numbers that do not fit int64: sizes of storage, say.
  void not_computed(const Expr* e) {
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    if (vars.empty())
      fail(message(diag::PassUnsupported, "a size in `" + std::string(name_) + "`", "it overflows int64"));
    else
      fail(message(diag::ShapeNotComputed, print_expr(e), name_));
  }
  const Type* written_type(const Binding* cast) const {
    const auto it = written_.find(cast);
    return it == written_.end() ? cast->cast_type : it->second;
  }
  // The place of a check, for its run-time message. Emitted once per annotation, which may have thousands of checks.
  const Expr* context(std::string_view before, const Type* annotation) {
    constexpr std::size_t kMaxAnnotation = 2'000;
    if (!contexts_) return ctx_.string("");
    std::string type = print_type(annotation);
    if (type.size() > kMaxAnnotation) type = type.substr(0, kMaxAnnotation) + "...";
    return ctx_.string("ErrorContext(" + std::string(before) + type + ") ");
  }

  // ---- the function ----
  void prologue() {
    if (slots_.size() > 0) {
      const Type* type = ctx_.tensor_ndim(1, DType::Int(64));
      const Expr* const size[] = {ctx_.i64(std::int64_t(slots_.size()))};
      heap_ = emit("shape_heap", op_call(ctx_, op::CallBuiltinWithCtx,
                                         {ctx_.extern_func(builtin::AllocShapeHeap), ctx_.tuple(size)}, type, {type}));
    } else {
      heap_ = emit("shape_heap", op_call(ctx_, op::NullValue, {}, ctx_.any()));
    }
    std::size_t num_input = function_->params.size();
    if (const Attr* a = find_attr(function_->attrs, attr_name::NumInput)) num_input = std::size_t(a->integer);
    std::vector<MatchItem> items;
    for (std::size_t i = 0; i < function_->params.size(); ++i) {
      const Var* p = function_->params[i];
      origin_ = p;
      const Expr* where = context("fn=" + std::string(name_) + ", loc=param[" + std::to_string(i) +
                                      "], param=" + std::string(p->name) + ", annotation=",
                                  p->type);
      check(p->type, p, true, i >= num_input, where, items);
      bind_scalar(p);
    }
    origin_ = nullptr;
    match(std::move(items));
  }

  void check_result(const Expr* result) {
    std::vector<MatchItem> items;
    const Expr* where = context("fn=" + std::string(name_) + ", loc=return, annotation=", function_->ret_type);
    // A tuple with other fields than are annotated was reported when it was read: it is returned as it is.
    if (has_fields_of(function_->ret_type, result->type))
      check(function_->ret_type, result, false, false, where, items);
    match_round(items, true);
  }

  // A scalar value that shapes mention: its slot is filled from the register.
  void bind_scalar(const Var* v) {
    ShapeSlot* slot = v->type->kind == TypeKind::Prim ? slots_.find(v) : nullptr;
    if (!slot || slot->ready) return;
    if (const DType t = as<PrimType>(v->type)->dtype; !t.is_integral())
      return fail(
          message(diag::PassUnsupported, "a size or value that is calculated from `" + std::string(v->name) + "`",
                  "the shape heap holds integers, and this is " + to_string(t) + "; ComputePrimValue comes first"));
    emit_check(builtin::MatchPrimValue, {renamed(v), heap_, ctx_.i64(std::int64_t(MatchShapeCode::StoreToHeap)),
                                         ctx_.i64(slot->index), ctx_.string("")});
    slot->ready = true;
    ready_.push_back(slot->index);
    compute();
  }

  void lower_blocks(const SeqExpr* s, std::vector<const BindingBlock*>& blocks) {
    for (const BindingBlock* block : s->blocks) {
      dataflow_ = block->is_dataflow();
      for (const Binding* b : block->bindings) lower_binding(b);
      origin_ = nullptr;
      blocks.push_back(take_block(dataflow_));
      ctx_.set_origin(blocks.back(), block);
      dataflow_ = false;
    }
  }

  void lower_binding(const Binding* b) {
    support::poll();
    origin_ = b;
    if (b->is_match_cast()) {
      const Expr* value = leaf(b->value);
      std::vector<MatchItem> items;
      check(b->cast_type, value, false, false, context("match_cast, ty=", written_type(b)), items);
      match(std::move(items));
      const Var* var = retyped(b->var, substitute(ctx_, b->var->type, vars_));
      const Type* type = substitute(ctx_, b->cast_type, vars_);
      if (type == b->cast_type) return out_.push_back(remake_binding(ctx_, b, var, value));
      out_.push_back(ctx_.match_cast(var, value, type));
      return ctx_.set_origin(out_.back(), b);
    }
    const Expr* value = lower_value(b->value);
    // A tensor's type still holds, though its shape is in a register now. As in TVM, that of a new one, and of its
    // other names, is what the registers tell.
    const bool allocated = isa<Var>(value) || op::is_call_with(value, op::Trait::Allocates);
    const bool tensor = !allocated && as<TensorType>(value->type) && as<TensorType>(b->var->type);
    const bool told = value->type != b->value->type && b->var->type == b->value->type && !tensor;
    const Var* var = retyped(b->var, told ? value->type : substitute(ctx_, b->var->type, vars_));
    out_.push_back(remake_binding(ctx_, b, var, value));
    bind_scalar(b->var);
  }

  const Expr* lower_value(const Expr* e) {
    if (const auto* call = as<Call>(e); call && !is_symbolic(e)) return lower_call(call);
    if (const auto* branch = as<If>(e)) return lower_if(branch);
    if (const auto* get = as<TupleGetItem>(e)) {
      const Expr* tuple = leaf(get->tuple);
      if (tuple == get->tuple) return get;
      Result<const TupleGetItem*> made = ctx_.tuple_get(tuple, get->index);
      RLDB_CHECK(made.ok(), "a lowered tuple keeps its fields");
      ctx_.set_origin(*made, get);
      return *made;
    }
    if (const Expr* made = make_shape_value(e)) return made;
    if (isa<Function>(e)) {
      const auto* b = as<Binding>(origin_);
      fail(message(diag::LocalFunctionLeft, name_, b ? b->var->name : std::string_view("?")));
      return e;
    }
    return leaf(e);
  }

  const Expr* lower_call(const Call* call) {
    const Expr* callee = isa<Var>(call->callee) ? renamed(as<Var>(call->callee)) : call->callee;
    std::vector<const Expr*> args;
    bool changed = callee != call->callee;
    for (const Expr* a : call->args) {
      args.push_back(leaf(a));
      changed = changed || args.back() != a;
    }
    if (!changed) return call;
    const Call* lowered =
        with_inferred_type(ctx_, ctx_.call_typed(callee, args, call->type, call->attrs, call->ty_args));
    ctx_.set_origin(lowered, call);
    return lowered;
  }

  const Expr* lower_if(const If* branch) {
    const Node* origin = origin_;
    const Expr* cond = leaf(branch->cond);
    std::vector<const Binding*> outer;
    std::swap(outer, out_);
    const auto outer_fields = fields_;
    const SeqExpr* made[2];
    const SeqExpr* from[2] = {branch->then_branch, branch->else_branch};
    for (int i = 0; i < 2; ++i) {
      const ShapeSlots::State before = slots_.save();
      std::vector<const BindingBlock*> blocks;
      fields_.clear();
      lower_blocks(from[i], blocks);
      const Expr* result = leaf(from[i]->body);
      blocks.push_back(take_block(false));
      made[i] = make_seq(ctx_, blocks, result, from[i]);
      slots_.restore(before);
    }
    fields_ = outer_fields;
    std::swap(outer, out_);
    origin_ = origin;
    const Type* type = branch->type;
    if (made[0]->type != from[0]->type || made[1]->type != from[1]->type)
      type = join(ctx_, made[0]->type, made[1]->type);
    const If* lowered = ctx_.if_expr(cond, made[0], made[1], type);
    ctx_.set_origin(lowered, branch);
    return lowered;
  }

  // ---- leaves ----
  const Expr* renamed(const Var* v) const {
    const auto found = vars_.find(v);
    return found == vars_.end() ? v : found->second;
  }

  const Var* retyped(const Var* v, const Type* type) {
    if (type == v->type) return v;
    const Var* made = v->is_dataflow() ? ctx_.dataflow_var(v->name, type) : ctx_.var(v->name, type);
    ctx_.set_origin(made, v);
    vars_[v] = made;
    return made;
  }

  // A leaf without symbols: other expressions are bound to a variable first.
  const Expr* leaf(const Expr* e) {
    if (const auto* v = as<Var>(e); v && slots_.is_value(v)) return renamed(v);
    if (const Expr* made = make_shape_value(e)) return emit("shape", made);
    if (const auto* t = as<Tuple>(e)) {
      std::vector<const Expr*> items;
      bool changed = false;
      for (const Expr* item : t->items) {
        items.push_back(leaf(item));
        changed = changed || items.back() != item;
      }
      if (!changed) return e;
      const Tuple* made = ctx_.tuple(items);
      ctx_.set_origin(made, t);
      return made;
    }
    return e;
  }

  // The builtin that makes a symbolic shape or scalar from the heap; null for everything else.
  const Expr* make_shape_value(const Expr* e) {
    if (const auto* s = as<ShapeExpr>(e)) {
      if (all_int_literals(s->values)) return nullptr;
      std::vector<const Expr*> args{heap_, ctx_.i64(std::int64_t(s->values.size()))};
      for (const Expr* d : s->values) add_load(d, args);
      const Type* type = ctx_.shape_type_ndim(int(s->values.size()));
      return packed_call(ctx_, builtin::MakeShape, args, type, {type});
    }
    const auto* v = as<Var>(e);
    if (!is_symbolic(e) || (v && slots_.is_value(v))) return nullptr;
    std::vector<const Expr*> args{heap_};
    add_load(e, args);
    return packed_call(ctx_, builtin::MakePrimValue, args, e->type, {e->type});
  }

  void add_load(const Expr* e, std::vector<const Expr*>& args) {
    if (const std::optional<std::int64_t> literal = const_int(e)) {
      args.push_back(ctx_.i64(std::int64_t(MakeShapeCode::UseImm)));
      args.push_back(ctx_.i64(*literal));
      return;
    }
    ShapeSlot* slot = slots_.find(e);
    if (!slot || !slot->ready) {
      not_computed(e);
      return;
    }
    args.push_back(ctx_.i64(std::int64_t(MakeShapeCode::LoadShape)));
    const bool wrong = support::planted(support::Bug::WrongSlot) && slot->index > 0;
    args.push_back(ctx_.i64(wrong ? slot->index - 1 : slot->index));
  }

  // ---- matching ----
  void match(std::vector<MatchItem> items) {
    items = match_round(items, false);
    compute();
    match_round(items, true);
  }

  // Items containing an expression that is not computed yet are returned. `last`: that is an error.
  std::vector<MatchItem> match_round(const std::vector<MatchItem>& items, bool last) {
    std::vector<MatchItem> left;
    for (const MatchItem& item : items) {
      std::vector<const Expr*> args{item.value, heap_, ctx_.i64(std::int64_t(item.dims.size()))};
      bool any = false;
      bool skipped = false;
      for (std::size_t i = 0; i < item.dims.size(); ++i) {
        const MatchShapeCode code = match_dim(item, i, last, args);
        any = any || code != MatchShapeCode::NoOp;
        skipped = skipped || code == MatchShapeCode::NoOp;
      }
      if (skipped) left.push_back(item);
      args.push_back(item.context);
      if (any) emit_check(builtin::MatchShape, args);
    }
    return left;
  }

  MatchShapeCode match_dim(const MatchItem& item, std::size_t i, bool last, std::vector<const Expr*>& args) {
    const auto add = [&](MatchShapeCode code, std::int64_t value) {
      args.push_back(ctx_.i64(std::int64_t(code)));
      args.push_back(ctx_.i64(value));
      return code;
    };
    const Expr* dim = item.dims[i];
    if (const std::optional<std::int64_t> literal = const_int(dim))
      return add(MatchShapeCode::AssertEqualToImm, *literal);
    ShapeSlot* slot = slots_.find(dim);
    if (slot && slot->ready) return add(MatchShapeCode::AssertEqualToLoad, slot->index);
    if (slot && isa<Var>(slot->expr) && !last) {
      slot->ready = true;
      ready_.push_back(slot->index);
      return add(MatchShapeCode::StoreToHeap, slot->index);
    }
    if (last) not_computed(dim);
    return add(MatchShapeCode::NoOp, 0);
  }

  // Computes every expression whose variables have just become known in a single host function.
  void compute() {
    std::vector<int> now;
    for (int v : ready_)
      for (int user : slots_.at(v).users)
        if (--slots_.at(user).missing == 0) now.push_back(user);
    ready_.clear();
    if (now.empty()) return;
    const Expr* const size[] = {ctx_.i64(std::int64_t(slots_.size()))};
    const Buffer* heap = ctx_.buffer("H", size, DType::Int(64));
    VarMap loads;
    std::vector<const Var*> vars;
    std::vector<const Stmt*> stores;
    for (int i : now) {
      ShapeSlot& s = slots_.at(i);
      vars.clear();
      collect_vars(s.expr, vars);
      for (const Var* v : vars) {
        if (loads.count(v)) continue;
        const Expr* const at[] = {ctx_.i64(slots_.find(v)->index)};
        loads[v] = cast_to(ctx_, v->dtype(), ctx_.load(heap, at));
      }
      s.ready = true;
      const Expr* const index[] = {ctx_.i64(i)};
      stores.push_back(ctx_.store(heap, cast_to(ctx_, DType::Int(64), substitute(ctx_, s.expr, loads)), index));
    }
    const Stmt* body = stores.size() == 1 ? stores[0] : ctx_.seq_stmt(stores);
    const PrimParam params[] = {{heap->data, heap}};
    const NamedAttr attrs[] = {ctx_.named(attr_name::IsHostFunc, ctx_.attr(true))};
    const PrimFunc* f = ctx_.prim_func(params, ctx_.void_type(), body, attrs, true);
    ctx_.set_origin(f, function_);
    const Expr* const args[] = {heap_};
    emit("_", ctx_.call_typed(funcs_.add(f), args, ctx_.void_type()));
  }

  // ---- checks of types ----
  // `always`: even when the value's type is precise enough (parameters: that is the calling convention).
  void check(const Type* type, const Expr* value, bool always, bool dynamic_only, const Expr* where,
             std::vector<MatchItem>& items) {
    if (!always && is_base_of(ctx_, type, value->type)) return;
    support::poll();
    if (dynamic_only && is_static(type)) return;
    switch (type->kind) {
      case TypeKind::Any:
      case TypeKind::Pointer:
        return;
      case TypeKind::Prim:
        emit_check(builtin::CheckPrimValueInfo, {get(value), ctx_.dtype(as<PrimType>(type)->dtype), where});
        return;
      case TypeKind::Shape:
        return check_shape(as<ShapeType>(type), value, always, where, items);
      case TypeKind::DTensor:
        return check_tensor(as<DTensorType>(type)->tensor, value, always, dynamic_only, where, items);
      case TypeKind::Tensor:
        return check_tensor(as<TensorType>(type), value, always, dynamic_only, where, items);
      case TypeKind::Tuple:
        return check_tuple(as<TupleType>(type), value, always, dynamic_only, where, items);
      case TypeKind::Func:
        if (always || value->type->kind != TypeKind::Func) emit_check(builtin::CheckFuncInfo, {get(value), where});
        return;
    }
  }

  // Whether the type describes its values completely, with no part known only at run time.
  bool is_static(const Type* type) {
    if (type->has_vars) return false;
    if (const auto* t = as<TensorType>(type)) return t->has_shape;
    if (const auto* t = as<ShapeType>(type)) return t->has_values;
    const auto* t = as<TupleType>(type);
    if (!t) return false;
    const auto known = static_tuples_.find(t);
    if (known != static_tuples_.end()) return known->second;
    const bool all = std::all_of(t->fields.begin(), t->fields.end(), [this](const Type* f) { return is_static(f); });
    static_tuples_.emplace(t, all);
    return all;
  }

  void check_shape(const ShapeType* t, const Expr* value, bool always, const Expr* where,
                   std::vector<MatchItem>& items) {
    if (always || !is_base_of(ctx_, ctx_.shape_type_ndim(t->ndim), value->type))
      emit_check(builtin::CheckShapeInfo, {get(value), ctx_.i64(t->ndim), where});
    if (t->has_values) items.push_back({get(value), t->values, where});
  }

  // A shape held by a variable is checked by rank and dtype only.
  void check_tensor(const TensorType* t, const Expr* value, bool always, bool dynamic_only, const Expr* where,
                    std::vector<MatchItem>& items) {
    if (dynamic_only && t->has_shape && all_int_literals(t->shape)) return;
    if (always || !is_base_of(ctx_, ctx_.tensor_ndim(t->ndim, t->dtype), value->type)) {
      const Expr* dtype = t->dtype.is_void() ? emit("gv", op_call(ctx_, op::NullValue, {}, ctx_.any()))
                                             : static_cast<const Expr*>(ctx_.dtype(t->dtype));
      emit_check(builtin::CheckTensorInfo, {get(value), ctx_.i64(t->ndim), dtype, where});
    }
    if (t->has_shape) items.push_back({get(value), t->shape, where});
  }

  void check_tuple(const TupleType* t, const Expr* value, bool always, bool dynamic_only, const Expr* where,
                   std::vector<MatchItem>& items) {
    const auto* known = as<TupleType>(value->type);
    if (known && known->fields.size() != t->fields.size()) {
      return fail(message(diag::PassUnsupported, "a tuple",
                          "the tuple has " + std::to_string(known->fields.size()) + " fields, its annotation " +
                              std::to_string(t->fields.size())));
    }
    if (always || !known) {
      emit_check(builtin::CheckTupleInfo, {get(value), ctx_.i64(std::int64_t(t->fields.size())), where});
    }
    for (std::size_t i = 0; i < t->fields.size(); ++i) {
      check(t->fields[i], field(value, i), always, dynamic_only, where, items);
    }
  }

  // A field as an expression; it is bound to a variable only when a check needs it (`get`).
  const Expr* field(const Expr* value, std::size_t i) {
    if (const auto* t = as<Tuple>(value)) return t->items[i];
    if (value->type->kind == TypeKind::Tuple) {
      Result<const TupleGetItem*> made = ctx_.tuple_get(value, std::int64_t(i));
      RLDB_CHECK(made.ok(), "a tuple has its fields");
      return *made;
    }
    return packed_call(ctx_, builtin::TupleGetItem, {value, ctx_.i64(std::int64_t(i))}, ctx_.any(), {ctx_.any()});
  }

  const Expr* get(const Expr* value) {
    if (const auto* v = as<Var>(value)) return renamed(v);
    if (!isa<TupleGetItem>(value) && !isa<Call>(value)) return value;
    const auto found = fields_.find(value);
    if (found != fields_.end()) return found->second;
    const Expr* made = value;
    if (const auto* item = as<TupleGetItem>(value); item && !isa<Var>(item->tuple)) {
      Result<const TupleGetItem*> again = ctx_.tuple_get(get(item->tuple), item->index);
      RLDB_CHECK(again.ok(), "a tuple has its fields");
      made = *again;
    } else if (const auto* call = as<Call>(value); call && !isa<Var>(call->args[0])) {
      made = packed_call(ctx_, builtin::TupleGetItem, {get(call->args[0]), call->args[1]}, ctx_.any(), {ctx_.any()});
    }
    const Var* v = emit("field", made);
    fields_[value] = v;
    return v;
  }

  Context& ctx_;
  ShapeFuncs& funcs_;
  std::string_view name_;
  const Function* function_;
  const std::unordered_map<const Binding*, const Type*>& written_;  // see ShapeVarChecks
  bool contexts_;
  ShapeSlots slots_;
  const Var* heap_ = nullptr;
  const Node* origin_ = nullptr;  // the node being lowered
  bool dataflow_ = false;
  std::vector<const Binding*> out_;
  std::vector<int> ready_;  // variables stored since the last computation
  VarMap vars_;             // variables whose type is another now
  std::unordered_map<const TupleType*, bool> static_tuples_;
  std::unordered_map<const Expr*, const Var*> fields_;  // tuple fields bound in this block
  std::optional<Message> error_;
};

}  // namespace

Result<const Module*> vm_shape_lower(PassEnv& env, const Module* module, const VMShapeLowerOptions& options) {
  const bool contexts = options.emit_err_ctx;
  ModuleBuilder builder(env.ctx, *module);
  ShapeFuncs funcs(env.ctx, builder);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_shape_lowered(f)) continue;
    const ShapeVarChecks checks = with_dims_of_shape_vars(env.ctx, f);
    ShapeLowerer lowerer(env.ctx, funcs, e.name, checks, contexts);
    RLDB_TRY(const Function* made, lowerer.run());
    builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
