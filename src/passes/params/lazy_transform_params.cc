// LazyTransformParams: functions whose names end in `transform_params` get each weight from a packed function when they
// need it and pass each result to another as soon as it has no more readers, so that not all weights are in memory at
// once: get_item(index), set_item(index, value). Weights are released after their last use.
//
// The weights are the fields of one tuple parameter, or separate parameters. Dataflow blocks become plain.
#include <algorithm>

#include "passes/params/late_params.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/vm.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kSuffix = "transform_params";

struct Callbacks {
  std::string getter;  // empty: the weights stay parameters
  std::string setter;  // empty: the results stay results
  std::vector<std::string> getter_params;
  std::vector<std::string> setter_params;
};

class LazyGetter : public LateParams {
 public:
  LazyGetter(Context& ctx, std::string_view callee, std::vector<const Expr*> extra)
      : LateParams(ctx), callee_(callee), extra_(std::move(extra)) {}

  const SeqExpr* run(const Function* f, std::size_t inputs) {
    if (f->params.size() == inputs + 1 && as<TupleType>(f->params.back()->type)) {
      tuple_ = f->params.back();
      inputs = f->params.size();
      find_symbols(f);
    }
    return rewrite_body(f, inputs, true);
  }
  // Whether it is read other than by field.
  bool used_whole() const { return used_whole_; }
  const std::unordered_set<const Var*>& weights() const { return weights_; }

 protected:
  const Var* fetch(const Var* param, std::size_t index, bool, std::vector<const Binding*>& out) override {
    const Var* v = get(index, rewrite_type(param->type), param, out);
    weights_.insert(v);
    return v;
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (!tuple_) return LateParams::visit_binding(b);
    std::vector<const Binding*> out;
    const auto* get_field = as<TupleGetItem>(b->value);
    if (!get_field || get_field->tuple != tuple_ || b->is_match_cast()) {
      read_symbols(b, out);
      for (const Binding* made : LateParams::visit_binding(b)) out.push_back(made);
      return out;
    }
    const Type* type = b->value->type;
    if (outermost()) bind_symbols_of(type, out);
    const Var* got = get(std::size_t(get_field->index), type, b, out);
    out.push_back(remake_binding(ctx_, b, b->var, got));
    weights_.insert(b->var);
    return out;
  }

  const Expr* visit_var(const Var* v) override {
    used_whole_ = used_whole_ || v == tuple_;
    return LateParams::visit_var(v);
  }

 private:
  // Symbolic variables that only fields of the tuple bind.
  void find_symbols(const Function* f) {
    std::unordered_set<const Var*> known;
    for (const Var* p : f->params)
      if (p != tuple_) bound_symbols(p->type, known);
    const Span<const Type*> fields = as<TupleType>(tuple_->type)->fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::unordered_set<const Var*> here;
      bound_symbols(fields[i], here);
      for (const Var* v : here)
        if (known.insert(v).second) symbol_fields_[v] = i;
    }
  }
  // Fetches the fields that bind the symbolic variables which the binding uses.
  void read_symbols(const Binding* b, std::vector<const Binding*>& out) {
    if (!outermost() || symbol_fields_.empty()) return;
    for (const Var* v : free_vars(b->value)) read_symbol(v, out);
    std::vector<const Var*> of_type;
    collect_vars(b->is_match_cast() ? b->cast_type : b->var->type, of_type);
    for (const Var* v : of_type) read_symbol(v, out);
  }
  void read_symbol(const Var* v, std::vector<const Binding*>& out) {
    const auto found = symbol_fields_.find(v);
    if (found == symbol_fields_.end()) return;
    const std::size_t index = found->second;
    const Type* type = as<TupleType>(tuple_->type)->fields[index];
    bind_symbols_of(type, out);
    weights_.insert(get(index, type, tuple_, out));
  }
  // A value of this type is about to be matched: it binds its own symbols, and needs those of its expressions.
  void bind_symbols_of(const Type* type, std::vector<const Binding*>& out) {
    std::unordered_set<const Var*> bound;
    bound_symbols(type, bound);
    for (const Var* v : bound) symbol_fields_.erase(v);
    std::vector<const Var*> used;
    collect_vars(type, used);
    for (const Var* v : used) read_symbol(v, out);
  }

  const Var* get(std::size_t index, const Type* type, const Node* origin, std::vector<const Binding*>& out) {
    std::vector<const Expr*> args = extra_;
    args.push_back(ctx_.i64(std::int64_t(index)));
    out.push_back(bind_new(ctx_, "gv", packed_call(ctx_, callee_, args, ctx_.any(), {ctx_.any()}), origin));
    const Var* cast = ctx_.var("gv", type);
    out.push_back(ctx_.match_cast(cast, out.back()->var, type));
    ctx_.set_origin(out.back(), origin);
    return cast;
  }

  std::string_view callee_;
  std::vector<const Expr*> extra_;
  const Var* tuple_ = nullptr;
  bool used_whole_ = false;
  std::unordered_map<const Var*, std::size_t> symbol_fields_;  // not bound yet, to the field that binds it
  std::unordered_set<const Var*> weights_;
};

