// Marks outer loops whose iterations do not depend on each other as parallel, with the number of iterations that is
// worth a thread. Nothing is reordered inside of an iteration, so values are the same on any number of threads.
//
// A loop qualifies if each buffer that it writes is its own (allocated, and used in it only) or is accessed in each
// iteration at indices that no other iteration has: one index, or the position that a quotient and a remainder stand
// for, lies in [size * i, size * (i + 1)). Starts of the form min(size * i, ..) overlap: two iterations may then write
// the same value, which is no harm if nothing is read back.
#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

// Operations that take a thread ten microseconds or more.
constexpr std::int64_t kWorthwhile = 1 << 18;
constexpr std::int64_t kContracted = 8;  // operations of products, at the speed of others
constexpr std::int64_t kUnknown = 32;    // iterations of a loop of unknown extent
constexpr std::int64_t kFunction = 10;   // operations of an elementary function
constexpr int kDeepest = 64;

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 4 : std::min(product, INT64_MAX / 4);
}

std::optional<std::int64_t> most(const ir::Expr* extent, int depth = 0) {
  if (const auto n = ir::const_int(extent)) return n;
  const auto* b = as<ir::BinaryExpr>(extent);
  if (!b || b->kind != BinaryKind::Min || depth > kDeepest) return std::nullopt;
  const auto x = most(b->a, depth + 1), y = most(b->b, depth + 1);
  return x && y ? std::min(*x, *y) : x ? x : y;
}

// Operations and accesses of one execution.
std::int64_t work_of(const ir::Stmt* s, int depth = 0) {
  if (depth > kDeepest) return 1;
  if (const auto* loop = as<ir::ForStmt>(s))
    return times(std::max<std::int64_t>(most(loop->extent).value_or(kUnknown), 0), work_of(loop->body, depth + 1));
  std::int64_t sum = 0;
  ir::walk(s, [&](const ir::Node* n) {
    if (const auto* part = as<ir::ForStmt>(n)) {
      sum = std::min(sum + work_of(part, depth + 1), INT64_MAX / 4);
      return false;
    }
    if (as<ir::BufferLoad>(n) || as<ir::BufferStore>(n)) ++sum;
    if (as<ir::Call>(n)) sum += kFunction;
    return true;
  });
  return sum;
}

// An index as size * i + rest, with 0 <= rest <= most.
struct Linear {
  std::int64_t size = 0, most = 0;
  bool overlaps = false;
};

class Ownership {
 public:
  Ownership(const ir::ForStmt* loop, const std::unordered_set<const ir::Buffer*>& own) : loop_(loop), own_(own) {}

  bool holds() {
    if (!collect(loop_->body, 0)) return false;
    for (const ir::Buffer* b : written_)
      if (!own_.contains(b) && !is_divided(b)) return false;
    return true;
  }

 private:
  struct Indices {
    const ir::Buffer* buffer;
    ir::Span<const ir::Expr*> indices;
    bool is_store;
  };

