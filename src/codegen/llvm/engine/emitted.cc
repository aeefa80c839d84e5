// From a kernel as it is written to the form from which code is generated: default schedule, barriers, beginnings.
#include "codegen/llvm/engine/emitted.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/llvm/lower/barriers.h"
#include "codegen/llvm/lower/launches.h"
#include "rldb/eval/empty_reduction.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_barriers.h"
#include "rldb/schedule/flat_form.h"
#include "rldb/schedule/target.h"
#include "rldb/source/diagnostic_codegen.h"

namespace rldb::codegen {

source::Message unsupported(std::string_view name, std::string_view why) {
  return source::message(diag::CodegenUnsupported, fmt::format("`{}`", name), why);
}

ir::Result<const ir::PrimFunc*> lowerable(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  const auto loops = launches_as_loops(ctx, f);
  if (!loops.ok()) return support::Failure(unsupported(name, loops.error()));
  const ir::PlacedBarriers placed((*loops)->body);
  if (!placed.obstacle().empty()) return support::Failure(unsupported(name, placed.obstacle()));
  auto split = split_at_barriers(ctx, placed.written(ctx, *loops));
  if (!split.ok()) return support::Failure(unsupported(name, split.error()));
  return *split;
}

namespace {

bool has_known_empty_reduction(const ir::PrimFunc* f) {
  for (const eval::EmptyReduction& r : eval::empty_reductions(f))
    if (std::any_of(r.extents.begin(), r.extents.end(), [](const ir::Expr* e) { return ir::isa<ir::IntImm>(e); }))
      return true;
  return false;
}

}  // namespace

// A reduction over an axis that is known to be empty stays in the form in which its beginning is found.
const ir::PrimFunc* scheduled(ir::Context& ctx, const ir::PrimFunc* f, const JitOptions& options) {
  if (!options.schedule || options.opt_level == 0 || has_known_empty_reduction(f)) return f;
  schedule::Options wanted;
  wanted.require_proof = options.check_bounds;
  schedule::Target target = schedule::host_target();
  target.fast_sums = options.fp == FpMode::Fast;
  return schedule::default_schedule(ctx, f, wanted, target).func;
}

namespace {

// Schedules may write a reduction in a form in which its beginning is not found again: the results of reductions over
// no elements are written before the body, as rldb/eval/empty_reduction.h has them.
const ir::Stmt* filled(ir::Context& ctx, const ir::Buffer* b, const eval::EmptyReduction& r) {
  std::vector<const ir::Expr*> indices;
  for (const ir::Expr* d : b->shape) indices.push_back(ctx.var("i", ctx.prim(d->dtype())));
  const ir::Stmt* s = ctx.store(b, r.value, indices);
  for (std::size_t i = b->shape.size(); i-- > 0;)
    s = ctx.for_stmt(ir::as<ir::Var>(indices[i]), ctx.int_imm(b->shape[i]->dtype(), 0), b->shape[i],
                     ir::ForKind::Serial, s);
  const ir::Expr* empty = nullptr;
  for (const ir::Expr* e : r.extents) {
    const ir::Expr* here = ir::compare(ctx, ir::BinaryKind::LE, e, ctx.int_imm(e->dtype(), 0));
    empty = empty ? ctx.binary(ir::BinaryKind::Or, empty, here) : here;
  }
  return ctx.if_stmt(empty, s);
}

}  // namespace

const ir::PrimFunc* with_begun(ir::Context& ctx, const ir::PrimFunc* written, const ir::PrimFunc* made) {
  if (made == written) return made;
  std::vector<const ir::Stmt*> parts;
  for (const eval::EmptyReduction& r : eval::empty_reductions(written))
    for (std::size_t i = 0; i < written->params.size() && i < made->params.size(); ++i)
      if (written->params[i].buffer == r.buffer && made->params[i].buffer)
        parts.push_back(filled(ctx, made->params[i].buffer, r));
  if (parts.empty()) return made;
  parts.push_back(made->body);
  return ctx.prim_func(made->params, made->ret_type, ctx.seq_stmt(parts), made->attrs, made->s_tir);
}

ir::Result<const ir::PrimFunc*> emitted(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                        const JitOptions& options) {
  RLDB_TRY(const ir::PrimFunc* written, lowerable(ctx, f, name));
  return with_begun(ctx, written, scheduled(ctx, written, options));
}

ir::Result<CodeSource> code_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                   const JitOptions& options) {
  CodeSource out;
  const ir::PrimFunc* flat = options.schedule && options.opt_level > 0 ? schedule::flat_form(ctx, f) : nullptr;
  out.flat = flat != nullptr;
  out.func = flat ? flat : f;
  RLDB_TRY(out.signature, eval::signature_of(out.func, name));
  RLDB_TRY(out.written, lowerable(ctx, out.func, name));
  out.emitted = with_begun(ctx, out.written, scheduled(ctx, out.written, options));
  return out;
}

}  // namespace rldb::codegen
