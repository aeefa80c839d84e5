// FlattenBuffer: multi-dimensional buffers become one-dimensional ones over the same memory; accesses compute the
// position of their element as a sum of strides. Parameters keep their shape, and a flat buffer is declared over each
// that is accessed. Axis separators divide the dims into groups, each of which becomes one dim.
#include <algorithm>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Flattener : public Rewriter {
 public:
  explicit Flattener(Context& ctx) : Rewriter(ctx), simple_(ctx) {}
  bool has_block = false;

  const Stmt* run(const PrimFunc* f) {
    find_open_strides(f);
    std::vector<const Stmt*> parts;
    const std::unordered_set<const Buffer*> used = accessed(f->body);
    for (const PrimParam& p : f->params) {
      if (!p.buffer || !used.contains(p.buffer) || !is_flattened(p.buffer)) continue;
      const Buffer* flat = visit_buffer(p.buffer);
      parts.push_back(ctx_.decl_buffer(flat, p.buffer->data));
      ctx_.set_origin(parts.back(), p.buffer);
    }
    const Stmt* body = rewrite(f->body);
    if (parts.empty()) return body;
    parts.push_back(body ? body : no_op(ctx_));
    return ctx_.seq_stmt(parts);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!b || !is_flattened(b)) return b;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    Buffer flat = *b;
    std::vector<const Expr*> shape, separators;
    for (const auto& [begin, end] : groups(b)) {
      if (begin > 0) separators.push_back(ctx_.int_imm(b->axis_separators[0]->dtype(), std::int64_t(shape.size())));
      shape.push_back(b->shape.empty() ? ctx_.i32(1) : rewrite(extent_of(b, begin, end)));
    }
    flat.shape = ctx_.list(std::span<const Expr* const>(shape));
    flat.strides = {};
    flat.elem_offset = rewrite(b->elem_offset);
    flat.axis_separators = ctx_.list(std::span<const Expr* const>(separators));
    const Buffer* made = ctx_.buffer(flat);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    if (!load || !is_flattened(load->buffer)) return default_expr(e);
    const std::vector<const Expr*> at = place(load->buffer, load->indices);
    return ctx_.load(visit_buffer(load->buffer), at, rewrite(load->predicate));
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    has_block = has_block || isa<SBlock>(s);
    if (const auto* loop = as<ForStmt>(s)) {
      simple_.bind_range(loop->var, {loop->min, loop->extent});
      const Stmt* made = default_stmt(s);
      simple_.end_range(loop->var);
      return made;
    }
    const auto* store = as<BufferStore>(s);
    if (!store || !is_flattened(store->buffer)) return default_stmt(s);
    const Expr* value = rewrite(store->value);
    const std::vector<const Expr*> at = place(store->buffer, store->indices);
    return ctx_.store(visit_buffer(store->buffer), value, at, rewrite(store->predicate));
  }

 private:
  // Strides that only their declaration names: they have no value, so no position can be computed from them.
  void find_open_strides(const PrimFunc* f) {
    std::vector<const Var*> given;
    for (const PrimParam& p : f->params) {
      given.push_back(p.var);
      if (!p.buffer) continue;
      for (const Span<const Expr*> parts : {p.buffer->shape, p.buffer->strides})
        for (const Expr* e : parts)
          if (const auto* v = as<Var>(e)) given.push_back(v);
    }
    walk(f->body, [&](const Node* n) {
      if (const auto* decl = as<DeclBuffer>(n))
        for (const Expr* e : decl->buffer->strides)
          if (const auto* v = as<Var>(e); v && std::find(given.begin(), given.end(), v) == given.end()) open_.insert(v);
      return true;
    });
  }
  bool is_flattened(const Buffer* b) const {
    for (const Expr* e : b->strides)
      if (const auto* v = as<Var>(e); v && open_.contains(v)) return false;
    return true;
  }

  // The dims that become one, from the first to behind the last.
  using Group = std::pair<std::size_t, std::size_t>;
  static std::vector<Group> groups(const Buffer* b) {
    std::vector<Group> out{{0, b->shape.size()}};
    for (const Expr* e : b->axis_separators) {
      const std::int64_t at = const_int(e).value_or(0);
      if (at <= std::int64_t(out.back().first) || at >= std::int64_t(b->shape.size())) continue;
      out.back().second = std::size_t(at);
      out.push_back({std::size_t(at), b->shape.size()});
    }
    return out;
  }

  // With strides as many rows as the first dim has; more where a later dim has the longer stride (TVM: not more, so
  // that its accesses of a buffer by columns lie outside of it).
  const Expr* extent_of(const Buffer* b, std::size_t begin, std::size_t end) {
    if (b->strides.empty()) return simple_.simplify(product(ctx_, b->shape.subspan(begin, end - begin)));
    const Expr* rows = mul(ctx_, b->strides[begin], b->shape[begin]);
    std::int64_t last = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto extent = const_int(b->shape[i]), stride = const_int(b->strides[i]);
      if (!extent || !stride || *extent <= 0) return rows;
      last += (*extent - 1) * *stride;
    }
    const auto known = const_int(rows);
    return known && *known <= last ? ctx_.int_imm(rows->dtype(), last + 1) : rows;
  }

  static std::unordered_set<const Buffer*> accessed(const Stmt* body) {
    std::unordered_set<const Buffer*> used;
    walk(body, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) used.insert(load->buffer);
      if (const auto* store = as<BufferStore>(n)) used.insert(store->buffer);
      return true;
    });
    return used;
  }

  const Expr* widened(const Expr* e, const Expr* like) {
    if (e->dtype().lanes == like->dtype().lanes) return e;
    return ctx_.broadcast(e, ctx_.i32(like->dtype().lanes));
  }
  const Expr* sum(const Expr* a, const Expr* b) {
    if (a->dtype().is_scalar() && b->dtype().is_scalar()) return add(ctx_, a, b);
    if (const auto* ramp = as<Ramp>(b); ramp && a->dtype().is_scalar())
      return ctx_.ramp(add(ctx_, a, ramp->base), ramp->stride, ramp->lanes);
    if (!a->dtype().is_scalar() && !b->dtype().is_scalar()) return add(ctx_, a, b);
    return a->dtype().is_scalar() ? add(ctx_, widened(a, b), b) : add(ctx_, a, widened(b, a));
  }

  // In row-major order, or by the strides; for each group of dims.
  std::vector<const Expr*> place(const Buffer* b, Span<const Expr*> indices) {
    if (indices.empty()) return {ctx_.i32(0)};
    std::vector<const Expr*> out;
    for (const auto& [begin, end] : groups(b)) {
      std::vector<const Expr*> made;
      for (const Expr* i : indices.subspan(begin, std::min(end, indices.size()) - begin)) made.push_back(rewrite(i));
      const std::vector<const Expr*> strides = strides_of(b, begin, end);
      const bool scalar = std::all_of(made.begin(), made.end(), [](const Expr* e) { return e->dtype().is_scalar(); });
      out.push_back(scalar ? sum_of_terms(made, strides) : vector_place(made, strides));
    }
    return out;
  }

  std::vector<const Expr*> strides_of(const Buffer* b, std::size_t begin, std::size_t end) {
    std::vector<const Expr*> out;
    for (std::size_t i = begin; i < end; ++i) {
      if (!b->strides.empty()) {
        out.push_back(rewrite(b->strides[i]));
        continue;
      }
      std::vector<const Expr*> inner;
      for (std::size_t d = i + 1; d < end; ++d) inner.push_back(rewrite(b->shape[d]));
      out.push_back(inner.empty() ? ctx_.int_imm(b->shape[i]->dtype(), 1) : simple_.simplify(product(ctx_, inner)));
    }
    return out;
  }

  const Expr* vector_place(const std::vector<const Expr*>& indices, const std::vector<const Expr*>& strides) {
    const Expr* at = nullptr;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Expr* step = scaled(indices[i], strides[i]);
      at = at ? sum(at, step) : step;
    }
    return at;
  }

  struct Term {
    const Expr* e;
    const Expr* stride;
  };

  const Expr* sum_of_terms(const std::vector<const Expr*>& indices, const std::vector<const Expr*>& strides) {
    std::vector<Term> terms;
    const Expr* literal = nullptr;
    for (std::size_t i = 0; i < indices.size(); ++i) add_terms(indices[i], strides[i], terms, literal);
    while (join_one(terms)) {
    }
    const Expr* at = nullptr;
    for (const Term& t : terms) {
      const Expr* step = mul(ctx_, t.e, t.stride);
      at = at ? add(ctx_, at, step) : step;
    }
    if (literal && (!at || !is_const(literal, 0))) at = at ? add(ctx_, at, literal) : literal;
    if (!has_division(at)) return at;
    // Quotients and remainders of one loop variable may make it whole again.
    const Expr* whole = simple_.simplify(at);
    return has_division(whole) ? at : whole;
  }

  static bool has_division(const Expr* e) {
    bool found = false;
    walk(e, [&](const Node* n) {
      const auto* b = as<BinaryExpr>(n);
      found = found || (b && (b->kind == BinaryKind::FloorDiv || b->kind == BinaryKind::FloorMod));
      return !found && !isa<BufferLoad>(n);
    });
    return found;
  }

  // e // c * (c * k) + e % c * k is e * k; the remainder may be of what e is a remainder of itself.
  bool join_one(std::vector<Term>& terms) {
    for (Term& q : terms) {
      const auto* whole = as<BinaryExpr>(q.e);
      const auto* by = whole && whole->kind == BinaryKind::FloorDiv ? as<IntImm>(whole->b) : nullptr;
      const auto* outer = as<IntImm>(q.stride);
      if (!by || !outer) continue;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const auto* rest = as<BinaryExpr>(terms[i].e);
        const auto* inner = as<IntImm>(terms[i].stride);
        if (!rest || !inner || rest->kind != BinaryKind::FloorMod || !is_const(rest->b, by->value) ||
            outer->value != by->value * inner->value || !has_remainders_of(whole->a, rest->a, by->value)) {
          continue;
        }
        q = {whole->a, inner};
        terms.erase(terms.begin() + std::ptrdiff_t(i));
        return true;
      }
    }
    return false;
  }

  // Whether e % c equals of % c: e is `of` itself or its remainder by a multiple of c.
  static bool has_remainders_of(const Expr* e, const Expr* of, std::int64_t c) {
    if (expr_equal(e, of)) return true;
    const auto* m = as<BinaryExpr>(e);
    const auto* by = m && m->kind == BinaryKind::FloorMod ? as<IntImm>(m->b) : nullptr;
    return by && by->value > 0 && by->value % c == 0 && expr_equal(m->a, of);
  }

  // 0 <= e < base
  bool is_digit(const Expr* e, const Expr* base) {
    return simple_.prove(compare(ctx_, BinaryKind::LE, ctx_.int_imm(e->dtype(), 0), e)) &&
           simple_.prove(compare(ctx_, BinaryKind::LT, e, base));
  }

  // A sum is multiplied term by term; literals are added up.
  void add_terms(const Expr* e, const Expr* stride, std::vector<Term>& terms, const Expr*& literal) {
    const auto* b = as<BinaryExpr>(e);
    if (b && b->kind == BinaryKind::FloorMod && is_digit(b->a, b->b)) {
      add_terms(b->a, stride, terms, literal);
    } else if (b && b->kind == BinaryKind::Add) {
      add_terms(b->a, stride, terms, literal);
      add_terms(b->b, stride, terms, literal);
    } else if (b && b->kind == BinaryKind::Mul && isa<IntImm>(b->b) && isa<IntImm>(stride)) {
      add_terms(b->a, mul(ctx_, b->b, stride), terms, literal);
    } else if (isa<IntImm>(e) && (isa<IntImm>(stride) || is_const(e, 0))) {
      const Expr* value = isa<IntImm>(stride) ? mul(ctx_, e, stride) : e;
      literal = literal ? add(ctx_, literal, value) : value;
    } else {
      terms.push_back({e, stride});
    }
  }

  const Expr* scaled(const Expr* e, const Expr* by) {
    if (const auto* ramp = as<Ramp>(e))
      return ctx_.ramp(mul(ctx_, ramp->base, by), mul(ctx_, ramp->stride, by), ramp->lanes);
    return mul(ctx_, e, widened(by, e));
  }

  Analyzer simple_;
  std::unordered_set<const Var*> open_;
};

}  // namespace

Result<const Module*> flatten_buffer(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Flattener flattener(env.ctx);
    const Stmt* body = flattener.run(f);
    if (flattener.has_block)
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`",
                                              "it has blocks: run LowerOpaqueBlock first"));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
