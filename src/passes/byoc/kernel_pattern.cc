// Matches a loop nest of a kernel against a pattern: structurally, with the pattern's symbols as unknown numbers.
#include "passes/byoc/kernel_pattern.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/scalar.h"
#include "rldb/ir/stmt.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Operands of all comparisons are (kernel's, pattern's).
class NestMatcher {
 public:
  NestMatcher(Context& ctx, const PrimFunc* pattern) : ctx_(ctx) {
    for (const PrimParam& p : pattern->params)
      if (!p.buffer) symbols_.insert(p.var);
  }

  bool nest(const Stmt* s, const Stmt* pattern) {
    const auto *a = as<ForStmt>(s), *b = as<ForStmt>(pattern);
    if (!a || !b) return block(as<SBlockRealize>(s), as<SBlockRealize>(pattern));
    if (!is_plain(a) || !is_plain(b) || !define(a->var, b->var)) return false;
    loops_.emplace_back(a->var, b->var);
    return expr(a->extent, b->extent) && nest(a->body, b->body);
  }

  const Expr* value_of(const Var* symbol) const {
    const auto found = known_.values.find(symbol);
    return found == known_.values.end() ? nullptr : found->second;
  }
  const Buffer* buffer_of(const Buffer* pattern) const {
    const auto found = known_.buffers.find(pattern);
    return found == known_.buffers.end() ? nullptr : found->second;
  }

 private:
  // Facts found so far; an alternative that fails discards its own.
  struct Known {
    std::unordered_map<const Var*, const Var*> variables;      // the kernel's, to the pattern's
    std::unordered_set<const Var*> taken;                      // the pattern's with a counterpart
    std::unordered_map<const Buffer*, const Buffer*> buffers;  // of the pattern, to the kernel's
    std::unordered_map<const Var*, const Expr*> values;        // of symbols
  };

  template <class F>
  bool either(F alternative) {
    Known before = known_;
    if (alternative()) return true;
    known_ = std::move(before);
    return false;
  }

  static bool is_plain(const ForStmt* f) {
    return f->for_kind == ForKind::Serial && f->annotations.empty() && is_const(f->min, 0) &&
           (!f->step || is_const(f->step, 1));
  }

  bool define(const Var* v, const Var* pattern) {
    if (v->dtype().code != pattern->dtype().code) return false;
    const auto [at, fresh] = known_.variables.try_emplace(v, pattern);
    return fresh ? known_.taken.insert(pattern).second : at->second == pattern;
  }

  bool block(const SBlockRealize* a, const SBlockRealize* b) {
    if (!a || !b || !is_const(a->predicate, 1) || !is_const(b->predicate, 1)) return false;
    const std::size_t axes = a->iter_values.size();
    if (axes != b->iter_values.size() || axes != loops_.size()) return false;
    for (std::size_t i = 0; i < axes; ++i)
      if (a->iter_values[i] != loops_[i].first || b->iter_values[i] != loops_[i].second) return false;
    return block_body(a->block, b->block);
  }

  bool block_body(const SBlock* a, const SBlock* b) {
    if (a->iter_vars.size() != b->iter_vars.size()) return false;
    for (std::size_t i = 0; i < a->iter_vars.size(); ++i) {
      const IterVar &x = a->iter_vars[i], &y = b->iter_vars[i];
      if (x.kind != y.kind || !range(x.dom, y.dom) || !define(x.var, y.var)) return false;
    }
    const auto has_more = [](const SBlock* s) { return !s->alloc_buffers.empty() || !s->match_buffers.empty(); };
    if (has_more(a) || has_more(b) || !a->init != !b->init) return false;
    // The regions follow from the accesses.
    return (!a->init || store(a->init, b->init)) && store(a->body, b->body);
  }

  bool range(const Range& a, const Range& b) { return expr(a.min, b.min) && expr(a.extent, b.extent); }

  bool buffer(const Buffer* a, const Buffer* b) {
    if (const Buffer* known = buffer_of(b)) return known == a;
    if (a->dtype != b->dtype || a->scope != b->scope || !exprs(a->shape, b->shape)) return false;
    for (const auto& [pattern, known] : known_.buffers)
      if (known == a) return false;
    known_.buffers[b] = a;
    return true;
  }

  bool store(const Stmt* s, const Stmt* pattern) {
    const auto *a = as<BufferStore>(s), *b = as<BufferStore>(pattern);
    return a && b && !a->predicate && !b->predicate && buffer(a->buffer, b->buffer) && exprs(a->indices, b->indices) &&
           expr(a->value, b->value);
  }