// Passes on each result of a body without dataflow blocks right after the last binding that reads it.
class ResultSetter {
 public:
  ResultSetter(Context& ctx, std::string_view callee, std::vector<const Expr*> extra,
               const std::unordered_set<const Var*>& weights)
      : ctx_(ctx), callee_(callee), extra_(std::move(extra)), weights_(weights) {}

  const SeqExpr* run(const SeqExpr* s) {
    find_outputs(s);
    find_last_uses(s);
    std::vector<const BindingBlock*> blocks;
    for (const BindingBlock* block : s->blocks) {
      std::vector<const Binding*> out;
      for (const Binding* b : block->bindings) rewrite(b, out);
      blocks.push_back(ctx_.block(out));
    }
    if (!out_tuple_) {
      std::vector<const Binding*> rest;
      finish(s, rest);
      blocks.push_back(ctx_.block(rest));
    }
    // A result without parts is written where it is returned, as in TVM's normal form.
    return make_seq(ctx_, blocks, ctx_.tuple({}), s);
  }

 private:
  void find_outputs(const SeqExpr* s) {
    const Expr* result = s->body;
    for (const BindingBlock* block : s->blocks)
      for (const Binding* b : block->bindings)
        if (b->var == s->body && isa<Tuple>(b->value) && !b->is_match_cast()) out_tuple_ = b, result = b->value;
    const auto* tuple = as<Tuple>(result);
    const std::vector<const Expr*> items =
        tuple ? std::vector<const Expr*>(tuple->items.begin(), tuple->items.end()) : std::vector{result};
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const auto* v = as<Var>(items[i]))
        outputs_[v].push_back(i);
      else
        others_.emplace_back(i, items[i]);
    }
  }

  void find_last_uses(const SeqExpr* s) {
    std::unordered_set<const Var*> ended;
    for (std::size_t k = s->blocks.size(); k-- > 0;)
      for (std::size_t i = s->blocks[k]->bindings.size(); i-- > 0;) {
        const Binding* b = s->blocks[k]->bindings[i];
        if (b == out_tuple_) continue;
        std::vector<const Var*>& here = ending_[b];
        for (const Var* v : free_vars(b->value))
          if (ended.insert(v).second) here.push_back(v);
        if (ended.insert(b->var).second) here.push_back(b->var);
      }
  }

  void rewrite(const Binding* b, std::vector<const Binding*>& out) {
    if (b == out_tuple_) return finish(b, out);
    out.push_back(b);
    for (const Var* v : ending_[b]) {
      set_all(v, out);
      if (weights_.count(v))
        out.push_back(bind_new(ctx_, "_", op_call(ctx_, op::VmKillObject, {v}, ctx_.void_type()), b));
    }
  }

  // Values whose lifetime no binding ends: parameters, constants.
  void finish(const Node* origin, std::vector<const Binding*>& out) {
    std::vector<std::pair<std::size_t, const Expr*>> left = others_;
    for (const auto& [v, indices] : outputs_)
      for (const std::size_t i : indices) left.emplace_back(i, v);
    std::sort(left.begin(), left.end());
    outputs_.clear();
    if (out_tuple_) out.push_back(bind_new(ctx_, out_tuple_->var->name, ctx_.tuple({}), origin));
    for (const auto& [i, value] : left) out.push_back(set(i, value));
  }

  void set_all(const Var* v, std::vector<const Binding*>& out) {
    const auto found = outputs_.find(v);
    if (found == outputs_.end()) return;
    for (const std::size_t i : found->second) out.push_back(set(i, v));
    outputs_.erase(found);
  }

  const Binding* set(std::size_t index, const Expr* value) {
    std::vector<const Expr*> args = extra_;
    args.push_back(ctx_.i64(std::int64_t(index)));
    args.push_back(value);
    return bind_new(ctx_, "_", packed_call(ctx_, callee_, args, ctx_.any(), {ctx_.any()}), value);
  }

  Context& ctx_;
  std::string_view callee_;
  std::vector<const Expr*> extra_;
  const std::unordered_set<const Var*>& weights_;
  const Binding* out_tuple_ = nullptr;
  std::unordered_map<const Var*, std::vector<std::size_t>> outputs_;
  std::vector<std::pair<std::size_t, const Expr*>> others_;
  std::unordered_map<const Binding*, std::vector<const Var*>> ending_;
};

