// Recognition of reductions: the stored values are compared with each known combination, whose right operands stand for
// any expression.
#include "tir_passes/reducer.h"

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

std::vector<const Stmt*> statements(const Stmt* s) {
  if (const auto* seq = as<SeqStmt>(s)) return {seq->stmts.begin(), seq->stmts.end()};
  return {s};
}

// Whether an expression reads what one of the stores has written.
bool reads_written(const Expr* e, const std::vector<const BufferStore*>& stores) {
  bool found = false;
  walk(e, [&](const Node* n) {
    if (const auto* load = as<BufferLoad>(n))
      found = found || std::any_of(stores.begin(), stores.end(),
                                   [&](const BufferStore* s) { return s->buffer->data == load->buffer->data; });
    return !found;
  });
  return found;
}

// The stores of a block's body or init, which may be done in any order; variables that it binds are replaced by their
// values. False: something else.
bool stores_of(Context& ctx, const Stmt* s, std::vector<const BufferStore*>& out) {
  VarMap values;
  for (const Stmt* part : statements(s)) {
    if (const auto* bind = as<BindStmt>(part)) {
      if (reads_written(bind->value, out)) return false;
      values[bind->var] = substitute(ctx, bind->value, values);
      continue;
    }
    const auto* store = as<BufferStore>(part);
    if (!store || store->predicate || reads_written(store->value, out)) return false;
    out.push_back(ctx.store(store->buffer, substitute(ctx, store->value, values), store->indices));
  }
  return !out.empty();
}

bool same_indices(Span<const Expr*> a, Span<const Expr*> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!expr_equal(a[i], b[i])) return false;
  return true;
}

// ---- the known combinations ----

using Exprs = std::vector<const Expr*>;
struct Known {
  Exprs results;
  Exprs identities;
};

// Of operands x and y, in the order in which TVM tries them.
std::vector<Known> known_reductions(Context& ctx, const Exprs& x, const Exprs& y) {
  const auto bin = [&](BinaryKind k, const Expr* a, const Expr* b) -> const Expr* { return ctx.binary(k, a, b); };
  const DType t = x[0]->dtype();
  const auto zero = [&](std::size_t i) { return ctx.literal(x[i]->dtype(), 0); };
  if (x.size() == 1)
    return {{{bin(BinaryKind::Add, x[0], y[0])}, {zero(0)}},
            {{bin(BinaryKind::Mul, x[0], y[0])}, {ctx.literal(t, 1)}},
            {{bin(BinaryKind::Min, x[0], y[0])}, {max_value(ctx, t)}},
            {{bin(BinaryKind::Max, x[0], y[0])}, {min_value(ctx, t)}}};
  std::vector<Known> out{{{bin(BinaryKind::Add, x[0], y[0]), bin(BinaryKind::Add, x[1], y[1])}, {zero(0), zero(1)}}};
  const DType key = x[1]->dtype();
  for (const auto& [less, strict, identity] :
       {std::tuple(false, false, min_value(ctx, key)), std::tuple(false, true, min_value(ctx, key)),
        std::tuple(true, false, max_value(ctx, key)), std::tuple(true, true, max_value(ctx, key))}) {
    const BinaryKind order =
        less ? (strict ? BinaryKind::LT : BinaryKind::LE) : (strict ? BinaryKind::GT : BinaryKind::GE);
    const Expr* better = bin(order, x[1], y[1]);
    out.push_back(
        {{ctx.select(better, x[0], y[0]), ctx.select(better, x[1], y[1])}, {ctx.literal(x[0]->dtype(), -1), identity}});
    if (!strict) continue;
    const Expr* first = logical_and(ctx, bin(BinaryKind::EQ, x[1], y[1]), bin(BinaryKind::LT, x[0], y[0]));
    out.push_back({{ctx.select(logical_or(ctx, better, first), x[0], y[0]), ctx.select(better, x[1], y[1])},
                   {ctx.literal(x[0]->dtype(), -1), identity}});
  }
  return out;
}

// ---- comparison ----

class Matcher {
 public:
  Matcher(const Exprs& x, const Exprs& y, const std::vector<const BufferStore*>& stores)
      : x_(x), y_(y), stores_(stores), found_(y.size()) {}

  bool match(const Expr* pattern, const Expr* e) {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      if (pattern == y_[i]) {
        if (!found_[i]) found_[i] = e;
        return e->dtype() == pattern->dtype() && expr_equal(found_[i], e);
      }
      if (pattern == x_[i]) return is_result(i, e);
    }
    if (pattern->kind != e->kind) return false;
    if (const auto* p = as<BinaryExpr>(pattern)) {
      const auto* b = as<BinaryExpr>(e);
      return match(p->a, b->a) && match(p->b, b->b);
    }
    const auto* p = as<SelectExpr>(pattern);
    const auto* s = p ? as<SelectExpr>(e) : nullptr;
    return s && match(p->cond, s->cond) && match(p->true_value, s->true_value) && match(p->false_value, s->false_value);
  }
  const Exprs& found() const { return found_; }

 private:
  bool is_result(std::size_t i, const Expr* e) const {
    const auto* load = as<BufferLoad>(e);
    return load && load->buffer == stores_[i]->buffer && same_indices(load->indices, stores_[i]->indices);
  }

  const Exprs &x_, &y_;
  const std::vector<const BufferStore*>& stores_;
  Exprs found_;
};

bool all_found(const Exprs& values) {
  for (const Expr* v : values)
    if (!v) return false;
  return true;
}

}  // namespace

std::optional<BlockReduction> reduction_of(Context& ctx, const SBlock* block) {
  std::vector<const BufferStore*> inits, stores;
  if (!block->init || !stores_of(ctx, block->init, inits) || !stores_of(ctx, block->body, stores)) return {};
  if (inits.size() != stores.size() || stores.size() > 2) return {};
  // In the order in which the block names what it writes, as in TVM, whatever the order of the statements.
  const auto place = [&](const BufferStore* s) {
    return std::find_if(block->writes.begin(), block->writes.end(),
                        [&](const BufferRegion& w) { return w.buffer == s->buffer; });
  };
  for (auto* list : {&inits, &stores})
    std::stable_sort(list->begin(), list->end(),
                     [&](const BufferStore* a, const BufferStore* b) { return place(a) < place(b); });
  Exprs x, y;
  std::vector<const Var*> left, right;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (inits[i]->buffer != stores[i]->buffer || !same_indices(inits[i]->indices, stores[i]->indices) ||
        !same_indices(stores[i]->indices, stores[0]->indices))
      return {};
    const std::string number = std::to_string(i);
    left.push_back(ctx.var("x" + number, ctx.prim(stores[i]->buffer->dtype)));
    right.push_back(ctx.var("y" + number, ctx.prim(stores[i]->buffer->dtype)));
    x.push_back(left.back());
    y.push_back(right.back());
  }
  for (const Known& known : known_reductions(ctx, x, y)) {
    Matcher matcher(x, y, stores);
    bool same = true;
    for (std::size_t i = 0; same && i < stores.size(); ++i)
      same = matcher.match(known.results[i], stores[i]->value) && expr_equal(known.identities[i], inits[i]->value);
    if (!same || !all_found(matcher.found())) continue;
    BlockReduction out{ctx.comm_reducer(left, right, known.results, known.identities), {}, {}, matcher.found()};
    for (const BufferStore* s : stores) out.buffers.push_back(s->buffer);
    out.indices.assign(stores[0]->indices.begin(), stores[0]->indices.end());
    return out;
  }
  return {};
}

}  // namespace rldb::passes