  bool exprs(Span<const Expr*> a, Span<const Expr*> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!expr(a[i], b[i])) return false;
    return true;
  }

  // ---- expressions ----

  const Var* as_symbol(const Expr* e) const {
    const auto* v = as<Var>(e);
    return v && symbols_.count(v) ? v : nullptr;
  }

  bool learn(const Var* symbol, const Expr* value) {
    const auto [at, fresh] = known_.values.try_emplace(symbol, value);
    return fresh || same_number(at->second, value);
  }

  static bool same_number(const Expr* a, const Expr* b) {
    const auto *x = as<IntImm>(a), *y = as<IntImm>(b);
    if (x && y) return x->value == y->value;
    const auto *p = as<FloatImm>(a), *q = as<FloatImm>(b);
    return p && q && p->value == q->value;
  }

  bool expr(const Expr* e, const Expr* pattern) {
    if (const Var* symbol = as_symbol(pattern)) return (isa<IntImm>(e) || isa<FloatImm>(e)) && learn(symbol, e);
    const auto* sum = as<BinaryExpr>(pattern);
    if (sum && (sum->op() == BinaryKind::Add || sum->op() == BinaryKind::Mul) && without_symbol(e, sum)) return true;
    return e->dtype().code == pattern->dtype().code && same(e, pattern);
  }

  // The pattern without its symbol, which then has the neutral value.
  bool without_symbol(const Expr* e, const BinaryExpr* pattern) {
    for (const auto& [symbol_at, rest] : {std::pair(pattern->a, pattern->b), std::pair(pattern->b, pattern->a)}) {
      const Var* symbol = as_symbol(symbol_at);
      if (!symbol) continue;
      const bool found = either([&, rest = rest] { return expr(e, rest) && learn_neutral(symbol, pattern->op()); });
      if (found) return true;
    }
    return false;
  }

  bool learn_neutral(const Var* symbol, BinaryKind op) {
    const std::int64_t value = op == BinaryKind::Mul ? 1 : 0;
    const DType dtype = symbol->dtype();
    return learn(symbol, dtype.is_float() ? static_cast<const Expr*>(ctx_.float_imm(dtype, double(value)))
                                          : ctx_.int_imm(dtype, value));
  }

  // Of two expressions with the same kind of dtype.
  bool same(const Expr* a, const Expr* b) {
    support::poll();
    if (a == b) return true;
    if (a->kind != b->kind || ++compared_ > kMostCompared) return false;
    if (const auto* v = as<Var>(a)) {
      const auto found = known_.variables.find(v);
      return found != known_.variables.end() && found->second == b;
    }
    if (const auto* x = as<BinaryExpr>(a)) return operands(x, cast<BinaryExpr>(b));
    if (const auto* x = as<NotExpr>(a)) return expr(x->a, cast<NotExpr>(b)->a);
    if (const auto* x = as<CastExpr>(a)) return a->dtype() == b->dtype() && expr(x->value, cast<CastExpr>(b)->value);
    if (const auto* x = as<SelectExpr>(a)) {
      const auto* y = cast<SelectExpr>(b);
      return expr(x->cond, y->cond) && expr(x->true_value, y->true_value) && expr(x->false_value, y->false_value);
    }
    if (const auto* x = as<BufferLoad>(a)) {
      const auto* y = cast<BufferLoad>(b);
      return !x->predicate && !y->predicate && buffer(x->buffer, y->buffer) && exprs(x->indices, y->indices);
    }
    if (const auto* x = as<Call>(a)) {
      const auto* y = cast<Call>(b);
      return isa<Op>(x->callee) && x->callee == y->callee && exprs(x->args, y->args);
    }
    return same_number(a, b);  // nothing else is part of a pattern
  }

  bool operands(const BinaryExpr* a, const BinaryExpr* b) {
    if (either([&] { return expr(a->a, b->a) && expr(a->b, b->b); })) return true;
    const bool commutes = a->op() == BinaryKind::Add || a->op() == BinaryKind::Mul;
    return commutes && either([&] { return expr(a->a, b->b) && expr(a->b, b->a); });
  }

  // Nested sums have many orders to try; kernels in practice have few.
  static constexpr std::size_t kMostCompared = 100'000;

  Context& ctx_;
  std::unordered_set<const Var*> symbols_;
  std::vector<std::pair<const Var*, const Var*>> loops_;
  Known known_;
  std::size_t compared_ = 0;
};

}  // namespace

const SBlock* root_block(const PrimFunc* f) {
  const auto* realize = as<SBlockRealize>(f->body);
  if (!realize || !realize->block->iter_vars.empty() || !is_const(realize->predicate, 1)) return nullptr;
  const SBlock* root = realize->block;
  return root->init || !root->match_buffers.empty() ? nullptr : root;
}

std::vector<const Stmt*> statements_of(const SBlock* root) {
  if (const auto* seq = as<SeqStmt>(root->body)) return {seq->stmts.begin(), seq->stmts.end()};
  return {root->body};
}

bool is_kernel_pattern(const PrimFunc* f) {
  const SBlock* root = root_block(f);
  if (!root || !root->alloc_buffers.empty() || !isa<ForStmt>(root->body)) return false;
  return std::all_of(f->params.begin(), f->params.end(),
                     [](const PrimParam& p) { return p.buffer || p.var->type->kind == TypeKind::Prim; });
}

std::optional<KernelMatch> match_nest(Context& ctx, std::string_view name, const PrimFunc* pattern, const Stmt* nest) {
  NestMatcher matcher(ctx, pattern);
  if (!isa<ForStmt>(nest) || !matcher.nest(nest, root_block(pattern)->body)) return std::nullopt;
  KernelMatch made{name, {}, {}};
  for (const PrimParam& p : pattern->params) {
    if (p.buffer)
      made.buffers.push_back(matcher.buffer_of(p.buffer));
    else
      made.symbols.push_back(matcher.value_of(p.var));
  }
  const bool whole = std::count(made.buffers.begin(), made.buffers.end(), nullptr) == 0;
  return whole ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace rldb::passes
