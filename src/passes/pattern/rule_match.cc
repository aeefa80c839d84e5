// RuleMatch: a pattern function matched against a block, commutative operators in both orders.
#include "passes/pattern/rule_match.h"

#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ops/legalize.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool has_effect(const Binding* b) {
  if (const auto* call = as<Call>(b->value)) return !ops::is_pure_call(call);
  return isa<If>(b->value) || isa<SeqExpr>(b->value);
}

bool is_commutative(const Call* call) {
  return call->args.size() == 2 && op::has(call->callee, op::Trait::Commutative);
}

}  // namespace

BlockView::BlockView(const BindingBlock* b) : block(b) {
  std::size_t effects = 0;
  for (std::size_t i = 0; i < b->bindings.size(); ++i) {
    place[b->bindings[i]->var] = i;
    impure.push_back(effects);
    effects += has_effect(b->bindings[i]) ? 1 : 0;
  }
}

const Expr* BlockView::value_of(const Expr* e, std::vector<std::size_t>* passed) const {
  while (const auto* v = as<Var>(e)) {
    const auto found = place.find(v);
    if (found == place.end() || block->bindings[found->second]->is_match_cast()) break;
    if (passed) passed->push_back(found->second);
    e = block->bindings[found->second]->value;
  }
  return e;
}

PatternBody::PatternBody(const Function* f) : function(f) {
  for (const BindingBlock* block : f->body->blocks)
    for (const Binding* b : block->bindings) values[b->var] = b->value;
  const Expr* result = value_of(f->body->body);
  if (const auto* t = as<Tuple>(result); t && !t->items.empty()) {
    is_tuple = true;
    results.assign(t->items.begin(), t->items.end());
  } else {
    results.push_back(f->body->body);
  }
}

const Expr* PatternBody::value_of(const Expr* e) const {
  while (const auto* v = as<Var>(e)) {
    const auto found = values.find(v);
    if (found == values.end()) break;
    e = found->second;
  }
  return e;
}

bool RuleMatch::add_result(std::size_t result, std::size_t at) {
  if (std::find(bindings_.begin(), bindings_.end(), at) != bindings_.end()) return false;
  const Binding* b = view_->block->bindings[at];
  if (b->is_match_cast() || isa<Var>(b->value)) return false;
  const auto* v = as<Var>(pattern_->results[result]);
  bindings_.push_back(at);
  if (v && !captured_.emplace(v, b->var).second && captured_[v] != b->var) return false;
  return same_value(pattern_->value_of(pattern_->results[result]), b->value);
}

bool RuleMatch::complete() {
  Analyzer analyzer(*ctx_);
  for (const auto& [pattern, dim] : open_) {
    std::vector<const Var*> vars;
    collect_vars(pattern, vars);
    for (const Var* v : vars)
      if (!symbols_.count(v)) return false;
    if (!analyzer.prove_equal(substitute(*ctx_, pattern, symbols_), dim)) return false;
  }
  return std::all_of(pattern_->function->params.begin(), pattern_->function->params.end(),
                     [&](const Var* p) { return captured_.count(p); });
}

std::vector<const Expr*> RuleMatch::arguments() const {
  std::vector<const Expr*> out;
  for (const Var* p : pattern_->function->params) out.push_back(captured_.at(p));
  return out;
}

bool RuleMatch::same(const Expr* pattern, const Expr* value) {
  support::poll();
  const auto* v = as<Var>(pattern);
  if (!v) return same_value(pattern, view_->value_of(value, &bindings_));
  const auto& params = pattern_->function->params;
  if (std::find(params.begin(), params.end(), v) != params.end()) return capture(v, value);
  if (const auto known = captured_.find(v); known != captured_.end())
    return view_->value_of(known->second) == view_->value_of(value);
  captured_[v] = value;
  return same_value(pattern_->value_of(v), view_->value_of(value, &bindings_));
}

