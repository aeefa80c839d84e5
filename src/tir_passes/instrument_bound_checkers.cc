// InstrumentBoundCheckers: a store to a buffer whose size a T.attr "buffer_bound" gives happens only if its indices,
// and those of all that its value reads from such buffers, are within the bounds; otherwise an assertion fails.
#include <unordered_map>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kBufferBound = "buffer_bound";
constexpr std::string_view kErrorKind = "RuntimeError", kOutOfBounds = "OUT OF THE BOUNDS";

using Bounded = std::unordered_map<const Var*, std::vector<const Expr*>>;  // by the pointer: the size of each dimension

Bounded bounded_buffers(Context& ctx, const Stmt* body) {
  Bounded out;
  walk(body, [&](const Node* n) {
    if (const auto* a = as<AttrStmt>(n); a && a->key == kBufferBound && a->node && a->node->node) {
      const auto* data = as<Var>(a->node->node);
      const auto* sizes = as<Call>(a->value);
      if (data && sizes) out[data].assign(sizes->args.begin(), sizes->args.end());
    }
    const auto* alloc = as<AllocateStmt>(n);
    const auto found = alloc ? out.find(alloc->var) : out.end();
    if (found != out.end()) {
      found->second.clear();
      for (const Expr* extent : alloc->extents)
        found->second.push_back(mul(ctx, ctx.int_imm(DType::UInt(64), alloc->dtype.lanes), extent));
    }
    return !isa<Expr>(n);
  });
  return out;
}

// The accesses of a store, with the conditions under which they are within the bounds.
class Accesses {
 public:
  Accesses(Context& ctx, Analyzer& analyzer, const Bounded& bounded)
      : ctx_(ctx), analyzer_(analyzer), bounded_(bounded) {}
  std::string wrong;  // an access with fewer indices than sizes, or more

  // Null: nothing to check.
  const Expr* condition(const BufferStore* s) {
    reads(s->value);
    for (const Expr* index : s->indices) reads(index);
    access(s->buffer, s->indices);
    return condition_;
  }

 private:
  // Behind a T.if_then_else, which may guard what it reads, nothing is checked; behind a T.Let, whose variable a
  // condition outside of it cannot name, neither.
  void reads(const Expr* e) {
    walk(e, [&](const Node* n) {
      const auto* part = as<Expr>(n);
      guarded_ = guarded_ || (part && (isa<LetExpr>(part) || is_call_of(part, intrin::IfThenElse)));
      if (const auto* load = as<BufferLoad>(n)) access(load->buffer, load->indices);
      return part != nullptr;
    });
  }

  void access(const Buffer* b, Span<const Expr*> indices) {
    const auto found = bounded_.find(b->data);
    if (found == bounded_.end() || guarded_) return;
    const std::vector<const Expr*>& sizes = found->second;
    if (sizes.size() != indices.size()) {
      wrong = b->name;
      return;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Expr* index = indices[i];
      const auto* ramp = as<Ramp>(index);
      // Of a row of elements the first and the last one bound the others (TVM checks the one behind the last).
      if (ramp && const_int(ramp->lanes)) {
        within(ramp->base, sizes[i]);
        const Expr* last = ctx_.int_imm(ramp->base->dtype(), *const_int(ramp->lanes) - 1);
        within(add(ctx_, ramp->base, mul(ctx_, ramp->stride, last)), sizes[i]);
      } else if (index->dtype().lanes == 1) {
        within(index, sizes[i]);
      }
    }
  }

  void within(const Expr* index, const Expr* size) {
    const auto wide = [&](const Expr* e) { return ctx_.cast(DType::Int(64), analyzer_.simplify(e)); };
    const Expr *at = wide(index), *end = wide(size);
    const Expr* zero = ctx_.i64(0);
    const Expr* both =
        ctx_.binary(BinaryKind::And, ctx_.binary(BinaryKind::GE, at, zero), ctx_.binary(BinaryKind::LT, at, end));
    condition_ = condition_ ? ctx_.binary(BinaryKind::And, condition_, both) : both;
  }

  Context& ctx_;
  Analyzer& analyzer_;
  const Bounded& bounded_;
  const Expr* condition_ = nullptr;
  bool guarded_ = false;
};

class BoundCheckers : public Rewriter {
 public:
  BoundCheckers(Context& ctx, const Bounded& bounded) : Rewriter(ctx), bounded_(bounded), analyzer_(ctx) {}
  std::string wrong;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* store = as<BufferStore>(s);
    if (!store) return default_stmt(s);
    Accesses accesses(ctx_, analyzer_, bounded_);
    const Expr* condition = accesses.condition(store);
    if (!accesses.wrong.empty()) wrong = accesses.wrong;
    if (!condition) return s;
    return ctx_.if_stmt(condition, store, ctx_.assert_stmt(condition, kErrorKind, {{kOutOfBounds}}));
  }

 private:
  const Bounded& bounded_;
  Analyzer analyzer_;
};

}  // namespace

Result<const Module*> instrument_bound_checkers(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Bounded bounded = bounded_buffers(env.ctx, f->body);
    BoundCheckers checkers(env.ctx, bounded);
    const Stmt* body = checkers.rewrite(f->body);
    if (!checkers.wrong.empty())
      return support::Failure(source::message(
          diag::PassUnsupported, "`" + std::string(name) + "`",
          "the bounds of `" + checkers.wrong + "` have another number of dimensions than its accesses"));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
