// Chains of nests over the same rows, as softmax and norms have them: a block of rows goes through all of them before
// the next one starts, so that what one nest leaves for the next stays in the cache. Buffers that only the chain uses
// shrink to the block.
//
// A chain may be reordered so when each buffer that it writes is accessed, in all of its nests, at the row that the
// nest is at: no row depends on another. Rows that are left over form a block with rows that are done already; they are
// computed twice, with the same result.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::int64_t kMostRows = 16;           // in a block
constexpr std::int64_t kBlockBytes = 32 * 1024;  // of the first-level cache
constexpr std::size_t kMostNests = 16;

struct ChainAccess {
  const ir::Buffer* buffer;
  ir::Span<const ir::Expr*> indices;
  bool is_store;
};

// A nest of the chain: loops that are the axes of its block, in order, the spatial ones first.
struct RowNest {
  std::vector<const ir::ForStmt*> loops;
  const ir::SBlockRealize* realize = nullptr;
  std::vector<ChainAccess> accesses;
  std::size_t spatial = 0;

  const ir::SBlock* block() const { return realize->block; }
  bool writes(const ir::Buffer* b) const { return touches(b, true); }
  bool reads(const ir::Buffer* b) const { return touches(b, false); }

 private:
  bool touches(const ir::Buffer* b, bool store) const {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const ChainAccess& a) { return a.is_store == store && a.buffer->data == b->data; });
  }
};

// Stores and tests of what is in registers only; all accesses are collected.
bool collect_accesses(const ir::Stmt* s, std::vector<ChainAccess>& out) {
  if (!s) return true;
  if (const auto* seq = as<ir::SeqStmt>(s))
    return std::all_of(seq->stmts.begin(), seq->stmts.end(),
                       [&](const ir::Stmt* part) { return collect_accesses(part, out); });
  const auto* store = as<ir::BufferStore>(s);
  if (!store || store->predicate || store->buffer->dtype.lanes != 1) return false;
  if (!has_vector_form(store->value)) return false;
  const auto loads = [&](const ir::Expr* e) {
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) out.push_back({l->buffer, l->indices, false});
      return true;
    });
  };
  loads(store->value);
  for (const ir::Expr* e : store->indices) loads(e);
  out.push_back({store->buffer, store->indices, true});
  return true;
}

std::optional<RowNest> match_row_nest(const Scene& scene, const ir::Stmt* s) {
  const auto* loop = as<ir::ForStmt>(s);
  auto nest = loop ? match_nest(loop) : std::nullopt;
  RowNest n;
  n.realize = nest ? as<ir::SBlockRealize>(nest->inner) : nullptr;
  if (!n.realize || !ir::is_const(n.realize->predicate, 1)) return std::nullopt;
  n.loops = std::move(nest->loops);
  const ir::SBlock* b = n.block();
  if (!b->alloc_buffers.empty() || !b->match_buffers.empty() || b->iter_vars.size() != n.loops.size())
    return std::nullopt;
  for (std::size_t i = 0; i < n.loops.size(); ++i) {
    const ir::IterVar& axis = b->iter_vars[i];
    if (n.realize->iter_values[i] != n.loops[i]->var || axis.var->dtype() != n.loops[i]->var->dtype())
      return std::nullopt;
    if (!ir::is_const(axis.dom.min, 0)) return std::nullopt;
    if (axis.kind == ir::IterKind::Spatial && n.spatial == i) ++n.spatial;
  }
  if (!collect_accesses(b->init, n.accesses) || !collect_accesses(b->body, n.accesses)) return std::nullopt;
  for (const ChainAccess& a : n.accesses)
    if (scene.views.contains(a.buffer)) return std::nullopt;
  return n;
}

struct Chain {
  std::vector<RowNest> nests;
  std::size_t prefix = 0;               // loops that all nests have in common; the last of them is cut into blocks
  std::vector<const ir::Stmt*> before;  // nests between them that have nothing to do with them
  std::size_t length = 0;               // statements