  bool collect(const ir::Stmt* s, int depth) {
    if (depth > kDeepest) return false;
    bool fits = true;
    ir::walk(s, [&](const ir::Node* n) {
      if (const auto* l = as<ir::ForStmt>(n)) {
        const auto extent = most(l->extent);
        if (extent && ir::is_const(l->min, 0) && !l->step) ranges_[l->var] = std::max<std::int64_t>(*extent - 1, 0);
      }
      if (const auto* r = as<ir::SBlockRealize>(n))
        for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i)
          axes_[r->block->iter_vars[i].var] = r->iter_values[i];
      if (const auto* l = as<ir::BufferLoad>(n)) all_.push_back({l->buffer, l->indices, false});
      if (const auto* st = as<ir::BufferStore>(n)) {
        all_.push_back({st->buffer, st->indices, true});
        if (std::find(written_.begin(), written_.end(), st->buffer) == written_.end()) written_.push_back(st->buffer);
      }
      if (const auto* b = as<ir::SBlock>(n)) fits = fits && b->match_buffers.empty();
      const bool strange = as<ir::DeclBuffer>(n) || as<ir::AllocBuffer>(n) || as<ir::AllocateStmt>(n) ||
                           as<ir::WhileStmt>(n) || as<ir::AssertStmt>(n) || as<ir::Evaluate>(n) || as<ir::BindStmt>(n);
      return fits = fits && !strange;
    });
    return fits;
  }

  bool is_divided(const ir::Buffer* b) {
    for (std::size_t dim = 0; dim < b->shape.size(); ++dim)
      if (is_divided_at(b, dim)) return true;
    return false;
  }
  bool is_divided_at(const ir::Buffer* b, std::size_t dim) {
    std::optional<Linear> common;
    bool loads = false;
    for (const Indices& a : all_) {
      if (a.buffer->data != b->data) continue;
      if (a.buffer != b || dim >= a.indices.size()) return false;
      loads = loads || !a.is_store;
      const auto here = linear(position(a, dim), 0);
      if (!here || here->size < 1 || here->most >= here->size || (common && common->size != here->size)) return false;
      const bool overlaps = here->overlaps || (common && common->overlaps);
      common = here;
      common->overlaps = overlaps;
    }
    return common && !(common->overlaps && loads);
  }
  // The index, or what it and the next one are the quotient and the remainder of.
  const ir::Expr* position(const Indices& a, std::size_t dim) {
    const ir::Expr* e = a.indices[dim];
    const auto* whole = as<ir::BinaryExpr>(e);
    if (!whole || whole->kind != BinaryKind::FloorDiv || dim + 1 >= a.indices.size()) return e;
    const auto* rest = as<ir::BinaryExpr>(a.indices[dim + 1]);
    const bool pair = rest && rest->kind == BinaryKind::FloorMod && ir::expr_equal(rest->a, whole->a) &&
                      ir::expr_equal(rest->b, whole->b);
    return pair ? whole->a : e;
  }

  std::optional<Linear> linear(const ir::Expr* e, int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (e == loop_->var) return Linear{1, 0, false};
    if (const auto n = ir::const_int(e)) return *n >= 0 ? std::optional(Linear{0, *n, false}) : std::nullopt;
    if (const auto* v = as<ir::Var>(e)) {
      if (const auto it = axes_.find(v); it != axes_.end()) return linear(it->second, depth + 1);
      const auto it = ranges_.find(v);
      return it == ranges_.end() ? std::nullopt : std::optional(Linear{0, it->second, false});
    }
    if (const auto* c = as<ir::CastExpr>(e)) return c->dtype().is_int() ? linear(c->value, depth + 1) : std::nullopt;
    const auto* b = as<ir::BinaryExpr>(e);
    if (!b) return std::nullopt;
    if (b->kind == BinaryKind::Min) {
      auto x = linear(b->a, depth + 1);
      if (x && x->size > 0 && x->most == 0 && !mentions(b->b, loop_->var)) x->overlaps = true;
      return x && x->overlaps ? x : std::nullopt;
    }
    const auto x = linear(b->a, depth + 1), y = linear(b->b, depth + 1);
    if (!x || !y) return std::nullopt;
    if (b->kind == BinaryKind::Add) return Linear{x->size + y->size, x->most + y->most, x->overlaps || y->overlaps};
    const auto by = ir::const_int(b->b);
    if (b->kind == BinaryKind::Mul && by && *by > 0 && !x->overlaps)
      return Linear{times(x->size, *by), times(x->most, *by), false};
    return std::nullopt;
  }

  const ir::ForStmt* loop_;
  const std::unordered_set<const ir::Buffer*>& own_;
  std::vector<Indices> all_;
  std::vector<const ir::Buffer*> written_;
  std::unordered_map<const ir::Var*, std::int64_t> ranges_;   // of inner loops: the largest value
  std::unordered_map<const ir::Var*, const ir::Expr*> axes_;  // of inner blocks
};

