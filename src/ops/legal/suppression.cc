// Legalisation: suppression of boxes that overlap better ones. The statements are TVM's, step by step: the order of
// equal scores and rounding decide which box stays.
#include "ops/legal/boxes.h"
#include "ops/rows.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op_attr/vision_attr.h"

namespace rldb::ops::legal {

using namespace boxes;
using ir::Stmt;

namespace {

struct Nms {
  std::int64_t max_output, top_k, coord, score, id;
  double iou, sigma, threshold;
  bool force, indices;
};

// One row of boxes: the contents of the extern's buffers, and its steps. The text is TVM's too: conditions that are
// decided are kept, positions read from memory are int32, and literals are converted.
struct NmsRow {
  Writer& w;
  ir::Context& ctx;
  const Nms& o;
  const ir::Buffer *data, *order, *valid, *original;
  const ir::Buffer *boxes, *index, *count;  // count: null if it is not needed
  const Expr* i;
  const ir::Buffer* n;                      // the number of boxes that take part
  const ir::Buffer* done;                   // the number kept
  const ir::Buffer *best, *best_score;      // of the remaining ones
  const ir::Buffer *old_index, *old_value;  // while two are swapped

  DType t() const { return data->dtype; }
  const Expr* num(double v) const { return ctx.cast(t(), number(ctx, t(), v)); }
  const Expr* wide(const Expr* e) const { return ir::cast_to(ctx, DType::Int(64), e); }
  const Expr* field(const Expr* j, std::int64_t k) const { return w.load(boxes, {i, j, ctx.i64(k)}); }
  const Expr* score(const Expr* j) const { return field(j, o.score); }
  const Expr* is_open(const Expr* j) const { return ge(ctx, wide(w.load(index, {i, j})), ctx.i64(0)); }
  Box box(const Expr* j) const {
    return box_of(ctx, [&](int k) { return field(j, o.coord + k); });
  }
  const Expr* common(const Expr* a, const Expr* b) const { return overlap(ctx, box(a), box(b), num(0)); }
  const Stmt* each_field(const std::function<const Stmt*(const Expr*)>& body) const {
    return w.loop("k", boxes->shape[2], body);
  }
  const Stmt* drop(const Expr* j) const { return w.store(index, ctx.i32(-1), {i, j}); }
  // Removes the box.
  const Stmt* clear(const Expr* j) const {
    return w.seq({each_field([&](const Expr* k) -> const Stmt* {
                    return w.store(boxes, num(kSuppressed), {i, j, k});
                  }),
                  drop(j)});
  }
  // Boxes in the order of their scores.
  const Stmt* start() const {
    const Expr* cut = ctx.bool_imm(false);
    if (o.top_k > 0) cut = ir::compare(ctx, BinaryKind::LT, ctx.i64(o.top_k), wide(w.get(n)));
    const Stmt* copy = w.loop("j", data->shape[1], [&](const Expr* j) -> const Stmt* {
      const Expr* from = w.load(order, {i, j});
      const Stmt* take = each_field([&](const Expr* k) -> const Stmt* {
        return w.store(boxes, w.load(data, {i, from, k}), {i, j, k});
      });
      return w.when(ir::compare(ctx, BinaryKind::LT, j, wide(w.get(n))), w.seq({take, w.store(index, from, {i, j})}),
                    clear(j));
    });
    return w.seq({w.declare(n), w.set(n, w.load(valid, {i})), w.when(cut, w.set(n, ctx.i32(std::int32_t(o.top_k)))),
                  copy, w.declare(done), w.set(done, ctx.i32(0)), w.declare(best), w.declare(best_score),
                  w.declare(old_index), w.declare(old_value)});
  }
  const Expr* room() const {
    return ctx.select(ctx.bool_imm(o.max_output > 0),
                      ir::compare(ctx, BinaryKind::LT, wide(w.get(done)), ctx.i64(o.max_output)), ctx.bool_imm(true));
  }
  // Whether boxes of these two belong to one class.
  const Stmt* of_one_class(const Expr* a, const Expr* b, const Stmt* then) const {
    if (o.force || o.id < 0) return w.when(ctx.bool_imm(true), then);
    return w.when(ir::compare(ctx, BinaryKind::EQ, field(a, o.id), field(b, o.id)), then);
  }
  const Stmt* count_one() const { return w.set(done, ir::add(ctx, w.get(done), ctx.i32(1))); }

