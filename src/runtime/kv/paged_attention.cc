// The attention of a forward over a paged cache. The compute functions that a model passes are for a GPU;
// here it is computed row by row, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rldb/runtime/contrib.h"
#include "rldb/support/cancel.h"
#include "runtime/kv/paged_cache.h"

namespace rldb::runtime {

using namespace kv;

namespace {

using Row = std::vector<double>;
using Rows = PagedCache::Rows;

struct Rotation {
  double theta, scale;
};

// A row with rotary embedding at a position: pairs are half a row apart, as in Llama's.
void rotate(const Rotation& by, Row& row, std::int64_t position) {
  const std::size_t half = row.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double frequency = std::pow(by.theta, -2.0 * double(i) / double(row.size()));
    const double angle = double(position) * by.scale * frequency;
    const double a = row[i], b = row[half + i], sine = std::sin(angle), cosine = std::cos(angle);
    row[i] = a * cosine - b * sine;
    row[half + i] = b * cosine + a * sine;
  }
}

// Rows and heads of a tensor (rows, heads, dim); heads may start after others.
struct Heads {
  const Tensor& t;
  std::int64_t first = 0;
  std::int64_t dim() const { return t.shape()[2]; }
  std::size_t place(std::int64_t row, std::int64_t head) const {
    return std::size_t((row * t.shape()[1] + first + head) * dim()) * t.dtype().bytes();
  }
  Row load(std::int64_t row, std::int64_t head) const {
    Row values;
    const std::byte* at = t.data() + place(row, head);
    for (std::int64_t d = 0; d < dim(); ++d, at += t.dtype().bytes()) values.push_back(load_as_double(at, t.dtype()));
    return values;
  }
  void store(std::int64_t row, std::int64_t head, const Row& values) const {
    std::byte* at = const_cast<std::byte*>(t.data()) + place(row, head);
    for (const double v : values) {
      store_double(at, t.dtype(), v);
      at += t.dtype().bytes();
    }
  }
};

// The result for a query: the weighted values, and the logarithm of the sum of the weights, to the base 2 as in TVM's
// kernels (minus infinity: it sees nothing).
struct Attended {
  Row value;
  double lse = -std::numeric_limits<double>::infinity();
};

// `key(row)` and `value(row)` are rows that it sees.
template <class Key, class Value_>
Attended attend(const Row& query, const std::vector<std::int64_t>& seen, double scale, std::size_t width, Key key,
                Value_ value) {
  Attended out{Row(width, 0.0)};
  if (seen.empty()) return out;
  Row weights;
  for (const std::int64_t row : seen) {
    const Row k = key(row);
    double sum = 0;
    for (std::size_t d = 0; d < k.size(); ++d) sum += query[d] * k[d];
    weights.push_back(sum * scale);
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& w : weights) total += w = std::exp(w - most);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Row v = value(seen[i]);
    for (std::size_t d = 0; d < width; ++d) out.value[d] += weights[i] * v[d];
  }
  for (double& v : out.value) v /= total;
  out.lse = (most + std::log(total)) / std::log(2.0);
  return out;
}

// A layer of a cache in a forward.
struct Layer {
  PagedCache cache;
  std::int64_t layer;
  std::vector<Rows> forward;

  bool latent() const { return cache.kind(layer) == AttentionKind::Latent; }
  bool windowed() const { return cache.kind(layer) == AttentionKind::Windowed; }
  Rotation rotation() const {
    if (windowed() && cache.rope() == RopeMode::Inline) return {kLayerWindowTheta, 1};
    return {cache.rope_theta(), cache.rope_scale()};
  }
  // Of rows that the cache had before the forward, those that the layer sees. When decoding, the new row is in the
  // window too.
  std::vector<std::int64_t> seen(std::vector<std::int64_t> before) const {
    const auto most = std::size_t(kLayerWindow - (is_decode() ? 1 : 0));
    if (windowed() && before.size() > most) before.erase(before.begin(), before.end() - std::ptrdiff_t(most));
    return before;
  }
  std::int64_t rows() const {
    std::int64_t total = 0;
    for (const Rows& r : forward) total += r.count;
    return total;
  }
  // Each sequence gets one row, which is already among the rows attended to.
  bool is_decode() const {
    return !cache.slides() && std::all_of(forward.begin(), forward.end(), [](const Rows& r) { return r.count == 1; });
  }

