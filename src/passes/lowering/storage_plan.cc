// Which tensors share a storage: live ranges through branches, tuples and views, and reuse of freed storages.
#include "passes/lowering/storage_plan.h"

#include <fmt/format.h>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/bound_attrs.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/support/planted.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

// Operators and builtins whose result may alias their first argument.
bool is_view(const Call* call) {
  if (isa<Op>(call->callee)) return op::has(call->callee, op::Trait::View | op::Trait::Identity);
  const auto* packed = as<ExternFunc>(call->callee);
  if (!packed) return false;
  for (const std::string_view name : {builtin::Copy, builtin::Reshape, builtin::ToDevice, builtin::EnsureZeroOffset,
                                      builtin::MemoryView, builtin::MemoryViewAlias})
    if (packed->symbol == name) return true;
  return false;
}

// A packed function other than a builtin: it keeps none of its arguments, as TVM assumes.
bool is_packed_call(const Call* call) {
  const auto* packed = as<ExternFunc>(call->callee);
  return packed && !bytecode::find_builtin(packed->symbol);
}

// Whether the result of a packed function could be its argument, written in place. An object has copied what it
// holds, as TVM assumes of caches.
bool may_be_argument(const Type* result, const Type* arg) {
  const auto* fields = as<TupleType>(result);
  return result == arg || (fields && !fields->fields.empty());
}

}  // namespace

StoragePlan::StoragePlan(Context& ctx, const Module* module, const Function* f, Analyzer& analyzer)
    : ctx_(ctx), module_(module), analyzer_(analyzer) {
  for (Phase p : {Phase::Count, Phase::Assign}) {
    phase_ = p;
    vars_.clear();
    pools_.clear();
    trees_.clear();
    visit_seq(f->body);
    drop(tokens_of(f->body->body));
  }
}

PlannedStorage* StoragePlan::storage_of(const Call* alloc) const {
  const auto found = allocs_.find(alloc);
  return found == allocs_.end() || found->second->dropped ? nullptr : found->second->storage;
}

void StoragePlan::visit_seq(const SeqExpr* s) {
  const BindingBlock* outer = block_;
  for (const BindingBlock* b : s->blocks) {
    block_ = b;
    for (const Binding* binding : b->bindings) visit_binding(binding);
  }
  block_ = outer;
}

// A match_cast is the same memory under another type.
void StoragePlan::visit_binding(const Binding* b) {
  support::poll();
  if (const Tokens tokens = visit_value(b->value)) vars_[b->var] = tokens;
}

StoragePlan::Tokens StoragePlan::visit_value(const Expr* value) {
  if (const auto* call = as<Call>(value)) return visit_call(call);
  if (const auto* branch = as<If>(value)) {
    visit_if(branch);
    return nullptr;
  }
  if (const auto* f = as<Function>(value)) {
    visit_local_function(f);
    return nullptr;
  }
  if (const auto* s = as<SeqExpr>(value)) {
    visit_seq(s);
    drop(tokens_of(s->body));
    return nullptr;
  }
  return tokens_of(value);
}

StoragePlan::Tokens StoragePlan::tokens_of(const Expr* e) {
  if (const auto* v = as<Var>(e)) {
    const auto found = vars_.find(v);
    return found == vars_.end() ? nullptr : found->second;
  }
  if (const auto* t = as<Tuple>(e)) {
    Tree all;
    bool planned = false;
    for (const Expr* item : t->items) {
      all.fields.push_back(tokens_of(item));
      planned = planned || all.fields.back();
    }
    return planned ? &trees_.emplace_back(std::move(all)) : nullptr;
  }
  if (const auto* get = as<TupleGetItem>(e)) {
    const Tokens whole = tokens_of(get->tuple);
    const std::size_t i = std::size_t(get->index);
    return whole && i < whole->fields.size() ? whole->fields[i] : nullptr;
  }
  return nullptr;
}

StoragePlan::Tokens StoragePlan::leaf_of(Token* token) {
  if (!token) return nullptr;
  Tree& t = trees_.emplace_back();
  t.leaf = token;
  return &t;
}

StoragePlan::Tokens StoragePlan::visit_call(const Call* call) {
  if (as_call_of(call, op::BuiltinAllocTensor)) return allocate(call);
  if (is_view(call) && !call->args.empty()) return tokens_of(call->args[0]);
  if (as_call_of(call, op::VmCallTirDyn) && call->args.size() == 2) {
    use(tokens_of(call->args[1]));
    return nullptr;
  }
  if (is_packed_call(call)) {
    use_in_packed_call(call);
    return nullptr;
  }
  const bool kernel = is_kernel(call->callee);
  if (!kernel) drop(tokens_of(call->callee));
  for (const Expr* arg : call->args) kernel ? use(tokens_of(arg)) : drop(tokens_of(arg));
  return nullptr;
}

// A tensor that the result could be counts once more: its storage is not used again.
void StoragePlan::use_in_packed_call(const Call* call) {
  for (const Expr* arg : call->args) {
    use(tokens_of(arg));
    if (phase_ == Phase::Count && may_be_argument(call->type, arg->type)) use(tokens_of(arg));
  }
}