  const Stmt* hard() const {
    return w.loop("j", w.get(n), [&](const Expr* j) -> const Stmt* {
      const Stmt* suppress = w.loop("m", w.get(n), [&](const Expr* m) -> const Stmt* {
        const Stmt* gone = w.seq({w.store(boxes, num(kSuppressed), {i, m, ctx.i64(o.score)}), drop(m)});
        const Stmt* test = w.when(ge(ctx, common(j, m), number(ctx, t(), o.iou)), gone);
        return w.when(both(ctx, gt(ctx, m, j), gt(ctx, score(m), num(0))), of_one_class(j, m, test));
      });
      return w.when(both(ctx, gt(ctx, score(j), num(0)), room()), w.seq({count_one(), suppress}), clear(j));
    });
  }

  const Stmt* swap() const {
    const Expr *a = w.get(done), *b = w.get(best);
    const Stmt* fields = each_field([&](const Expr* k) -> const Stmt* {
      return w.seq({w.set(old_value, w.load(boxes, {i, a, k})), w.store(boxes, w.load(boxes, {i, b, k}), {i, a, k}),
                    w.store(boxes, w.get(old_value), {i, b, k})});
    });
    return w.seq({w.set(old_index, w.load(index, {i, a})), w.store(index, w.load(index, {i, b}), {i, a}),
                  w.store(index, w.get(old_index), {i, b}), fields});
  }