  // Of the cache, in the form used for scores.
  Row key(const Value& sequence, std::int64_t row, std::int64_t head) const {
    Row k;
    for (std::int64_t d = 0; d < cache.number(Number::KeyDim); ++d)
      k.push_back(cache.load(Keys, layer, sequence, row, head, d));
    if (!latent() && cache.rope() == RopeMode::Inline) rotate(rotation(), k, row);
    return k;
  }
  Row value(const Value& sequence, std::int64_t row, std::int64_t head) const {
    Row v;
    for (std::int64_t d = 0; d < cache.number(Number::ValueDim); ++d)
      v.push_back(cache.load(latent() ? Keys : Values, layer, sequence, row, head, d));
    return v;
  }
  void append(Field which, const Value& sequence, std::int64_t row, std::int64_t head, const Row& values) const {
    for (std::size_t d = 0; d < values.size(); ++d)
      cache.store(which, layer, sequence, row, head, std::int64_t(d), values[d]);
  }
  Attended attend_cached(const Rows& r, const Row& query, const std::vector<std::int64_t>& seen, std::int64_t head,
                         double scale) const {
    return attend(
        query, seen, scale, std::size_t(cache.number(Number::ValueDim)),
        [&](std::int64_t row) { return key(*r.sequence, row, head); },
        [&](std::int64_t row) { return value(*r.sequence, row, head); });
  }

  // `f(rows of a sequence, number in them, row of the tensors)` for every row of the forward.
  template <class F>
  Result<support::Unit> for_rows(F f) const {
    std::int64_t at = 0;
    for (const Rows& r : forward)
      for (std::int64_t i = 0; i < r.count; ++i, ++at) {
        if (support::cancel_flag()) return fail(ErrorKind::Interrupted, "interrupted in attention over a paged cache");
        f(r, i, at);
      }
    return support::Unit{};
  }
};

// args: cache, layer, ...
Result<Layer> layer_of(const Args& a) {
  RLDB_TRY(const PagedCache cache, cache_of(a));
  RLDB_TRY(const std::int64_t layer, a.integer(1));
  RLDB_TRY(std::vector<Rows> forward, cache.forward());
  const std::int64_t first = cache.number(Number::FirstLayer), count = cache.number(Number::Layers);
  if (layer < first || layer - first >= count)
    return mismatch(fmt::format("the cache is for {} layers from {} on, not for layer {}", count, first, layer));
  return Layer{cache, layer - first, std::move(forward)};
}

// A tensor of floats with this many rows and heads, of any third dim.
Result<Tensor*> heads_of(const Args& a, std::size_t i, std::int64_t rows) {
  RLDB_TRY(Tensor * t, a.tensor(i));
  const std::vector<std::int64_t>& s = t->shape();
  if (s.size() == 3 && s[0] == rows && s[1] > 0 && t->dtype().is_float()) return t;
  return fail(ErrorKind::ShapeMismatch,
              fmt::format("got {} as argument {}, wanted floats of ({}, heads, dim)", describe(a.at(i)), i, rows));
}

std::size_t place_of(const Tensor& lse, std::int64_t row, std::int64_t head) {
  return std::size_t(row * lse.shape()[1] + head) * lse.dtype().bytes();
}

double weight(double lse, double most) { return std::isinf(lse) && lse < 0 ? 0.0 : std::exp2(lse - most); }

}  // namespace

