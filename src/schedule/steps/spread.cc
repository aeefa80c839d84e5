// Recognises convolutions of an input that is spread out, from the three nests that they are written as.
#include "schedule/steps/spread.h"

#include <algorithm>
#include <cmath>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr std::int64_t kMostPhases = 64;

// A nest that writes each element of a buffer: one that is loaded, or 0 where the tests do not hold.
struct FilledStage {
  ElementwiseNest nest;
  const ir::BufferLoad* from = nullptr;
  std::vector<const ir::Expr*> tests;
};

void add_tests(const ir::Expr* e, std::vector<const ir::Expr*>& out) {
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || b->kind != BinaryKind::And) return out.push_back(e);
  add_tests(b->a, out);
  add_tests(b->b, out);
}

bool is_zero(const ir::Expr* e) {
  const auto* f = as<ir::FloatImm>(e);
  return f && f->value == 0 && !std::signbit(f->value);
}

std::optional<FilledStage> match_filled(const ir::Stmt* s) {
  const auto* loop = as<ir::ForStmt>(s);
  auto nest = loop ? match_elementwise(loop) : std::nullopt;
  if (!nest || nest->store->indices.size() != nest->axes.size()) return std::nullopt;
  const ir::Buffer* b = nest->store->buffer;
  for (std::size_t i = 0; i < nest->axes.size(); ++i)
    if (nest->store->indices[i] != nest->axes[i] || !ir::expr_equal(b->shape[i], nest->loops[i]->extent))
      return std::nullopt;
  FilledStage out;
  const auto* c = as<ir::Call>(nest->store->value);
  if (!c || !ir::is_call_of(c, ir::intrin::IfThenElse) || !is_zero(c->args[2])) return std::nullopt;
  add_tests(c->args[0], out.tests);
  out.from = as<ir::BufferLoad>(c->args[1]);
  if (!out.from || out.from->predicate || out.from->indices.size() != nest->axes.size()) return std::nullopt;
  out.nest = std::move(*nest);
  return out;
}

class SpreadMatcher {
 public:
  SpreadMatcher(const Scene& scene, const ir::SBlock* block, ir::Span<const ir::Stmt*> stmts, std::size_t at)
      : ctx_(scene.ctx), scene_(scene), block_(block), stmts_(stmts), at_(at), analyzer_(scene.ctx) {
    for (const ir::Var* v : scene.dims) analyzer_.mark_non_negative(v);
  }

  std::optional<SpreadConv> run() {
    const auto* loop = as<ir::ForStmt>(stmts_[at_]);
    auto nest = loop ? match_reduction(loop) : std::nullopt;
    if (!nest || nest->update->indices.empty()) return std::nullopt;
    c_.nest = std::move(*nest);
    if (match_sum() && match_stages() && match_places() && keeps_input()) return std::move(c_);
    return std::nullopt;
  }

 private:
  bool match_sum() {
    const ir::BufferStore* update = c_.nest.update;
    if (!is_plain(update->buffer) || !is_zero(c_.nest.init->value)) return false;
    for (std::size_t i = 0; i < c_.nest.loops.size(); ++i)
      if (!ir::expr_equal(c_.nest.axes[i]->dom.extent, c_.nest.extent(int(i)))) return false;
    // The whole of the result, which is written anew.
    for (std::size_t i = 0; i < update->indices.size(); ++i) {
      const int loop = c_.nest.loop_of(update->indices[i]);
      if (loop < 0 || !ir::expr_equal(update->buffer->shape[i], c_.nest.extent(loop))) return false;
    }
    const auto* sum = as<ir::BinaryExpr>(update->value);
    if (!sum || sum->kind != BinaryKind::Add) return false;
    const auto* own = as<ir::BufferLoad>(sum->a);
    const auto* product = as<ir::BinaryExpr>(sum->b);
    if (!own || own->buffer != update->buffer || !product || product->kind != BinaryKind::Mul) return false;
    a_ = as<ir::BufferLoad>(product->a);
    b_ = as<ir::BufferLoad>(product->b);
    return a_ && b_ && a_->buffer != b_->buffer && is_plain(a_->buffer) && is_plain(b_->buffer);
  }
  bool is_plain(const ir::Buffer* b) const {
    const bool whole = b->strides.empty() && (!b->elem_offset || ir::is_const(b->elem_offset, 0));
    return whole && b->dtype == ir::DType::Float(32) && !scene_.views.contains(b);
  }