  // Scores are lowered instead of boxes dropped, so the best one is searched again each time.
  const Stmt* soft() const {
    const Stmt* find = w.loop("m", w.get(n), [&](const Expr* m) -> const Stmt* {
      const Expr* better =
          both(ctx, both(ctx, ge(ctx, m, wide(w.get(done))), is_open(m)), gt(ctx, score(m), w.get(best_score)));
      return w.when(better, w.seq({w.set(best, m), w.set(best_score, score(m))}));
    });
    const Stmt* decay = w.loop("m", w.get(n), [&](const Expr* m) -> const Stmt* {
      const Expr* chosen = w.get(done);
      const Expr* power = ir::mul(ctx, ir::mul(ctx, num(-0.5 / o.sigma), common(chosen, m)), common(chosen, m));
      const Expr* lower = ir::mul(ctx, score(m), ctx.intrin(t(), ir::intrin::Exp, {power}));
      const Expr* limit = number(ctx, t(), o.iou);
      const Stmt* weaken = w.seq({w.store(boxes, lower, {i, m, ctx.i64(o.score)}),
                                  w.when(ir::compare(ctx, BinaryKind::LE, score(m), num(o.threshold)), drop(m))});
      const Stmt* test = w.seq({w.when(ge(ctx, common(chosen, m), limit), drop(m)),
                                w.when(ir::compare(ctx, BinaryKind::LT, common(chosen, m), limit), weaken)});
      const Expr* later =
          both(ctx, both(ctx, gt(ctx, m, wide(chosen)), is_open(m)), gt(ctx, score(m), num(o.threshold)));
      return w.when(later, of_one_class(chosen, m, test));
    });
    const Stmt* step = w.when(ir::compare(ctx, BinaryKind::NE, w.get(best), w.get(done)), swap());
    const Stmt* keep = w.when(ge(ctx, wide(w.get(best)), ctx.i64(0)), w.seq({step, decay, count_one()}));
    const Stmt* body = w.seq({w.set(best, ctx.i32(-1)), w.set(best_score, num(o.threshold)), find, keep});
    return w.loop("j", w.get(n), [&](const Expr*) -> const Stmt* { return w.when(room(), body); });
  }
  // Chosen boxes are moved to the front; indices become those given by the caller.
  const Stmt* soft_results() const {
    const Expr* chosen = wide(w.get(done));
    const Stmt* each = w.loop("j", data->shape[1], [&](const Expr* j) -> const Stmt* {
      const Expr* own = w.load(original, {i, w.load(index, {i, j})});
      const Stmt* rest = w.when(ge(ctx, j, chosen), clear(j));
      if (!o.indices) return rest;
      return w.seq({w.when(ir::compare(ctx, BinaryKind::LT, j, chosen), w.store(index, own, {i, j})), rest});
    });
    return count ? w.seq({w.store(count, w.get(done), {i, ctx.i64(0)}), each}) : each;
  }
  // The caller's indices of the boxes that stay, moved to the front.
  const Stmt* hard_results() const {
    const ir::Buffer* to = w.cell("kept", DType::Int(32));
    const Stmt* move = w.loop("j", data->shape[1], [&](const Expr* j) -> const Stmt* {
      const Stmt* take = w.store(index, w.load(original, {i, w.load(index, {i, j})}), {i, w.get(to)});
      return w.when(is_open(j), w.seq({take, w.set(to, ir::add(ctx, w.get(to), ctx.i32(1)))}));
    });
    const Stmt* rest = w.loop("j", data->shape[1], [&](const Expr* j) -> const Stmt* {
      return w.when(ge(ctx, j, wide(w.get(to))), drop(j));
    });
    return w.seq({w.declare(to), w.set(to, ctx.i32(0)), move, w.store(count, w.get(to), {i, ctx.i64(0)}), rest});
  }
};

// Moves boxes with non-negative scores to the front.
Tensor valid_first(Te& te, Tensor boxes, std::int64_t score) {
  const te::Graph::OutputSpec outputs[] = {{boxes->shape, boxes->dtype}};
  const Tensor inputs[] = {boxes};
  const auto write = [&te, score](Buffers in, Buffers out) -> const Stmt* {
    ir::Context& ctx = te.ctx;
    Writer w(ctx);
    const DType t = in[0]->dtype;
    return w.loop("i", in[0]->shape[0], [&](const Expr* i) -> const Stmt* {
      const ir::Buffer* to = w.cell("kept", DType::Int(64));
      const Stmt* move = w.loop("j", in[0]->shape[1], [&](const Expr* j) -> const Stmt* {
        const Stmt* copy = w.loop("k", in[0]->shape[2], [&](const Expr* k) -> const Stmt* {
          return w.store(out[0], w.load(in[0], {i, j, k}), {i, w.get(to), k});
        });
        return w.when(ge(ctx, w.load(in[0], {i, j, ctx.i64(score)}), number(ctx, t, 0)),
                      w.seq({copy, w.set(to, ir::add(ctx, w.get(to), ctx.i64(1)))}));
      });
      const Stmt* rest = w.loop("j", in[0]->shape[1], [&](const Expr* j) -> const Stmt* {
        return w.when(ge(ctx, j, w.get(to)), w.loop("k", in[0]->shape[2], [&](const Expr* k) -> const Stmt* {
          return w.store(out[0], number(ctx, t, kSuppressed), {i, j, k});
        }));
      });
      return w.seq({w.declare(to), w.set(to, ctx.i64(0)), move, rest});
    });
  };
  return te.graph.extern_op(outputs, inputs, write, "rearrange_out")[0];
}

}  // namespace

Result<const Expr*> non_max_suppression(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  const ir::CallSpec s = spec(c);
  const Nms o{attr_int(s, op_attr::MaxOutputSize),  attr_int(s, op_attr::TopK),
              attr_int(s, op_attr::CoordStart),     attr_int(s, op_attr::ScoreIndex),
              attr_int(s, op_attr::IdIndex),        attr_float(s, op_attr::IouThreshold),
              attr_float(s, op_attr::SoftNmsSigma), attr_float(s, op_attr::ScoreThreshold),
              attr_bool(s, op_attr::ForceSuppress), attr_bool(s, op_attr::ReturnIndices)};
  if (!x->dtype.is_float()) return refuse(c, "the boxes are not floats");
  const bool soft = o.sigma > 0;
  return l.call_te("non_max_suppression", c->args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    const Tensor data = te.in[0];
    const DType i32 = DType::Int(32);
    const ExprList two{data->shape[0], data->shape[1]};
    const Tensor scores = te.graph.compute(
        two,
        [&](Indices i) {
          return te.graph.load(data, {i[0], i[1], ctx.i64(o.score)});
        },
        "score_tensor");
    const te::Graph::OutputSpec sorted[] = {{ctx.list(two), i32}};
    const Tensor sort_inputs[] = {scores, te.in[1]};
    const auto sort = [&ctx](Buffers in, Buffers out) -> const Stmt* {
      Writer w(ctx);
      const Expr* args[] = {w.whole(in[0]), w.whole(in[1]), w.whole(out[0]), ctx.i32(1), ctx.bool_imm(false)};
      return w.call_packed(runtime_function::ArgsortNms, args);
    };
    const Tensor order = te.graph.extern_op(sorted, sort_inputs, sort, "argsort_nms_cpu", kPackedMemory)[0];
    std::vector<te::Graph::OutputSpec> outputs{{data->shape, data->dtype}, {ctx.list(two), i32}};
    if (o.indices) outputs.push_back({ctx.list(ExprList{data->shape[0], ctx.i64(1)}), i32});
    const Tensor inputs[] = {data, order, te.in[1], te.in[2]};
    const auto write = [&te, o, soft](Buffers in, Buffers out) -> const Stmt* {
      Writer w(te.ctx);
      return w.loop(
          "i", in[0]->shape[0],
          [&](const Expr* i) -> const Stmt* {
            const NmsRow row{w,
                             te.ctx,
                             o,
                             in[0],
                             in[1],
                             in[2],
                             in[3],
                             out[0],
                             out[1],
                             out.size() > 2 ? out[2] : nullptr,
                             i,
                             w.cell("n", DType::Int(32)),
                             w.cell("done", DType::Int(32)),
                             w.cell("best", DType::Int(32)),
                             w.cell("best_score", in[0]->dtype),
                             w.cell("old_index", DType::Int(32)),
                             w.cell("old_value", in[0]->dtype)};
            if (soft) return w.seq({row.start(), row.soft(), row.soft_results()});
            return o.indices ? w.seq({row.start(), row.hard(), row.hard_results()}) : w.seq({row.start(), row.hard()});
          },
          ir::ForKind::Parallel);
    };
    const Tensors made = te.graph.extern_op(outputs, inputs, write, "non_max_suppression");
    if (o.indices) return soft ? made : Tensors{made[1], made[2]};
    return {attr_bool(spec(c), op_attr::InvalidToBottom) ? valid_first(te, made[0], o.score) : made[0]};
  });
}

