// The paged cache against a direct computation: rows of keys and values in vectors, attention by its formula.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "helpers.h"
#include "rldb/runtime/contrib.h"

namespace rldb::runtime {
namespace {

using Row = std::vector<double>;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kQo = 4, kKv = 2, kDim = 3, kPage = 4;

Value ok(Result<Value> r) {
  if (!r.ok()) FAIL_CHECK(r.error().message);
  REQUIRE(r.ok());
  return std::move(r).value();
}

template <class... V>
std::vector<Value> list(V... values) {
  return {Value(std::move(values))...};
}
Value num(std::int64_t n) { return Value::of_int(n); }
Value real(double x) { return Value::of_float(x); }
Value shape(Ints dims) { return Value::of_shape(std::move(dims)); }

Value random_tensor(std::mt19937& random, Ints dims) {
  auto t = Tensor::empty(dims, DType::Float(64));
  REQUIRE(t.ok());
  std::uniform_real_distribution<double> any(-1, 1);
  for (std::int64_t i = 0; i < (*t)->element_count(); ++i)
    store_double((*t)->data() + std::size_t(i) * 8, DType::Float(64), any(random));
  return Value(std::move(t).value());
}

Value zeros(Ints dims) {
  auto t = Tensor::empty(dims, DType::Float(64));
  REQUIRE(t.ok());
  for (std::int64_t i = 0; i < (*t)->element_count(); ++i)
    store_double((*t)->data() + std::size_t(i) * 8, DType::Float(64), 0);
  return Value(std::move(t).value());
}

Row part(const Value& t, std::int64_t row, std::int64_t head) {
  const Tensor& x = t.as_tensor();
  Row out;
  for (std::int64_t d = 0; d < x.shape()[2]; ++d) out.push_back(x.at((row * x.shape()[1] + head) * x.shape()[2] + d));
  return out;
}

Row attention(const Row& q, const std::vector<Row>& keys, const std::vector<Row>& values, double scale) {
  Row weights;
  double total = 0;
  for (const Row& k : keys) {
    double sum = 0;
    for (std::size_t d = 0; d < q.size(); ++d) sum += q[d] * k[d];
    weights.push_back(std::exp(sum * scale));
    total += weights.back();
  }
  Row out(values[0].size(), 0.0);
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weights[i] / total * values[i][d];
  return out;
}

void check_near(const Row& got, const Row& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t d = 0; d < got.size(); ++d) CHECK(got[d] == doctest::Approx(wanted[d]).epsilon(1e-9));
}

struct Config {
  std::int64_t sequences = 6, rows = 400, chunk = 64, sliding = 0, kind = 0, rope = 0;
  std::int64_t qo = kQo, kv = kKv, key = kDim, value = kDim;
};

Result<Value> create(const Config& c) {
  const std::vector<Value> args{shape({c.sequences, c.rows, c.chunk, kPage, c.sliding}),
                                shape({0, 1}),
                                num(c.qo),
                                num(c.kv),
                                num(c.key),
                                num(c.value),
                                shape({c.kind}),
                                num(0),
                                num(c.rope),
                                real(1.0),
                                real(10000.0),
                                Value(),
                                zeros({})};
  return paged_cache_create(args);
}

// The expected state of a sequence: rows of all heads, and its window.
struct Plain {
  std::vector<std::vector<Row>> keys, values;  // [row][head]
  std::int64_t window = 0, sink = 0, shared = 0;

  std::int64_t size() const { return std::int64_t(keys.size()); }
  void resize(std::int64_t rows) {
    keys.resize(std::size_t(rows));
    values.resize(std::size_t(rows));
  }
  void slide() {
    if (window == 0 || size() <= window) return;
    const auto from = keys.begin() + sink, vfrom = values.begin() + sink;
    const std::int64_t passed = size() - window;
    keys.erase(from, from + passed);
    values.erase(vfrom, vfrom + passed);
  }
  void append(const Value& qkv, std::int64_t row) {
    keys.emplace_back();
    values.emplace_back();
    for (std::int64_t h = 0; h < kKv; ++h) {
      keys.back().push_back(part(qkv, row, kQo + h));
      values.back().push_back(part(qkv, row, kQo + kKv + h));
    }
  }
  Row attend(const Row& q, const Ints& seen, std::int64_t head, double scale) const {
    std::vector<Row> k, v;
    for (const std::int64_t r : seen) {
      k.push_back(keys[std::size_t(r)][std::size_t(head)]);
      v.push_back(values[std::size_t(r)][std::size_t(head)]);
    }
    return attention(q, k, v, scale);
  }
};

Ints up_to(std::int64_t end) {
  Ints out;
  for (std::int64_t i = 0; i < end; ++i) out.push_back(i);
  return out;
}

// Random steps in the life of a cache.
class Life {
 public:
  explicit Life(unsigned seed) : random_(seed) {
    Config c;
    c.sliding = 1;
    cache_ = ok(create(c));
  }