  bool writes(const ir::Buffer* b) const {
    return std::any_of(nests.begin(), nests.end(), [&](const RowNest& n) { return n.writes(b); });
  }
  bool reads(const ir::Buffer* b) const {
    return std::any_of(nests.begin(), nests.end(), [&](const RowNest& n) { return n.reads(b); });
  }
  bool reduces() const {
    return std::any_of(nests.begin(), nests.end(), [](const RowNest& n) { return n.block()->init != nullptr; });
  }
};

// Loops that the nest and the chain begin with alike, at most as many as before.
std::size_t common_prefix(const RowNest& a, const RowNest& b, std::size_t most) {
  std::size_t n = 0;
  while (n < most && n < a.spatial && n < b.spatial && ir::expr_equal(a.loops[n]->extent, b.loops[n]->extent)) ++n;
  return n;
}

// How many of the first loops each access to a buffer that the chain writes has as its first indices.
std::size_t rows_of(const Chain& chain) {
  std::size_t prefix = chain.prefix;
  for (const RowNest& n : chain.nests)
    for (const ChainAccess& a : n.accesses) {
      if (!chain.writes(a.buffer)) continue;
      std::size_t same = 0;
      while (same < prefix && same < a.indices.size() && a.indices[same] == n.block()->iter_vars[same].var) ++same;
      prefix = same;
    }
  return prefix;
}

// Whether a nest may run before the chain so far instead of after it.
bool is_apart(const RowNest& n, const Chain& chain) {
  return std::none_of(n.accesses.begin(), n.accesses.end(), [&](const ChainAccess& a) {
    return chain.writes(a.buffer) || (a.is_store && chain.reads(a.buffer));
  });
}

bool same_indices(ir::Span<const ir::Expr*> a, ir::Span<const ir::Expr*> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Expr* x, const ir::Expr* y) { return ir::expr_equal(x, y); });
}

// A nest that reads what it writes only as a reduction does, after the init of the same element.
bool initialises(const RowNest& n, const ir::Buffer* b) {
  std::vector<ChainAccess> inits;
  collect_accesses(n.block()->init, inits);
  return std::all_of(n.accesses.begin(), n.accesses.end(), [&](const ChainAccess& a) {
    if (a.is_store || a.buffer->data != b->data) return true;
    return std::any_of(inits.begin(), inits.end(), [&](const ChainAccess& i) {
      return i.is_store && i.buffer == a.buffer && same_indices(i.indices, a.indices);
    });
  });
}

// Whether rows may be done twice: each buffer is written by one nest only, before the others read it.
bool may_repeat(const Chain& chain) {
  for (std::size_t i = 0; i < chain.nests.size(); ++i)
    for (const ChainAccess& a : chain.nests[i].accesses) {
      if (!a.is_store) continue;
      if (!initialises(chain.nests[i], a.buffer)) return false;
      for (std::size_t j = 0; j < chain.nests.size(); ++j) {
        if (j != i && chain.nests[j].writes(a.buffer)) return false;
        if (j < i && chain.nests[j].reads(a.buffer)) return false;
      }
    }
  return true;
}

// Whether a store writes whole rows: its other indices are different axes over whole dimensions.
bool writes_rows(const RowNest& n, const ChainAccess& store, std::size_t prefix) {
  std::vector<std::size_t> used;
  for (std::size_t d = prefix; d < store.indices.size(); ++d) {
    if (ir::is_const(store.indices[d], 0) && ir::is_const(store.buffer->shape[d], 1)) continue;
    std::size_t axis = prefix;
    while (axis < n.spatial && n.block()->iter_vars[axis].var != store.indices[d]) ++axis;
    if (axis == n.spatial || std::find(used.begin(), used.end(), axis) != used.end()) return false;
    if (!ir::expr_equal(n.loops[axis]->extent, store.buffer->shape[d])) return false;
    used.push_back(axis);
  }
  return true;
}

