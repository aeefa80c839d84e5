// The paged cache of keys and values: sequences that share a pool of pages, and the attention of a forward over them.
//
// Its state is plain values, as that of the simple cache is, so that a machine can copy it and go back. The functions
// that a model hands over to compute with are for a GPU; attention is computed here instead, row by row, in double.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rldb/runtime/contrib.h"
#include "rldb/support/cancel.h"

namespace rldb::runtime {

namespace {

constexpr std::string_view kKind = "paged cache of keys and values";
// TVM's numbers.
enum class RopeMode : std::int64_t { None = 0, Normal = 1, Inline = 2 };
constexpr std::int64_t kMultiHead = 0;

support::Failure<Error> mismatch(std::string text) { return fail(ErrorKind::TypeMismatch, std::move(text)); }
support::Failure<Error> unsupported(std::string text) { return fail(ErrorKind::Unsupported, std::move(text)); }

// ---- the state: a tuple ----

// Fields of the tuple; `Numbers` is a shape of what Number counts, `Rotation` a tuple of scale and theta.
enum Field : std::size_t { Kind, Numbers, Rotation, Keys, Values, Sequences, Forward, FieldCount };
enum class Number : std::size_t {
  FirstLayer,
  Layers,
  QoHeads,
  KvHeads,
  KeyDim,
  ValueDim,
  PageSize,
  Pages,
  MostSequences,
  Chunk,
  Rope,
  Count
};
// Fields of a sequence.
enum SequenceField : std::size_t { Id, Length, PageList, SequenceFieldCount };

class PagedCache {
 public:
  explicit PagedCache(Tuple& tuple) : tuple_(&tuple) {}

  std::int64_t number(Number n) const { return tuple_->fields[Numbers].as_shape()[std::size_t(n)]; }
  RopeMode rope() const { return RopeMode(number(Number::Rope)); }
  double rope_scale() const { return tuple_->fields[Rotation].as_tuple().fields[0].as_float(); }
  double rope_theta() const { return tuple_->fields[Rotation].as_tuple().fields[1].as_float(); }
  std::vector<Value>& sequences() const { return tuple_->fields[Sequences].as_tuple().fields; }

  static std::vector<Value>& parts(const Value& sequence) { return sequence.as_tuple().fields; }
  static std::int64_t length(const Value& sequence) { return parts(sequence)[Length].as_int(); }
  static const std::vector<std::int64_t>& pages(const Value& sequence) { return parts(sequence)[PageList].as_shape(); }

  const Value* find(std::int64_t id) const {
    for (const Value& s : sequences())
      if (parts(s)[Id].as_int() == id) return &s;
    return nullptr;
  }
  Result<const Value*> sequence(std::int64_t id) const {
    const Value* found = find(id);
    if (!found) return mismatch(fmt::format("the cache has no sequence {}", id));
    return found;
  }

  void clear() const {
    tuple_->fields[Sequences] = Value::of_tuple({});
    tuple_->fields[Forward] = Value();
  }
  Result<support::Unit> add(std::int64_t id, std::int64_t length = 0, std::vector<std::int64_t> pages = {}) const {
    if (find(id)) return mismatch(fmt::format("the cache has a sequence {} already", id));
    if (std::int64_t(sequences().size()) >= number(Number::MostSequences))
      return mismatch(fmt::format("the cache is for {} sequences", number(Number::MostSequences)));
    sequences().push_back(
        Value::of_tuple({Value::of_int(id), Value::of_int(length), Value::of_shape(std::move(pages))}));
    return support::Unit{};
  }

  // How many sequences have a page.
  std::vector<int> users() const {
    std::vector<int> count(std::size_t(number(Number::Pages)), 0);
    for (const Value& s : sequences())
      for (const std::int64_t p : pages(s)) ++count[std::size_t(p)];
    return count;
  }
  std::int64_t free_pages() const {
    const std::vector<int> count = users();
    return std::count(count.begin(), count.end(), 0);
  }

