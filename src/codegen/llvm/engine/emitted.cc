#include "codegen/llvm/engine/emitted.h"

#include <fmt/format.h>

#include "codegen/llvm/lower/barriers.h"
#include "codegen/llvm/lower/launches.h"
#include "rldb/eval/eval.h"
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

const ir::PrimFunc* scheduled(ir::Context& ctx, const ir::PrimFunc* f, const JitOptions& options) {
  if (!options.schedule || options.opt_level == 0) return f;
  schedule::Options wanted;
  wanted.require_proof = options.check_bounds;
  schedule::Target target = schedule::host_target();
  target.fast_sums = options.fp == FpMode::Fast;
  return schedule::default_schedule(ctx, f, wanted, target).func;
}

ir::Result<const ir::PrimFunc*> emitted(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                        const JitOptions& options) {
  RLDB_TRY(const ir::PrimFunc* written, lowerable(ctx, f, name));
  return scheduled(ctx, written, options);
}

ir::Result<CodeSource> code_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                   const JitOptions& options) {
  CodeSource out;
  const ir::PrimFunc* flat = options.schedule && options.opt_level > 0 ? schedule::flat_form(ctx, f) : nullptr;
  out.flat = flat != nullptr;
  out.func = flat ? flat : f;
  RLDB_TRY(out.signature, eval::signature_of(out.func, name));
  RLDB_TRY(out.written, lowerable(ctx, out.func, name));
  out.emitted = scheduled(ctx, out.written, options);
  return out;
}

}  // namespace rldb::codegen
