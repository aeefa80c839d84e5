// Running sums and products for GPUs: the two sweeps over a tree, as TVM's TOPI writes them. The innermost axis is
// scanned exclusively, in launches of `threads` threads a block; an inclusive scan adds the data to that.
#include "ops/legal/gpu_sort.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/order_attr.h"
#include "rldb/ir/thread_tag.h"

namespace rldb::ops::legal {

using ir::Stmt;

namespace {

struct GpuScan {
  std::string_view op;
  std::string_view element_name;
  topi::Element element;
  double identity;
};
constexpr GpuScan kScans[] = {{op::Cumsum, short_op::Add, topi::add_element, 0},
                              {op::Cumprod, short_op::Multiply, topi::multiply_element, 1}};

const GpuScan* scan_of(const ir::Call* c) {
  const auto* op = ir::as<ir::Op>(c->callee);
  for (const GpuScan& scan : kScans)
    if (op && op->name == scan.op) return &scan;
  return nullptr;
}

class ScanWriter {
 public:
  ScanWriter(Te& te, const GpuScan& how, std::int64_t threads, const ir::Buffer* in, const ir::Buffer* out)
      : ctx_(te.ctx), w_(te.ctx), t_(te), how_(how), in_(in), out_(out), threads_(ctx_.i64(threads)) {
    size_ = out->shape.back();
    rows_ = ctx_.i64(1);
    for (std::size_t i = 0; i + 1 < out->shape.size(); ++i) rows_ = ir::mul(ctx_, rows_, out->shape[i]);
  }

  const Stmt* write() {
    const Stmt* nothing = launch(ctx_, ir::kBlockIdxX, rows_, [&](const Expr* row) {
      return w_.when(t_.lt(row, rows_), ctx_.evaluate(ctx_.i64(0)));
    });
    const Stmt* sweeps = w_.seq({copy(), up(), clear(), down()});
    return w_.when(t_.eq(size_, ctx_.i64(0)), nothing, sweeps);
  }

 private:
  // `body` in each thread of the blocks that cover a row by steps of `step` elements: the row, and the thread's number
  // in it.
  using InRow = std::function<const Stmt*(const Expr* row, const Expr* thread)>;
  const Stmt* over_rows(const Expr* step, const InRow& body) {
    const Expr* in_block = ir::mul(ctx_, threads_, step);
    const Expr* blocks = ir::floor_div(ctx_, ir::add(ctx_, size_, ir::sub(ctx_, in_block, ctx_.i64(1))), in_block);
    return launch(ctx_, ir::kThreadIdxX, threads_, [&](const Expr* thread) {
      return launch(ctx_, ir::kBlockIdxX, ir::mul(ctx_, blocks, rows_), [&](const Expr* block) {
        const Expr* first = ir::mul(ctx_, ir::floor_mod(ctx_, block, blocks), threads_);
        return body(ir::floor_div(ctx_, block, blocks), ir::add(ctx_, first, thread));
      });
    });
  }

  ExprList at(const Expr* flat) { return unravel(ctx_, flat, out_->shape); }
  const Expr* load(const ir::Buffer* b, const Expr* flat) { return ctx_.load(b, at(flat)); }
  const Stmt* store(const Expr* value, const Expr* flat) {
    return ctx_.store(out_, ir::cast_to(ctx_, out_->dtype, value), at(flat));
  }
  const Expr* start_of(const Expr* row) { return ir::mul(ctx_, row, size_); }
  // The last element before a position in a row.
  const Expr* before(const Expr* row, const ir::Buffer* position) {
    return ir::sub(ctx_, ir::add(ctx_, start_of(row), number(position)), ctx_.i64(1));
  }
  const Expr* number(const ir::Buffer* cell) { return ir::cast_to(ctx_, DType::Int(64), w_.get(cell)); }

  const Stmt* copy() {
    return over_rows(ctx_.i64(1), [&](const Expr* row, const Expr* thread) {
      const Expr* flat = ir::add(ctx_, start_of(row), thread);
      return w_.when(t_.lt(thread, size_), store(ir::cast_to(ctx_, out_->dtype, load(in_, flat)), flat));
    });
  }

  // Levels of the tree: ceil(log2(size)), known for a known size.
  const Expr* levels() {
    const Expr* n = ctx_.literal(DType::Float(64), 0);
    if (const auto known = ir::const_int(size_))
      n = ctx_.literal(DType::Float(64), double(*known));
    else
      n = ctx_.cast(DType::Float(64), size_);
    const DType f = DType::Float(64);
    return ctx_.cast(DType::Int(64), ctx_.intrin(f, ir::intrin::Ceil, {ctx_.intrin(f, ir::intrin::Log2, {n})}));
  }
  const Expr* level_count() {
    const auto known = ir::const_int(size_);
    if (!known) return levels();
    std::int64_t count = 0;
    while (count < 62 && (std::int64_t(1) << count) < *known) ++count;
    return ctx_.i64(count);
  }
  const Expr* width(const Expr* level) {
    return ctx_.intrin(DType::Int(64), ir::intrin::ShiftLeft, {ctx_.i64(2), level});
  }

