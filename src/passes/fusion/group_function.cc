// The function of one group: parameters for the values it uses, a tuple of those used outside.
#include "passes/fusion/group_function.h"

#include <algorithm>

#include "passes/common.h"
#include "passes/fusion/block_reads.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kFused = "fused_";

bool is_symbol(const Expr* e) { return isa<Var>(e) && e->type->kind == TypeKind::Prim; }

// `relax.nn.relu` -> `relax_nn_relu`: valid in a function name.
std::string name_part(std::string_view name) {
  if (name.starts_with(kFused)) name.remove_prefix(kFused.size());
  std::string part = "_" + std::string(name);
  std::replace(part.begin(), part.end(), '.', '_');
  return part;
}

}  // namespace

// Copies the group's bindings with parameters in place of values read from outside, and with fresh variables.
class GroupFunction::BodyMaker : public Rewriter {
 public:
  using Rewriter::Rewriter;

  void put(const Expr* from, const Expr* to) {
    if (const auto* v = as<Var>(from))
      remap(v, to);
    else
      leaves_[from] = to;
  }
  void put_field(const Expr* tuple, std::int64_t index, const Var* to) { fields_[tuple][index] = to; }
  using Rewriter::rewrite_type;

  // Null: the binding only names a parameter.
  const Binding* make(const Binding* b, bool is_output) {
    if (const Var* field = field_of(b->value)) {
      remap(b->var, field);
      return nullptr;
    }
    const Expr* value = rewrite(b->value);
    const Type* type = b->var->type == b->value->type ? value->type : rewrite_type(b->var->type);
    const Var* var = is_output ? ctx_.var(b->var->name, type) : ctx_.dataflow_var(b->var->name, type);
    ctx_.set_origin(var, b->var);
    remap(b->var, var);
    return remake_binding(ctx_, b, var, value);
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto found = leaves_.find(e);
    return found == leaves_.end() ? Rewriter::visit_expr(e) : found->second;
  }

 private:
  const Var* field_of(const Expr* value) const {
    const auto* get = as<TupleGetItem>(value);
    const auto tuple = get ? fields_.find(get->tuple) : fields_.end();
    return tuple == fields_.end() ? nullptr : tuple->second.at(get->index);
  }

  std::unordered_map<const Expr*, const Expr*> leaves_;
  std::unordered_map<const Expr*, std::unordered_map<std::int64_t, const Var*>> fields_;
};

void GroupFunction::add_symbols(const Expr* value, const Type* type) {
  std::vector<const Var*> found = variables_read(value);
  collect_vars(type, found);
  for (const Var* v : found)
    if (is_symbol(v) && !defined_.count(v) && seen_symbols_.insert(v).second) symbols_.push_back(v);
}

// Variables holding shapes that a type refers to: R.Tensor(s, "float32").
void GroupFunction::read_shapes(const Type* type) {
  std::vector<const Var*> found;
  collect_vars(type, found);
  for (const Var* v : found)
    if (v->type->kind == TypeKind::Shape) read(v, true);
}

void GroupFunction::append(const Binding* b) {
  const Expr* value = b->value;
  if (const auto* call = as<Call>(value)) {
    append_call(call);
  } else if (const auto* get = as<TupleGetItem>(value)) {
    read(get->tuple, false);
    if (const auto found = parameter_of_.find(get->tuple); found != parameter_of_.end()) {
      std::vector<std::int64_t>& fields = parameters_[found->second].fields;
      if (std::find(fields.begin(), fields.end(), get->index) == fields.end()) fields.push_back(get->index);
    }
  } else {
    read(value, true);
  }
  read_shapes(b->var->type);
  add_symbols(value, b->var->type);
  defined_.insert(b->var);
  if (!b->var->is_dataflow()) add_output(b->var);
  bindings_.push_back(b);
}