  // Makes room for `more` rows at the end of a sequence, in pages that nobody else has.
  Result<support::Unit> extend(const Value& sequence, std::int64_t more) const {
    const std::int64_t size = number(Number::PageSize), before = length(sequence);
    std::vector<std::int64_t> list = pages(sequence);
    std::vector<int> count = users();
    const auto take = [&]() -> std::int64_t {
      const auto free = std::find(count.begin(), count.end(), 0);
      if (free == count.end()) return -1;
      *free = 1;
      return free - count.begin();
    };
    const bool shared_tail = before % size != 0 && more > 0 && count[std::size_t(list.back())] > 1;
    if (shared_tail) {
      const std::int64_t own = take();
      if (own < 0) return full();
      copy_page(list.back(), own);
      list.back() = own;
    }
    while (std::int64_t(list.size()) * size < before + more) {
      const std::int64_t own = take();
      if (own < 0) return full();
      list.push_back(own);
    }
    set(sequence, before + more, std::move(list));
    return support::Unit{};
  }

  void set(const Value& sequence, std::int64_t length, std::vector<std::int64_t> list) const {
    const std::int64_t size = number(Number::PageSize);
    list.resize(std::size_t((length + size - 1) / size));
    parts(sequence)[Length] = Value::of_int(length);
    parts(sequence)[PageList] = Value::of_shape(std::move(list));
  }

  void remove(const Value* sequence) const { sequences().erase(sequences().begin() + (sequence - sequences().data())); }

  // ---- rows ----

  // An element of a row of keys or values: [layer, page, head, row in the page, dim].
  double load(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
              std::int64_t dim) const {
    const Tensor& t = tuple_->fields[which].as_tensor();
    return load_as_double(t.data() + offset(which, layer, sequence, row, head, dim), t.dtype());
  }
  void store(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
             std::int64_t dim, double value) const {
    Tensor& t = tuple_->fields[which].as_tensor();
    store_double(t.data() + offset(which, layer, sequence, row, head, dim), t.dtype(), value);
  }

  // ---- the forward ----

  // The rows that it appends to a sequence.
  struct Rows {
    const Value* sequence;
    std::int64_t begin;
    std::int64_t count;
  };
  // The sequences may have changed since it began.
  Result<std::vector<Rows>> forward() const {
    if (tuple_->fields[Forward].is_null()) return mismatch("no forward of the cache has begun");
    std::vector<Rows> rows;
    for (std::size_t i = 0; i < part(0).size(); ++i) {
      RLDB_TRY(const Value* s, sequence(part(0)[i]));
      if (part(1)[i] > length(*s))
        return mismatch(fmt::format("sequence {} has lost rows of the forward that has begun", part(0)[i]));
      rows.push_back({s, length(*s) - part(1)[i], part(1)[i]});
    }
    return rows;
  }
  void begin(std::vector<std::int64_t> ids, std::vector<std::int64_t> lengths) const {
    tuple_->fields[Forward] = Value::of_tuple({Value::of_shape(std::move(ids)), Value::of_shape(std::move(lengths))});
  }
  void end() const { tuple_->fields[Forward] = Value(); }

 private:
  const std::vector<std::int64_t>& part(std::size_t i) const {
    return tuple_->fields[Forward].as_tuple().fields[i].as_shape();
  }

  support::Failure<Error> full() const {
    return fail(ErrorKind::OutOfMemory, fmt::format("the {} pages of the cache are in use", number(Number::Pages)));
  }

  std::size_t offset(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
                     std::int64_t dim) const {
    const std::int64_t size = number(Number::PageSize),
                       width = number(which == Keys ? Number::KeyDim : Number::ValueDim);
    const std::int64_t page = pages(sequence)[std::size_t(row / size)];
    const std::int64_t at =
        (((layer * number(Number::Pages) + page) * number(Number::KvHeads) + head) * size + row % size) * width + dim;
    return std::size_t(at) * tuple_->fields[which].as_tensor().dtype().bytes();
  }