namespace {

// A numeric argument: a scalar, or a tensor of one element.
struct Setting {
  std::size_t tensor = 0;  // among the kernel's, when `scalar` is null
  const Expr* scalar = nullptr;
};

Result<Setting> setting(const ir::Call* c, std::size_t argument, ExprList& tensors) {
  const Expr* e = c->args[argument];
  if (ir::as<ir::PrimType>(e->type)) return Setting{0, e};
  RLDB_TRY(const TensorType* t, known_arg(c, argument));
  const bool one = t->ndim == 0 || (t->ndim == 1 && is_one(t->shape[0]));
  if (!one) return refuse(c, "argument " + std::to_string(argument) + " is not one number");
  tensors.push_back(e);
  return Setting{tensors.size() - 1, nullptr};
}

const Expr* value_of(Te& te, Buffers in, const Setting& s, DType t) {
  if (s.scalar) return ir::cast_to(te.ctx, t, te.map(s.scalar));
  const ir::Buffer* b = in[s.tensor];
  const ExprList at(b->shape.size(), te.ctx.i64(0));
  return ir::cast_to(te.ctx, t, te.ctx.load(b, at));
}

// The statement that records a box kept by a class of a batch: `at` boxes of this class were kept before it.
using KeepBox = std::function<const Stmt*(const Expr* row, const Expr* box, const Expr* score, const Expr* at)>;

struct ClassNms {
  Writer& w;
  ir::Context& ctx;
  const ir::Buffer *boxes, *scores, *order, *live;
  const Expr *max_boxes, *iou, *threshold, *classes;