// Whether they have a buffer in common.
bool shares(const RowNest& n, const Chain& chain) {
  return std::any_of(n.accesses.begin(), n.accesses.end(),
                     [&](const ChainAccess& a) { return chain.writes(a.buffer) || chain.reads(a.buffer); });
}

// Whether rows are neighbours in memory, and a reduction adds up what is further apart: each nest by itself then has
// vectors of neighbouring rows.
bool reduces_across(const Chain& chain) {
  return std::any_of(chain.nests.begin(), chain.nests.end(), [&](const RowNest& n) {
    if (!n.block()->init) return false;
    const ir::Var* row = n.block()->iter_vars[chain.prefix - 1].var;
    return std::any_of(n.accesses.begin(), n.accesses.end(), [&](const ChainAccess& a) {
      if (a.is_store || a.indices.empty() || a.indices.back() != row) return false;
      for (std::size_t i = n.spatial; i < n.loops.size(); ++i)
        for (const ir::Expr* e : a.indices)
          if (mentions(e, n.block()->iter_vars[i].var)) return true;
      return false;
    });
  });
}

// The longest chain that begins at a statement.
std::optional<Chain> chain_at(const Scene& scene, ir::Span<const ir::Stmt*> stmts, std::size_t at) {
  auto first = match_row_nest(scene, stmts[at]);
  if (!first || first->spatial == 0) return std::nullopt;
  Chain chain;
  chain.prefix = first->spatial;
  chain.nests.push_back(std::move(*first));
  chain.prefix = rows_of(chain);
  std::vector<const ir::Stmt*> between;
  for (std::size_t i = at + 1; i < stmts.size() && chain.nests.size() < kMostNests && chain.prefix > 0; ++i) {
    auto next = match_row_nest(scene, stmts[i]);
    if (!next) break;
    Chain longer = chain;
    longer.prefix = common_prefix(chain.nests[0], *next, chain.prefix);
    longer.nests.push_back(*next);
    longer.prefix = rows_of(longer);
    // The nest that reduces decides what a row is.
    const bool fits = longer.prefix == chain.prefix || (!chain.reduces() && longer.prefix > 0);
    if (fits && shares(*next, chain)) {
      longer.before.insert(longer.before.end(), between.begin(), between.end());
      longer.length = i - at + 1;
      chain = std::move(longer);
      between.clear();
    } else if (is_apart(*next, chain)) {
      between.push_back(stmts[i]);
    } else {
      break;
    }
  }
  if (chain.nests.size() < 2 || chain.prefix == 0 || !chain.reduces() || !may_repeat(chain)) return std::nullopt;
  if (reduces_across(chain)) return std::nullopt;
  return chain;
}

class ChainWriter {
 public:
  // `alone`: allocations that only the chain accesses.
  ChainWriter(const Scene& scene, const Chain& chain, std::vector<const ir::Buffer*> alone)
      : build_(scene.ctx), chain_(chain), alone_(std::move(alone)) {}

  const ir::Stmt* run() {
    std::vector<const ir::Stmt*> all = chain_.before;
    all.push_back(wrapped(around(0)));
    return build_.seq(all);
  }

 private:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  const ir::ForStmt* loop(std::size_t n) const { return chain_.nests[0].loops[n]; }

  S around(std::size_t n) {
    const ir::ForStmt* l = loop(n);
    if (n + 1 == chain_.prefix) return blocks(l);
    return build_.loop(
        std::string(l->var->name), l->extent,
        [&](E v) {
          outer_.push_back(v);
          S made = around(n + 1);
          outer_.pop_back();
          return made;
        },
        l->for_kind);
  }

