// Builders of the schedule's steps: loops, index arithmetic, blocks, bodies with other indices.
#include "schedule/build.h"

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/support/planted.h"
#include "schedule/nest.h"

namespace rldb::schedule {

using ir::as;

Retarget::Retarget(ir::Context& ctx, const ir::VarMap& axes, LoadFn load) : Rewriter(ctx), load_(std::move(load)) {
  vars_ = axes;
}

const ir::Expr* Retarget::visit_expr(const ir::Expr* e) {
  const ir::Expr* made = Rewriter::visit_expr(e);
  const auto* l = load_ ? as<ir::BufferLoad>(made) : nullptr;
  const ir::Expr* other = l ? load_(l) : nullptr;
  return other ? other : made;
}

LoadsReplaced::LoadsReplaced(ir::Context& ctx, const ir::VarMap& axes, Find find)
    : Rewriter(ctx), find_(std::move(find)) {
  vars_ = axes;
}

const ir::Expr* LoadsReplaced::visit_expr(const ir::Expr* e) {
  const auto* l = as<ir::BufferLoad>(e);
  const ir::Expr* other = l ? find_(l) : nullptr;
  return other ? other : Rewriter::visit_expr(e);
}

bool runs(const ir::Expr* extent) {
  const auto n = ir::const_int(extent);
  return n && *n > 0;
}

// ---- index arithmetic ----

Build::E Build::add(E a, E b) { return ir::add(ctx, a, b); }
Build::E Build::scaled(E a, std::int64_t by) { return ir::mul(ctx, a, lit(a, by)); }

// (total - 1) // size + 1: unlike (total + size - 1) // size it cannot wrap.
Build::E Build::blocks(E total, std::int64_t size) {
  return plus(ir::floor_div(ctx, plus(total, -1), lit(total, size)), 1);
}
Build::E Build::whole(E total, std::int64_t size) { return ir::floor_div(ctx, total, lit(total, size)); }
Build::E Build::rest(E total, std::int64_t size) {
  if (support::planted(support::Bug::LostRest)) return lit(total, 0);
  return ir::floor_mod(ctx, total, lit(total, size));
}

Build::E Build::part(E total, std::int64_t size, E block) {
  if (const auto n = ir::const_int(total)) {
    if (*n <= size) return total;
    if (*n % size == 0) return lit(total, size);
  }
  return ir::min(ctx, lit(total, size), ir::sub(ctx, total, scaled(block, size)));
}

Build::E Build::both(E a, E b) {
  if (!a || !b) return a ? a : b;
  return ir::logical_and(ctx, a, b);
}

// ---- statements ----

Build::S Build::loop(std::string name, E extent, const Body& body, ir::ForKind kind,
                     std::span<const ir::NamedAttr> annotations) {
  if (ir::is_const(extent, 1) && annotations.empty()) return body(lit(extent, 0));
  const ir::Var* v = ctx.var(ctx.str(name), extent->type);
  return ctx.for_stmt(v, lit(extent, 0), extent, kind, body(v), annotations);
}

Build::S Build::seq(std::vector<S> stmts) {
  std::erase(stmts, nullptr);
  return ctx.seq_stmt(stmts);
}

namespace {

// Whole buffers, in order of first occurrence.
struct Touched {
  std::vector<const ir::Buffer*> read, written;

  explicit Touched(const ir::Stmt* s) {
    const auto note = [](std::vector<const ir::Buffer*>& list, const ir::Buffer* b) {
      if (std::find(list.begin(), list.end(), b) == list.end()) list.push_back(b);
    };
    ir::walk(s, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) note(read, l->buffer);
      if (const auto* st = as<ir::BufferStore>(n)) note(written, st->buffer);
      return true;
    });
  }
};

}  // namespace

ir::BufferRegion whole_buffer(ir::Context& ctx, const ir::Buffer* b) {
  std::vector<ir::Range> ranges;
  for (const ir::Expr* d : b->shape) ranges.push_back({ctx.int_imm(d->dtype(), 0), d});
  return {b, ctx.list(ranges)};
}

Build::S Build::block(const ir::ForStmt* from, std::vector<const ir::Buffer*> allocs, S body, bool contract) {
  const Touched touched(from);
  const ir::SBlock* was = as<ir::SBlockRealize>(match_nest(from)->inner)->block;
  std::vector<ir::BufferRegion> reads, writes;
  for (const ir::Buffer* b : touched.read)
    // Buffers that the block initialises itself are not read from outside.
    if (!was->init || std::find(touched.written.begin(), touched.written.end(), b) == touched.written.end())
      reads.push_back(whole_buffer(ctx, b));
  for (const ir::Buffer* b : touched.written) writes.push_back(whole_buffer(ctx, b));
  ir::SBlock made{};
  made.name = was->name;
  made.reads = ctx.list(reads);
  made.writes = ctx.list(writes);
  made.alloc_buffers = ctx.list(allocs);
  made.annotations = was->annotations;
  if (contract) made.annotations = ctx.with_attr(made.annotations, attr_name::FpContract, ctx.attr(1));
  made.body = body;
  const ir::SBlock* block = ctx.sblock(made);
  ctx.set_origin(block, was);
  const ir::Stmt* out = ctx.realize({}, nullptr, block);
  ctx.set_origin(out, from);
  return out;
}

Build::S Build::block(const ir::ForStmt* from, std::string_view name, std::vector<const ir::Buffer*> allocs, S body) {
  const Touched touched(from);
  std::vector<ir::BufferRegion> reads, writes;
  for (const ir::Buffer* b : touched.read)
    if (std::find(touched.written.begin(), touched.written.end(), b) == touched.written.end())
      reads.push_back(whole_buffer(ctx, b));
  for (const ir::Buffer* b : touched.written) writes.push_back(whole_buffer(ctx, b));
  ir::SBlock made{};
  made.name = ctx.str(std::string(name));
  made.reads = ctx.list(reads);
  made.writes = ctx.list(writes);
  made.alloc_buffers = ctx.list(allocs);
  made.body = body;
  const ir::Stmt* out = ctx.realize({}, nullptr, ctx.sblock(made));
  ctx.set_origin(out, from);
  return out;
}

}  // namespace rldb::schedule