  void copy_page(std::int64_t from, std::int64_t to) const {
    for (const Field which : {Keys, Values}) {
      Tensor& t = tuple_->fields[which].as_tensor();
      const std::size_t layers = std::size_t(number(Number::Layers)), pages = std::size_t(number(Number::Pages));
      const std::size_t bytes = layers == 0 ? 0 : t.byte_size() / (layers * pages);
      for (std::size_t layer = 0; layer < layers; ++layer)
        std::memcpy(t.data() + (layer * pages + std::size_t(to)) * bytes,
                    t.data() + (layer * pages + std::size_t(from)) * bytes, bytes);
    }
  }

  Tuple* tuple_;
};

// ---- what a program hands over as a cache ----

bool is_tuple(const Value& v, std::size_t size) { return v.is(ValueKind::Tuple) && v.as_tuple().fields.size() == size; }

// The numbers, when they fit each other.
bool are_numbers(const Value& v) {
  if (!v.is(ValueKind::Shape) || v.as_shape().size() != std::size_t(Number::Count)) return false;
  const std::vector<std::int64_t>& n = v.as_shape();
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  for (const Number positive : {Number::QoHeads, Number::KvHeads, Number::KeyDim, Number::ValueDim, Number::PageSize,
                                Number::Pages, Number::MostSequences, Number::Chunk})
    if (at(positive) <= 0) return false;
  const bool rope = at(Number::Rope) >= 0 && at(Number::Rope) <= std::int64_t(RopeMode::Inline);
  return at(Number::Layers) >= 0 && at(Number::FirstLayer) >= 0 && at(Number::QoHeads) % at(Number::KvHeads) == 0 &&
         rope;
}

bool is_pool(const Value& v, const std::vector<std::int64_t>& n, Number width) {
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  return v.is(ValueKind::Tensor) && v.as_tensor().dtype().is_float() &&
         v.as_tensor().shape() == std::vector<std::int64_t>{at(Number::Layers), at(Number::Pages), at(Number::KvHeads),
                                                            at(Number::PageSize), at(width)};
}

bool is_sequence(const Value& v, const std::vector<std::int64_t>& n) {
  if (!is_tuple(v, SequenceFieldCount)) return false;
  const std::vector<Value>& parts = v.as_tuple().fields;
  if (!parts[Id].is(ValueKind::Int) || !parts[Length].is(ValueKind::Int) || !parts[PageList].is(ValueKind::Shape))
    return false;
  const std::int64_t length = parts[Length].as_int(), size = n[std::size_t(Number::PageSize)];
  const std::vector<std::int64_t>& pages = parts[PageList].as_shape();
  if (length < 0 || length / size + (length % size != 0 ? 1 : 0) != std::int64_t(pages.size())) return false;
  return std::all_of(pages.begin(), pages.end(),
                     [&](std::int64_t p) { return p >= 0 && p < n[std::size_t(Number::Pages)]; });
}

bool is_forward(const Value& v) {
  if (v.is_null()) return true;
  if (!is_tuple(v, 2)) return false;
  const std::vector<Value>& parts = v.as_tuple().fields;
  if (!parts[0].is(ValueKind::Shape) || !parts[1].is(ValueKind::Shape)) return false;
  const std::vector<std::int64_t>& lengths = parts[1].as_shape();
  return parts[0].as_shape().size() == lengths.size() &&
         std::all_of(lengths.begin(), lengths.end(), [](std::int64_t n) { return n >= 0; });
}

// A program may make a tuple that looks like one.
bool is_cache(const Value& v) {
  if (!is_tuple(v, FieldCount)) return false;
  const std::vector<Value>& f = v.as_tuple().fields;
  if (!f[Kind].is(ValueKind::String) || f[Kind].as_string() != kKind || !are_numbers(f[Numbers])) return false;
  const std::vector<std::int64_t>& n = f[Numbers].as_shape();
  const auto is_float = [](const Value& x) { return x.is(ValueKind::Float); };
  if (!is_tuple(f[Rotation], 2) ||
      !std::all_of(f[Rotation].as_tuple().fields.begin(), f[Rotation].as_tuple().fields.end(), is_float))
    return false;
  if (!is_pool(f[Keys], n, Number::KeyDim) || !is_pool(f[Values], n, Number::ValueDim)) return false;
  if (!f[Sequences].is(ValueKind::Tuple) || !is_forward(f[Forward])) return false;
  const std::vector<Value>& all = f[Sequences].as_tuple().fields;
  return std::all_of(all.begin(), all.end(), [&](const Value& s) { return is_sequence(s, n); });
}

// ---- arguments ----

// Reads arguments by position; `what` names the function's arguments in errors.
class Args {
 public:
  Args(PackedArgs args, std::string_view what) : args_(args), what_(what) {}
  bool count_is(std::size_t least, std::size_t most) const { return args_.size() >= least && args_.size() <= most; }
  support::Failure<Error> wrong(std::size_t i) const {
    const std::string given = i < args_.size() ? describe(args_[i]) : "nothing";
    return mismatch(fmt::format("expected ({}), got {} as argument {}", what_, given, i));
  }
  Result<PagedCache> cache() const {
    if (args_.empty() || !is_cache(args_[0])) return wrong(0);
    return PagedCache(args_[0].as_tuple());
  }
  Result<std::int64_t> integer(std::size_t i) const {
    if (i >= args_.size() || !(args_[i].is(ValueKind::Int) || args_[i].is(ValueKind::Bool))) return wrong(i);
    return args_[i].as_int();
  }
  Result<double> number(std::size_t i) const {
    if (i >= args_.size() || !(args_[i].is(ValueKind::Int) || args_[i].is(ValueKind::Float))) return wrong(i);
    return args_[i].is(ValueKind::Int) ? double(args_[i].as_int()) : args_[i].as_float();
  }
  Result<std::vector<std::int64_t>> shape(std::size_t i) const {
    if (i >= args_.size() || !args_[i].is(ValueKind::Shape)) return wrong(i);
    return args_[i].as_shape();
  }
  Result<Tensor*> tensor(std::size_t i) const {
    if (i >= args_.size() || !args_[i].is(ValueKind::Tensor)) return wrong(i);
    return &args_[i].as_tensor();
  }
  Result<Tensor*> tensor_of(std::size_t i, const std::vector<std::int64_t>& shape) const {
    RLDB_TRY(Tensor * t, tensor(i));
    if (t->shape() == shape && t->dtype().is_float()) return t;
    return fail(ErrorKind::ShapeMismatch, fmt::format("expected ({}), got {} as argument {}, wanted floats of ({})",
                                                      what_, describe(args_[i]), i, fmt::join(shape, ", ")));
  }
  bool is_null(std::size_t i) const { return i >= args_.size() || args_[i].is_null(); }