  S blocks(const ir::ForStmt* l) {
    const E total = l->extent;
    const std::string name = std::string(l->var->name) + "_0";
    const auto known = ir::const_int(total);
    const std::int64_t rows = rows_of_block(known);
    if (known && *known % rows == 0)
      return build_.loop(name, build_.whole(total, rows), [&](E b) { return block(build_.scaled(b, rows), rows); });
    S whole = build_.loop(name, build_.blocks(total, rows), [&](E b) {
      return block(ir::min(build_.ctx, build_.scaled(b, rows), build_.plus(total, -rows)), rows);
    });
    if (known) return whole;
    S few = build_.loop(name, total, [&](E i) { return block(i, 1); });
    return build_.ctx.if_stmt(ir::compare(build_.ctx, ir::BinaryKind::GE, total, build_.lit(total, rows)), whole, few);
  }

  // Lanes of a reduction are rows, unless its result has dimensions inside of them: then a block only has to stay in
  // the cache.
  std::int64_t rows_of_block(std::optional<std::int64_t> known) const {
    const std::int64_t most = std::clamp<std::int64_t>(known.value_or(kMostRows), 1, kMostRows);
    const bool needs_lanes = std::any_of(chain_.nests.begin(), chain_.nests.end(), [&](const RowNest& n) {
      return n.block()->init && n.spatial == chain_.prefix;
    });
    std::int64_t bytes = 0;  // of a row
    for (const ir::Buffer* b : alone_) {
      std::int64_t size = std::int64_t(b->dtype.bytes());
      for (std::size_t i = chain_.prefix; i < b->shape.size(); ++i) {
        const auto n = ir::const_int(b->shape[i]);
        if (!n || __builtin_mul_overflow(size, *n, &size)) return most;
      }
      if (__builtin_add_overflow(bytes, size, &bytes)) return most;
    }
    if (needs_lanes || bytes <= kBlockBytes / most) return most;
    std::int64_t rows = std::max<std::int64_t>(kBlockBytes / bytes, 1);
    while (known && *known % rows != 0) --rows;
    return rows;
  }

  S block(E start, std::int64_t rows) {
    small_.clear();
    for (const ir::Buffer* b : alone_) small_[b] = shrunk(b, start, rows);
    std::vector<S> all;
    for (const RowNest& n : chain_.nests) all.push_back(nest(n, start, rows));
    return build_.seq(all);
  }

  // Rows of a block instead of all; the outer dimensions of the prefix are gone.
  const ir::Buffer* shrunk(const ir::Buffer* b, E like, std::int64_t rows) {
    std::vector<E> shape{build_.lit(like, rows)};
    shape.insert(shape.end(), b->shape.begin() + std::ptrdiff_t(chain_.prefix), b->shape.end());
    const ir::Buffer* made =
        build_.ctx.buffer(build_.ctx.str(std::string(b->name) + "_rows"), shape, b->dtype, "global");
    allocs_.push_back(made);
    return made;
  }

  S nest(const RowNest& n, E start, std::int64_t rows) {
    ir::Context& ctx = build_.ctx;
    const std::size_t last = chain_.prefix - 1;
    ir::VarMap axes;
    for (std::size_t i = 0; i < last; ++i) axes[n.block()->iter_vars[i].var] = outer_[i];
    std::vector<ir::IterVar> kept;
    std::vector<const ir::Var*> loops;
    for (std::size_t i = last; i < n.loops.size(); ++i) {
      ir::IterVar axis = n.block()->iter_vars[i];
      const E extent = i == last ? build_.lit(start, rows) : n.loops[i]->extent;
      if (i == last && rows == 1) {
        row_ = build_.lit(start, 0);
        axes[axis.var] = start;
        continue;
      }
      const ir::Var* before = axis.var;
      axis.var = ctx.var(before->name, before->type);
      axis.dom.extent = extent;
      axes[before] = i == last ? build_.add(start, axis.var) : axis.var;
      if (i == last) row_ = axis.var;
      kept.push_back(axis);
      loops.push_back(ctx.var(n.loops[i]->var->name, n.loops[i]->var->type));
    }
    ir::SBlock fields = *n.block();
    fields.iter_vars = ctx.list(kept);
    fields.reads = regions(n.block()->reads);
    fields.writes = regions(n.block()->writes);
    fields.init = statement(n.block()->init, axes);
    fields.body = statement(n.block()->body, axes);
    const ir::SBlock* block = ctx.sblock(fields);
    ctx.set_origin(block, n.block());
    std::vector<E> values(loops.begin(), loops.end());
    S made = ctx.realize(values, nullptr, block);
    ctx.set_origin(made, n.realize);
    for (std::size_t i = loops.size(); i-- > 0;) {
      const ir::ForStmt* from = n.loops[n.loops.size() - loops.size() + i];
      made = ctx.for_stmt(loops[i], from->min, kept[i].dom.extent, from->for_kind, made);
      ctx.set_origin(made, from);
    }
    return made;
  }