bool StoragePlan::is_kernel(const Expr* callee) const {
  const auto* g = as<GlobalVar>(callee);
  return g && isa<PrimFunc>(module_->find(g->name));
}

// Each branch starts from the storages free before it and restores that set at its end: a storage allocated in one
// branch is not available anywhere else.
void StoragePlan::visit_if(const If* branch) {
  drop(tokens_of(branch->cond));
  for (const SeqExpr* s : {branch->then_branch, branch->else_branch}) {
    const Pools before = pools_;
    visit_seq(s);
    drop(tokens_of(s->body));
    pools_ = before;
  }
}

// Runs at another time: its captures escape, and it has storages of its own.
void StoragePlan::visit_local_function(const Function* f) {
  for (const Var* v : free_vars(f)) drop(tokens_of(v));
  Pools outer;
  std::swap(outer, pools_);
  visit_seq(f->body);
  drop(tokens_of(f->body->body));
  std::swap(outer, pools_);
}

// Each tensor counts once, however many times the value contains it. Nearly all values are one tensor.
void StoragePlan::use(Tokens whole) {
  if (!whole) return;
  if (whole->fields.empty()) return use_leaf(whole->leaf);
  const std::uint64_t walk = ++walks_;
  std::vector<Tree*> pending{whole};
  while (!pending.empty()) {
    Tree* t = pending.back();
    pending.pop_back();
    if (t->seen == walk) continue;
    t->seen = walk;
    for (std::size_t i = t->fields.size(); i-- > 0;)
      if (t->fields[i]) pending.push_back(t->fields[i]);
    use_leaf(t->leaf);
  }
}

void StoragePlan::use_leaf(Token* token) {
  if (!token || token->dropped) return;
  if (phase_ == Phase::Assign) {
    if (--token->uses == (support::planted(support::Bug::EarlyRelease) ? 1 : 0)) release(token);
  } else if (token->block == block_) {
    ++token->uses;
  } else {
    token->dropped = true;
  }
}

void StoragePlan::drop(Tokens whole) {
  if (!whole) return;
  std::vector<Tree*> pending{whole};
  while (!pending.empty()) {
    Tree* t = pending.back();
    pending.pop_back();
    if (t->dropped) continue;
    t->dropped = true;
    for (Tree* field : t->fields)
      if (field) pending.push_back(field);
    if (t->leaf) t->leaf->dropped = true;
  }
}

StoragePlan::Tokens StoragePlan::allocate(const Call* call) {
  if (phase_ == Phase::Count) {
    Token* made = make_token(call);
    if (made) allocs_[call] = made;
    return leaf_of(made);
  }
  const auto found = allocs_.find(call);
  if (found == allocs_.end() || found->second->dropped) return nullptr;
  assign(found->second);
  return leaf_of(found->second);
}

StoragePlan::Token* StoragePlan::make_token(const Call* call) {
  const auto* dtype = call->args.size() > 1 ? as<DTypeImm>(call->args[1]) : nullptr;
  const auto device = call->args.size() > 2 ? const_int(call->args[2]) : 0;
  const auto* scope = call->args.size() > 3 ? as<StringImm>(call->args[3]) : nullptr;
  const std::optional<Span<const Expr*>> dims = shape_values(call->args[0]);
  if (!dims || !dtype || !device) return nullptr;
  Token& t = tokens_.emplace_back();
  t.block = block_;
  t.dtype = dtype->value;
  t.scope = scope ? scope->value : std::string_view("global");
  t.device = *device;
  // The constant factors first, as TVM writes the size: 4 * (m * n).
  const Expr* known = ctx_.i64(std::int64_t(t.dtype.bytes()));
  const Expr* symbolic = ctx_.i64(1);
  for (const Expr* d : *dims) {
    const Expr* bound = upper_bound(ctx_, analyzer_, d);
    const Expr*& factor = isa<IntImm>(bound) ? known : symbolic;
    factor = mul(ctx_, factor, bound);
  }
  t.bytes = mul(ctx_, known, symbolic);
  t.const_bytes = const_int(t.bytes).value_or(-1);
  return &t;
}

void StoragePlan::assign(Token* token) {
  token->storage = reuse(*token);
  if (token->storage) return;
  PlannedStorage& s = storages_.emplace_back();
  s.bytes = token->bytes;
  s.const_bytes = token->const_bytes;
  s.dtype = token->dtype;
  s.scope = token->scope;
  s.device = token->device;
  token->storage = &s;
}