  const Expr* box_at(const Expr* row, const Expr* j) const {
    return ir::cast_to(ctx, DType::Int(64), w.load(order, {row, j}));
  }
  Box box(const Expr* row, const Expr* j) const {
    const Expr* batch = ir::floor_div(ctx, row, classes);
    return box_of(ctx, [&](int k) { return w.load(boxes, {batch, box_at(row, j), ctx.i64(k)}); });
  }
  const Stmt* run(const Expr* row, const ir::Buffer* kept, const KeepBox& keep) const {
    const DType t = scores->dtype;
    const Expr* count = order->shape[1];
    const auto score = [&](const Expr* j) { return w.load(live, {row, j}); };
    const Stmt* copy = w.loop("j", count, [&](const Expr* j) -> const Stmt* {
      return w.store(live, w.load(scores, {row, box_at(row, j)}), {row, j});
    });
    const Stmt* choose = w.loop("j", count, [&](const Expr* j) -> const Stmt* {
      const Stmt* suppress = w.loop("m", count, [&](const Expr* m) -> const Stmt* {
        const Expr* rival =
            both(ctx, both(ctx, gt(ctx, m, j), gt(ctx, score(m), number(ctx, t, 0))), gt(ctx, score(m), threshold));
        return w.when(rival, w.when(ge(ctx, overlap(ctx, box(row, j), box(row, m)), iou),
                                    w.store(live, number(ctx, t, kSuppressed), {row, m})));
      });
      const Expr* alive = both(ctx, gt(ctx, score(j), number(ctx, t, kSuppressed)), gt(ctx, score(j), threshold));
      return w.when(both(ctx, alive, ir::compare(ctx, BinaryKind::LT, w.get(kept), max_boxes)),
                    w.seq({keep(row, box_at(row, j), score(j), w.get(kept)),
                           w.set(kept, ir::add(ctx, w.get(kept), ctx.i64(1))), suppress}));
    });
    // Without a threshold nothing is chosen, as in TVM.
    return w.seq({w.set(kept, ctx.i64(0)), copy, w.when(gt(ctx, iou, number(ctx, iou->dtype(), 0)), choose)});
  }
};

// A literal number of boxes; null: it is known when the program runs.
const Expr* known_count(ir::Context& ctx, const Expr* e) {
  const auto* constant = ir::as<ir::Constant>(e);
  const auto* t = constant ? ir::as<TensorType>(constant->type) : nullptr;
  if (!t || !t->dtype.is_integral() || constant->value->as_tensor().element_count() != 1) return nullptr;
  return ctx.i64(std::int64_t(
      runtime::load_as_double(static_cast<const std::byte*>(constant->value->as_tensor().data()), t->dtype)));
}

// The rows that hold boxes: how many there are is data.
Result<const Expr*> trimmed(Legalizer& l, const Expr* made) {
  ir::Context& ctx = l.context();
  RLDB_TRY(const Expr* rows, ctx.tuple_get(made, 0));
  RLDB_TRY(const Expr* count, ctx.tuple_get(made, 1));
  rows = l.blocks().emit(rows);
  count = l.blocks().emit(count);
  const Type* bounds = ctx.tensor(Dims{ctx.i64(2)}, DType::Int(64));
  const auto filled = [&](std::string_view function, std::string_view name, std::int64_t value) {
    return l.call_te(function, {}, bounds, [&](Te& te) -> Tensors {
      return {te.graph.compute(
          Dims{te.ctx.i64(2)}, [&](Indices) { return te.ctx.i64(value); }, name)};
    });
  };
  RLDB_TRY(const Expr* begin, filled("build_begin", "begin", 0));
  RLDB_TRY(const Expr* strides, filled("build_strides", "strides", 1));
  const Expr* counts[] = {count};
  RLDB_TRY(const Expr* end, l.call_te("build_end", counts, bounds, [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        Dims{te.ctx.i64(2)},
        [&](Indices i) { return t.if_else(t.eq(i[0], t.i64(0)), te.graph.load(te.in[0], {t.i64(0)}), t.i64(3)); },
        "end")};
  }));
  begin = l.blocks().emit(begin);
  end = l.blocks().emit(end);
  strides = l.blocks().emit(strides);
  RLDB_TRY(const ir::Call* slice, ctx.call(op::DynamicStridedSlice, {rows, begin, end, strides}));
  RLDB_TRY(const Expr* kept, dynamic_strided_slice(l, slice));
  const Expr* fields[] = {l.blocks().emit(kept), count};
  return static_cast<const Expr*>(ctx.tuple(fields));
}

}  // namespace