  void step() {
    switch (pick(7)) {
      case 0:
        return add();
      case 1:
        return fork();
      case 2:
        return pop();
      case 3:
        return remove();
      case 4:
        return window();
      default:
        return forward();
    }
  }

  void check_totals() {
    std::int64_t total = 0;
    for (const auto& [id, s] : plain_) total += s.size();
    const std::vector<Value> args{cache_};
    CHECK(ok(kv_cache_total_length(args)).as_int() == total);
    if (plain_.empty()) CHECK(ok(kv_cache_available_pages(args)).as_int() == 101);
  }

 private:
  std::int64_t pick(std::int64_t n) { return std::int64_t(random_() % std::uint64_t(n)); }
  std::int64_t any() { return std::next(plain_.begin(), pick(std::int64_t(plain_.size())))->first; }

  void add() {
    if (plain_.size() >= 6) return;
    ok(kv_state_add_sequence(list(cache_, num(next_))));
    plain_[next_++] = {};
  }
  void fork() {
    if (plain_.empty() || plain_.size() >= 6) return;
    const std::int64_t from = any();
    Plain& parent = plain_[from];
    const std::int64_t most = parent.window > 0 ? std::min(parent.sink, parent.size()) : parent.size();
    const std::int64_t at = pick(most + 1);
    ok(kv_state_fork_sequence(list(cache_, num(from), num(next_), num(at))));
    parent.shared = std::max(parent.shared, at - at % kPage);
    Plain child;
    child.keys = parent.keys;
    child.values = parent.values;
    child.resize(at);
    child.shared = at - at % kPage;
    plain_[next_++] = std::move(child);
  }
  void pop() {
    if (plain_.empty()) return;
    const std::int64_t id = any(), n = pick(plain_[id].size() + 1);
    ok(kv_state_popn(list(cache_, num(id), num(n))));
    plain_[id].resize(plain_[id].size() - n);
  }
  void remove() {
    if (plain_.size() < 4) return;
    const std::int64_t id = any();
    ok(kv_state_remove_sequence(list(cache_, num(id))));
    plain_.erase(id);
  }
  void window() {
    if (plain_.empty()) return;
    const std::int64_t id = any();
    Plain& s = plain_[id];
    const std::int64_t size = 3 + pick(9), sink = std::max(pick(size), s.shared);
    if (s.window > 0 || sink >= size) return;
    ok(kv_cache_enable_window(list(cache_, num(id), num(size), num(sink))));
    s.window = size;
    s.sink = sink;
    // Rows already there slide when the next forward begins.
  }
  void forward() {
    Ints ids, lengths;
    std::int64_t total = 0;
    for (const auto& [id, s] : plain_)
      if (pick(2) == 0) {
        ids.push_back(id);
        lengths.push_back(pick(3) == 0 ? pick(9) : 1);
        total += lengths.back();
      }
    const Value qkv = random_tensor(random_, {total, kQo + 2 * kKv, kDim}), out = zeros({total, kQo, kDim});
    ok(kv_state_begin_forward(list(cache_, shape(ids), shape(lengths))));
    ok(kv_cache_attention(list(cache_, num(0), real(0.7), qkv, out)));
    ok(kv_state_end_forward(list(cache_)));
    std::int64_t row = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Plain& s = plain_[ids[i]];
      s.slide();
      for (std::int64_t k = 0; k < lengths[i]; ++k, ++row) {
        s.append(qkv, row);
        for (std::int64_t h = 0; h < kQo; ++h)
          check_near(part(out, row, h), s.attend(part(qkv, row, h), up_to(s.size()), h / (kQo / kKv), 0.7));
      }
    }
    for (auto& [id, s] : plain_) s.slide();
  }

  std::mt19937 random_;
  Value cache_;
  std::map<std::int64_t, Plain> plain_;
  std::int64_t next_ = 10;
};

}  // namespace

TEST_CASE("a paged cache attends as its formula says, whatever happens to its sequences") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Life life(seed);
    for (int i = 0; i < 150; ++i) {
      life.step();
      life.check_totals();
    }
  }
}

