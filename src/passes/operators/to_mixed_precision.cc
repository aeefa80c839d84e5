// ToMixedPrecision: operators that gain from float16 (matmul, convolutions: the policy Always of their rows) get their
// operands in it and accumulate in `out_dtype`; those that allow it (Follow) are computed in float16 if all their
// operands are; the rest keep float32. Only dataflow blocks are rewritten, and their outputs keep their dtypes.
//
// A tensor read only by operators of the first kind is stored in float16: uses are collected in a backward pass first.
#include <algorithm>
#include <cmath>

#include "passes/common.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using ops::MixedPolicy;
using source::message;
using support::Failure;

namespace {

constexpr double kLargestHalf = 65504;

// How a value is used, for each tensor in a tuple.
struct Use {
  enum Kind : std::uint8_t { Nowhere, Half, Full };
  Kind kind = Nowhere;      // of a tensor
  std::vector<Use> fields;  // of a tuple

  static Use of(const Type* t, Kind kind) {
    Use u;
    u.kind = kind;
    if (const auto* tuple = as<TupleType>(t))
      for (const Type* f : tuple->fields) u.fields.push_back(of(f, kind));
    return u;
  }
  void merge(const Use& other) {
    kind = std::max(kind, other.kind);
    if (fields.size() < other.fields.size()) fields.resize(other.fields.size());
    for (std::size_t i = 0; i < other.fields.size(); ++i) fields[i].merge(other.fields[i]);
  }
};

// A tensor, or a tuple of such.
bool is_nested_tensor(const Type* t) {
  if (t->kind == TypeKind::Tensor) return true;
  const auto* tuple = as<TupleType>(t);
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(), is_nested_tensor);
}

// Null: the value is not a call of an operator.
const ops::OpInfo* operator_of(const Expr* value) {
  const auto* call = as<Call>(value);
  return call ? ops::find(call->callee) : nullptr;
}

class Uses {
 public:
  void collect(const SeqExpr* s) {
    require(s->body, Use::Full);
    for (std::size_t k = s->blocks.size(); k-- > 0;)
      for (std::size_t i = s->blocks[k]->bindings.size(); i-- > 0;) {
        support::poll();
        visit(s->blocks[k]->bindings[i], s->blocks[k]->is_dataflow());
      }
  }
  const Use* of(const Var* v) const {
    const auto found = uses_.find(v);
    return found == uses_.end() ? nullptr : &found->second;
  }

 private:
  void require(const Expr* e, Use::Kind kind) {
    for (const Var* v : free_vars(e))
      if (is_nested_tensor(v->type)) uses_[v].merge(Use::of(v->type, kind));
  }

  // Applies to the items of a literal tuple each, else to the value.
  void require_like(const Expr* e, const Use& use) {
    if (const auto* v = as<Var>(e)) {
      if (is_nested_tensor(v->type)) uses_[v].merge(use);
    } else if (const auto* tuple = as<Tuple>(e)) {
      for (std::size_t i = 0; i < tuple->items.size(); ++i)
        require_like(tuple->items[i], i < use.fields.size() ? use.fields[i] : Use());
    } else {
      require(e, Use::Full);
    }
  }

  void visit(const Binding* b, bool dataflow) {
    const Use wanted = [&] {
      const Use* known = of(b->var);
      return known ? *known : Use();
    }();
    const ops::OpInfo* info = dataflow && !b->is_match_cast() ? operator_of(b->value) : nullptr;
    if (info) return require(b->value, info->mixed == MixedPolicy::Always ? Use::Half : Use::Full);
    if (dataflow && isa<Tuple>(b->value)) return require_like(b->value, wanted);
    const auto* get = dataflow ? as<TupleGetItem>(b->value) : nullptr;
    const auto* tuple = get ? as<TupleType>(get->tuple->type) : nullptr;
    if (!tuple) return require(b->value, Use::Full);
    Use use = Use::of(tuple, Use::Nowhere);
    use.fields[std::size_t(get->index)] = wanted;
    require_like(get->tuple, use);
  }

  std::unordered_map<const Var*, Use> uses_;
};

class Mixer : public Rewriter {
 public:
  Mixer(Context& ctx, const Uses& uses, DType out, const std::vector<std::string>& half_inputs)
      : Rewriter(ctx), uses_(uses), out_(out), half_inputs_(half_inputs.begin(), half_inputs.end()) {}