Result<Value> kv_cache_attention(PackedArgs args) {
  const Args a(args, "cache, layer, scale, queries and keys and values, out");
  RLDB_TRY(const Layer l, layer_of(a));
  RLDB_TRY(const double scale, a.number(2));
  if (l.latent())
    return unsupported("latent attention takes no queries, keys and values in one tensor: it is done in its parts");
  const PagedCache& c = l.cache;
  const std::int64_t dim = c.number(Number::KeyDim), qo = c.number(Number::QoHeads), kv = c.number(Number::KvHeads);
  if (dim != c.number(Number::ValueDim))
    return unsupported("queries, keys and values in one tensor need equal dims of keys and values");
  RLDB_TRY(const Tensor* qkv, a.tensor_of(3, {l.rows(), qo + 2 * kv, dim}));
  RLDB_TRY(Tensor * out, a.tensor_of(4, {l.rows(), qo, dim}));
  const Heads queries{*qkv}, keys{*qkv, qo}, values{*qkv, qo + kv}, to{*out};
  RLDB_TRY_VOID(l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) {
    for (std::int64_t head = 0; head < kv; ++head) {
      Row key = keys.load(at, head);
      if (c.rope() == RopeMode::Normal) rotate(l.rotation(), key, r.position(i));
      l.append(Keys, *r.sequence, r.begin + i, head, key);
      l.append(Values, *r.sequence, r.begin + i, head, values.load(at, head));
    }
  }));
  RLDB_TRY_VOID(l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) {
    std::vector<std::int64_t> seen = l.seen(r.before());
    const std::vector<std::int64_t> here = r.seen_here(i);
    seen.insert(seen.end(), here.begin(), here.end());
    for (std::int64_t head = 0; head < qo; ++head) {
      Row query = queries.load(at, head);
      if (c.rope() != RopeMode::None) rotate(l.rotation(), query, r.position(i));
      to.store(at, head, l.attend_cached(r, query, seen, head / (qo / kv), scale).value);
    }
  }));
  return Value::null();
}

// Each row sees the rows of the forward up to itself; the cache is not used.
Result<Value> kv_cache_self_attention(PackedArgs args) {
  const Args a(args, "cache, layer, scale, queries, keys, values, out, log of sums");
  RLDB_TRY(const Layer l, layer_of(a));
  RLDB_TRY(const double scale, a.number(2));
  RLDB_TRY(const Tensor* q, heads_of(a, 3, l.rows()));
  RLDB_TRY(const Tensor* k, heads_of(a, 4, l.rows()));
  RLDB_TRY(const Tensor* v, heads_of(a, 5, l.rows()));
  const std::int64_t qo = q->shape()[1], kv = k->shape()[1];
  if (q->shape()[2] != k->shape()[2] || qo % kv != 0 || v->shape()[1] != kv)
    return fail(ErrorKind::ShapeMismatch, fmt::format("{}, {} and {} are not queries, keys and values of one attention",
                                                      describe(a.at(3)), describe(a.at(4)), describe(a.at(5))));
  RLDB_TRY(Tensor * out, a.tensor_of(6, {l.rows(), qo, v->shape()[2]}));
  RLDB_TRY(Tensor * lse, a.tensor_of(7, {l.rows(), qo}));
  const PagedCache& c = l.cache;
  const bool rotated = !l.latent() && c.rope() == RopeMode::Inline;
  const Heads queries{*q}, keys{*k}, values{*v}, to{*out};
  RLDB_TRY_VOID(l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) {
    std::vector<std::int64_t> seen;  // as rows of the tensors
    for (const std::int64_t row : r.seen_here(i))
      if (row >= r.begin) seen.push_back(at - i + row - r.begin);
    for (std::int64_t head = 0; head < qo; ++head) {
      Row query = queries.load(at, head);
      if (rotated) rotate(l.rotation(), query, r.position(i));
      const auto key = [&](std::int64_t row) {
        Row values_of_key = keys.load(row, head / (qo / kv));
        if (rotated) rotate(l.rotation(), values_of_key, r.position(row - (at - i)));
        return values_of_key;
      };
      const auto value = [&](std::int64_t row) { return values.load(row, head / (qo / kv)); };
      const Attended got = attend(query, seen, scale, std::size_t(v->shape()[2]), key, value);
      to.store(at, head, got.value);
      store_double(lse->data() + place_of(*lse, at, head), lse->dtype(), got.lse);
    }
  }));
  return Value::null();
}