TEST_CASE("nodes of a token tree see their ancestors; the path to the accepted one stays") {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const Value cache = ok(create({}));
    Plain s;
    ok(kv_state_add_sequence(list(cache, num(1))));
    const std::int64_t before = std::int64_t(random() % 7), nodes = 1 + std::int64_t(random() % 9);
    const auto forward = [&](std::int64_t count, const Ints* parents) {
      const Value qkv = random_tensor(random, {count, kQo + 2 * kKv, kDim}), out = zeros({count, kQo, kDim});
      ok(kv_state_begin_forward(list(cache, shape({1}), shape({count}), parents ? shape(*parents) : Value())));
      ok(kv_cache_attention(list(cache, num(0), real(0.5), qkv, out)));
      for (std::int64_t i = 0; i < count; ++i) s.append(qkv, i);
      return std::pair(qkv, out);
    };
    forward(before, nullptr);
    ok(kv_state_end_forward(list(cache)));
    Ints parents;
    for (std::int64_t n = 0; n < nodes; ++n) parents.push_back(std::int64_t(random() % std::uint64_t(n + 1)) - 1);
    // In two forwards: the tree grows.
    const std::int64_t half = nodes / 2;
    const Ints first(parents.begin(), parents.begin() + half), second(parents.begin() + half, parents.end());
    const auto path_to = [&](std::int64_t node) {
      Ints path;
      for (; node >= 0; node = parents[std::size_t(node)]) path.insert(path.begin(), before + node);
      return path;
    };
    std::int64_t node = 0;
    for (const Ints& nodes_here : {first, second}) {
      const auto [qkv, out] = forward(std::int64_t(nodes_here.size()), &nodes_here);
      const Value positions = ok(kv_cache_query_positions(list(cache)));
      for (std::int64_t i = 0; i < std::int64_t(nodes_here.size()); ++i, ++node) {
        Ints seen = up_to(before);
        const Ints path = path_to(node);
        seen.insert(seen.end(), path.begin(), path.end());
        CHECK(positions.as_tensor().at(i) == double(seen.size()) - 1);
        for (std::int64_t h = 0; h < kQo; ++h)
          check_near(part(out, i, h), s.attend(part(qkv, i, h), seen, h / (kQo / kKv), 0.5));
      }
      ok(kv_state_end_forward(list(cache)));
    }
    CHECK(!kv_state_popn(list(cache, num(1), num(1))).ok());
    const std::int64_t leaf = std::int64_t(random() % std::uint64_t(nodes + 1)) - 1;
    ok(kv_cache_commit_tree(list(cache, shape({1}), shape({leaf}))));
    Ints kept = up_to(before);
    const Ints path = path_to(leaf);
    kept.insert(kept.end(), path.begin(), path.end());
    const std::int64_t rows = std::int64_t(kept.size());
    const Value keys = zeros({1, rows, kKv, kDim}), values = zeros({1, rows, kKv, kDim});
    ok(kv_cache_debug_get(list(cache, num(1), num(0), num(rows), keys, values)));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < kKv; ++h)
        for (std::int64_t d = 0; d < kDim; ++d) {
          const std::int64_t at = (r * kKv + h) * kDim + d;
          const auto from = std::size_t(kept[std::size_t(r)]);
          CHECK(keys.as_tensor().at(at) == s.keys[from][std::size_t(h)][std::size_t(d)]);
          CHECK(values.as_tensor().at(at) == s.values[from][std::size_t(h)][std::size_t(d)]);
        }
    CHECK(ok(kv_cache_total_length(list(cache))).as_int() == rows);
  }
}