 private:
  PackedArgs args_;
  std::string_view what_;
};

// ---- creation ----

// Positions of TVM's arguments; those between 13 and 27 are the functions of a GPU.
enum CreateArg : std::size_t {
  kConfig,
  kLayers,
  kQoHeads,
  kKvHeads,
  kKeyDim,
  kValueDim,
  kAttention,
  kTransfer,
  kRope,
  kScale,
  kTheta,
  kFactors,
  kInit,
  kLeastCreateArgs
};
constexpr std::size_t kMostCreateArgs = 29;
constexpr std::string_view kCreateArgs =
    "cache config, layer range, query heads, key and value heads, key dim, value dim, kinds of attention, transfer, "
    "rope mode, rope scale, rope theta, rope factors, a tensor of the dtype, functions...";

Result<support::Unit> check_supported(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t> config, a.shape(kConfig));
  if (config.size() != 5) return a.wrong(kConfig);
  if (config[4] != 0) return unsupported("a paged cache with sliding windows is not supported");
  RLDB_TRY(const std::vector<std::int64_t> kinds, a.shape(kAttention));
  for (const std::int64_t kind : kinds)
    if (kind != kMultiHead)
      return unsupported(
          fmt::format("attention of kind {} is not supported by the paged cache: multi-head (0) is", kind));
  RLDB_TRY(const std::int64_t transfer, a.integer(kTransfer));
  if (transfer != 0) return unsupported("a paged cache that transfers to other devices is not supported");
  if (!a.is_null(kFactors)) return unsupported("factors of a rotary embedding are not supported by the paged cache");
  RLDB_TRY(const std::int64_t rope, a.integer(kRope));
  if (rope < std::int64_t(RopeMode::None) || rope > std::int64_t(RopeMode::Inline)) return a.wrong(kRope);
  return support::Unit{};
}

Result<std::vector<std::int64_t>> numbers_of(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t> config, a.shape(kConfig));
  RLDB_TRY(const std::vector<std::int64_t> layers, a.shape(kLayers));
  if (layers.size() != 2 || layers[0] < 0 || layers[1] < layers[0]) return a.wrong(kLayers);
  std::vector<std::int64_t> n(std::size_t(Number::Count), 0);
  const auto at = [&](Number which) -> std::int64_t& { return n[std::size_t(which)]; };
  at(Number::FirstLayer) = layers[0];
  at(Number::Layers) = layers[1] - layers[0];
  RLDB_TRY(at(Number::QoHeads), a.integer(kQoHeads));
  RLDB_TRY(at(Number::KvHeads), a.integer(kKvHeads));
  RLDB_TRY(at(Number::KeyDim), a.integer(kKeyDim));
  RLDB_TRY(at(Number::ValueDim), a.integer(kValueDim));
  RLDB_TRY(at(Number::Rope), a.integer(kRope));
  at(Number::MostSequences) = config[0];
  at(Number::Chunk) = config[2];
  at(Number::PageSize) = config[3];
  for (const std::int64_t positive : {config[0], config[2], config[3], at(Number::QoHeads), at(Number::KvHeads),
                                      at(Number::KeyDim), at(Number::ValueDim)})
    if (positive <= 0) return mismatch("sizes of a paged cache are positive");
  constexpr std::int64_t kMost = std::int64_t(1) << 40;
  if (config[1] < 0 || config[1] > kMost || config[3] > kMost) return a.wrong(kConfig);
  if (at(Number::QoHeads) % at(Number::KvHeads) != 0)
    return mismatch(fmt::format("{} query heads do not divide evenly among {} heads of keys and values",
                                at(Number::QoHeads), at(Number::KvHeads)));
  if (at(Number::Rope) != 0 && at(Number::KeyDim) % 2 != 0) return mismatch("rotary embeddings want an even key dim");
  at(Number::Pages) = (config[1] + config[3] - 1) / config[3] + 1;  // as TVM reserves them
  return n;
}