  S statement(const ir::Stmt* s, const ir::VarMap& axes) {
    if (!s) return nullptr;
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      std::vector<S> parts;
      for (const ir::Stmt* part : seq->stmts) parts.push_back(statement(part, axes));
      return build_.seq(parts);
    }
    const auto* store = as<ir::BufferStore>(s);
    Retarget value(build_.ctx, axes, [&](const ir::BufferLoad* l) -> E {
      const auto it = small_.find(l->buffer);
      return it == small_.end() ? nullptr : build_.ctx.load(it->second, in_block(l->indices));
    });
    std::vector<E> indices;
    for (E e : store->indices) indices.push_back(value.rewrite(e));
    const auto it = small_.find(store->buffer);
    S made = it == small_.end() ? build_.ctx.store(store->buffer, value.rewrite(store->value), indices)
                                : build_.ctx.store(it->second, value.rewrite(store->value), in_block(indices));
    build_.ctx.set_origin(made, store);
    return made;
  }
  // Of an access whose first indices are the prefix.
  std::vector<E> in_block(std::span<const E> indices) {
    std::vector<E> out{row_};
    out.insert(out.end(), indices.begin() + std::ptrdiff_t(chain_.prefix), indices.end());
    return out;
  }

  ir::Span<ir::BufferRegion> regions(ir::Span<ir::BufferRegion> from) {
    std::vector<ir::BufferRegion> out;
    for (const ir::BufferRegion& r : from) {
      const auto it = small_.find(r.buffer);
      out.push_back(whole_buffer(build_.ctx, it == small_.end() ? r.buffer : it->second));
    }
    return build_.ctx.list(out);
  }

  // A block for the allocations, around it all.
  S wrapped(S body) {
    const RowNest& last = chain_.nests.back();
    std::vector<ir::BufferRegion> reads, writes;
    std::vector<const ir::Buffer*> seen;
    for (const bool store : {true, false})
      for (const RowNest& n : chain_.nests)
        for (const ChainAccess& a : n.accesses) {
          if (a.is_store != store || std::find(alone_.begin(), alone_.end(), a.buffer) != alone_.end() ||
              std::find(seen.begin(), seen.end(), a.buffer) != seen.end())
            continue;
          seen.push_back(a.buffer);
          (store ? writes : reads).push_back(whole_buffer(build_.ctx, a.buffer));
        }
    ir::SBlock made{};
    made.name = build_.ctx.str(std::string(last.block()->name) + "_by_rows");
    made.reads = build_.ctx.list(reads);
    made.writes = build_.ctx.list(writes);
    made.alloc_buffers = build_.ctx.list(allocs_);
    made.body = body;
    const ir::SBlock* block = build_.ctx.sblock(made);
    build_.ctx.set_origin(block, last.block());
    return build_.ctx.realize({}, nullptr, block);
  }

  Build build_;
  const Chain& chain_;
  std::vector<const ir::Buffer*> alone_;
  std::vector<E> outer_;  // values of the prefix but for its last loop
  E row_ = nullptr;       // in the block
  std::unordered_map<const ir::Buffer*, const ir::Buffer*> small_;
  std::vector<const ir::Buffer*> allocs_;
};