TEST_CASE("latent attention in its parts is attention over all rows") {
  std::mt19937 random(9);
  Config c;
  c.kind = 1;
  c.kv = 1;
  c.key = 5;
  c.value = 3;
  const Value cache = ok(create(c));
  ok(kv_state_add_sequence(list(cache, num(0))));
  ok(kv_state_add_sequence(list(cache, num(1))));
  std::map<std::int64_t, std::vector<Row>> rows;
  for (const Ints& lengths : {Ints{3, 2}, Ints{4, 1}, Ints{1, 1}, Ints{2, 6}}) {
    const std::int64_t total = lengths[0] + lengths[1];
    const bool decode = lengths[0] == 1 && lengths[1] == 1;
    ok(kv_state_begin_forward(list(cache, shape({0, 1}), shape(lengths))));
    const Value latent = random_tensor(random, {total, 5}), q = random_tensor(random, {total, kQo, 5});
    ok(kv_cache_append_latent(list(cache, num(0), latent)));
    const Value own = zeros({total, kQo, 3}), own_log = zeros({total, kQo});
    const Value past = zeros({total, kQo, 3}), past_log = zeros({total, kQo});
    // The keys and values of the forward, as the model would produce them for each head.
    const Value k = zeros({total, 1, 5}), v = zeros({total, 1, 3});
    for (std::int64_t r = 0; r < total; ++r)
      for (std::int64_t d = 0; d < 5; ++d) {
        const double x = latent.as_tensor().at(r * 5 + d);
        store_double(k.as_tensor().data() + std::size_t(r * 5 + d) * 8, DType::Float(64), x);
        if (d < 3) store_double(v.as_tensor().data() + std::size_t(r * 3 + d) * 8, DType::Float(64), x);
      }
    ok(kv_cache_cross_attention(list(cache, num(0), real(0.4), q, past, past_log)));
    if (!decode) {
      ok(kv_cache_self_attention(list(cache, num(0), real(0.4), q, k, v, own, own_log)));
      ok(kv_cache_merge_attention(list(cache, own, own_log, past, past_log)));
    }
    std::int64_t row = 0;
    for (std::int64_t id = 0; id < 2; ++id)
      for (std::int64_t i = 0; i < lengths[std::size_t(id)]; ++i, ++row) {
        rows[id].push_back(part(k, row, 0));
        std::vector<Row> values;
        for (const Row& r : rows[id]) values.push_back({r.begin(), r.begin() + 3});
        for (std::int64_t h = 0; h < kQo; ++h)
          check_near(part(decode ? past : own, row, h), attention(part(q, row, h), rows[id], values, 0.4));
      }
    ok(kv_state_end_forward(list(cache)));
  }
  const Value all = zeros({1, 3, 5});
  ok(kv_cache_debug_get_latent(list(cache, num(1), num(2), num(5), all)));
  for (std::int64_t i = 0; i < 15; ++i)
    CHECK(all.as_tensor().at(i) == rows[1][std::size_t(2 + i / 5)][std::size_t(i % 5)]);
  CHECK(!kv_cache_attention(list(cache, num(0), real(1), all, all)).ok());
}

TEST_CASE("self and cross attention of heads, merged, are the attention in one call") {
  std::mt19937 random(3);
  for (const std::int64_t rope : {0, 2}) {
    Config c;
    c.rope = rope;
    c.key = c.value = 4;
    const Value whole = ok(create(c)), parts = ok(create(c));
    for (const Value& cache : {whole, parts}) ok(kv_state_add_sequence(list(cache, num(0))));
    for (const std::int64_t count : {3, 2, 5}) {
      const Value qkv = random_tensor(random, {count, kQo + 2 * kKv, 4}), out = zeros({count, kQo, 4});
      ok(kv_state_begin_forward(list(whole, shape({0}), shape({count}))));
      ok(kv_cache_attention(list(whole, num(0), real(0.6), qkv, out)));
      const auto heads = [&](std::int64_t first, std::int64_t n) {
        const Value t = zeros({count, n, 4});
        for (std::int64_t r = 0; r < count; ++r)
          for (std::int64_t h = 0; h < n; ++h)
            for (std::int64_t d = 0; d < 4; ++d)
              store_double(t.as_tensor().data() + std::size_t((r * n + h) * 4 + d) * 8, DType::Float(64),
                           part(qkv, r, first + h)[std::size_t(d)]);
        return t;
      };
      const Value q = heads(0, kQo), k = heads(kQo, kKv), v = heads(kQo + kKv, kKv);
      const Value own = zeros({count, kQo, 4}), own_log = zeros({count, kQo});
      const Value past = zeros({count, kQo, 4}), past_log = zeros({count, kQo});
      ok(kv_state_begin_forward(list(parts, shape({0}), shape({count}))));
      ok(kv_cache_self_attention(list(parts, num(0), real(0.6), q, k, v, own, own_log)));
      ok(kv_cache_cross_attention(list(parts, num(0), real(0.6), q, past, past_log)));
      ok(kv_cache_merge_attention(list(parts, own, own_log, past, past_log)));
      for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t h = 0; h < kQo; ++h) check_near(part(own, r, h), part(out, r, h));
      // Only the attention in one call appends the rows themselves.
      const Value ignored = zeros({count, kQo, 4});
      ok(kv_cache_attention(list(parts, num(0), real(0.6), qkv, ignored)));
    }
  }
}

