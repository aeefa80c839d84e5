// Recognises contractions: the roles of the loops, grouped axes, the size of tiles.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "schedule/steps/contract/contraction.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;
using ir::DType;

namespace {

constexpr std::int64_t kRowsInOneSize = 512;     // of more rows those of the rest do not count
constexpr std::int64_t kLeastChains = 10;        // of additions that hide how long one takes
constexpr std::int64_t kMinWork = 16 * 16 * 16;  // less is not worth its code

// The load of an operand behind conversions among floats, or among integers.
const ir::BufferLoad* loaded_operand(const ir::Expr* e) {
  const bool is_float = e->dtype().is_float();
  while (const auto* c = as<ir::CastExpr>(e)) {
    const DType from = c->value->dtype();
    if (is_float ? !from.is_float() : !from.is_integral() || from.is_bool()) return nullptr;
    e = c->value;
  }
  const auto* load = as<ir::BufferLoad>(e);
  return load && load->buffer->dtype.lanes == 1 ? load : nullptr;
}

std::vector<const ir::BufferLoad*> loads_in(const ir::Expr* e) {
  std::vector<const ir::BufferLoad*> loads;
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* l = as<ir::BufferLoad>(n)) loads.push_back(l);
    return true;
  });
  return loads;
}

bool chooses(const ir::Expr* e) {
  bool found = false;
  ir::walk(e, [&](const ir::Node* n) {
    const auto* call = as<ir::Call>(n);
    found = found || as<ir::SelectExpr>(n) || (call && ir::is_call_of(call, ir::intrin::IfThenElse));
    return !found;
  });
  return found;
}

// An operand that is loaded, or calculated from loads lane by lane, without choices.
Factor factor_of(const ir::Expr* e) {
  Factor f{e, loaded_operand(e), nullptr};
  const auto loads = loads_in(e);
  if (f.load || (!loads.empty() && e->dtype().is_float() && has_vector_form(e) && !chooses(e))) f.first = loads[0];
  return f;
}

// C + A * B in either order.
bool match_sum(Contraction& c) {
  const ir::BufferStore* update = c.nest.update;
  const auto is_out = [&](const ir::Expr* e) {
    const auto* l = as<ir::BufferLoad>(e);
    return l && l->buffer == update->buffer;
  };
  const auto* sum = as<ir::BinaryExpr>(update->value);
  if (!sum || sum->kind != BinaryKind::Add) return false;
  c.product_first = is_out(sum->b);
  if (!c.product_first && !is_out(sum->a)) return false;
  const auto* product = as<ir::BinaryExpr>(c.product_first ? sum->a : sum->b);
  if (!product || product->kind != BinaryKind::Mul) return false;
  c.a = factor_of(product->a);
  c.b = factor_of(product->b);
  for (const Factor* f : {&c.a, &c.b})
    for (const ir::BufferLoad* l : loads_in(f->expr))
      if (is_out(l)) return false;
  return c.a.first && c.b.first;
}

std::optional<std::int64_t> extent_of(const std::vector<Axis>& axes) {
  std::int64_t all = 1;
  for (const Axis& a : axes) {
    const auto n = ir::const_int(a.extent);
    if (!n || __builtin_mul_overflow(all, *n, &all)) return std::nullopt;
  }
  return all;
}

// ---- grouped axes ----

// v // by or v % by somewhere in the operands (a grouped convolution's channel).
std::optional<std::int64_t> group_size(const Contraction& c, const ir::Var* v) {
  std::optional<std::int64_t> by;
  for (const Factor* f : {&c.a, &c.b})
    if (f->load)
      ir::walk(f->load, [&](const ir::Node* n) {
        const auto* b = as<ir::BinaryExpr>(n);
        const bool splits = b && b->a == v && (b->kind == BinaryKind::FloorDiv || b->kind == BinaryKind::FloorMod);
        if (splits && !by) by = ir::const_int(b->b);
        return true;
      });
  return by && *by > 1 ? by : std::nullopt;
}

