// Layers of transformers, of com.microsoft.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/chain.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"

namespace rldb::onnx::bodies {

namespace {

// The operands of an Attention.
enum Operand : std::size_t { kData, kWeights, kBias, kMask, kPast, kScoreBias, kPastLength };

struct Heads {
  std::int64_t count = 0;
  Ints sizes;                   // of all heads of the queries, the keys, the values
  const Expr *batch, *queries;  // dims: members, rows of the queries
};

ir::Result<Heads> heads_of(NodeContext& c, Chain& m) {
  Heads h;
  h.count = c.integer(key::NumHeads, 0);
  if (c.has(kPastLength) || c.integer(key::PastPresentShareBuffer, 0) != 0)
    return refuse("its past and its present share a buffer");
  if (c.integer(key::DoRotary, 0) != 0) return refuse("it turns its queries and keys by their positions");
  if (!c.has(kWeights)) return refuse("it has no weights");
  const Dims dims = m.dims(m.in(kData));
  const std::int64_t all = m.size(m.in(kWeights), 1);
  RLDB_TRY_VOID(m.done(nullptr));
  if (dims.size() != 3) return refuse("its data is not of rank 3");
  h.batch = dims[0];
  h.queries = dims[1];
  h.sizes = c.ints(key::QkvHiddenSizes).value_or(Ints(3, all / 3));
  const auto fits = [&](std::int64_t size) { return size >= 1 && size <= all; };
  if (h.count < 1 || h.sizes.size() != 3 || !std::all_of(h.sizes.begin(), h.sizes.end(), fits) ||
      h.sizes[0] != h.sizes[1] || h.sizes[0] > all / 2 || h.sizes[2] != all - h.sizes[0] - h.sizes[1])
    return refuse("its weights are not those of queries, keys and values");
  for (const std::int64_t size : h.sizes)
    if (size % h.count != 0) return refuse("the sizes of its queries, keys or values are not multiples of its heads");
  return h;
}

// (batch, rows, size) as (batch, heads, rows, size of a head)
const Expr* by_heads(Chain& m, const Expr* x, const Heads& h, std::int64_t size) {
  return m.permute(m.reshape(x, {h.batch, h.queries, m.c.i64(h.count), m.c.i64(size / h.count)}), {0, 2, 1, 3});
}

// A member of a pair along the first axis.
const Expr* of_pair(Chain& m, const Expr* pair, std::int64_t i) {
  Dims dims = m.dims(pair);
  if (!m.good() || dims.empty()) return m.fail("its past is not of rank 5");
  dims.erase(dims.begin());
  return m.reshape(m.slice(pair, 0, i, i + 1), dims);
}

// Where keys count: 1 for each member and key, for each member, query and key, or the number of keys of each member, or
// their ends and then their beginnings. As a condition that broadcasts to (batch, heads, queries, keys).
const Expr* visible_keys(Chain& m, const Heads& h, const Expr* keys) {
  const Expr* mask = m.in(kMask);
  const std::size_t rank = m.rank(mask);
  if (!m.good()) return nullptr;
  if (rank == 2 || rank == 3)
    return m.each(op::Greater, m.expand(mask, rank == 2 ? Ints{1, 2} : Ints{1}), m.lit(mask, 0));
  if (rank != 1) return m.fail(fmt::format("its mask is of rank {}", rank));
  const Expr* place = m.positions(keys, 3, 4);
  const auto bound = [&](const Expr* v) { return m.cast(m.expand(v, {1, 2, 3}), DType::Int(64)); };
  const Dims given = m.dims(mask);
  if (!m.good()) return nullptr;
  if (m.c.same_dim(given[0], h.batch)) return m.each(op::Less, place, bound(mask));
  const auto members = int_of(h.batch), bounds = int_of(given[0]);
  if (!members || !bounds || *bounds != 2 * *members) return m.fail("its mask is not that of its batch");
  return m.each(op::LogicalAnd, m.each(op::Less, place, bound(m.slice(mask, 0, 0, *members))),
                m.each(op::GreaterEqual, place, bound(m.slice(mask, 0, *members, *bounds))));
}

// Keys behind the query.
const Expr* later_keys(Chain& m, const Heads& h, const Expr* keys) {
  const Expr* query = m.positions(h.queries, 2, 4);
  const Expr* before = m.take(m.c.tensor_from({DType::Int(64), 0, {ir::sub(m.ctx, keys, h.queries)}}));
  return m.each(op::Greater, m.positions(keys, 3, 4), m.add(query, before));
}

double least_of(DType t) { return t.bits == 16 && !t.is_bfloat16() ? -65504 : -std::numeric_limits<float>::max(); }

}  // namespace

// (Y, the keys and values of the past and of now)
Made attention(NodeContext& c) {
  Chain m(c);
  RLDB_TRY(const Heads h, heads_of(c, m));
  const Expr* projected = m.matmul(m.in(kData), m.in(kWeights));
  if (c.has(kBias)) projected = m.add(projected, m.in(kBias));
  RLDB_TRY_VOID(m.done(nullptr));
  RLDB_TRY(const Exprs parts, c.pieces(projected, {h.sizes[0], h.sizes[0] + h.sizes[1]}, 2));
  const Expr* q = by_heads(m, parts[0], h, h.sizes[0]);
  const Expr* k = by_heads(m, parts[1], h, h.sizes[1]);
  const Expr* v = by_heads(m, parts[2], h, h.sizes[2]);
  if (c.has(kPast)) k = m.join({of_pair(m, m.in(kPast), 0), k}, 2);
  if (c.has(kPast)) v = m.join({of_pair(m, m.in(kPast), 1), v}, 2);
  const Dims key_dims = m.dims(k);
  RLDB_TRY_VOID(m.done(nullptr));
  const Expr* keys = key_dims[2];
  const double given = c.real(key::Scale, 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(double(h.sizes[0] / h.count));
  const Expr* scores = m.mul(m.matmul(q, m.permute(k, {0, 1, 3, 2})), scale);
  if (c.has(kMask)) {
    const Expr* hidden = m.lit(scores, c.real(key::MaskFilterValue, -10000));
    scores = m.add(scores, m.where(visible_keys(m, h, keys), m.lit(scores, 0), hidden));
  }
  if (c.integer(key::Unidirectional, 0) != 0)
    scores = m.where(later_keys(m, h, keys), m.lit(scores, least_of(m.dtype(scores))), scores);
  if (c.has(kScoreBias)) scores = m.add(scores, m.in(kScoreBias));
  const Expr* weights = m.op(op::NnSoftmax, {scores}, {{op_attr::Axis, c.ctx.attr(-1)}});
  const Expr* rows = m.permute(m.matmul(weights, v), {0, 2, 1, 3});
  const Expr* made = m.reshape(rows, {h.batch, h.queries, c.i64(h.sizes[2])});
  if (!m.good() || !c.wants(1)) return m.done(made);
  const Expr* present = m.join({m.expand(k, {0}), m.expand(v, {0})}, 0);
  RLDB_TRY_VOID(m.done(nullptr));
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, present}));
}

