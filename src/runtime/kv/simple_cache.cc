// The key-value cache: rows appended to reserved memory. Its state is plain values, so that a machine
// can copy it and go back.
#include <fmt/format.h>

#include <cstring>

#include "rldb/runtime/contrib.h"
#include "runtime/value/failures.h"

namespace rldb::runtime {

namespace {

struct Cache {
  Tuple* tuple;
  Tensor& data() const { return tuple->fields[0].as_tensor(); }
  std::int64_t filled() const { return tuple->fields[1].as_int(); }
  void fill(std::int64_t rows) const { tuple->fields[1] = Value::of_int(rows); }
  std::size_t row_bytes() const {
    std::size_t n = data().dtype().bytes();
    for (std::size_t i = 1; i < data().shape().size(); ++i) n *= std::size_t(data().shape()[i]);
    return n;
  }
};

Result<Cache> cache_of(const Value& v) {
  if (v.is(ValueKind::Tuple)) {
    Tuple& t = v.as_tuple();
    if (t.fields.size() == 2 && t.fields[0].is(ValueKind::Tensor) && t.fields[1].is(ValueKind::Int)) {
      const std::vector<std::int64_t>& shape = t.fields[0].as_tensor().shape();
      const std::int64_t filled = t.fields[1].as_int();
      if (!shape.empty() && filled >= 0 && filled <= shape[0]) return Cache{&t};
    }
  }
  return mismatch(fmt::format("{} is not a cache of keys and values", describe(v)));
}

Result<const Tensor*> rows_for(const Cache& cache, const Value& v) {
  if (!v.is(ValueKind::Tensor)) return mismatch(fmt::format("{} is not a tensor of rows", describe(v)));
  const Tensor &rows = v.as_tensor(), &data = cache.data();
  bool fits = rows.dtype() == data.dtype() && rows.shape().size() == data.shape().size();
  for (std::size_t i = 1; fits && i < rows.shape().size(); ++i) fits = rows.shape()[i] == data.shape()[i];
  if (!fits)
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} does not go into a cache of {}", describe(v), describe(cache.tuple->fields[0])));
  return &rows;
}

Result<support::Unit> reserve(const Cache& cache, std::int64_t rows) {
  if (rows <= cache.data().shape()[0]) return support::Unit{};
  std::vector<std::int64_t> shape = cache.data().shape();
  shape[0] = std::max(rows, shape[0] <= INT64_MAX / 2 ? 2 * shape[0] : rows);
  RLDB_TRY(auto larger, Tensor::empty(shape, cache.data().dtype()));
  std::memset(larger->data(), 0, larger->byte_size());
  std::memcpy(larger->data(), cache.data().data(), std::size_t(cache.filled()) * cache.row_bytes());
  cache.tuple->fields[0] = Value(std::move(larger));
  return support::Unit{};
}

Result<Value> write(const Value& v, const Value& given, bool append) {
  RLDB_TRY(const Cache cache, cache_of(v));
  RLDB_TRY(const Tensor* rows, rows_for(cache, given));
  const std::int64_t at = append ? cache.filled() : 0;
  const std::int64_t count = rows->shape()[0];
  if (count > INT64_MAX - at) return fail(ErrorKind::OutOfMemory, "a cache of too many rows");
  RLDB_TRY_VOID(reserve(cache, at + count));
  std::memmove(cache.data().data() + std::size_t(at) * cache.row_bytes(), rows->data(), rows->byte_size());
  cache.fill(at + count);
  return v;
}

// The same for each cache of a tuple.
template <class F>
Result<Value> each(PackedArgs args, F&& change) {
  if (args.empty() || !args[0].is(ValueKind::Tuple)) return mismatch("expected a tuple of caches");
  for (const Value& v : args[0].as_tuple().fields) {
    RLDB_TRY(const Cache cache, cache_of(v));
    RLDB_TRY_VOID(change(cache));
  }
  return Value::null();
}

}  // namespace

Result<Value> kv_cache_create(PackedArgs args) {
  if (args.size() != 3 || !args[0].is(ValueKind::Tensor) || !args[1].is(ValueKind::Shape) ||
      !args[2].is(ValueKind::Int))
    return mismatch("expected the first rows, the shape that is reserved, and the fill count");
  const std::vector<std::int64_t>& shape = args[1].as_shape();
  if (shape.empty()) return mismatch("the shape that is reserved has no rows");
  RLDB_TRY(auto data, Tensor::empty(shape, args[0].as_tensor().dtype()));
  std::memset(data->data(), 0, data->byte_size());
  const Value made = Value::of_tuple({Value(std::move(data)), Value::of_int(0)});
  RLDB_TRY_VOID(write(made, args[0], true));
  const Cache cache{&made.as_tuple()};
  const std::int64_t filled = args[2].as_int();
  if (filled > cache.data().shape()[0])
    return mismatch(fmt::format("{} rows are to be filled, but {} are reserved", filled, cache.data().shape()[0]));
  if (filled >= 0) cache.fill(filled);
  return made;
}

Result<Value> kv_cache_append(PackedArgs args) {
  if (args.size() != 2) return mismatch("expected a cache and rows");
  return write(args[0], args[1], true);
}

Result<Value> kv_cache_update(PackedArgs args) {
  if (args.size() != 2) return mismatch("expected a cache and rows");
  return write(args[0], args[1], false);
}

Result<Value> kv_cache_view(PackedArgs args) {
  if (args.size() != 2 || !args[1].is(ValueKind::Shape)) return mismatch("expected a cache and a shape");
  RLDB_TRY(const Cache cache, cache_of(args[0]));
  std::vector<std::int64_t> filled = cache.data().shape();
  filled[0] = cache.filled();
  if (args[1].as_shape() != filled)
    return fail(ErrorKind::ShapeMismatch, fmt::format("the cache holds ({}), but ({}) is requested",
                                                      fmt::join(filled, ", "), fmt::join(args[1].as_shape(), ", ")));
  RLDB_TRY(auto view, Tensor::view(cache.data().storage(), cache.data().byte_offset(), filled, cache.data().dtype()));
  return Value(std::move(view));
}

Result<Value> kv_cache_clear(PackedArgs args) {
  return each(args, [](const Cache& cache) -> Result<support::Unit> {
    cache.fill(0);
    return support::Unit{};
  });
}

Result<Value> kv_cache_pop(PackedArgs args) {
  if (args.size() != 2 || !args[1].is(ValueKind::Int))
    return mismatch("expected a tuple of caches and a number of rows");
  const std::int64_t n = args[1].as_int();
  return each(args, [n](const Cache& cache) -> Result<support::Unit> {
    if (n < 0 || n > cache.filled())
      return mismatch(fmt::format("{} rows are to be removed, but {} are filled", n, cache.filled()));
    cache.fill(cache.filled() - n);
    return support::Unit{};
  });
}

}  // namespace rldb::runtime