Result<Value> zeros(const std::vector<std::int64_t>& shape, DType dtype) {
  RLDB_TRY(auto t, Tensor::empty(shape, dtype));
  std::memset(t->data(), 0, t->byte_size());
  return Value(std::move(t));
}

// ---- attention ----

// A row with rotary embedding at a position: pairs are half a row apart, as in Llama's.
void rotate(const PagedCache& c, std::vector<double>& row, std::int64_t position) {
  const std::size_t half = row.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double frequency = std::pow(c.rope_theta(), -2.0 * double(i) / double(row.size()));
    const double angle = double(position) * c.rope_scale() * frequency;
    const double a = row[i], b = row[half + i], sine = std::sin(angle), cosine = std::cos(angle);
    row[i] = a * cosine - b * sine;
    row[half + i] = b * cosine + a * sine;
  }
}

// The last rows of a sequence, as this forward appends them.
class ForwardAttention {
 public:
  ForwardAttention(const PagedCache& c, std::int64_t layer, double scale, const Tensor& qkv, Tensor& out)
      : c_(c),
        layer_(layer),
        scale_(scale),
        qkv_(qkv),
        out_(out),
        qo_(c.number(Number::QoHeads)),
        kv_(c.number(Number::KvHeads)),
        dim_(c.number(Number::KeyDim)) {}

