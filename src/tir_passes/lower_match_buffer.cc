// LowerMatchBuffer: accesses of a T.match_buffer of a block become accesses of the buffer that it is a region of. The
// variables in its shape, strides and offset get the values that the region gives them.
#include <fmt/format.h>

#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class MatchLowerer : public Rewriter {
 public:
  MatchLowerer(Context& ctx, const PrimFunc* f) : Rewriter(ctx), analyzer_(ctx) {
    for (const PrimParam& p : f->params) {
      fixed_.insert(p.var);
      if (p.buffer)
        for (const Expr* dim : p.buffer->shape)
          if (const auto* v = as<Var>(dim)) fixed_.insert(v);
    }
  }
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return sources_.contains(b) ? b : Rewriter::visit_buffer(b); }

  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    const auto found = load ? sources_.find(load->buffer) : sources_.end();
    if (found == sources_.end()) return default_expr(e);
    if (load->predicate) refuse(load->buffer, "an access with a predicate");
    return ctx_.load(found->second.buffer, indices(found->second, load->indices));
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) {
      fixed_.insert(f->var);
      analyzer_.bind_range(f->var, {rewrite(f->min), rewrite(f->extent)});
      const Stmt* made = default_stmt(s);
      analyzer_.end_range(f->var);
      return made;
    }
    if (const auto* b = as<SBlock>(s)) return block(b);
    const auto* store = as<BufferStore>(s);
    const auto found = store ? sources_.find(store->buffer) : sources_.end();
    if (found == sources_.end()) return default_stmt(s);
    if (store->predicate) refuse(store->buffer, "an access with a predicate");
    return ctx_.store(found->second.buffer, rewrite(store->value), indices(found->second, store->indices));
  }

 private:
  const Stmt* block(const SBlock* b) {
    for (const IterVar& v : b->iter_vars) fixed_.insert(v.var);
    for (const MatchBufferRegion& m : b->match_buffers) match(m);
    SBlock plain = *b;
    plain.match_buffers = {};
    plain.reads = plain.writes = {};
    const SBlock* bare = ctx_.sblock(plain);
    ctx_.set_origin(bare, b);
    const auto* made = as<SBlock>(default_stmt(bare));
    bool changed = made != bare || !b->match_buffers.empty();
    SBlock out = *made;
    const std::vector<BufferRegion> reads = regions(b->reads, changed), writes = regions(b->writes, changed);
    if (!changed) return b;
    out.reads = ctx_.list(reads);
    out.writes = ctx_.list(writes);
    return ctx_.sblock(out);
  }

  std::vector<BufferRegion> regions(Span<BufferRegion> list, bool& changed) {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : list) {
      out.push_back(region(r));
      changed = changed || out.back().buffer != r.buffer || out.back().region.data() != r.region.data();
    }
    return out;
  }

  // In terms of the buffer behind a match.
  BufferRegion region(const BufferRegion& r) {
    std::vector<Range> ranges;
    bool same = true;
    for (const Range& range : r.region) {
      ranges.push_back({rewrite(range.min), rewrite(range.extent)});
      same = same && ranges.back().min == range.min && ranges.back().extent == range.extent;
    }
    const auto found = sources_.find(r.buffer);
    if (found == sources_.end()) {
      const Buffer* buffer = visit_buffer(r.buffer);
      return same ? BufferRegion{buffer, r.region} : BufferRegion{buffer, ctx_.list(ranges)};
    }
    const BufferRegion& source = found->second;
    const std::size_t outer = source.region.size() - ranges.size();
    std::vector<Range> whole;
    for (std::size_t i = 0; i < outer; ++i) whole.push_back({source.region[i].min, ctx_.i32(1)});
    for (std::size_t i = 0; i < ranges.size(); ++i)
      whole.push_back({add(ctx_, source.region[i + outer].min, ranges[i].min), ranges[i].extent});
    return {source.buffer, ctx_.list(whole)};
  }

  std::vector<const Expr*> indices(const BufferRegion& source, Span<const Expr*> from) {
    const std::size_t outer = source.region.size() - from.size();
    std::vector<const Expr*> out;
    for (std::size_t i = 0; i < outer; ++i) out.push_back(source.region[i].min);
    for (std::size_t i = 0; i < from.size(); ++i)
      out.push_back(add(ctx_, source.region[i + outer].min, rewrite(from[i])));
    return out;
  }

  // ---- what a match says about its variables ----

  void match(const MatchBufferRegion& m) {
    const Buffer* b = m.buffer;
    const BufferRegion source = region(m.source);
    if (b->scope != source.buffer->scope)
      return refuse(b, fmt::format("its scope is \"{}\", that of `{}` is \"{}\"", b->scope, source.buffer->name,
                                   source.buffer->scope));
    if (b->dtype != source.buffer->dtype)
      return refuse(b, fmt::format("its dtype is {}, that of `{}` is {}", runtime::to_string(b->dtype),
                                   source.buffer->name, runtime::to_string(source.buffer->dtype)));
    if (source.region.size() < b->shape.size())
      return refuse(b, fmt::format("it has {} dims, the region has {}", b->shape.size(), source.region.size()));
    sources_[b] = source;
    remap(b->data, source.buffer->data);
    offset(b, source);
    strides(b, source);
    const std::size_t outer = source.region.size() - b->shape.size();
    for (std::size_t i = 0; i < b->shape.size(); ++i)
      bind(b, b->shape[i], source.region[i + outer].extent, fmt::format("shape_{}", i));
  }

  void offset(const Buffer* b, const BufferRegion& source) {
    if (!b->elem_offset) return;
    const Buffer* from = source.buffer;
    const Expr* at = from->elem_offset ? from->elem_offset : ctx_.int_imm(b->elem_offset->dtype(), 0);
    const Expr* flat = nullptr;
    for (std::size_t i = 0; i < source.region.size(); ++i) {
      const Expr* index = source.region[i].min;
      if (!from->strides.empty())
        index = mul(ctx_, index, from->strides[i]);
      else if (flat)
        flat = mul(ctx_, flat, from->shape[i]);
      flat = flat ? add(ctx_, flat, index) : index;
    }
    if (flat) at = is_const(at, 0) ? flat : add(ctx_, flat, at);
    if (!from->axis_separators.empty()) at = ctx_.int_imm(b->elem_offset->dtype(), 0);
    bind(b, b->elem_offset, at, "elem_offset");
    if (b->offset_factor > 1) {
      const Expr* start = rewrite(b->elem_offset);
      const Expr* rest = floor_mod(ctx_, start, ctx_.int_imm(start->dtype(), b->offset_factor));
      if (!is_const(analyzer_.simplify(rest), 0))
        refuse(b, fmt::format("its offset `{}` is not a multiple of the offset_factor {}", print_expr(start),
                              b->offset_factor));
    }
  }

  void strides(const Buffer* b, const BufferRegion& source) {
    if (b->strides.empty()) return;
    const Buffer* from = source.buffer;
    const std::size_t outer = source.region.size() - b->shape.size();
    const Expr* compact = ctx_.int_imm(b->strides.back()->dtype(), 1);
    for (std::size_t i = b->shape.size(); i-- > 0;) {
      const bool stated = !from->strides.empty();
      bind(b, b->strides[i], stated ? from->strides[i + outer] : compact, fmt::format("strides_{}", i));
      if (!stated) compact = mul(ctx_, compact, from->shape[i + outer]);
    }
  }

  void bind(const Buffer* b, const Expr* wanted, const Expr* value, const std::string& what) {
    value = rewrite(value);
    if (value->dtype() != wanted->dtype()) value = cast_to(ctx_, wanted->dtype(), value);
    const auto* v = as<Var>(wanted);
    if (v && !fixed_.contains(v) && lookup(v) == v) {
      remap(v, value);
      analyzer_.bind_value(v, value);
      return;
    }
    const Expr* known = rewrite(wanted);
    if (!analyzer_.prove_equal(known, value))
      refuse(b, fmt::format("`{}` must be `{}`, which cannot be proved: `{}.{}` is not met", print_expr(known),
                            print_expr(value), b->name, what));
  }

  void refuse(const Buffer* b, std::string why) {
    if (refused.empty()) refused = fmt::format("`{}`: {}", b->name, why);
  }

  Analyzer analyzer_;
  std::unordered_set<const Var*> fixed_;  // defined by parameters, loops and axes, not by a match
  std::unordered_map<const Buffer*, BufferRegion> sources_;
};

}  // namespace

Result<const Module*> lower_match_buffer(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    MatchLowerer lowerer(env.ctx, f);
    const Stmt* body = lowerer.rewrite(f->body);
    if (!lowerer.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("a T.match_buffer of `{}`", name), lowerer.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