// An axis as outer * by + inner, its quotient and remainder as the parts.
class SplitAxis : public ir::Rewriter {
 public:
  SplitAxis(ir::Context& ctx, const ir::Var* axis, const ir::Expr* by, const ir::Var* outer, const ir::Var* inner)
      : Rewriter(ctx), axis_(axis), by_(by), outer_(outer), inner_(inner) {
    vars_[axis] = ir::add(ctx, ir::mul(ctx, outer, by), inner);
  }

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* b = as<ir::BinaryExpr>(e);
    if (b && b->a == axis_ && ir::expr_equal(b->b, by_)) {
      if (b->kind == BinaryKind::FloorDiv) return outer_;
      if (b->kind == BinaryKind::FloorMod) return inner_;
    }
    return Rewriter::visit_expr(e);
  }

 private:
  const ir::Var* axis_;
  const ir::Expr* by_;
  const ir::Var *outer_, *inner_;
};

class Roles {
 public:
  Roles(ir::Context& ctx, Contraction& c) : ctx_(ctx), c_(c) {}

  bool run() {
    ir::VarMap units;  // axes of one element: the first
    for (std::size_t n = 0; n < c_.nest.loops.size(); ++n)
      if (ir::is_const(c_.nest.loops[n]->extent, 1))
        units[c_.nest.axes[n]->var] = ctx_.int_imm(c_.nest.axes[n]->var->dtype(), 0);
    for (Factor* f : {&c_.a, &c_.b}) {
      if (!units.empty()) *f = factor_of(ir::substitute(ctx_, f->expr, units));
      if (!f->first) return false;
    }
    for (const ir::Expr* e : c_.nest.update->indices) c_.out.push_back(e);
    for (std::size_t n = 0; n < c_.nest.loops.size(); ++n) {
      const ir::ForStmt* l = c_.nest.loops[n];
      const Axis axis{c_.nest.axes[n]->var, std::string(l->var->name), l->extent, l->for_kind};
      if (units.contains(axis.var))
        c_.around.push_back(axis);
      else if (c_.nest.is_reduce(int(n)))
        c_.depth.push_back(axis);
      else
        add(axis);
    }
    return !c_.depth.empty() && find_columns() && find_rows();
  }

 private:
  void add(const Axis& axis) {
    const auto by = group_size(c_, axis.var);
    const auto extent = ir::const_int(axis.extent);
    if (!by || !extent || *extent % *by != 0) return spatial_.push_back(axis);
    const auto part = [&](const char* suffix, std::int64_t n) {
      const std::string name = axis.name + suffix;
      return Axis{ctx_.var(ctx_.str(name), axis.var->type), name, ctx_.int_imm(axis.extent->dtype(), n), axis.kind};
    };
    const Axis outer = part("_group", *extent / *by), inner = part("", *by);
    SplitAxis split(ctx_, axis.var, ctx_.int_imm(axis.var->dtype(), *by), outer.var, inner.var);
    for (Factor* f : {&c_.a, &c_.b}) *f = factor_of(split.rewrite(f->expr));
    for (const ir::Expr*& e : c_.out) e = split.rewrite(e);
    spatial_.push_back(outer);
    spatial_.push_back(inner);
  }
  // The axis that an index of the output is, or ends in.
  const Axis* axis_at(const ir::Expr* index, bool& is_all) const {
    const auto* sum = as<ir::BinaryExpr>(index);
    is_all = !sum;
    const ir::Expr* last = sum && sum->kind == BinaryKind::Add ? sum->b : index;
    for (const Axis& a : spatial_)
      if (a.var == last) return &a;
    return nullptr;
  }
  bool only_in(const Factor& f, const Factor& other, const Axis& axis) const {
    return mentions(f.expr, axis.var) && !mentions(other.expr, axis.var);
  }

  // The last dimensions of the output, as long as only one operand moves with them.
  bool find_columns() {
    for (std::size_t i = c_.out.size(); i-- > 0;) {
      if (ir::is_const(c_.out[i], 0)) continue;
      bool is_all = false;
      const Axis* axis = axis_at(c_.out[i], is_all);
      if (!axis) return !c_.columns.empty();
      if (c_.columns.empty() && only_in(c_.a, c_.b, *axis)) {
        std::swap(c_.a, c_.b);
        c_.a_first = !c_.a_first;
      }
      if (!only_in(c_.b, c_.a, *axis)) break;
      c_.columns.insert(c_.columns.begin(), *axis);
      if (!is_all) break;
    }
    return !c_.columns.empty();
  }
  bool find_rows() {
    const auto is_column = [&](const Axis& a) {
      return std::any_of(c_.columns.begin(), c_.columns.end(), [&](const Axis& x) { return x.var == a.var; });
    };
    for (const Axis& a : spatial_) {
      if (is_column(a)) continue;
      (only_in(c_.a, c_.b, a) ? c_.rows : c_.around).push_back(a);
    }
    // Products of a vector: not the windows of a depthwise convolution.
    constexpr std::int64_t kMinDepth = 64;
    return !c_.rows.empty() || extent_of(c_.depth).value_or(kMinDepth) >= kMinDepth;
  }

