// Sorting for GPUs: a merge sort as TVM's TOPI writes it. Blocks of 128 elements are sorted by odd-even transposition
// in shared memory; then runs of twice the length are merged per launch, from one buffer to the other and back. Each
// thread finds where its part of a merged run begins in both halves by bisection (the merge path) and merges that part.
// A run that is too long for one block of threads is cut among blocks first, and then among the threads of a block.
//
// The elements are compared as TVM compares them; an expression is written as TVM's builder and its simplifier of loop
// extents leave it, so that lowered programs compare equal.
#include "ops/legal/gpu_sort.h"

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/thread_tag.h"

namespace rldb::ops::legal {

using ir::Stmt;

const Stmt* launch(ir::Context& ctx, std::string_view tag, const Expr* extent,
                   const std::function<const Stmt*(const Expr* index)>& body) {
  std::string name(tag);
  std::replace(name.begin(), name.end(), '.', '_');
  const ir::Var* v = ctx.var(name, ctx.int64());
  const ir::Attr* const parts[] = {ctx.attr(tag)};
  return ctx.attr_stmt(ctx.attr_opaque("T.iter_var", parts, {}), ir::kThreadExtent, extent, body(v), v);
}

namespace {

constexpr std::int64_t kSortedInBlock = 128, kLevelsInBlock = 7;  // 2 to that power
constexpr std::int64_t kThreadWork = 4;                           // elements of a run that is cut among blocks

class SortWriter {
 public:
  SortWriter(Te& te, const GpuDevice& device, const GpuSort& sort)
      : ctx_(te.ctx), w_(te.ctx), t_(te), device_(device), sort_(sort), threads_(number(device.threads)) {
    size_ = sort.data->shape.back();
    rows_ = number(1);
    for (std::size_t i = 0; i + 1 < sort.data->shape.size(); ++i) rows_ = mul(rows_, sort.data->shape[i]);
  }

  const Stmt* write() {
    const Stmt* merges = w_.loop("v", merge_levels(), [&](const Expr* v) { return merge_level(v); });
    return w_.when(t_.lt(number(0), size_), w_.seq({copy(), sort_blocks(), merges, settle()}));
  }