bool RuleMatch::same_value(const Expr* pattern, const Expr* value) {
  if (isa<Var>(pattern)) return same(pattern, value);
  if (const auto* call = as<Call>(pattern)) return isa<Call>(value) && same_call(call, as<Call>(value));
  if (const auto* t = as<Tuple>(pattern)) return isa<Tuple>(value) && same_list(t->items, as<Tuple>(value)->items);
  if (const auto* get = as<TupleGetItem>(pattern)) {
    const auto* other = as<TupleGetItem>(value);
    return other && other->index == get->index && same(get->tuple, other->tuple);
  }
  if (const auto* shape = as<ShapeExpr>(pattern))
    return isa<ShapeExpr>(value) && same_dims(shape->values, as<ShapeExpr>(value)->values);
  if (pattern->type->kind == TypeKind::Prim) return value->type->kind == TypeKind::Prim && same_dim(pattern, value);
  return structural_equal(pattern, value);
}

bool RuleMatch::same_call(const Call* pattern, const Call* value) {
  if (!structural_equal(pattern->callee, value->callee) || pattern->attrs.size() != value->attrs.size()) return false;
  for (const NamedAttr& a : pattern->attrs) {
    const Attr* other = find_attr(value->attrs, a.name);
    if (!other || !attr_equal(a.value, other)) return false;
  }
  if (pattern->ty_args.size() != value->ty_args.size()) return false;
  for (std::size_t i = 0; i < pattern->ty_args.size(); ++i)
    if (!same_type(pattern->ty_args[i], value->ty_args[i])) return false;
  if (!is_commutative(pattern)) return same_list(pattern->args, value->args);
  const RuleMatch before = *this;
  if (same_list(pattern->args, value->args)) return true;
  *this = before;
  return value->args.size() == 2 && same(pattern->args[0], value->args[1]) && same(pattern->args[1], value->args[0]);
}

bool RuleMatch::same_list(Span<const Expr*> pattern, Span<const Expr*> values) {
  if (pattern.size() != values.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (!same(pattern[i], values[i])) return false;
  return true;
}

bool RuleMatch::capture(const Var* parameter, const Expr* value) {
  const auto [known, is_new] = captured_.emplace(parameter, value);
  if (!is_new) return view_->value_of(known->second) == view_->value_of(value);
  return same_type(parameter->type, value->type);
}

bool RuleMatch::same_type(const Type* pattern, const Type* type) {
  if (const auto* t = as<TensorType>(pattern)) {
    const auto* other = as<TensorType>(type);
    if (!other || (!t->dtype.is_void() && t->dtype != other->dtype)) return false;
    if (t->ndim != kUnknownNdim && t->ndim != other->ndim) return false;
    return !t->has_shape || (other->has_shape && same_dims(t->shape, other->shape));
  }
  if (const auto* s = as<ShapeType>(pattern)) {
    const auto* other = as<ShapeType>(type);
    return other && (!s->has_values || (other->has_values && same_dims(s->values, other->values)));
  }
  if (const auto* t = as<TupleType>(pattern)) {
    const auto* other = as<TupleType>(type);
    if (!other || other->fields.size() != t->fields.size()) return false;
    for (std::size_t i = 0; i < t->fields.size(); ++i)
      if (!same_type(t->fields[i], other->fields[i])) return false;
    return true;
  }
  return is_base_of(*ctx_, pattern, type);
}

bool RuleMatch::same_dims(Span<const Expr*> pattern, Span<const Expr*> dims) {
  if (pattern.size() != dims.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (!same_dim(pattern[i], dims[i])) return false;
  return true;
}

// A symbolic variable of the pattern is bound to the first dim it meets; the rest is compared once all are known.
bool RuleMatch::same_dim(const Expr* pattern, const Expr* dim) {
  if (const auto* v = as<Var>(pattern); v && symbols_.emplace(v, dim).second) return true;
  if (isa<IntImm>(pattern) && isa<IntImm>(dim)) return structural_equal(pattern, dim);
  open_.emplace_back(pattern, dim);
  return true;
}

}  // namespace rldb::passes