  struct Part {
    const Expr* row;
    const ir::Buffer *middle, *end;
  };
  // One level: each thread has a part of `width` elements, and does something where its second half is in the row.
  template <class Body>
  const Stmt* level(const Expr* width, std::vector<const ir::Buffer*> more, const Body& body) {
    const DType narrow = DType::Int(32);
    const ir::Buffer *start = w_.cell("start", narrow), *middle = w_.cell("middle", narrow),
                     *end = w_.cell("end", narrow);
    std::vector<const Stmt*> all;
    more.insert(more.begin(), {start, middle, end});
    for (const ir::Buffer* b : more) all.push_back(w_.declare(b));
    all.push_back(over_rows(width, [&](const Expr* row, const Expr* thread) {
      const Expr* half = ir::floor_div(ctx_, width, ctx_.i64(2));
      const Stmt* inner = w_.when(t_.lt(number(middle), size_), body(Part{row, middle, end}));
      const Stmt* bounded = w_.seq({w_.set(middle, ir::add(ctx_, number(start), half)),
                                    w_.set(end, ir::min(ctx_, ir::add(ctx_, number(start), width), size_)), inner});
      return w_.seq({w_.set(start, ir::mul(ctx_, width, thread)), w_.when(t_.lt(number(start), size_), bounded)});
    }));
    return ctx_.seq_stmt(all);
  }

  const Stmt* up() {
    return w_.loop("v", level_count(), [&](const Expr* v) {
      return level(width(v), {}, [&](const Part& p) {
        const Expr* last = before(p.row, p.end);
        return store(how_.element(t_, load(out_, last), load(out_, before(p.row, p.middle))), last);
      });
    });
  }

  const Stmt* clear() {
    return launch(ctx_, ir::kBlockIdxX, rows_, [&](const Expr* row) {
      const Expr* next = ir::mul(ctx_, ir::add(ctx_, row, ctx_.i64(1)), size_);
      const Expr* last = ir::sub(ctx_, next, ctx_.i64(1));
      return w_.when(t_.lt(row, rows_), store(ctx_.literal(out_->dtype, how_.identity), last));
    });
  }

  const Stmt* down() {
    return w_.loop("v", level_count(), [&](const Expr* v) {
      const Expr* from_top = ir::sub(ctx_, ir::sub(ctx_, levels(), v), ctx_.i64(1));
      const ir::Buffer* kept = w_.cell("kept", out_->dtype);
      return level(width(from_top), {kept}, [&](const Part& p) {
        const Expr *half = before(p.row, p.middle), *last = before(p.row, p.end);
        return w_.seq({w_.set(kept, load(out_, half)), store(load(out_, last), half),
                       store(how_.element(t_, load(out_, last), w_.get(kept)), last)});
      });
    });
  }

  ir::Context& ctx_;
  Writer w_;
  Topi t_;
  const GpuScan& how_;
  const ir::Buffer *in_, *out_;
  const Expr *threads_, *size_ = nullptr, *rows_ = nullptr;
};

Tensor exclusive(Te& te, Tensor x, DType out, const GpuScan& how, std::int64_t threads) {
  const te::Graph::OutputSpec outputs[] = {{x->shape, out}};
  const auto write = [&te, how, threads](Buffers in, Buffers outs) {
    return ScanWriter(te, how, threads, in[0], outs[0]).write();
  };
  const Tensor inputs[] = {x};
  return te.graph.extern_op(outputs, inputs, write, "exclusive_scan", kPackedMemory)[0];
}

// The order with the axis and the innermost one exchanged.
std::vector<int> with_innermost(int ndim, int axis) {
  std::vector<int> order = topi::all_axes(ndim);
  std::swap(order[std::size_t(axis)], order.back());
  return order;
}

Tensor scanned(Te& te, Tensor x, int axis, DType out, const GpuScan& how, std::int64_t threads) {
  Topi t(te);
  const int ndim = x->ndim();
  const bool inner = axis == ndim - 1;
  if (!inner) x = t.transpose(x, with_innermost(ndim, axis));
  if (ndim == 1) x = t.expand_dims(x, {0});
  Tensor made = exclusive(te, x, out, how, threads);
  if (ndim == 1) made = t.squeeze(made, {0});
  return inner ? made : t.transpose(made, with_innermost(ndim, axis));
}

}  // namespace

bool has_gpu_scan(const ir::Call* c) { return scan_of(c) != nullptr; }

Result<const Expr*> gpu_scan(Legalizer& l, const ir::Call* c, std::int64_t threads) {
  const GpuScan& how = *scan_of(c);
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  const bool flat = attr_is_none(spec(c), op_attr::Axis);
  if (!flat && x->ndim == 0) return refuse(c, "a scalar has no axis to scan");
  const int axis = flat ? 0 : axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  const bool is_exclusive = attr_bool(spec(c), op_attr::Exclusive);
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const Tensor in = flat ? t.reshape(te.in[0], {ir::product(te.ctx, te.in[0]->shape)}) : te.in[0];
    const Tensor before = scanned(te, in, axis, out->dtype, how, threads);
    if (is_exclusive) return {before};
    const Tensor data = in->dtype == out->dtype ? in : t.cast(in, out->dtype, "compute");
    return {t.binary(how.element_name, how.element, data, before)};
  });
}

}  // namespace rldb::ops::legal