  // The sequence's rows of the forward begin at `first`.
  Result<support::Unit> run(const PagedCache::Rows& rows, std::int64_t first) {
    for (std::int64_t i = 0; i < rows.count; ++i) append(*rows.sequence, first + i, rows.begin + i);
    for (std::int64_t i = 0; i < rows.count; ++i)
      for (std::int64_t head = 0; head < qo_; ++head) {
        if (support::cancel_flag()) return fail(ErrorKind::Interrupted, "interrupted in attention over a paged cache");
        attend(*rows.sequence, first + i, rows.begin + i, head);
      }
    return support::Unit{};
  }

 private:
  std::vector<double> input(std::int64_t row, std::int64_t head) const {
    std::vector<double> values;
    const std::size_t at = std::size_t((row * (qo_ + 2 * kv_) + head) * dim_);
    const std::size_t bytes = qkv_.dtype().bytes();
    for (std::size_t d = 0; d < std::size_t(dim_); ++d)
      values.push_back(load_as_double(qkv_.data() + (at + d) * bytes, qkv_.dtype()));
    return values;
  }

  void append(const Value& sequence, std::int64_t row, std::int64_t position) {
    for (std::int64_t head = 0; head < kv_; ++head) {
      std::vector<double> key = input(row, qo_ + head);
      const std::vector<double> value = input(row, qo_ + kv_ + head);
      if (c_.rope() == RopeMode::Normal) rotate(c_, key, position);
      for (std::int64_t d = 0; d < dim_; ++d) {
        c_.store(Keys, layer_, sequence, position, head, d, key[std::size_t(d)]);
        c_.store(Values, layer_, sequence, position, head, d, value[std::size_t(d)]);
      }
    }
  }

  double score(const Value& sequence, const std::vector<double>& query, std::int64_t position, std::int64_t head) {
    std::vector<double> key;
    for (std::int64_t d = 0; d < dim_; ++d) key.push_back(c_.load(Keys, layer_, sequence, position, head, d));
    if (c_.rope() == RopeMode::Inline) rotate(c_, key, position);
    double sum = 0;
    for (std::size_t d = 0; d < key.size(); ++d) sum += query[d] * key[d];
    return sum * scale_;
  }

  // Each row sees what stands before it, and itself.
  void attend(const Value& sequence, std::int64_t row, std::int64_t position, std::int64_t head) {
    const std::int64_t kv_head = head / (qo_ / kv_);
    std::vector<double> query = input(row, head);
    if (c_.rope() != RopeMode::None) rotate(c_, query, position);
    std::vector<double> weights;
    for (std::int64_t p = 0; p <= position; ++p) weights.push_back(score(sequence, query, p, kv_head));
    const double most = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& w : weights) total += w = std::exp(w - most);
    const std::size_t at = std::size_t((row * qo_ + head) * dim_), bytes = out_.dtype().bytes();
    for (std::int64_t d = 0; d < dim_; ++d) {
      double sum = 0;
      for (std::int64_t p = 0; p <= position; ++p)
        sum += weights[std::size_t(p)] * c_.load(Values, layer_, sequence, p, kv_head, d);
      store_double(out_.data() + (at + std::size_t(d)) * bytes, out_.dtype(), sum / total);
    }
  }

  const PagedCache& c_;
  std::int64_t layer_;
  double scale_;
  const Tensor& qkv_;
  Tensor& out_;
  std::int64_t qo_, kv_, dim_;
};

std::int64_t total_of(const std::vector<PagedCache::Rows>& forward) {
  std::int64_t total = 0;
  for (const PagedCache::Rows& r : forward) total += r.count;
  return total;
}

}  // namespace