std::vector<const Expr*> add_params(Context& ctx, const std::vector<std::string>& names,
                                    std::vector<const Var*>& params) {
  std::vector<const Expr*> added;
  for (const std::string& name : names) {
    params.push_back(ctx.var(name, ctx.any()));
    added.push_back(params.back());
  }
  return added;
}

// A function that returns its tuple unchanged, field by field: made by LiftTransformParams when nothing is computed.
const Function* by_field(Context& ctx, const Function* f) {
  const auto* type = f->params.empty() ? nullptr : as<TupleType>(f->params.back()->type);
  if (!type || f->body->body != f->params.back()) return f;
  std::vector<const Binding*> fields;
  std::vector<const Expr*> items;
  for (std::size_t i = 0; i < type->fields.size(); ++i) {
    fields.push_back(
        bind_new(ctx, "param" + std::to_string(i), *ctx.tuple_get(f->params.back(), std::int64_t(i)), f->body->body));
    items.push_back(fields.back()->var);
  }
  std::vector<const BindingBlock*> blocks(f->body->blocks.begin(), f->body->blocks.end());
  blocks.push_back(ctx.block(fields));
  return with_body(ctx, f, make_seq(ctx, blocks, ctx.tuple(items), f->body));
}

Result<const Function*> make_lazy(Context& ctx, std::string_view name, const Function* from, const Callbacks& calls) {
  const Function* f = by_field(ctx, without_dataflow(ctx, from));
  const std::size_t inputs = find_attr(f->attrs, attr_name::NumInput) ? input_count(f) : 0;
  const std::size_t kept = calls.getter.empty() ? f->params.size() : inputs;
  std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(kept));
  LazyGetter getter(ctx, calls.getter, add_params(ctx, calls.getter_params, params));
  const SeqExpr* body = calls.getter.empty() ? f->body : getter.run(f, inputs);
  if (getter.used_whole())
    return Failure(message(diag::PassUnsupported, "`" + std::string(name) + "`",
                           "it uses the tuple of its parameters otherwise than by reading a field"));
  const Type* result = f->ret_type;
  const std::vector<const Expr*> extra = add_params(ctx, calls.setter_params, params);
  if (!calls.setter.empty()) {
    body = ResultSetter(ctx, calls.setter, extra, getter.weights()).run(body);
    result = ctx.void_type();
  } else {
    result = erase_unbound(ctx, result, params);
  }
  const Span<NamedAttr> attrs = ctx.with_attr(f->attrs, attr_name::ForcePure, nullptr);
  const Function* made = ctx.function(params, body, result, false, attrs);
  ctx.set_origin(made, from);
  return made;
}

}  // namespace

Result<const Module*> lazy_transform_params(PassEnv& env, const Module* module,
                                            const LazyTransformParamsOptions& options) {
  const Callbacks calls{options.fget_item.value_or(""), options.fset_item.value_or(""), options.extra_get_item_params,
                        options.extra_set_item_params};
  return map_functions(env, module, [&](std::string_view name, const Function* f) -> Result<const Function*> {
    if (!name.ends_with(kSuffix)) return f;
    return make_lazy(env.ctx, name, f, calls);
  });
}

}  // namespace rldb::passes