  ir::Context& ctx_;
  Contraction& c_;
  std::vector<Axis> spatial_;
};

// Axes that are fused are counted in 64 bits, or in 32 where that is enough.
bool countable(const Scene& scene, const std::vector<Axis>& axes) {
  if (axes.size() < 2) return true;
  std::int64_t all = 1;
  for (const Axis& a : axes) {
    if (!not_negative(scene, a.extent)) return false;  // a product of two that are is positive
    if (a.var->dtype() != axes[0].var->dtype()) return false;
    if (a.var->dtype().bits == 64) continue;
    const auto n = ir::const_int(a.extent);
    if (!n || __builtin_mul_overflow(all, *n, &all) || all > INT32_MAX / 2) return false;
  }
  return true;
}

// A single axis of 32 bits whose extent is not known is counted in 64: its uses have to be whole indices.
bool plain_if_short(const Contraction& c, const std::vector<Axis>& axes) {
  for (const Axis& a : axes) {
    if (a.var->dtype().bits == 64 || ir::const_int(a.extent)) continue;
    for (const Factor* f : {&c.a, &c.b})
      for (const ir::BufferLoad* l : loads_in(f->expr))
        for (const ir::Expr* e : l->indices)
          if (e != a.var && mentions(e, a.var)) return false;
  }
  return true;
}

bool worth_tiles(const Contraction& c) {
  std::int64_t work = 1;
  for (const auto* axes : {&c.rows, &c.columns, &c.depth}) {
    const std::int64_t extent = extent_of(*axes).value_or(256);
    if (extent <= 0 || __builtin_mul_overflow(work, extent, &work)) return false;
  }
  return work >= kMinWork;
}

// Tiles that fill the register file: 32 registers of 64 bytes, else 16.
void choose_tiles(Contraction& c, unsigned vector_bytes) {
  const bool is_half = c.work == DType::Float(16);
  c.lanes = std::int64_t(vector_bytes / (is_half ? 2 : std::max<std::size_t>(4, c.work.bytes())));
  c.vectors = 2;
  c.height = vector_bytes == 64 ? 12 : vector_bytes == 32 ? 6 : 4;
  const auto columns = extent_of(c.columns);
  if (columns && *columns <= c.lanes) {
    c.vectors = 1;
    c.height *= 2;
  }
  const auto rows = extent_of(c.rows);
  if (!rows) return;
  if (*rows >= c.height) {
    // A tile that leaves no rest of a few rows, whose code is half of all.
    for (std::int64_t height = c.height; *rows <= kRowsInOneSize && height >= c.height * 2 / 3; --height)
      if (*rows % height == 0 && height * c.vectors >= kLeastChains) {
        c.height = height;
        break;
      }
    return;
  }
  c.height = *rows;
  if (c.height <= 4 && c.vectors == 2) c.vectors = 4;
}

bool is_bytes(const Factor& f) {
  const auto* widened = as<ir::CastExpr>(f.expr);
  const DType t = f.first->buffer->dtype;
  return widened && widened->value == f.load && t.is_integral() && !t.is_bool() && t.bits <= 8;
}

// Sums of products of bytes, over a block of the depth, are whole numbers below 2^24. Where an instruction adds up four
// products of a signed and an unsigned byte, it does; 128 more makes a signed byte unsigned. Elsewhere they are added
// up in float32, which has these numbers, and whose multiplications are several times faster than those of integers.
void choose_bytes(Contraction& c, bool dots) {
  static_assert(kMaxDepth * 255 * 255 < (1 << 24));
  c.adds_blocks = true;
  const DType a = c.a.load->buffer->dtype, b = c.b.load->buffer->dtype;
  const bool some_signed = a.is_int() || b.is_int();
  if (!dots || !some_signed || a.bits != 8 || b.bits != 8) {
    c.work = DType::Float(32);
    return;
  }
  c.work = DType::Int(32);
  c.dot = 4;
  c.unsigned_b = a.is_int() && b.is_int();
}