Result<Value> paged_cache_create(PackedArgs args) {
  const Args a(args, kCreateArgs);
  if (!a.count_is(kLeastCreateArgs, kMostCreateArgs)) return a.wrong(args.size());
  RLDB_TRY_VOID(check_supported(a));
  RLDB_TRY(const std::vector<std::int64_t> n, numbers_of(a));
  RLDB_TRY(const double scale, a.number(kScale));
  RLDB_TRY(const double theta, a.number(kTheta));
  RLDB_TRY(const Tensor* init, a.tensor(kInit));
  if (!init->dtype().is_float()) return a.wrong(kInit);
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  const auto pool = [&](Number width) {
    return zeros({at(Number::Layers), at(Number::Pages), at(Number::KvHeads), at(Number::PageSize), at(width)},
                 init->dtype());
  };
  RLDB_TRY(Value keys, pool(Number::KeyDim));
  RLDB_TRY(Value values, pool(Number::ValueDim));
  return Value::of_tuple({Value::of_string(std::string(kKind)), Value::of_shape(n),
                          Value::of_tuple({Value::of_float(scale), Value::of_float(theta)}), std::move(keys),
                          std::move(values), Value::of_tuple({}), Value()});
}

Result<Value> kv_state_clear(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  cache.clear();
  return Value::null();
}

Result<Value> kv_state_add_sequence(PackedArgs args) {
  const Args a(args, "cache, sequence");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY_VOID(cache.add(id));
  return Value::null();
}

Result<Value> kv_state_remove_sequence(PackedArgs args) {
  const Args a(args, "cache, sequence");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const Value* sequence, cache.sequence(id));
  cache.remove(sequence);
  return Value::null();
}

// The new sequence shares the pages of the old one; who writes into a shared page copies it first.
Result<Value> kv_state_fork_sequence(PackedArgs args) {
  const Args a(args, "cache, parent, child[, position]");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t parent, a.integer(1));
  RLDB_TRY(const std::int64_t child, a.integer(2));
  std::int64_t position = -1;
  if (args.size() > 3) {
    RLDB_TRY(position, a.integer(3));
  }
  RLDB_TRY(const Value* from, cache.sequence(parent));
  const std::int64_t length = PagedCache::length(*from);
  if (position < -1 || position > length)
    return mismatch(fmt::format("sequence {} of {} rows cannot be forked at {}", parent, length, position));
  std::vector<std::int64_t> pages = PagedCache::pages(*from);
  RLDB_TRY_VOID(cache.add(child));
  cache.set(*cache.find(child), position < 0 ? length : position, std::move(pages));
  return Value::null();
}

Result<Value> kv_state_popn(PackedArgs args) {
  const Args a(args, "cache, sequence, rows");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const std::int64_t n, a.integer(2));
  RLDB_TRY(const Value* sequence, cache.sequence(id));
  const std::int64_t length = PagedCache::length(*sequence);
  if (n < 0 || n > length)
    return mismatch(fmt::format("{} rows are to be removed from sequence {}, which has {}", n, id, length));
  cache.set(*sequence, length - n, PagedCache::pages(*sequence));
  return Value::null();
}

Result<Value> kv_state_begin_forward(PackedArgs args) {
  const Args a(args, "cache, sequences, lengths[, token tree]");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::vector<std::int64_t> ids, a.shape(1));
  RLDB_TRY(const std::vector<std::int64_t> lengths, a.shape(2));
  if (!a.is_null(3)) return unsupported("token trees are not supported by the paged cache");
  if (ids.size() != lengths.size())
    return mismatch(fmt::format("{} sequences, but {} lengths", ids.size(), lengths.size()));
  std::int64_t room = cache.number(Number::Chunk);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RLDB_TRY_VOID(cache.sequence(ids[i]));
    if (std::count(ids.begin(), ids.end(), ids[i]) > 1)
      return mismatch(fmt::format("sequence {} is given twice", ids[i]));
    if (lengths[i] < 0) return mismatch(fmt::format("{} rows cannot be appended", lengths[i]));
    if (lengths[i] > room)
      return mismatch(fmt::format("a forward appends at most {} rows to this cache", cache.number(Number::Chunk)));
    room -= lengths[i];
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RLDB_TRY_VOID(cache.extend(*cache.find(ids[i]), lengths[i]));
  }
  cache.begin(ids, lengths);
  return Value::null();
}