 private:
  const Expr* number(std::int64_t n) { return ctx_.i64(n); }
  const Expr* add(const Expr* a, const Expr* b) { return ir::add(ctx_, a, b); }
  const Expr* sub(const Expr* a, const Expr* b) { return ir::sub(ctx_, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return ir::mul(ctx_, a, b); }
  const Expr* div(const Expr* a, const Expr* b) { return ir::floor_div(ctx_, a, b); }
  const Expr* mod(const Expr* a, const Expr* b) { return ir::floor_mod(ctx_, a, b); }
  const Expr* min(const Expr* a, const Expr* b) { return ir::min(ctx_, a, b); }
  const Expr* max(const Expr* a, const Expr* b) { return ir::max(ctx_, a, b); }
  // Divided and rounded up; the divisor minus one is added.
  const Expr* ceil_div(const Expr* a, const Expr* b) { return div(add(a, sub(b, number(1))), b); }

  // Whether `a` may stay before `b`.
  const Expr* ordered(const Expr* a, const Expr* b) { return sort_.ascending ? t_.le(a, b) : t_.le(b, a); }

  struct Place {
    const Expr *thread, *block, *row;
  };
  const Stmt* launched(const Expr* threads, const Expr* blocks, const Expr* rows,
                       const std::function<const Stmt*(const Place&)>& body) {
    return launch(ctx_, ir::kThreadIdxX, threads, [&](const Expr* thread) {
      return launch(ctx_, ir::kBlockIdxX, blocks, [&](const Expr* block) {
        return launch(ctx_, std::string(ir::kBlockIdx) + "y", rows, [&](const Expr* row) {
          return body({thread, block, row});
        });
      });
    });
  }

  const Expr* at(const ir::Buffer* b, const Expr* flat) { return ctx_.load(b, unravel(ctx_, flat, b->shape)); }
  const Stmt* put(const ir::Buffer* b, const Expr* flat, const Expr* value) {
    return ctx_.store(b, ir::cast_to(ctx_, b->dtype, value), unravel(ctx_, flat, b->shape));
  }
  // Statements of which those for indices are left out when there are none.
  class List {
   public:
    explicit List(const SortWriter& of) : of_(of) {}
    void add(const Stmt* s) { all_.push_back(s); }
    template <class Make>
    void add_if_indices(const Make& make) {
      if (of_.sort_.indices) all_.push_back(make());
    }
    const Stmt* done() { return of_.ctx_.seq_stmt(all_); }

   private:
    const SortWriter& of_;
    std::vector<const Stmt*> all_;
  };

  // The first row of data, its number in the batch, and the data's rest, which is none for the innermost axis.
  const Expr* row_start(const Expr* row) { return mul(mod(row, rows_), size_); }

  const Stmt* copy() {
    return launched(threads_, ceil_div(size_, threads_), rows_, [&](const Place& p) {
      const Expr* element = add(mul(p.block, threads_), p.thread);
      const Expr* flat = add(add(row_start(p.row), element), div(p.row, rows_));
      List all(*this);
      all.add(put(sort_.values, flat, at(sort_.data, flat)));
      all.add_if_indices([&] { return put(sort_.indices, flat, element); });
      return w_.when(t_.lt(element, size_), all.done());
    });
  }

  const ir::Buffer* shared(std::string_view name, DType t) {
    const Expr* extent[] = {number(kSortedInBlock)};
    return ctx_.buffer(name, extent, t, "shared");
  }
  const Stmt* wait() {
    return ctx_.evaluate(ctx_.intrin(DType::Int(32), ir::intrin::TvmStorageSync, {ctx_.string("shared")}));
  }

  // Two elements of shared memory exchanged by way of a cell.
  std::vector<const Stmt*> exchanged(const ir::Buffer* in, const ir::Buffer* cell, const Expr* a, const Expr* b) {
    return {w_.set(cell, w_.load(in, {a})), w_.store(in, w_.load(in, {b}), {a}), w_.store(in, w_.get(cell), {b})};
  }

  const Stmt* sort_blocks() {
    const Expr* width = number(kSortedInBlock);
    const DType t = sort_.values->dtype;
    const ir::Buffer *kept = shared("sorted", t), *cell = w_.cell("cell", t), *left = w_.cell("left", t),
                     *right = w_.cell("right", t);
    const ir::Buffer *kept_index = nullptr, *cell_index = nullptr;
    if (sort_.indices) {
      kept_index = shared("sorted_index", sort_.indices->dtype);
      cell_index = w_.cell("cell_index", sort_.indices->dtype);
    }
    const Stmt* body = launched(number(kSortedInBlock / 2), ceil_div(size_, width), rows_, [&](const Place& p) {
      const Expr *first = mul(number(2), p.thread), *start = mul(p.block, width);
      const Expr* row = add(row_start(p.row), div(p.row, rows_));
      const auto both = [&](const std::function<const Stmt*(const Expr* here, const Expr* flat)>& what) {
        return w_.loop("v", number(2), [&](const Expr* v) {
          const Expr* here = add(first, v);
          const Expr* element = add(here, start);
          return w_.when(t_.lt(element, size_), what(here, add(row, element)));
        });
      };
      List all(*this);
      for (const ir::Buffer* b : {kept, cell, left, right}) all.add(w_.declare(b));
      for (const ir::Buffer* b : {kept_index, cell_index}) all.add_if_indices([&] { return w_.declare(b); });
      all.add(both([&](const Expr* here, const Expr* flat) {
        List one(*this);
        one.add(w_.store(kept, at(sort_.values, flat), {here}));
        one.add_if_indices([&] { return w_.store(kept_index, at(sort_.indices, flat), {here}); });
        return one.done();
      }));
      all.add(wait());
      const Expr* count = min(width, sub(size_, start));
      all.add(w_.loop("v", count, [&](const Expr* v) {
        const Expr* a = add(first, mod(add(first, v), number(2)));
        const Expr* b = add(a, number(1));
        std::vector<const Stmt*> swap = exchanged(kept, cell, a, b);
        if (kept_index)
          for (const Stmt* s : exchanged(kept_index, cell_index, a, b)) swap.push_back(s);
        const Expr* wrong = sort_.ascending ? t_.lt(w_.get(right), w_.get(left)) : t_.lt(w_.get(left), w_.get(right));
        if (sort_.ascending) wrong = ir::compare(ctx_, ir::BinaryKind::GT, w_.get(left), w_.get(right));
        const Stmt* pair = w_.seq(
            {w_.set(left, w_.load(kept, {a})), w_.set(right, w_.load(kept, {b})), w_.when(wrong, ctx_.seq_stmt(swap))});
        return w_.seq({w_.when(t_.lt(a, sub(count, number(1))), pair), wait()});
      }));
      all.add(both([&](const Expr* here, const Expr* flat) {
        List one(*this);
        for (const ir::Buffer* out : {sort_.values, sort_.values_swap}) one.add(put(out, flat, w_.load(kept, {here})));
        for (const ir::Buffer* out : {sort_.indices, sort_.indices_swap})
          one.add_if_indices([&] { return put(out, flat, w_.load(kept_index, {here})); });
        return one.done();
      }));
      return all.done();
    });
    return ctx_.attr_stmt(ctx_.attr(0), "hand_threaded", ctx_.i32(0), body);
  }

  // ceil(log2(n)) as the device computes it: an int64.
  const Expr* levels(const Expr* n, int bits) {
    if (!device_.counts_zeros) {
      const DType f = DType::Float(64);
      const auto known = ir::const_int(n);
      const Expr* real = known ? ctx_.literal(f, double(*known)) : ctx_.cast(f, n);
      return ctx_.cast(DType::Int(64), ctx_.intrin(f, ir::intrin::Ceil, {ctx_.intrin(f, ir::intrin::Log2, {real})}));
    }
    const DType t = DType::Int(32);
    const Expr* zeros = ctx_.intrin(t, ir::intrin::Clz, {n});
    zeros = ctx_.binary(ir::BinaryKind::Sub, zeros, ctx_.i32(64));
    zeros = ctx_.binary(ir::BinaryKind::Add, zeros, ctx_.i32(bits));
    const Expr* whole = sub(number(bits), ctx_.cast(DType::Int(64), zeros));
    const Expr* power = sub(whole, number(1));
    if (const auto known = ir::const_int(n)) return (*known & (*known - 1)) == 0 ? power : whole;
    const Expr* lower = ctx_.intrin(DType::Int(64), ir::intrin::BitwiseAnd, {n, sub(n, number(1))});
    return ctx_.intrin(DType::Int(64), ir::intrin::IfThenElse, {t_.eq(lower, number(0)), power, whole});
  }
  const Expr* levels_of_size() { return levels(size_, 64); }
  const Expr* levels_in_block() { return levels(number(kSortedInBlock), 32); }
  const Expr* merge_levels() {
    const auto known = ir::const_int(size_);
    if (!known) return sub(levels_of_size(), number(kLevelsInBlock));
    std::int64_t count = 0;
    while (count < 62 && (std::int64_t(1) << count) < *known) ++count;
    return number(count - kLevelsInBlock);
  }

  // Of one launch: runs of `width` elements, as written in bodies and in extents of loops, are merged.
  struct Level {
    const Expr *number, *width, *width_in_extents;
    const Expr *threads, *threads_in_extents;  // of a block
  };
  // A run of a row: its halves begin at `start` and `middle`.
  struct Run {
    const Level& level;
    Place place;
    const Expr *index, *start, *middle, *end;
  };

  const Stmt* merge_level(const Expr* v) {
    const auto width = [&](const Expr* levels) {
      return ctx_.intrin(DType::Int(64), ir::intrin::ShiftLeft, {number(2), add(v, levels)});
    };
    Level level{v, width(levels_in_block()), width(number(kLevelsInBlock)), threads_, threads_};
    // A launch of as many threads as a run is long, where the device takes such a number.
    if (!device_.counts_zeros) {
      level.threads = min(threads_, level.width);
      level.threads_in_extents = min(threads_, level.width_in_extents);
    }
    const Expr* in_block = number(device_.threads * kThreadWork);
    const Expr* blocks = ceil_div(level.width, in_block);
    const Expr* runs = ceil_div(size_, level.width);
    return launched(level.threads, blocks, mul(rows_, runs), [&](const Place& p) {
      const Expr* index = div(p.row, rows_);
      const Expr* start = mul(level.width, index);
      const Expr* middle = min(add(start, div(level.width, number(2))), size_);
      const Run run{level, p, index, start, middle, min(add(start, level.width), size_)};
      return w_.when(t_.lt(start, size_), w_.when(t_.eq(blocks, number(1)), short_runs(run), long_runs(run)));
    });
  }

  struct Side {
    const ir::Buffer *values, *indices;
  };
  // From one pair of buffers to the other, by turns.
  template <class Merge>
  const Stmt* by_turns(const Run& run, const Merge& merge) {
    const Side a{sort_.values, sort_.indices}, b{sort_.values_swap, sort_.indices_swap};
    return w_.when(t_.eq(mod(run.level.number, number(2)), number(0)), merge(a, b), merge(b, a));
  }

  struct Cells {
    const ir::Buffer *first, *last;
  };
  const Expr* flat(const Run& run, const Expr* element) { return add(row_start(run.place.row), element); }

  // Bisects for how many of the first `diagonal` merged elements are from the half that begins at `a`; the other half
  // begins at `b`.
  const Stmt* bisect(const Run& run, const Side& from, Cells cells, const Expr* a, const Expr* a_count, const Expr* b,
                     const Expr* b_count, const Expr* diagonal) {
    const Expr *first = w_.get(cells.first), *last = w_.get(cells.last);
    const Expr* middle = ctx_.intrin(DType::Int(64), ir::intrin::ShiftRight, {add(first, last), number(1)});
    const Expr* from_a = at(from.values, flat(run, add(a, middle)));
    const Expr* from_b = at(from.values, flat(run, sub(sub(add(b, diagonal), number(1)), middle)));
    const Stmt* step =
        w_.when(ordered(from_a, from_b), w_.set(cells.first, add(middle, number(1))), w_.set(cells.last, middle));
    return w_.seq({w_.set(cells.first, max(number(0), sub(diagonal, b_count))),
                   w_.set(cells.last, min(diagonal, a_count)), ctx_.while_stmt(t_.lt(first, last), step)});
  }

  // `count` elements of both halves, from those in the cells on, go to `to` from `target` on.
  const Stmt* merge(const Run& run, const Side& from, const Side& to, Cells next, const Expr* a_end, const Expr* b_end,
                    const Expr* target, const Expr* count) {
    return w_.loop("v_1", count, [&](const Expr* v) {
      const Expr* place = flat(run, add(target, v));
      const auto take = [&](const ir::Buffer* cell) {
        const Expr* source = flat(run, w_.get(cell));
        List all(*this);
        all.add(put(to.values, place, at(from.values, source)));
        all.add_if_indices([&] { return put(to.indices, place, at(from.indices, source)); });
        all.add(w_.set(cell, add(w_.get(cell), number(1))));
        return all.done();
      };
      const Expr *a = w_.get(next.first), *b = w_.get(next.last);
      const Expr* a_left = t_.lt(a, a_end);
      const Expr* in_order = ordered(at(from.values, flat(run, a)), at(from.values, flat(run, b)));
      return w_.when(ir::logical_and(ctx_, a_left, t_.lt(b, b_end)),
                     w_.when(in_order, take(next.first), take(next.last)),
                     w_.when(a_left, take(next.first), take(next.last)));
    });
  }

  Cells cells(std::string_view first, std::string_view last) {
    return {w_.cell(first, DType::Int(64)), w_.cell(last, DType::Int(64))};
  }
  const Stmt* with_cells(std::initializer_list<Cells> all, const Stmt* body) {
    std::vector<const Stmt*> out;
    for (const Cells& c : all)
      for (const ir::Buffer* b : {c.first, c.last}) out.push_back(w_.declare(b));
    out.push_back(body);
    return ctx_.seq_stmt(out);
  }

  // The end of the run, as the extent of a loop says it.
  const Expr* end_in_extents(const Run& run) {
    return min(mul(add(run.index, number(1)), run.level.width_in_extents), size_);
  }
  const Expr* start_in_extents(const Run& run) { return mul(run.level.width_in_extents, run.index); }

  // The threads of one block merge the whole run.
  const Stmt* short_runs(const Run& run) {
    const Cells cut = cells("first", "last"), next = cells("i", "j");
    const Level& l = run.level;
    const Expr* step = ceil_div(l.width, l.threads);
    const Expr* diagonal = mul(run.place.thread, step);
    const Expr *a_count = sub(run.middle, run.start), *b_count = sub(run.end, run.middle);
    const Expr* step_in_extents =
        div(sub(add(l.width_in_extents, l.threads_in_extents), number(1)), l.threads_in_extents);
    if (device_.counts_zeros) step_in_extents = ceil_div(l.width_in_extents, l.threads_in_extents);
    const Expr* left = sub(sub(end_in_extents(run), start_in_extents(run)), mul(run.place.thread, step_in_extents));
    const auto turn = [&](const Side& from, const Side& to) {
      return w_.seq({bisect(run, from, cut, run.start, a_count, run.middle, b_count, diagonal),
                     w_.set(next.first, add(run.start, w_.get(cut.first))),
                     w_.set(next.last, sub(add(run.middle, diagonal), w_.get(cut.last))),
                     merge(run, from, to, next, add(run.start, a_count), add(run.middle, b_count),
                           add(run.start, diagonal), min(left, step_in_extents))});
    };
    return with_cells({cut, next}, by_turns(run, turn));
  }

  // Blocks share a run, threads share the part of a block.
  const Stmt* long_runs(const Run& run) {
    const Cells cut = cells("first", "last"), inner = cells("inner_first", "inner_last"), next = cells("i", "j");
    const Expr *in_block = number(device_.threads * kThreadWork), *work = number(kThreadWork);
    const Expr *block = mul(run.place.block, in_block), *thread = mul(run.place.thread, work);
    const Expr *first = w_.get(cut.first), *last = w_.get(cut.last);
    const Expr *a = add(run.start, first), *b = sub(add(run.middle, block), last);
    const Expr *a_count = min(sub(run.middle, a), in_block), *b_count = min(sub(run.end, b), in_block);
    const Expr* half = div(run.level.width_in_extents, number(2));
    const Expr* start = start_in_extents(run);
    const Expr* b_left = sub(sub(add(end_in_extents(run), last), min(add(half, start), size_)), block);
    const Expr* a_left = sub(min(half, sub(size_, start)), first);
    const Expr* left = sub(add(min(b_left, in_block), min(a_left, in_block)), thread);
    const auto turn = [&](const Side& from, const Side& to) {
      return w_.seq(
          {bisect(run, from, cut, run.start, sub(run.middle, run.start), run.middle, sub(run.end, run.middle), block),
           bisect(run, from, inner, a, a_count, b, b_count, thread), w_.set(next.first, add(a, w_.get(inner.first))),
           w_.set(next.last, sub(add(b, thread), w_.get(inner.last))),
           merge(run, from, to, next, add(a, a_count), add(b, b_count), add(add(run.start, block), thread),
                 min(left, work))});
    };
    return with_cells({cut, inner, next}, by_turns(run, turn));
  }

  // After an odd number of merges the result is in the other buffers.
  const Stmt* settle() {
    const Expr *all = levels_of_size(), *sorted = levels_in_block();
    const Expr* merged = ir::compare(ctx_, ir::BinaryKind::GT, all, sorted);
    const Expr* odd = t_.eq(mod(sub(all, sorted), number(2)), number(1));
    const Stmt* back = launched(threads_, ceil_div(size_, threads_), rows_, [&](const Place& p) {
      const Expr* element = add(mul(p.block, threads_), p.thread);
      const Expr* flat = add(mul(p.row, size_), element);
      List both(*this);
      both.add(put(sort_.values, flat, at(sort_.values_swap, flat)));
      both.add_if_indices([&] { return put(sort_.indices, flat, at(sort_.indices_swap, flat)); });
      return w_.when(t_.lt(element, size_), both.done());
    });
    return w_.when(ir::logical_and(ctx_, merged, odd), back);
  }

  ir::Context& ctx_;
  Writer w_;
  Topi t_;
  const GpuDevice& device_;
  const GpuSort& sort_;
  const Expr *threads_, *size_ = nullptr, *rows_ = nullptr;
};

}  // namespace

const Stmt* gpu_sort(Te& te, const GpuDevice& device, const GpuSort& sort) {
  return SortWriter(te, device, sort).write();
}

}  // namespace rldb::ops::legal