void GroupFunction::append_call(const Call* call) {
  const bool kernel = op::is_call_with(call, op::Trait::CallTir);
  const Expr* callee = kernel ? call->args[0] : call->callee;
  if (const auto* g = as<GlobalVar>(callee)) name_ += name_part(g->name);
  if (const auto* o = as<Op>(callee)) name_ += name_part(o->name);
  for (std::size_t i = kernel ? 1 : 0; i < call->args.size(); ++i) read(call->args[i], true);
  if (isa<Var>(callee)) read(callee, true);
}

// Scalars stay in place, as their variables are symbols; so do shapes without variables.
void GroupFunction::read(const Expr* e, bool whole) {
  if (const auto* tuple = as<Tuple>(e)) {
    for (const Expr* item : tuple->items) read(item, whole);
    return;
  }
  const auto* v = as<Var>(e);
  if (v && shapes_.count(v) && !defined_.count(v)) return inlined_.push_back(v);
  const bool named = v != nullptr && !defined_.count(v);
  const auto* shape = as<ShapeExpr>(e);
  const bool unnamed = (shape && !all_int_literals(shape->values)) || (lift_constants_ && isa<Constant>(e));
  if (e->type->kind == TypeKind::Prim || (!named && !unnamed)) return;
  if (!parameter_of_.count(e)) read_shapes(e->type);
  const auto [found, fresh] = parameter_of_.try_emplace(e, parameters_.size());
  if (fresh) {
    parameters_.push_back({e, named ? std::string(v->name) : "param_" + std::to_string(unnamed_++)});
    parameters_.back().fields_only = e->type->kind == TypeKind::Tuple;
    add_symbols(e, e->type);
  }
  if (whole) parameters_[found->second].fields_only = false;
}

void GroupFunction::add_output(const Var* v) {
  if (is_output_.insert(v).second) outputs_.push_back(v);
}

void GroupFunction::close() {
  std::unordered_set<const Var*> known;
  const auto add = [&](Formal formal) {
    bound_symbols(formal.argument->type, known);
    formals_.push_back(std::move(formal));
  };
  for (const Parameter& p : parameters_) {
    if (!p.fields_only) {
      add({p.argument, p.name, p.argument});
      continue;
    }
    for (const std::int64_t i : p.fields) {
      const TupleGetItem* get = *ctx_.tuple_get(p.argument, i);
      ctx_.set_origin(get, p.argument);
      add({get, p.name + "_" + std::to_string(i), p.argument, p.argument});
    }
  }
  std::vector<const Expr*> dims;
  for (const Var* v : symbols_) {
    if (known.count(v)) continue;
    if (v->dtype() == DType::Int(64))
      dims.push_back(v);
    else
      formals_.push_back({v, std::string(v->name), v});  // not a dim: a scalar parameter
  }
  if (!dims.empty()) formals_.push_back({ctx_.shape(dims), "tir_vars", bindings_[0], nullptr, true});
}

std::vector<const Expr*> GroupFunction::arguments() const {
  std::vector<const Expr*> found;
  found.reserve(formals_.size());
  for (const Formal& f : formals_) found.push_back(f.argument);
  return found;
}

// The words of a key: the group's computation, with parameters and its own variables by number, all else by address.
// Types, operators and global variables are interned; any other pair of equal nodes merely makes the keys differ.
class GroupFunction::KeyMaker {
 public:
  explicit KeyMaker(const GroupFunction& group) : group_(group) {
    for (const Formal& f : group.formals_) {
      put(f.argument->type);
      if (f.is_dims) {
        for (const Expr* dim : cast<ShapeExpr>(f.argument)->values) put(dim);
      } else if (f.tuple) {
        fields_[f.tuple][cast<TupleGetItem>(f.argument)->index] = number_++;
      } else {
        numbers_.emplace(f.argument, number_++);
      }
    }
    words_.push_back(number_);
  }