  const Function* run(const Function* f) {
    params_ = f->params;
    std::vector<const Var*> params;
    bool changed = false;
    for (const Var* p : f->params) {
      const auto* t = half_inputs_.count(std::string(p->name)) ? as<TensorType>(p->type) : nullptr;
      params.push_back(t ? ctx_.var(p->name, with_dtype(t, DType::Float(16))) : p);
      if (!t) continue;
      ctx_.set_origin(params.back(), p);
      given_[p] = now_[p] = params.back();
      changed = true;
    }
    const auto* body = visit_seq(f->body);
    if (body == f->body && !changed) return f;
    const Function* made = ctx_.function(params, body, f->ret_type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    std::vector<const BindingBlock*> blocks;
    for (const BindingBlock* b : s->blocks) blocks.push_back(visit_block(b));
    std::vector<const Binding*> last;
    out_bindings_ = &last;
    dataflow_ = false;
    const Expr* result = original(s->body);
    if (!last.empty()) blocks.push_back(ctx_.block(last));
    if (result == s->body && std::equal(blocks.begin(), blocks.end(), s->blocks.begin(), s->blocks.end())) return s;
    return make_seq(ctx_, blocks, result, s);
  }

  const BindingBlock* visit_block(const BindingBlock* b) override {
    std::vector<const Binding*> out;
    out_bindings_ = &out;
    dataflow_ = b->is_dataflow();
    if (dataflow_)
      for (const Var* p : params_) store_half(p);
    for (const Binding* binding : b->bindings) {
      support::poll();
      origin_ = binding;
      if (dataflow_) {
        rewrite_binding(binding);
        store_half(binding->var);
      } else {
        put(binding, binding->var, original(binding->value));
      }
    }
    for (const Var* p : params_) now_.erase(p);
    for (const auto& [p, v] : given_) now_[p] = v;
    if (std::equal(out.begin(), out.end(), b->bindings.begin(), b->bindings.end())) return b;
    const BindingBlock* made = ctx_.block(out, b->is_dataflow());
    ctx_.set_origin(made, b);
    return made;
  }

 private:
  const TensorType* with_dtype(const TensorType* t, DType dtype) {
    if (t->has_shape) return ctx_.tensor(t->shape, dtype, t->vdevice);
    if (t->shape_var) return ctx_.tensor_of(t->shape_var, t->ndim, dtype, t->vdevice);
    return ctx_.tensor_ndim(t->ndim, dtype, t->vdevice);
  }

  const Var* current(const Var* v) const {
    const auto found = now_.find(v);
    return found == now_.end() ? v : found->second;
  }

  const Var* emit(const Expr* value) {
    const Var* v =
        dataflow_ ? static_cast<const Var*>(ctx_.dataflow_var("lv", value->type)) : ctx_.var("lv", value->type);
    out_bindings_->push_back(ctx_.binding(v, value));
    ctx_.set_origin(out_bindings_->back(), origin_);
    return v;
  }

  static bool is_mixed(DType t) { return t == DType::Float(16) || t == DType::Float(32); }
  static bool holds_mixed(const Type* t) {
    if (const auto* tensor = as<TensorType>(t)) return is_mixed(tensor->dtype) || tensor->dtype.is_void();
    const auto* tuple = as<TupleType>(t);
    return tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(), holds_mixed);
  }