// Operands: ids of words, of segments, tables of words, positions, segments, gamma, beta, a mask, ids of positions.
// Results: Y, the number of words that the mask has, the sum.
Made embed_layer_norm(NodeContext& c) {
  Chain m(c);
  const auto rows_at = [&](std::size_t table, const Expr* ids) { return m.take_at(m.in(table), ids, 0); };
  const Expr* ids = m.in(0);
  const Dims dims = m.dims(ids);
  if (!m.good() || dims.size() != 2) return m.done(m.fail("its ids are not of rank 2"));
  const Expr* places = c.has(8) ? m.in(8) : m.positions(dims[1], 1, 2);
  const Expr* sum = m.add(rows_at(2, ids), rows_at(3, places));
  if (c.has(1) && c.has(4)) sum = m.add(sum, rows_at(4, m.in(1)));
  const Expr* made =
      m.op(op::NnLayerNorm, {sum, m.in(5), m.in(6)},
           {{op_attr::Axes, c.ints_attr({2})}, {op_attr::Epsilon, c.ctx.attr(c.real(key::Epsilon, 1e-12))}});
  const Expr* words = m.full({dims[0]}, DType::Int(32), 0);
  if (c.has(7))
    words = m.reduce(op::Sum, m.cast(m.each(op::Equal, m.in(7), m.lit(m.in(7), 1)), DType::Int(32)), {1}, false);
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, words, sum}));
}

}  // namespace rldb::onnx::bodies