PlannedStorage* StoragePlan::reuse(const Token& token) {
  if (token.uses == 0) return nullptr;  // never used: it would never be released
  Pool& pool = pools_[{token.device, token.scope, runtime::to_string(token.dtype)}];
  const std::int64_t size = token.const_bytes;
  const auto text_of_reuse = [&] {
    return fmt::format("a tensor of {} bytes is put into a storage that was used before",
                       size < 0 ? print_expr(token.bytes) : std::to_string(size));
  };
  if (size < 0) {
    // Equal spelling is checked cheaply; proofs are slow, and one per free storage makes the time quadratic.
    constexpr int kMaxProofs = 64;
    int proofs = 0;
    auto [begin, end] = pool.equal_range(-1);
    for (auto it = begin; it != end; ++it) {
      PlannedStorage* s = it->second;
      const bool same = expr_equal(token.bytes, s->bytes);
      if (!same && (++proofs > kMaxProofs || !analyzer_.prove_equal(token.bytes, s->bytes))) continue;
      if (!may_rewrite(text_of_reuse)) return nullptr;
      pool.erase(it);
      return s;
    }
    return nullptr;
  }
  const std::int64_t top = size > std::numeric_limits<std::int64_t>::max() / kMatchRange ? size : size * kMatchRange;
  const auto begin = pool.lower_bound(size / kMatchRange);
  auto mid = pool.lower_bound(size);
  const auto end = pool.upper_bound(top);
  if (mid == end) {
    if (mid == begin) return nullptr;
    --mid;  // the largest of the smaller ones: it grows
  }
  if (!may_rewrite(text_of_reuse)) return nullptr;
  PlannedStorage* s = mid->second;
  pool.erase(mid);
  if (s->const_bytes < size) {
    s->const_bytes = size;
    s->bytes = token.bytes;
  }
  return s;
}

void StoragePlan::release(Token* token) {
  PlannedStorage* s = token->storage;
  if (s) pools_[{s->device, s->scope, runtime::to_string(s->dtype)}].emplace(s->const_bytes, s);
}

Result<support::Unit> bind_upper_bounds(const Function* f, Analyzer& analyzer) {
  const Attr* upper = find_attr(f->attrs, attr_name::TirVarUpperBound);
  const Attr* lower = find_attr(f->attrs, attr_name::TirVarLowerBound);
  const Attr* positive = find_attr(f->attrs, attr_name::TirNonNegativeVar);
  if (const auto why = invalid_bound(f)) return Failure(message(diag::PassUnsupported, "a function's bounds", *why));
  std::vector<const Var*> vars;
  for (const Var* p : f->params) collect_vars(p->type, vars);
  collect_vars(f->ret_type, vars);
  for (const Var* v : vars) {
    const Attr* most = upper ? find_attr(upper->fields, v->name) : nullptr;
    const Attr* least = lower ? find_attr(lower->fields, v->name) : nullptr;
    bool non_negative = false;
    if (positive)
      for (const Attr* item : positive->items) non_negative = non_negative || item->string == v->name;
    if (!most && !least && !non_negative) continue;
    Bounds bounds{least ? least->integer : 0, std::nullopt};
    if (most) bounds.max = most->integer;
    analyzer.bind(v, bounds);
  }
  return support::Unit{};
}

namespace {

// The greatest or least value of an expression in terms of the variables that have no upper bound; null: not known.
const Expr* extreme(Context& ctx, Analyzer& analyzer, const Expr* e, bool greatest) {
  if (isa<IntImm>(e)) return e;
  if (isa<Var>(e)) {
    const Bounds bounds = analyzer.bounds(e);
    if (!bounds.max) return e;
    return ctx.int_imm(e->dtype(), greatest ? *bounds.max : bounds.min.value_or(0));
  }
  const auto* both = as<BinaryExpr>(e);
  if (!both) return nullptr;
  const bool against = both->kind == BinaryKind::Sub;
  const bool divides = both->kind == BinaryKind::FloorDiv;
  if (divides && const_int(both->b).value_or(0) <= 0) return nullptr;
  const Expr* a = extreme(ctx, analyzer, both->a, greatest);
  const Expr* b = divides ? both->b : extreme(ctx, analyzer, both->b, greatest != against);
  if (!a || !b) return nullptr;
  if (both->kind == BinaryKind::Add) return add(ctx, a, b);
  if (against) return sub(ctx, a, b);
  if (divides) return floor_div(ctx, a, b);
  if (both->kind == BinaryKind::Min) return min(ctx, a, b);
  if (both->kind == BinaryKind::Max) return max(ctx, a, b);
  if (both->kind != BinaryKind::Mul) return nullptr;
  // Variables without bounds are dims; a factor that may be negative turns the order around.
  const auto not_negative = [&](const Expr* f) { return isa<Var>(f) || analyzer.bounds(f).min.value_or(-1) >= 0; };
  return not_negative(both->a) && not_negative(both->b) ? mul(ctx, a, b) : nullptr;
}

}  // namespace

const Expr* upper_bound(Context& ctx, Analyzer& analyzer, const Expr* dim) {
  if (isa<IntImm>(dim)) return dim;
  const Bounds bounds = analyzer.bounds(dim);
  if (bounds.max) return ctx.i64(*bounds.max);
  const Expr* most = extreme(ctx, analyzer, dim, true);
  return most ? most : dim;
}

}  // namespace rldb::passes