  // The value with each float16 or float32 tensor converted to the dtype that `wanted` gives; casts are not bound yet.
  template <class F>
  const Expr* at(const Expr* e, const F& wanted, const Type* like) {
    if (const auto* t = as<TensorType>(e->type)) {
      const DType to = wanted(t, like);
      if (to == t->dtype || !is_mixed(t->dtype) || !is_mixed(to)) return e;
      const Expr* from = isa<Call>(e) ? emit(e) : e;
      const Call* cast = *ctx_.call(op::Astype, {from}, {ctx_.named(op_attr::Dtype, ctx_.attr(to))});
      ctx_.set_origin(cast, origin_);
      return cast;
    }
    const auto* tuple = as<TupleType>(e->type);
    if (!tuple) return e;
    const auto* like_tuple = as<TupleType>(like);
    const auto* literal = as<Tuple>(e);
    // Fields are only read when one of them changes.
    if (!literal && !changes(tuple, wanted, like)) return e;
    const Expr* whole = isa<Call>(e) ? emit(e) : e;
    std::vector<const Expr*> items;
    bool same = true;
    for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
      const Expr* item = literal ? literal->items[i] : *ctx_.tuple_get(whole, std::int64_t(i));
      if (!literal && changes(item->type, wanted, like_tuple ? like_tuple->fields[i] : nullptr)) item = emit(item);
      const Expr* made = leaf(at(item, wanted, like_tuple ? like_tuple->fields[i] : nullptr));
      same = same && literal && made == literal->items[i];
      items.push_back(made);
    }
    return same ? e : ctx_.tuple(items);
  }
  template <class F>
  static bool changes(const Type* t, const F& wanted, const Type* like) {
    if (const auto* s = as<TensorType>(t))
      return is_mixed(s->dtype) && is_mixed(wanted(s, like)) && wanted(s, like) != s->dtype;
    const auto* tuple = as<TupleType>(t);
    const auto* like_tuple = as<TupleType>(like);
    for (std::size_t i = 0; tuple && i < tuple->fields.size(); ++i)
      if (changes(tuple->fields[i], wanted, like_tuple ? like_tuple->fields[i] : nullptr)) return true;
    return false;
  }

  const Expr* leaf(const Expr* e) { return isa<Call>(e) || isa<TupleGetItem>(e) ? emit(e) : e; }
  const Expr* at_dtype(const Expr* e, DType to) {
    return at(
        e, [&](const TensorType*, const Type*) { return to; }, nullptr);
  }
  const Expr* at_type(const Expr* e, const Type* type) {
    return at(
        e,
        [](const TensorType* t, const Type* like) {
          const auto* l = as<TensorType>(like);
          return l ? l->dtype : t->dtype;
        },
        type);
  }

  // The expression with changed variables cast back to their original types.
  const Expr* original(const Expr* e) {
    VarMap map;
    for (const Var* v : free_vars(e))
      if (const Var* c = current(v); c != v) map[v] = leaf(at_type(c, v->type));
    return map.empty() ? e : substitute(ctx_, e, map);
  }
  const Expr* remapped(const Expr* e) {
    VarMap map;
    for (const Var* v : free_vars(e))
      if (const Var* c = current(v); c != v) map[v] = c;
    return map.empty() ? e : substitute(ctx_, e, map);
  }

  void put(const Binding* b, const Var* v, const Expr* value) {
    const Binding* made = remake_binding(ctx_, b, v, value);
    out_bindings_->push_back(made);
  }
  // Creates a variable of the value's type where the dtype has changed.
  void bind(const Binding* b, const Expr* value) {
    const Var* v = b->var;
    if (value->type != b->value->type) {
      v = v->is_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var(v->name, value->type))
                           : ctx_.var(v->name, value->type);
      ctx_.set_origin(v, b->var);
      now_[b->var] = v;
    }
    put(b, v, value);
  }

  void rewrite_binding(const Binding* b) {
    const ops::OpInfo* info = b->is_match_cast() ? nullptr : operator_of(b->value);
    if (info) return rewrite_operator(b, as<Call>(b->value), *info);
    if (b->is_match_cast() || !(isa<Tuple>(b->value) || isa<TupleGetItem>(b->value)))
      return put(b, b->var, original(b->value));
    const Expr* value = remapped(b->value);
    if (const auto* get = as<TupleGetItem>(value)) value = *ctx_.tuple_get(get->tuple, get->index);
    if (!b->var->is_dataflow()) {
      if (isa<TupleGetItem>(value) && changes_to(value, b->var->type)) value = emit(value);
      value = at_type(value, b->var->type);
    }
    bind(b, value);
  }
  static bool changes_to(const Expr* e, const Type* type) {
    return changes(
        e->type,
        [](const TensorType* t, const Type* like) {
          const auto* l = as<TensorType>(like);
          return l ? l->dtype : t->dtype;
        },
        type);
  }

  void rewrite_operator(const Binding* b, const Call* call, const ops::OpInfo& info) {
    if (call->callee == ctx_.op(op::WrapParam)) return bind(b, remapped(call->args[0]));
    std::vector<const Expr*> args;
    for (const Expr* a : call->args) args.push_back(remapped(a));
    const bool always = info.mixed == MixedPolicy::Always;
    // A product of integers stays in integers.
    if (std::none_of(args.begin(), args.end(), [](const Expr* a) { return holds_mixed(a->type); }))
      return put(b, b->var, original(call));
    const DType to = always || (info.mixed == MixedPolicy::Follow &&
                                std::all_of(args.begin(), args.end(), [&](auto* a) { return fits_half(a); }))
                         ? DType::Float(16)
                         : DType::Float(32);
    const bool allowed = info.mixed != MixedPolicy::Never &&
                         may_rewrite([&] { return "the dtype of `" + std::string(b->var->name) + "`"; });
    const Expr* value = allowed ? retyped(call, args, to, always) : nullptr;
    if (!value) return put(b, b->var, original(call));
    if (!b->var->is_dataflow())
      value = at_type(value, b->var->type);
    else if (always)
      value = at_dtype(value, to);
    bind(b, value);
  }

  // Null: the operator refuses such operands.
  const Expr* retyped(const Call* call, const std::vector<const Expr*>& args, DType to, bool always) {
    const std::size_t mark = out_bindings_->size();
    std::vector<const Expr*> made;
    for (const Expr* a : args) made.push_back(is_nested_tensor(a->type) ? leaf(at_dtype(a, to)) : a);
    Span<NamedAttr> attrs = call->attrs;
    if (always && find_attr(attrs, op_attr::OutDtype))
      attrs = ctx_.with_attr(attrs, op_attr::OutDtype, ctx_.attr(out_));
    if (attrs.data() == call->attrs.data() && std::equal(made.begin(), made.end(), call->args.begin())) return call;
    auto built = ctx_.call(CallSpec{call->callee, made, attrs, call->ty_args});
    if (built.ok()) {
      ctx_.set_origin(*built, call);
      return *built;
    }
    out_bindings_->resize(mark);
    return nullptr;
  }

  static bool fits_half(const Expr* e) {
    if (!is_nested_tensor(e->type)) return true;
    if (const auto* t = as<TensorType>(e->type); t && t->dtype == DType::Float(16)) return true;
    if (const auto* tuple = as<Tuple>(e)) return std::all_of(tuple->items.begin(), tuple->items.end(), fits_half);
    const auto* constant = as<Constant>(e);
    const auto* t = constant ? as<TensorType>(constant->type) : nullptr;
    if (!t || t->dtype.lanes != 1) return false;
    const runtime::Tensor& tensor = constant->value->as_tensor();
    const std::int64_t count = tensor.element_count();
    const auto* bytes = static_cast<const std::byte*>(tensor.data());
    for (std::int64_t i = 0; i < count; ++i)
      if (!(std::fabs(runtime::load_as_double(bytes + std::size_t(i) * t->dtype.bytes(), t->dtype)) <= kLargestHalf))
        return false;
    return true;
  }

  // Values read only as float16 are stored as float16.
  void store_half(const Var* v) {
    const Use* use = uses_.of(v);
    const Var* c = current(v);
    if (!use || !is_nested_tensor(c->type)) return;
    const Expr* value = halved(c, *use);
    if (value != c) now_[v] = emit(value);
  }
  const Expr* halved(const Expr* e, const Use& use) {
    if (const auto* t = as<TensorType>(e->type))
      return use.kind == Use::Half && t->dtype == DType::Float(32) ? at_dtype(e, DType::Float(16)) : e;
    const auto* tuple = as<TupleType>(e->type);
    std::vector<const Expr*> items;
    bool same = true;
    const std::size_t mark = out_bindings_->size();
    for (std::size_t i = 0; tuple && i < tuple->fields.size(); ++i) {
      const Expr* item = emit(*ctx_.tuple_get(e, std::int64_t(i)));
      const Expr* made = i < use.fields.size() ? leaf(halved(item, use.fields[i])) : item;
      same = same && made == item;
      items.push_back(made);
    }
    if (same) out_bindings_->resize(mark);
    return same ? e : ctx_.tuple(items);
  }

  const Uses& uses_;
  DType out_;
  std::unordered_set<std::string> half_inputs_;
  Span<const Var*> params_;
  std::unordered_map<const Var*, const Var*> now_;    // the current replacement of a variable
  std::unordered_map<const Var*, const Var*> given_;  // parameters that are now float16
  std::vector<const Binding*>* out_bindings_ = nullptr;
  const Node* origin_ = nullptr;
  bool dataflow_ = false;
};

}  // namespace

Result<const Module*> to_mixed_precision(PassEnv& env, const Module* module, const ToMixedPrecisionOptions& options) {
  const std::optional<DType> out = runtime::parse_dtype(options.out_dtype);
  if (!out || !(*out == DType::Float(16) || *out == DType::Float(32)))
    return Failure(message(diag::PassOptionValue, "out_dtype", "`float32` or `float16`", options.out_dtype));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Uses uses;
    uses.collect(f->body);
    return Mixer(env.ctx, uses, *out, options.fp16_input_names).run(f);
  });
}

}  // namespace rldb::passes