Result<const Expr*> all_class_nms(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* boxes, known_arg(c, 0));
  RLDB_TRY(const TensorType* scores, known_arg(c, 1));
  if (!boxes->dtype.is_float() || !scores->dtype.is_float()) return refuse(c, "the boxes or scores are not floats");
  if (!ir::is_const(boxes->shape[2], 4)) return refuse(c, "a box has four coordinates");
  const bool onnx = attr_string(spec(c), op_attr::OutputFormat) == "onnx";
  if (!onnx && scores->dtype != DType::Float(32)) return refuse(c, "the scores are written as float32");
  ExprList tensors{c->args[0], c->args[1]};
  Setting settings[3];
  for (std::size_t i = 0; i < 3; ++i) {
    // The number of boxes is part of the kernel if it is known.
    if (const Expr* known = i == 0 ? known_count(l.context(), c->args[2]) : nullptr) {
      settings[i] = Setting{0, known};
      continue;
    }
    RLDB_TRY(settings[i], setting(c, i + 2, tensors));
    if (settings[i].scalar) continue;
    // After the boxes, the scores and their order.
    settings[i].tensor += 1;
  }
  // A row for every box that may be kept: of each class as many as are asked for.
  ir::Context& own = l.context();
  const Expr* per_class = settings[0].scalar ? settings[0].scalar : scores->shape[2];
  if (const auto most = ir::const_int(scores->shape[2]), asked = ir::const_int(per_class); most && asked)
    per_class = own.i64(std::clamp<std::int64_t>(*asked, 0, *most));
  const Type* type = c->type;
  if (onnx) {
    const Expr* rows = ir::mul(own, ir::mul(own, scores->shape[0], scores->shape[1]), per_class);
    const Type* parts[] = {own.tensor(Dims{rows, own.i64(3)}, DType::Int(64)),
                           own.tensor(Dims{own.i64(1)}, DType::Int(64))};
    type = own.tuple_type(parts);
  }
  auto made = l.call_te("all_class_non_max_suppression", tensors, type, [&](Te& te) -> Tensors {
    Topi t(te);
    ir::Context& ctx = te.ctx;
    const Tensor all = te.in[1];
    const Expr *classes = all->shape[1], *n = all->shape[2], *batches = all->shape[0];
    const Expr* rows = ir::mul(ctx, batches, classes);
    const ExprList flat{rows, n};
    const Tensor by_row = t.reshape(all, flat);
    const te::Graph::OutputSpec sorted[] = {{ctx.list(flat), DType::Int(32)}};
    const Tensor sort_inputs[] = {by_row};
    const auto sort = [&ctx](Buffers in, Buffers out) -> const Stmt* {
      Writer w(ctx);
      const Expr* args[] = {w.whole(in[0]), w.whole(out[0]), ctx.i32(1), ctx.bool_imm(false)};
      return w.call_packed(runtime_function::Argsort, args);
    };
    const Tensor order = te.graph.extern_op(sorted, sort_inputs, sort, "argsort_cpu", kPackedMemory)[0];
    Tensors inputs{te.in[0], by_row, order};
    inputs.insert(inputs.end(), te.in.begin() + 2, te.in.end());
    const DType i64 = DType::Int(64);
    const Expr* each = ir::mul(ctx, classes, n);
    std::vector<te::Graph::OutputSpec> outputs;
    if (onnx)
      outputs = {{ctx.list(ExprList{ir::mul(ctx, rows, te.map(per_class)), ctx.i64(3)}), i64},
                 {ctx.list(ExprList{ctx.i64(1)}), i64}};
    else
      outputs = {{ctx.list(ExprList{batches, each, ctx.i64(2)}), i64},
                 {ctx.list(ExprList{batches, each}), DType::Float(32)},
                 {ctx.list(ExprList{batches}), i64}};
    outputs.push_back({ctx.list(flat), scores->dtype});  // the remaining scores
    const auto write = [&te, onnx, classes, settings](Buffers in, Buffers out) -> const Stmt* {
      ir::Context& ctx = te.ctx;
      Writer w(ctx);
      const ClassNms nms{w,
                         ctx,
                         in[0],
                         in[1],
                         in[2],
                         out.back(),
                         value_of(te, in, settings[0], DType::Int(64)),
                         value_of(te, in, settings[1], in[0]->dtype),
                         value_of(te, in, settings[2], in[1]->dtype),
                         classes};
      const Expr* zero = ctx.i64(0);
      std::vector<const Stmt*> steps;
      for (const ir::Buffer* b : out.first(out.size() - 1))
        steps.push_back(nest(ctx, b->shape, [&](const ExprList& i) -> const Stmt* {
          return ctx.store(b, ctx.literal(b->dtype, 0), i);
        }));
      const ir::Buffer* kept = w.cell("kept", DType::Int(64));
      steps.push_back(w.declare(kept));
      steps.push_back(w.loop("row", in[2]->shape[0], [&](const Expr* row) -> const Stmt* {
        const Expr *batch = ir::floor_div(ctx, row, classes), *of = ir::floor_mod(ctx, row, classes);
        const ir::Buffer* total = onnx ? out[1] : out[2];
        const Expr* slot = onnx ? zero : batch;
        const KeepBox keep = [&](const Expr*, const Expr* box, const Expr* score, const Expr* at) -> const Stmt* {
          const Expr* to = ir::add(ctx, w.load(total, {slot}), at);
          if (onnx)
            return w.seq({w.store(out[0], batch, {to, zero}), w.store(out[0], of, {to, ctx.i64(1)}),
                          w.store(out[0], box, {to, ctx.i64(2)})});
          return w.seq({w.store(out[0], of, {batch, to, zero}), w.store(out[0], box, {batch, to, ctx.i64(1)}),
                        w.store(out[1], score, {batch, to})});
        };
        return w.seq(
            {nms.run(row, kept, keep), w.store(total, ir::add(ctx, w.load(total, {slot}), w.get(kept)), {slot})});
      }));
      return ctx.seq_stmt(steps);
    };
    Tensors results = te.graph.extern_op(outputs, inputs, write, "all_class_nms");
    results.pop_back();
    return results;
  });
  if (!made || !onnx) return made;
  return trimmed(l, l.blocks().emit(*made));
}

}  // namespace rldb::ops::legal