void choose_work(const Scene& scene, Contraction& c) {
  c.work = c.type;
  if (c.type.is_int() && is_bytes(c.a) && is_bytes(c.b)) return choose_bytes(c, scene.target.byte_dots);
  // Narrow floats are calculated in float32, and each result is rounded, unless there are instructions for them.
  const bool narrow = c.type.is_float() && c.type.bits < 32 && !(c.type == DType::Float(16) && scene.target.float16);
  if (narrow) c.work = DType::Float(32);
  c.rounds = narrow && !scene.target.fast_sums;
}

bool is_number(DType t) {
  const bool whole = t.is_integral() && !t.is_bool() && t.bits >= 32;
  const bool real = t.is_bfloat16() || (t.code == runtime::TypeCode::Float && t.bits >= 16);
  return t.lanes == 1 && (whole || real);
}

}  // namespace

namespace {

// How much an index grows with a variable: v, v * 2, v + rest, v * 2 + rest * 3. Null: not known.
std::optional<std::int64_t> step_with(const ir::Expr* e, const ir::Var* v) {
  if (e == v) return 1;
  if (!mentions(e, v)) return 0;
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || (b->kind != BinaryKind::Add && b->kind != BinaryKind::Mul)) return std::nullopt;
  const auto x = step_with(b->a, v), y = step_with(b->b, v);
  if (!x || !y || (*x != 0 && *y != 0)) return std::nullopt;
  if (b->kind == BinaryKind::Add) return *x + *y;
  const auto by = ir::const_int(*x != 0 ? b->b : b->a);
  std::int64_t step = 0;
  if (!by || __builtin_mul_overflow(*x + *y, *by, &step)) return std::nullopt;
  return step;
}

}  // namespace

Run runs_with(const ir::BufferLoad* load, const std::vector<Axis>& axes) {
  if (!load) return Run::None;
  const ir::Buffer* b = load->buffer;
  if (axes.empty() || !is_dense(b)) return Run::None;
  std::vector<std::size_t> dims;  // of more than one element
  for (std::size_t i = 0; i < load->indices.size(); ++i)
    if (!ir::is_const(b->shape[i], 1)) dims.push_back(i);
  if (dims.empty() || (dims.back() + 1 < load->indices.size() && !b->strides.empty())) return Run::None;
  const ir::Var* inner = axes.back().var;
  for (std::size_t i = 0; i < load->indices.size(); ++i)
    if (i != dims.back() && mentions(load->indices[i], inner)) return Run::None;
  const auto step = step_with(load->indices[dims.back()], inner);
  if (!step || *step == 0) return Run::None;
  if (*step != 1) return Run::Strided;
  if (axes.size() == 1) return Run::Whole;
  // Fused axes: each a whole dimension of the buffer, but for the first, which may be a part of one.
  if (!b->strides.empty() || dims.size() < axes.size()) return Run::Inner;
  const std::size_t from = dims.size() - axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t dim = dims[from + i];
    if (load->indices[dim] != axes[i].var || (i > 0 && !ir::expr_equal(b->shape[dim], axes[i].extent)))
      return Run::Inner;
  }
  return Run::Whole;
}

bool is_operand(const ir::Expr* e) { return factor_of(e).first != nullptr; }

bool is_packed_once(const Contraction& c, const ir::BufferLoad* load) {
  if (!c.b.load || c.b.load->buffer != load->buffer) return false;
  return std::all_of(c.around.begin(), c.around.end(),
                     [&](const Axis& a) { return ir::is_const(a.extent, 1) || mentions(c.b.expr, a.var); });
}

std::optional<Contraction> match_contraction(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reduction(loop);
  if (!nest || nest->update->indices.empty()) return std::nullopt;
  Contraction c;
  c.nest = std::move(*nest);
  const ir::Buffer* out = c.nest.update->buffer;
  c.type = out->dtype;
  if (!is_number(c.type) || !is_dense(out) || scene.views.contains(out)) return std::nullopt;
  if (!match_sum(c) || !Roles(scene.ctx, c).run() || !worth_tiles(c)) return std::nullopt;
  for (const auto* axes : {&c.rows, &c.columns, &c.depth})
    if (!countable(scene, *axes) || !plain_if_short(c, *axes)) return std::nullopt;
  choose_work(scene, c);
  choose_tiles(c, scene.target.vector_bytes);
  return c;
}

}  // namespace rldb::schedule