class ChainFinder : public ir::Rewriter {
 public:
  ChainFinder(const Scene& scene, const ir::PrimFunc* f) : Rewriter(scene.ctx), scene_(scene) {
    ir::walk(f->body, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) ++uses_[l->buffer];
      if (const auto* s = as<ir::BufferStore>(n)) ++uses_[s->buffer];
      if (const auto* v = as<ir::Var>(n)) pointers_.insert(v);
      return true;
    });
  }
  std::string_view about;  // the last block of the last chain

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* block = as<ir::SBlock>(s);
    const auto* seq = block ? as<ir::SeqStmt>(block->body) : nullptr;
    if (!seq || block->init || !block->iter_vars.empty()) return Rewriter::visit_stmt(s);
    std::vector<const ir::Stmt*> made;
    std::vector<const ir::Buffer*> gone;
    for (std::size_t i = 0; i < seq->stmts.size(); ++i) {
      const auto chain = chain_at(scene_, seq->stmts, i);
      if (!chain) {
        made.push_back(rewrite(seq->stmts[i]));
        continue;
      }
      std::vector<const ir::Buffer*> alone = used_only_in(*chain, block->alloc_buffers);
      made.push_back(ChainWriter(scene_, *chain, alone).run());
      gone.insert(gone.end(), alone.begin(), alone.end());
      about = chain->nests.back().block()->name;
      i += chain->length - 1;
    }
    if (about.empty()) return s;
    ir::SBlock fields = *block;
    std::vector<const ir::Buffer*> allocs;
    for (const ir::Buffer* b : block->alloc_buffers)
      if (std::find(gone.begin(), gone.end(), b) == gone.end()) allocs.push_back(b);
    fields.alloc_buffers = scene_.ctx.list(allocs);
    fields.body = scene_.ctx.seq_stmt(made);
    const ir::SBlock* out = scene_.ctx.sblock(fields);
    scene_.ctx.set_origin(out, block);
    return out;
  }

 private:
  std::vector<const ir::Buffer*> used_only_in(const Chain& chain, ir::Span<const ir::Buffer*> allocs) const {
    std::unordered_map<const ir::Buffer*, std::size_t> inside;
    for (const RowNest& n : chain.nests)
      for (const ChainAccess& a : n.accesses) ++inside[a.buffer];
    std::vector<const ir::Buffer*> out;
    for (const ir::Buffer* b : allocs) {
      const auto all = uses_.find(b);
      const auto here = inside.find(b);
      const bool plain = b->strides.empty() && (!b->elem_offset || ir::is_const(b->elem_offset, 0));
      if (plain && !pointers_.contains(b->data) && here != inside.end() && all != uses_.end() &&
          here->second == all->second && is_written_by_rows(chain, b))
        out.push_back(b);
    }
    return out;
  }
  static bool is_written_by_rows(const Chain& chain, const ir::Buffer* b) {
    bool written = false;
    for (const RowNest& n : chain.nests)
      for (const ChainAccess& a : n.accesses) {
        if (!a.is_store || a.buffer != b) continue;
        written = true;
        if (!writes_rows(n, a, chain.prefix)) return false;
      }
    return written;
  }

  const Scene& scene_;
  std::unordered_map<const ir::Buffer*, std::size_t> uses_;
  std::unordered_set<const ir::Var*> pointers_;  // whose address is used
};

}  // namespace

std::optional<Stage> fuse_rows(const Scene& scene, const ir::PrimFunc* f, std::string_view& about) {
  if (!scene.noalias) return std::nullopt;
  ChainFinder finder(scene, f);
  const ir::Stmt* made = finder.rewrite(f->body);
  if (finder.about.empty()) return std::nullopt;
  about = finder.about;
  return Stage{StepId::FuseRows, made};
}

}  // namespace rldb::schedule