TEST_CASE("a layer with a window sees the last 1024 rows and those of the step") {
  Config c;
  c.rows = 1100;
  c.chunk = 1030;
  c.kind = 3;
  c.qo = c.kv = 1;
  const Value cache = ok(create(c));
  ok(kv_state_add_sequence(list(cache, num(0))));
  ok(kv_cache_enable_window(list(cache, num(0), num(4), num(1))));  // it has windows by layer already
  std::vector<double> values;
  // Keys are all the same: a row gets the mean of the values that it sees.
  const auto forward = [&](std::int64_t count) {
    const Value qkv = zeros({count, 3, kDim}), out = zeros({count, 1, kDim});
    for (std::int64_t r = 0; r < count; ++r) {
      values.push_back(double(values.size() * values.size() % 101));
      for (std::int64_t d = 0; d < kDim; ++d)
        store_double(qkv.as_tensor().data() + std::size_t((r * 3 + 2) * kDim + d) * 8, DType::Float(64), values.back());
    }
    ok(kv_state_begin_forward(list(cache, shape({0}), shape({count}))));
    ok(kv_cache_attention(list(cache, num(0), real(1), qkv, out)));
    ok(kv_state_end_forward(list(cache)));
    return part(out, count - 1, 0)[0];
  };
  const auto mean_of_last = [&](std::size_t n) {
    double sum = 0;
    for (std::size_t i = values.size() - n; i < values.size(); ++i) sum += values[i];
    return doctest::Approx(sum / double(n)).epsilon(1e-9);
  };
  const auto check = [&](std::int64_t count, std::size_t seen) {
    const double got = forward(count);
    CHECK(got == mean_of_last(seen));
  };
  check(1030, 1030);
  check(1, 1024);
  check(3, 1027);
  check(1, 1024);
}

TEST_CASE("a cache with sliding windows rotates keys when they are used") {
  std::mt19937 random(5);
  Config normal, inlined;
  normal.sliding = inlined.sliding = 1;
  normal.rope = 1;
  inlined.rope = 2;
  normal.key = normal.value = inlined.key = inlined.value = 4;
  const Value caches[] = {ok(create(normal)), ok(create(inlined))};
  for (const Value& cache : caches) {
    ok(kv_state_add_sequence(list(cache, num(0))));
    ok(kv_cache_enable_window(list(cache, num(0), num(4), num(1))));
  }
  for (int step = 0; step < 6; ++step) {
    const Value qkv = random_tensor(random, {2, kQo + 2 * kKv, 4});
    const Value outs[] = {zeros({2, kQo, 4}), zeros({2, kQo, 4})};
    for (std::size_t i = 0; i < 2; ++i) {
      ok(kv_state_begin_forward(list(caches[i], shape({0}), shape({2}))));
      ok(kv_cache_attention(list(caches[i], num(0), real(0.5), qkv, outs[i])));
      ok(kv_state_end_forward(list(caches[i])));
    }
    for (std::int64_t h = 0; h < kQo; ++h) check_near(part(outs[0], 1, h), part(outs[1], 1, h));
  }
}

TEST_CASE("what a paged cache refuses, it refuses by name") {
  const auto message = [](Result<Value> r) { return r.ok() ? std::string("good") : r.error().message; };
  Config c;
  c.kind = 2;
  CHECK(message(create(c)).find("attention of kind 2") != std::string::npos);
  c.kind = 1;
  c.sliding = 1;
  CHECK(message(create(c)).find("no sliding windows") != std::string::npos);
  c.sliding = 0;
  CHECK(message(create(c)).find("one head") != std::string::npos);
  const Value cache = ok(create({}));
  ok(kv_state_add_sequence(list(cache, num(0))));
  CHECK(message(kv_cache_enable_window(list(cache, num(0), num(4), num(1)))).find("without sliding windows") !=
        std::string::npos);
  CHECK(message(kv_state_begin_forward(list(cache, shape({0}), shape({2}), shape({-1, 1})))).find("as its parent") !=
        std::string::npos);
  CHECK(message(kv_state_begin_forward(list(cache, shape({0}), shape({2}), shape({-1})))).find("1 nodes") !=
        std::string::npos);
  ok(kv_state_begin_forward(list(cache, shape({0}), shape({2}), shape({-1, -1}))));
  CHECK(message(kv_state_begin_forward(list(cache, shape({0}), shape({1})))).find("not committed") !=
        std::string::npos);
  CHECK(message(kv_state_fork_sequence(list(cache, num(0), num(1)))).find("not committed") != std::string::npos);
  CHECK(message(kv_cache_commit_tree(list(cache, shape({0}), shape({2})))).find("no node 2") != std::string::npos);
  CHECK(message(kv_cache_append_latent(list(cache, num(0), zeros({2, kDim})))).find("latent") != std::string::npos);
}

}  // namespace rldb::runtime