  bool add(const Binding* b) {
    put(b->cast_type);
    put(b->var->type);
    words_.push_back(group_.is_output_.count(b->var));
    numbers_.emplace(b->var, number_++);
    return value(b->value);
  }
  void put(const void* address) { words_.push_back(reinterpret_cast<std::uintptr_t>(address)); }
  void put_number_of(const Var* v) { words_.push_back(numbers_.at(v)); }
  std::vector<std::uintptr_t> take() { return std::move(words_); }

 private:
  bool value(const Expr* e) {
    words_.push_back(std::uintptr_t(e->kind));
    if (const auto found = numbers_.find(e); found != numbers_.end()) {
      words_.push_back(found->second);
      return true;
    }
    put(e->type);
    if (const auto* call = as<Call>(e)) {
      if (!call->attrs.empty() || !value(call->callee)) return false;
      for (const Type* t : call->ty_args) put(t);
      return list(call->args);
    }
    if (const auto* tuple = as<Tuple>(e)) return list(tuple->items);
    if (const auto* get = as<TupleGetItem>(e)) return field(get);
    const bool is_leaf = isa<Var>(e) || isa<GlobalVar>(e) || isa<Op>(e) || isa<ShapeExpr>(e) || isa<Constant>(e);
    put(e);
    return is_leaf || e->type->kind == TypeKind::Prim;
  }
  bool list(Span<const Expr* const> items) {
    words_.push_back(items.size());
    return std::all_of(items.begin(), items.end(), [&](const Expr* e) { return value(e); });
  }
  bool field(const TupleGetItem* get) {
    words_.push_back(std::uintptr_t(get->index));
    const auto tuple = fields_.find(get->tuple);
    if (tuple == fields_.end()) return value(get->tuple);
    words_.push_back(tuple->second.at(get->index));
    return true;
  }

  const GroupFunction& group_;
  std::vector<std::uintptr_t> words_;
  std::unordered_map<const Expr*, std::uintptr_t> numbers_;
  std::unordered_map<const Expr*, std::unordered_map<std::int64_t, std::uintptr_t>> fields_;
  std::uintptr_t number_ = 0;
};

std::vector<std::uintptr_t> GroupFunction::key(Span<NamedAttr> attrs) const {
  KeyMaker maker(*this);
  maker.put(attrs.data());
  for (const Binding* b : bindings_)
    if (!maker.add(b)) return {};
  for (const Var* v : outputs_) maker.put_number_of(v);
  return maker.take();
}

const Function* GroupFunction::make(Span<NamedAttr> attrs) const {
  BodyMaker maker(ctx_);
  for (const Var* v : symbols_) {
    const Var* own = ctx_.var(v->name, v->type);
    ctx_.set_origin(own, v);
    maker.put(v, own);
  }
  for (const Var* v : inlined_) maker.put(v, shapes_.at(v));
  std::vector<const Var*> params;
  for (const Formal& f : formals_) {
    const Var* p = ctx_.var(f.name, maker.rewrite_type(f.argument->type));
    ctx_.set_origin(p, f.origin);
    params.push_back(p);
    if (f.tuple)
      maker.put_field(f.tuple, cast<TupleGetItem>(f.argument)->index, p);
    else if (!f.is_dims)
      maker.put(f.argument, p);
  }

  std::vector<const Binding*> made;
  for (const Binding* b : bindings_)
    if (const Binding* own = maker.make(b, is_output_.count(b->var) > 0)) made.push_back(own);
  std::vector<const Expr*> results;
  for (const Var* v : outputs_) results.push_back(maker.rewrite(v));
  const Expr* result = results.size() == 1 ? results[0] : ctx_.tuple(results);
  std::vector<const BindingBlock*> blocks;
  if (!made.empty()) blocks.push_back(ctx_.block(made, true));
  const Function* f = ctx_.function(params, ctx_.seq(blocks, result), result->type, true, attrs);
  ctx_.set_origin(f, bindings_.back());
  return f;
}

}  // namespace rldb::passes