class Parallel : public ir::Rewriter {
 public:
  Parallel(const Scene& scene, const BoundsFacts* facts, const ir::Stmt* body)
      : Rewriter(scene.ctx), ctx_(scene.ctx), facts_(facts), all_(accesses(body)) {
    ir::walk(body, [&](const ir::Node* n) {
      if (const auto* b = as<ir::SBlock>(n))
        allocated_.insert(allocated_.end(), b->alloc_buffers.begin(), b->alloc_buffers.end());
      return as<ir::Stmt>(n) != nullptr;
    });
  }
  bool found = false;
  std::string_view about;  // what the first of the loops writes

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    if (const auto* b = as<ir::SBlock>(s)) {
      const bool outer = std::exchange(contracts_, contracts_ || has_flag(b->annotations, attr_name::FpContract));
      const ir::Stmt* made = Rewriter::visit_stmt(s);
      contracts_ = outer;
      return made;
    }
    const auto* loop = as<ir::ForStmt>(s);
    if (!loop) return Rewriter::visit_stmt(s);
    const bool serial = loop->for_kind == ir::ForKind::Serial || loop->for_kind == ir::ForKind::Parallel;
    if (!serial) return s;
    const std::int64_t grain = grain_of(loop);
    if (grain == 0 || !is_free(loop)) return ir::const_int(loop->extent) ? Rewriter::visit_stmt(s) : s;
    // A loop of unknown extent may turn out to be short; then those in it are run in pieces.
    const ir::Stmt* body = ir::const_int(loop->extent) ? loop->body : rewrite(loop->body);
    if (!std::exchange(found, true) || about.empty()) about = written_in(loop);
    std::vector<ir::NamedAttr> notes(loop->annotations.begin(), loop->annotations.end());
    notes.push_back(ctx_.named(attr_name::ParallelGrain, ctx_.attr(grain)));
    const ir::Stmt* made = ctx_.for_stmt(loop->var, loop->min, loop->extent, ir::ForKind::Parallel, body, notes);
    ctx_.set_origin(made, loop);
    return made;
  }

 private:
  static std::unordered_map<const ir::Buffer*, std::size_t> accesses(const ir::Stmt* s) {
    std::unordered_map<const ir::Buffer*, std::size_t> count;
    ir::walk(s, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) ++count[l->buffer];
      if (const auto* st = as<ir::BufferStore>(n)) ++count[st->buffer];
      return true;
    });
    return count;
  }

  // Iterations that are worth a thread; 0: there are not enough of them.
  std::int64_t grain_of(const ir::ForStmt* loop) const {
    if (loop->step || !ir::is_const(loop->min, 0) || ir::find_attr(loop->annotations, attr_name::ParallelGrain))
      return 0;
    const std::int64_t worth = times(kWorthwhile, contracts_ ? kContracted : 1);
    const std::int64_t grain = std::max<std::int64_t>(1, worth / std::max<std::int64_t>(1, work_of(loop->body)));
    const auto extent = ir::const_int(loop->extent);
    return extent && *extent / 2 < grain ? 0 : grain;
  }

  bool is_free(const ir::ForStmt* loop) {
    if (facts_ && !facts_->all_proved(loop)) return false;
    const auto inside = accesses(loop->body);
    std::unordered_set<const ir::Buffer*> own;
    for (const ir::Buffer* b : allocated_) {
      const auto here = inside.find(b);
      if (here != inside.end() && here->second == all_.at(b)) own.insert(b);
    }
    return Ownership(loop, own).holds();
  }
  std::string_view written_in(const ir::ForStmt* loop) const {
    std::string_view name;
    ir::walk(loop->body, [&](const ir::Node* n) {
      const auto* st = as<ir::BufferStore>(n);
      if (st && std::find(allocated_.begin(), allocated_.end(), st->buffer) == allocated_.end())
        name = st->buffer->name;
      return true;
    });
    return name.empty() ? std::string_view(loop->var->name) : name;
  }

  ir::Context& ctx_;
  const BoundsFacts* facts_;
  std::unordered_map<const ir::Buffer*, std::size_t> all_;
  std::vector<const ir::Buffer*> allocated_;
  bool contracts_ = false;  // in a reduction
};

}  // namespace

std::optional<Stage> mark_parallel(const Scene& scene, const ir::Stmt* body, const BoundsFacts* facts,
                                   std::string_view& about) {
  if (!scene.noalias) return std::nullopt;
  Parallel marks(scene, facts, body);
  const ir::Stmt* made = marks.rewrite(body);
  if (!marks.found) return std::nullopt;
  about = marks.about;
  return Stage{StepId::Parallel, made};
}

}  // namespace rldb::schedule