  // The only statement before the nest that accesses a buffer, which is the block's, but for what `reader` reads.
  std::optional<std::size_t> writer_of(const ir::Buffer* b, std::size_t reader) const {
    const auto& allocs = block_->alloc_buffers;
    if (std::find(allocs.begin(), allocs.end(), b) == allocs.end()) return std::nullopt;
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < stmts_.size(); ++i) {
      if (i == reader || !mentions(stmts_[i], b->data)) continue;
      if (found || i > reader) return std::nullopt;
      found = i;
    }
    return found;
  }
  static bool mentions(const ir::Stmt* s, const ir::Var* data) {
    bool found = false;
    ir::walk(s, [&](const ir::Node* n) {
      const auto* l = as<ir::BufferLoad>(n);
      const auto* st = as<ir::BufferStore>(n);
      found = found || n == data || (l && l->buffer->data == data) || (st && st->buffer->data == data);
      return !found;
    });
    return found;
  }

  bool match_stages() {
    for (const auto& [data, kernel] : {std::pair{a_, b_}, std::pair{b_, a_}}) {
      const auto last = writer_of(data->buffer, at_);
      const auto around = last ? match_filled(stmts_[*last]) : std::nullopt;
      if (!around) continue;
      c_.padded = data->buffer;
      c_.padded_shape.assign(c_.padded->shape.begin(), c_.padded->shape.end());
      c_.before.assign(c_.padded_shape.size(), 0);
      c_.is_padded.assign(c_.padded_shape.size(), false);
      load_ = data;
      c_.weight = kernel;
      set_kernel(kernel->buffer);
      if (match_between(*around)) {
        c_.stages = {*last};
        c_.fills = {around->nest};
        return true;
      }
      const auto first = writer_of(around->from->buffer, *last);
      const auto between = first ? match_filled(stmts_[*first]) : std::nullopt;
      if (!between || !match_around(*around) || !match_between(*between)) return false;
      c_.stages = {*first, *last};
      c_.fills = {around->nest, between->nest};
      return true;
    }
    return false;
  }
  // Before the nest its kernel is reversed: what that is a copy of has the same elements.
  void set_kernel(const ir::Buffer* b) {
    c_.kernel = b;
    const auto writer = writer_of(b, at_);
    const auto* loop = writer ? as<ir::ForStmt>(stmts_[*writer]) : nullptr;
    const auto nest = loop ? match_elementwise(loop) : std::nullopt;
    const auto* from = nest ? as<ir::BufferLoad>(nest->store->value) : nullptr;
    if (from && !from->predicate && is_plain(from->buffer) && kept_from(*writer, from->buffer))
      c_.kernel = from->buffer;
  }
  // Not written from a statement on, up to the nest.
  bool kept_from(std::size_t first, const ir::Buffer* b) const {
    for (std::size_t i = first; i <= at_; ++i) {
      bool written = false;
      ir::walk(stmts_[i], [&](const ir::Node* n) {
        const auto* st = as<ir::BufferStore>(n);
        written = written || (st && st->buffer->data == b->data);
        return !written;
      });
      if (written) return false;
    }
    return true;
  }
  bool keeps_input() const {
    return is_plain(c_.input->buffer) && kept_from(c_.stages[0], c_.input->buffer) &&
           c_.input->buffer->data != c_.nest.update->buffer->data;
  }

  // padded[v] = between[v - before] inside, with a test of each side where there are zeros.
  bool match_around(const FilledStage& s) {
    std::vector<const ir::Expr*> tests = s.tests;
    const auto take = [&](const std::function<bool(const ir::BinaryExpr*)>& fits) {
      const auto it = std::find_if(tests.begin(), tests.end(), [&](const ir::Expr* e) {
        const auto* b = as<ir::BinaryExpr>(e);
        return b && fits(b);
      });
      if (it == tests.end()) return false;
      tests.erase(it);
      return true;
    };
    for (std::size_t i = 0; i < s.nest.axes.size(); ++i) {
      const ir::Var* axis = s.nest.axes[i];
      const ir::Expr *index = s.from->indices[i], *inner = s.from->buffer->shape[i];
      if (index != axis) {
        const auto* moved = as<ir::BinaryExpr>(index);
        const auto by =
            moved && moved->kind == BinaryKind::Sub && moved->a == axis ? ir::const_int(moved->b) : std::nullopt;
        if (!by || *by < 0 || *by > INT32_MAX) return false;
        c_.before[i] = *by;
      }
      const ir::Expr* before = ctx_.int_imm(axis->dtype(), c_.before[i]);
      const ir::Expr* end = ir::add(ctx_, inner, before);
      const bool low = take([&](const ir::BinaryExpr* b) {
        return b->kind == BinaryKind::LE && b->b == axis && analyzer_.prove_equal(b->a, before);
      });
      const bool high = take([&](const ir::BinaryExpr* b) {
        if (b->a != axis || (b->kind != BinaryKind::LT && b->kind != BinaryKind::LE)) return false;
        const ir::Expr* one = ctx_.int_imm(axis->dtype(), 1);
        return analyzer_.prove_equal(b->kind == BinaryKind::LE ? ir::add(ctx_, b->b, one) : b->b, end);
      });
      if (!low && c_.before[i] > 0) return false;
      if (!high && !analyzer_.prove_equal(end, c_.padded_shape[i])) return false;
      c_.is_padded[i] = low || high;
    }
    return tests.empty();
  }

  // between[v] = input[v // by] where v % by == 0.
  bool match_between(const FilledStage& s) {
    std::vector<Spread> spread;
    std::size_t used = 0;
    std::int64_t phases = 1;
    for (std::size_t i = 0; i < s.nest.axes.size(); ++i) {
      const ir::Var* axis = s.nest.axes[i];
      if (s.from->indices[i] == axis) continue;
      const auto* part = as<ir::BinaryExpr>(s.from->indices[i]);
      const auto by =
          part && part->kind == BinaryKind::FloorDiv && part->a == axis ? ir::const_int(part->b) : std::nullopt;
      if (!by || *by < 2 || *by > kMostPhases || (phases *= *by) > kMostPhases) return false;
      const ir::Expr* width = ctx_.int_imm(axis->dtype(), *by);
      const ir::Expr* zero = ctx_.int_imm(axis->dtype(), 0);
      const ir::Expr* test = ctx_.binary(BinaryKind::EQ, ctx_.binary(BinaryKind::FloorMod, axis, width), zero);
      used += std::size_t(
          std::count_if(s.tests.begin(), s.tests.end(), [&](const ir::Expr* e) { return ir::expr_equal(e, test); }));
      // As many elements as there are in the input.
      const ir::Expr* one = ctx_.int_imm(axis->dtype(), 1);
      const ir::Expr* x = s.from->buffer->shape[i];
      const ir::Expr* all = ir::add(ctx_, ir::mul(ctx_, ir::sub(ctx_, x, one), width), one);
      if (!analyzer_.prove_equal(s.nest.loops[i]->extent, all)) return false;
      spread.push_back({i, *by, c_.before[i], 0, nullptr, nullptr});
    }
    if (spread.empty() || used != spread.size() || used != s.tests.size()) return false;
    c_.input = s.from;
    c_.spread = std::move(spread);
    return true;
  }

  // Each spread dimension is accessed at an axis of the result plus one of the reduction.
  bool match_places() {
    for (Spread& s : c_.spread) {
      const auto* sum = as<ir::BinaryExpr>(load_->indices[s.dim]);
      if (!sum || sum->kind != BinaryKind::Add) return false;
      int place = c_.nest.loop_of(sum->a), tap = c_.nest.loop_of(sum->b);
      if (place >= 0 && c_.nest.is_reduce(place)) std::swap(place, tap);
      if (place < 0 || tap < 0 || c_.nest.is_reduce(place) || !c_.nest.is_reduce(tap)) return false;
      s.place = c_.nest.axes[std::size_t(place)];
      s.tap = c_.nest.axes[std::size_t(tap)];
      s.taps = ir::const_int(c_.nest.extent(tap)).value_or(0);
      if (s.taps <= 0) return false;
      // Nothing else of the input moves with them.
      for (std::size_t i = 0; i < load_->indices.size(); ++i)
        if (i != s.dim &&
            (schedule::mentions(load_->indices[i], s.place->var) || schedule::mentions(load_->indices[i], s.tap->var)))
          return false;
      const auto& taps = c_.weight->indices;
      if (std::count(taps.begin(), taps.end(), s.tap->var) != 1) return false;
      for (const ir::Expr* e : taps)
        if (schedule::mentions(e, s.place->var) || (e != s.tap->var && schedule::mentions(e, s.tap->var))) return false;
    }
    return true;
  }

  ir::Context& ctx_;
  const Scene& scene_;
  const ir::SBlock* block_;
  ir::Span<const ir::Stmt*> stmts_;
  std::size_t at_;
  ir::Analyzer analyzer_;
  SpreadConv c_;
  const ir::BufferLoad *a_ = nullptr, *b_ = nullptr, *load_ = nullptr;
};

}  // namespace

std::optional<SpreadConv> match_spread_conv(const Scene& scene, const ir::SBlock* block,
                                            ir::Span<const ir::Stmt*> stmts, std::size_t at) {
  return SpreadMatcher(scene, block, stmts, at).run();
}

}  // namespace rldb::schedule
