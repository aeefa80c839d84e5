// From the sharded dims of the parameters to the block axes that run over them, from those to other buffers, and so on
// to a fixed point; then extents and shapes are divided.
#include "passes/distributed/local_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/distributed/kernel_axes.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Parts = std::unordered_map<std::size_t, std::int64_t>;  // by dim

struct Access {
  const Buffer* buffer;
  std::vector<const Var*> axes;  // by dim: the axis that counts its parts, or null
};

struct Block {
  const SBlock* block;
  std::vector<Access> accesses;
};

class Division {
 public:
  Division(Context& ctx, const PrimFunc* f) : ctx_(ctx), function_(f) {
    walk(f->body, [&](const Node* n) {
      if (const auto* b = as<SBlock>(n); b && !b->iter_vars.empty()) read_block(b);
      return true;
    });
  }

  Result<support::Unit> run(std::string_view name, const std::vector<Sharding>& shardings) {
    name_ = name;
    std::size_t at = 0;
    std::vector<std::pair<const Buffer*, Sharding>> given;
    for (const PrimParam& p : function_->params)
      if (p.buffer && at < shardings.size()) given.push_back({p.buffer, shardings[at++]});
    for (const auto& [buffer, s] : given) {
      if (!s.dim || s.parts <= 1) continue;
      if (*s.dim >= buffer->shape.size()) return refuse(fmt::format("`{}` has no dim {}", buffer->name, *s.dim));
      buffers_[buffer][*s.dim] = s.parts;
    }
    for (bool again = true; again;) {
      again = false;
      for (const Block& b : blocks_) RLDB_TRY_VOID(spread(b, again));
    }
    for (const auto& [buffer, s] : given) {
      const Parts& found = buffers_[buffer];
      const bool as_given = s.dim && s.parts > 1 ? found.size() == 1 && found.count(*s.dim) : found.empty();
      if (!as_given)
        return refuse(fmt::format("`{}` is placed otherwise than the loops over it are divided", buffer->name));
    }
    return check_uses();
  }

  std::int64_t parts_of(const Var* axis) const {
    const auto found = axes_.find(axis);
    return found == axes_.end() ? 1 : found->second;
  }
  const Parts* parts_of(const Buffer* b) const {
    const auto found = buffers_.find(b);
    return found == buffers_.end() || found->second.empty() ? nullptr : &found->second;
  }

  // How a reduction over a divided axis combines its results; nullopt when there is none.
  Result<std::string> reduction() const {
    for (const Block& b : blocks_) {
      const bool divided = std::any_of(b.block->iter_vars.begin(), b.block->iter_vars.end(), [&](const IterVar& v) {
        return v.kind == IterKind::Reduce && parts_of(v.var) > 1;
      });
      if (divided) return kind_of(b.block);
    }
    return std::string();
  }

 private:
  support::Failure<source::Message> refuse(std::string why) const {
    return support::Failure(
        source::message(diag::PassUnsupported, fmt::format("`{}` on parts of its tensors", name_), std::move(why)));
  }

  void read_block(const SBlock* block) {
    Block out{block, {}};
    IndexReader reader(ctx_, block);
    for_each_access(block, [&](const Buffer* b, Span<const Expr*> indices) {
      Access a{b, {}};
      for (const Expr* i : indices) a.axes.push_back(reader.axis_of(i));
      out.accesses.push_back(std::move(a));
    });
    blocks_.push_back(std::move(out));
  }

  Result<support::Unit> spread(const Block& b, bool& changed) {
    for (const Access& a : b.accesses)
      for (const auto& [dim, parts] : buffers_[a.buffer]) {
        const Var* axis = dim < a.axes.size() ? a.axes[dim] : nullptr;
        if (!axis) return refuse(fmt::format("no loop counts the parts of dim {} of `{}`", dim, a.buffer->name));
        const auto [found, is_new] = axes_.try_emplace(axis, parts);
        if (found->second != parts) return refuse(fmt::format("`{}` would be divided in two ways", axis->name));
        changed = changed || is_new;
      }
    for (const Access& a : b.accesses)
      for (std::size_t dim = 0; dim < a.axes.size(); ++dim) {
        const std::int64_t parts = a.axes[dim] ? parts_of(a.axes[dim]) : 1;
        if (parts <= 1) continue;
        const auto [found, is_new] = buffers_[a.buffer].try_emplace(dim, parts);
        changed = changed || is_new;
      }
    return support::Unit{};
  }

  // An index within a part is not an index of the whole: a divided axis may only be used to index the part.
  Result<support::Unit> check_uses() {
    for (const Block& b : blocks_) {
      const Var* stray = nullptr;
      const auto visit = [&](const Node* n) {
        if (const auto* v = as<Var>(n); v && parts_of(v) > 1) stray = v;
        if (const auto* store = as<BufferStore>(n)) {
          walk(store->value, [&](const Node* inner) {
            if (const auto* v = as<Var>(inner); v && parts_of(v) > 1) stray = v;
            return !isa<BufferLoad>(inner);
          });
          return false;
        }
        return !isa<BufferLoad>(n);
      };
      walk(b.block->body, visit);
      if (b.block->init) walk(b.block->init, visit);
      if (stray) return refuse(fmt::format("`{}` is used in computations other than indices", stray->name));
      for (const Access& a : b.accesses)
        if (!counted_once(a)) return refuse(fmt::format("two dims of `{}` follow one loop", a.buffer->name));
    }
    return support::Unit{};
  }

  bool counted_once(const Access& a) const {
    std::unordered_set<const Var*> seen;
    for (const Var* v : a.axes)
      if (v && parts_of(v) > 1 && !seen.insert(v).second) return false;
    return true;
  }