// Each row sees the rows that the cache had before the forward, and in a decode (one row per sequence) itself too.
Result<Value> kv_cache_cross_attention(PackedArgs args) {
  const Args a(args, "cache, layer, scale, queries, out, log of sums");
  RLDB_TRY(const Layer l, layer_of(a));
  RLDB_TRY(const double scale, a.number(2));
  const PagedCache& c = l.cache;
  const std::int64_t qo = c.number(Number::QoHeads), kv = c.number(Number::KvHeads);
  RLDB_TRY(const Tensor* q, a.tensor_of(3, {l.rows(), qo, c.number(Number::KeyDim)}));
  RLDB_TRY(Tensor * out, a.tensor_of(4, {l.rows(), qo, c.number(Number::ValueDim)}));
  RLDB_TRY(Tensor * lse, a.tensor_of(5, {l.rows(), qo}));
  const bool rotated = !l.latent() && c.rope() == RopeMode::Inline, with_itself = l.is_decode();
  const Heads queries{*q}, to{*out};
  RLDB_TRY_VOID(l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) {
    std::vector<std::int64_t> seen = l.seen(r.seen_before(i));
    if (with_itself) seen.push_back(r.begin + i);
    for (std::int64_t head = 0; head < qo; ++head) {
      Row query = queries.load(at, head);
      if (rotated) rotate(l.rotation(), query, r.position(i));
      const Attended got = l.attend_cached(r, query, seen, head / (qo / kv), scale);
      to.store(at, head, got.value);
      store_double(lse->data() + place_of(*lse, at, head), lse->dtype(), got.lse);
    }
  }));
  return Value::null();
}

Result<Value> kv_cache_append_latent(PackedArgs args) {
  const Args a(args, "cache, layer, latent rows");
  RLDB_TRY(const Layer l, layer_of(a));
  if (!l.latent()) return mismatch("the layer of the cache is not one of latent attention");
  const std::int64_t width = l.cache.number(Number::KeyDim);
  RLDB_TRY(const Tensor* rows, a.tensor_of(2, {l.rows(), width}));
  RLDB_TRY_VOID(l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) {
    Row row;
    for (std::int64_t d = 0; d < width; ++d) row.push_back(rows->at(at * width + d));
    l.append(Keys, *r.sequence, r.begin + i, 0, row);
  }));
  return args[0];
}

// Two attentions of the same queries are merged into one over all rows seen; the first pair of tensors receives it.
Result<Value> kv_cache_merge_attention(PackedArgs args) {
  const Args a(args, "cache, out, log of sums, other out, other log of sums");
  RLDB_TRY_VOID(cache_of(a));
  RLDB_TRY(Tensor * out, a.tensor(1));
  if (out->shape().size() != 3 || !out->dtype().is_float()) return a.wrong(1);
  const std::int64_t rows = out->shape()[0], heads = out->shape()[1];
  RLDB_TRY(Tensor * lse, a.tensor_of(2, {rows, heads}));
  RLDB_TRY(const Tensor* other, a.tensor_of(3, out->shape()));
  RLDB_TRY(const Tensor* other_lse, a.tensor_of(4, {rows, heads}));
  const Heads to{*out}, from{*other};
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t head = 0; head < heads; ++head) {
      const double first = lse->at(row * heads + head), second = other_lse->at(row * heads + head);
      const double most = std::max(first, second), x = weight(first, most), y = weight(second, most);
      if (x + y == 0) continue;  // neither saw any row
      Row merged = to.load(row, head);
      const Row more = from.load(row, head);
      for (std::size_t d = 0; d < merged.size(); ++d) merged[d] = (x * merged[d] + y * more[d]) / (x + y);
      to.store(row, head, merged);
      store_double(lse->data() + place_of(*lse, row, head), lse->dtype(), most + std::log2(x + y));
    }
  return Value::of_tuple({args[1], args[2]});
}

Result<Value> kv_cache_query_positions(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, cache_of(Args(args, "cache")));
  RLDB_TRY(std::vector<Rows> forward, cache.forward());
  const Layer l{cache, 0, std::move(forward)};
  RLDB_TRY(auto out, Tensor::empty({l.rows()}, DType::Int(32)));
  auto* to = reinterpret_cast<std::int32_t*>(out->data());
  RLDB_TRY_VOID(
      l.for_rows([&](const Rows& r, std::int64_t i, std::int64_t at) { to[at] = std::int32_t(r.position(i)); }));
  return Value(std::move(out));
}

}  // namespace rldb::runtime
