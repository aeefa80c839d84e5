// FuseTransposeMatmul: matmul(x, permute_dims(w)) that swaps the last two dims becomes one kernel `NT_matmul`, which
// reads `w` as it is stored.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "passes/lowering/with_kernels.h"
#include "passes/matmul/matrix_dims.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

const TensorType* matrices(const Expr* e) {
  const auto* t = as<TensorType>(e->type);
  return t && t->has_shape && t->shape.size() >= 2 && !t->dtype.is_void() ? t : nullptr;
}

// Removes the transpositions that nothing reads, out of some.
class UnreadRemover : public Rewriter {
 public:
  UnreadRemover(Context& ctx, std::unordered_set<const Var*> candidates)
      : Rewriter(ctx), unread_(std::move(candidates)) {}

  const Function* run(const Function* f) {
    walk(f->body, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) unread_.erase(v);
      return true;
    });
    return unread_.empty() ? f : rewrite_function(f);
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (unread_.contains(b->var)) return {};
    return Rewriter::visit_binding(b);
  }

 private:
  std::unordered_set<const Var*> unread_;
};

class TransposeFuser : public CallExpander {
 public:
  TransposeFuser(Context& ctx, ops::Legalizer& legalizer) : CallExpander(ctx), legalizer_(legalizer) {}

  // Other bindings that nothing reads stay: the pass is part of every build, and a debugger shows them.
  const Function* run(const Function* f) {
    const Function* made = rewrite_function(f);
    return fused_.empty() ? f : UnreadRemover(ctx_, std::move(fused_)).run(made);
  }

 protected:
  const Expr* expand(const Call* call) override {
    const Call* matmul = as_call_of(call, op::Matmul);
    const Call* permute = matmul ? call_of(matmul->args[1], op::PermuteDims) : nullptr;
    if (!permute) return nullptr;
    const TensorType *a = matrices(matmul->args[0]), *b = matrices(permute->args[0]), *out = matrices(matmul);
    if (!a || !b || !out || !swaps_matrix_dims(permute, b->shape.size())) return nullptr;
    if (!may_rewrite([&] { return std::string("a matmul reads its transposed operand as it lies"); })) return nullptr;
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    const Expr* const args[] = {matmul->args[0], permute->args[0]};
    // Called outside Legalizer::legalize, which would set the place of extra bindings: there are none.
    auto made = legalizer_.call_te("NT_matmul", args, matmul->type,
                                   [&](ops::Legalizer::Te& te) { return std::vector{product(te, out->dtype)}; });
    blocks.end_scope(call);
    if (!made.ok()) return nullptr;
    if (const auto* transposed = as<Var>(matmul->args[1])) fused_.insert(transposed);
    return *made;
  }

 private:
  static te::Tensor product(ops::Legalizer::Te& te, DType dtype) {
    const te::Tensor a = te.in[0], b = te.in[1];
    const std::size_t rank = std::max(a->shape.size(), b->shape.size());
    std::vector<const Expr*> shape;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      const Expr *x = batch_dim(te, a, rank, i), *y = batch_dim(te, b, rank, i);
      shape.push_back(is_const(x, 1) ? y : x);
    }
    shape.push_back(a->shape[a->shape.size() - 2]);
    shape.push_back(b->shape[b->shape.size() - 2]);
    const IterVar k = te.graph.reduce_axis(a->shape.back(), "k");
    return te.graph.reduce(
        shape,
        [&](te::Indices i) {
          const Expr* x = te.graph.load(a, indices(te, a, i, i[rank - 2], k.var));
          const Expr* y = te.graph.load(b, indices(te, b, i, i[rank - 1], k.var));
          return mul(te.ctx, cast_to(te.ctx, dtype, x), cast_to(te.ctx, dtype, y));
        },
        {&k, 1}, te.graph.sum_reducer(dtype), "NT_matmul");
  }

  static const Expr* batch_dim(ops::Legalizer::Te& te, te::Tensor t, std::size_t rank, std::size_t i) {
    const std::size_t missing = rank - t->shape.size();
    return i < missing ? te.ctx.i64(1) : t->shape[i - missing];
  }

  static std::vector<const Expr*> indices(ops::Legalizer::Te& te, te::Tensor t, te::Indices at, const Expr* row,
                                          const Expr* k) {
    std::vector<const Expr*> out;
    const std::size_t missing = at.size() - t->shape.size();
    for (std::size_t i = 0; i + 2 < t->shape.size(); ++i)
      out.push_back(is_const(t->shape[i], 1) ? static_cast<const Expr*>(te.ctx.i64(0)) : at[missing + i]);
    out.push_back(row);
    out.push_back(k);
    return out;
  }

  ops::Legalizer& legalizer_;
  std::unordered_set<const Var*> fused_;  // transpositions that a product reads through
};

}  // namespace

Result<const Module*> fuse_transpose_matmul(PassEnv& env, const Module* module, const NoOptions&) {
  return map_with_kernels(env, module, [&](const Function* f, KernelMaker& kernels) {
    const Function* made = TransposeFuser(env.ctx, kernels.legalizer).run(f);
    return made == f ? f : refine_result(env.ctx, made);
  });
}

}  // namespace rldb::passes