  Result<std::string> kind_of(const SBlock* block) const {
    const auto* store = as<BufferStore>(block->body);
    const Buffer* result = function_->params.empty() ? nullptr : function_->params.back().buffer;
    const auto* both = store && store->buffer == result ? as<BinaryExpr>(store->value) : nullptr;
    const auto reads = [&](const Expr* e) {
      const auto* load = as<BufferLoad>(e);
      return load && load->buffer == result;
    };
    if (!both || reads(both->a) == reads(both->b))
      return refuse("the value reduced over a divided loop is not the result");
    const auto* init = as<BufferStore>(block->init);
    struct Kind {
      BinaryKind op;
      std::string_view name;
      std::optional<std::int64_t> identity;  // each worker contributes it once
    };
    constexpr Kind kKinds[] = {{BinaryKind::Add, "sum", 0},
                               {BinaryKind::Mul, "prod", 1},
                               {BinaryKind::Min, "min", std::nullopt},
                               {BinaryKind::Max, "max", std::nullopt}};
    for (const Kind& k : kKinds) {
      if (k.op != both->op()) continue;
      if (k.identity && (!init || !is_number(init->value, *k.identity)))
        return refuse("its reduction does not begin at the identity");
      return std::string(k.name);
    }
    return refuse("its reduction is not a sum, product, minimum or maximum");
  }

  static bool is_number(const Expr* e, std::int64_t value) {
    const auto* f = as<FloatImm>(e);
    return f ? f->value == double(value) : is_const(e, value);
  }

  Context& ctx_;
  const PrimFunc* function_;
  std::string_view name_;
  std::vector<Block> blocks_;
  std::unordered_map<const Buffer*, Parts> buffers_;
  std::unordered_map<const Var*, std::int64_t> axes_;
};

class Divider : public Rewriter {
 public:
  Divider(Context& ctx, const Division& division) : Rewriter(ctx), division_(division) {}
  std::string refused;  // an extent that does not divide evenly

  const PrimFunc* run(const PrimFunc* f) {
    walk(f->body, [&](const Node* n) {
      if (const auto* r = as<SBlockRealize>(n)) loops_of(r);
      return true;
    });
    std::vector<PrimParam> params;
    for (const PrimParam& p : f->params) params.push_back({p.var, p.buffer ? visit_buffer(p.buffer) : nullptr});
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, rewrite(f->body), f->attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    const Parts* parts = division_.parts_of(b);
    if (!parts) return b;
    Buffer made = *b;
    std::vector<const Expr*> shape(b->shape.begin(), b->shape.end());
    for (const auto& [dim, n] : *parts) shape[dim] = divided(shape[dim], n);
    if (!b->strides.empty()) refused = "`" + std::string(b->name) + "` has strides";
    made.shape = ctx_.list(shape);
    const Buffer* result = ctx_.buffer(made);
    ctx_.set_origin(result, b);
    remap_buffer(b, result);
    return result;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    if (const auto* loop = as<ForStmt>(made); loop && loops_.count(loop->var))
      return ctx_.for_stmt(loop->var, loop->min, divided(loop->extent, loops_.at(loop->var)), loop->for_kind,
                           loop->body, loop->annotations, loop->thread_tag, loop->step);
    const auto* block = as<SBlock>(made);
    if (!block) return made;
    std::vector<IterVar> axes(block->iter_vars.begin(), block->iter_vars.end());
    bool changed = false;
    for (IterVar& v : axes)
      if (const std::int64_t n = division_.parts_of(v.var); n > 1) {
        v.dom.extent = divided(v.dom.extent, n);
        changed = true;
      }
    if (!changed) return made;
    SBlock copy = *block;
    copy.iter_vars = axes;
    return ctx_.sblock(copy);
  }

 private:
  // A divided axis must be bound directly to a loop variable.
  void loops_of(const SBlockRealize* r) {
    for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i) {
      const std::int64_t n = division_.parts_of(r->block->iter_vars[i].var);
      if (n <= 1) continue;
      const auto* loop = as<Var>(r->iter_values[i]);
      if (!loop || !is_const(r->predicate, 1))
        refused = "`" + std::string(r->block->iter_vars[i].var->name) + "` is not a loop by itself";
      else
        loops_[loop] = n;
    }
  }

  const Expr* divided(const Expr* extent, std::int64_t n) {
    const auto value = const_int(extent);
    if (value && *value % n == 0) return ctx_.int_imm(extent->dtype(), *value / n);
    const Expr* parts = ctx_.int_imm(extent->dtype(), n);
    const Expr* part = floor_div(ctx_, extent, parts);
    if (!Analyzer(ctx_).prove_equal(mul(ctx_, part, parts), extent))
      refused = fmt::format("an extent does not come out even in {} parts", n);
    return part;
  }

  const Division& division_;
  std::unordered_map<const Var*, std::int64_t> loops_;
};

}  // namespace

Result<LocalKernel> local_kernel(Context& ctx, std::string_view name, const PrimFunc* f,
                                 const std::vector<Sharding>& shardings) {
  const bool any = std::any_of(shardings.begin(), shardings.end(), [](const Sharding& s) { return s.parts > 1; });
  if (!any) return LocalKernel{f, {}};
  Division division(ctx, f);
  RLDB_TRY_VOID(division.run(name, shardings));
  LocalKernel out;
  RLDB_TRY(out.reduction, division.reduction());
  Divider divider(ctx, division);
  out.function = divider.run(f);
  if (!divider.refused.empty())
    return support::Failure(
        source::message(diag::PassUnsupported, fmt::format("`{}` on parts of its tensors", name), divider.refused));
  return out;
}

}  // namespace rldb::passes