Result<Value> kv_state_end_forward(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  cache.end();
  return Value::null();
}

Result<Value> kv_cache_empty(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  return Value::of_bool(cache.sequences().empty());
}

Result<Value> kv_cache_available_pages(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  return Value::of_int(cache.free_pages());
}

Result<Value> kv_cache_total_length(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  std::int64_t total = 0;
  for (const Value& s : cache.sequences()) total += PagedCache::length(s);
  return Value::of_int(total);
}

Result<Value> kv_cache_query_positions(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, Args(args, "cache").cache());
  RLDB_TRY(const std::vector<PagedCache::Rows> forward, cache.forward());
  RLDB_TRY(auto out, Tensor::empty({total_of(forward)}, DType::Int(32)));
  auto* to = reinterpret_cast<std::int32_t*>(out->data());
  for (const PagedCache::Rows& r : forward)
    for (std::int64_t k = 0; k < r.count; ++k) *to++ = std::int32_t(r.begin + k);
  return Value(std::move(out));
}

Result<Value> kv_cache_attention(PackedArgs args) {
  const Args a(args, "cache, layer, scale, queries and keys and values, out");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t layer, a.integer(1));
  RLDB_TRY(const double scale, a.number(2));
  RLDB_TRY(const std::vector<PagedCache::Rows> forward, cache.forward());
  const std::int64_t own = layer - cache.number(Number::FirstLayer);
  if (own < 0 || own >= cache.number(Number::Layers))
    return mismatch(fmt::format("the cache is for {} layers from {} on, not for layer {}", cache.number(Number::Layers),
                                cache.number(Number::FirstLayer), layer));
  const std::int64_t dim = cache.number(Number::KeyDim);
  if (dim != cache.number(Number::ValueDim))
    return unsupported("queries, keys and values in one tensor want equal dims of keys and values");
  const std::int64_t rows = total_of(forward), qo = cache.number(Number::QoHeads);
  RLDB_TRY(const Tensor* qkv, a.tensor_of(3, {rows, qo + 2 * cache.number(Number::KvHeads), dim}));
  RLDB_TRY(Tensor * out, a.tensor_of(4, {rows, qo, dim}));
  ForwardAttention attention(cache, own, scale, *qkv, *out);
  std::int64_t first = 0;
  for (const PagedCache::Rows& r : forward) {
    RLDB_TRY_VOID(attention.run(r, first));
    first += r.count;
  }
  return Value::null();
}

Result<Value> kv_cache_debug_get(PackedArgs args) {
  const Args a(args, "cache, sequence, begin, end, keys, values");
  RLDB_TRY(const PagedCache cache, a.cache());
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const Value* sequence, cache.sequence(id));
  RLDB_TRY(const std::int64_t begin, a.integer(2));
  RLDB_TRY(const std::int64_t end, a.integer(3));
  if (begin < 0 || end < begin || end > PagedCache::length(*sequence))
    return mismatch(
        fmt::format("sequence {} has {} rows, not [{}, {})", id, PagedCache::length(*sequence), begin, end));
  const std::int64_t layers = cache.number(Number::Layers), heads = cache.number(Number::KvHeads);
  for (const Field which : {Keys, Values}) {
    const std::int64_t width = cache.number(which == Keys ? Number::KeyDim : Number::ValueDim);
    RLDB_TRY(Tensor * out, a.tensor_of(which == Keys ? 4 : 5, {layers, end - begin, heads, width}));
    std::byte* to = out->data();
    for (std::int64_t layer = 0; layer < layers; ++layer)
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t head = 0; head < heads; ++head)
          for (std::int64_t d = 0; d < width; ++d, to += out->dtype().bytes())
            store_double(to, out->dtype(), cache.load(which, layer, *sequence, row, head, d));
  }
  return Value::null();
}

}  // namespace rldb::runtime
