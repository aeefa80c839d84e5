// A function that is one elementwise nest, over a flat dim instead of its own.
#include "rldb/schedule/flat_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::int64_t kSmall = 4096;  // elements: a call takes less than a microsecond

// The nest that is all of the function, by itself or in a root block that has nothing else.
const ir::ForStmt* only_nest(const ir::PrimFunc* f) {
  const ir::Stmt* s = f->body;
  if (const auto* root = as<ir::SBlockRealize>(s)) {
    const ir::SBlock* b = root->block;
    if (!b->iter_vars.empty() || b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty() ||
        !b->annotations.empty() || !ir::is_const(root->predicate, 1))
      return nullptr;
    s = b->body;
  }
  return as<ir::ForStmt>(s);
}

// Says how its statements are compiled.
bool is_annotated(const ir::ForStmt* nest) {
  const auto inner = match_nest(nest);
  const auto* realize = inner ? as<ir::SBlockRealize>(inner->inner) : nullptr;
  return realize && !realize->block->annotations.empty();
}

// Arithmetic that ends for all numbers. Integer division does not, and bounds of other accesses would have to be
// proved.
bool cannot_stop(const ir::Expr* value, const FlatNest& nest) {
  bool fits = has_vector_form(value);
  ir::walk(value, [&](const ir::Node* n) {
    if (const auto* l = as<ir::BufferLoad>(n)) {
      fits = fits && std::find(nest.flat.begin(), nest.flat.end(), l->buffer) != nest.flat.end();
      return false;
    }
    using enum ir::BinaryKind;
    if (const auto* b = as<ir::BinaryExpr>(n)) {
      const bool divides = b->op() == Div || b->op() == Mod || b->op() == FloorDiv || b->op() == FloorMod;
      fits = fits && (!divides || b->dtype().is_float());
    }
    if (const auto* c = as<ir::Call>(n))
      fits = fits && (c->dtype().is_float() || ir::is_call_of(c, ir::intrin::IfThenElse));
    if (ir::isa<ir::Var>(n)) fits = false;  // a dim, or a number that the caller gives
    return fits;
  });
  return fits;
}

bool is_small(const FlatNest& nest) {
  std::int64_t total = 1;
  for (const ir::ForStmt* l : nest.loops) {
    const auto n = ir::const_int(l->extent);
    if (!n || *n >= kSmall) return false;
    total *= std::max<std::int64_t>(*n, 0);
    if (total >= kSmall) return false;
  }
  return true;
}

// The parameters are the buffers of the nest, each once.
bool takes_only(const ir::PrimFunc* f, const FlatNest& nest) {
  if (f->params.size() != nest.flat.size()) return false;
  return std::all_of(nest.flat.begin(), nest.flat.end(), [&](const ir::Buffer* b) {
    const auto of = [&](const ir::PrimParam& p) { return p.buffer == b; };
    return std::count_if(f->params.begin(), f->params.end(), of) == 1;
  });
}

}  // namespace

const ir::PrimFunc* flat_form(ir::Context& ctx, const ir::PrimFunc* f) {
  const ir::ForStmt* loop = only_nest(f);
  if (!loop || is_scheduled(f) || is_annotated(loop)) return nullptr;
  const Scene scene = scene_of(ctx, f, {}, host_target());
  const auto nest = match_flat(scene, loop);
  if (!nest || is_small(*nest) || !takes_only(f, *nest) || !cannot_stop(nest->store->value, *nest)) return nullptr;

  const ir::Expr* total = ctx.var("n", ctx.prim(ir::DType::Int(64)));
  std::unordered_map<const ir::Buffer*, const ir::Buffer*> flat;
  std::vector<ir::PrimParam> params;
  for (const ir::PrimParam& p : f->params) {
    ir::Buffer made = *ctx.buffer(fmt::format("p{}", params.size()), {&total, 1}, p.buffer->dtype);
    if (made.scope != p.buffer->scope) return nullptr;
    made.data_alignment = p.buffer->data_alignment;
    const ir::Buffer* b = flat[p.buffer] = ctx.buffer(made);
    params.push_back({b->data, b});
  }
  Build build(ctx);
  const ir::Stmt* body = build.loop("i", total, [&](const ir::Expr* i) {
    // A cast to its own dtype, for one, becomes a load that was replaced already.
    Retarget value(ctx, {}, [&](const ir::BufferLoad* l) -> const ir::Expr* {
      const auto it = flat.find(l->buffer);
      return it == flat.end() ? nullptr : ctx.load(it->second, {&i, 1});
    });
    return ctx.store(flat.at(nest->store->buffer), value.rewrite(nest->store->value), {&i, 1});
  });
  std::vector<ir::NamedAttr> attrs;
  for (const ir::NamedAttr& a : f->attrs)
    if (a.name != attr_name::GlobalSymbol) attrs.push_back(a);
  return ctx.prim_func(params, f->ret_type, body, attrs, f->s_tir);
}

}  // namespace rldb::schedule
