// Functions over both kinds of state of sequences, the paged cache and the state of recurrent layers
// (vm.builtin.kv_state_*), and queries to the paged cache.
#include "rldb/runtime/contrib.h"
#include "runtime/kv/paged_cache.h"
#include "runtime/kv/rnn_state.h"

namespace rldb::runtime {

using namespace kv;

namespace {

// Calls `f` with whichever of them the first argument is.
template <class F>
Result<Value> change(const Args& a, F f) {
  if (a.size() == 0) return a.wrong(0);
  if (const auto cache = PagedCache::of(a.at(0))) {
    RLDB_TRY_VOID(f(*cache));
    return Value::null();
  }
  const auto state = RnnState::of(a.at(0));
  if (!state) return a.wrong(0);
  RLDB_TRY_VOID(f(*state));
  return Value::null();
}

}  // namespace

Result<Value> kv_state_clear(PackedArgs args) {
  return change(Args(args, "cache or state"), [](const auto& s) -> Result<support::Unit> {
    s.clear();
    return support::Unit{};
  });
}

Result<Value> kv_state_add_sequence(PackedArgs args) {
  const Args a(args, "cache or state, sequence");
  RLDB_TRY(const std::int64_t id, a.integer(1));
  return change(a, [&](const auto& s) { return s.add(id); });
}

Result<Value> kv_state_remove_sequence(PackedArgs args) {
  const Args a(args, "cache or state, sequence");
  RLDB_TRY(const std::int64_t id, a.integer(1));
  return change(a, [&](const auto& s) { return s.remove(id); });
}

Result<Value> kv_state_fork_sequence(PackedArgs args) {
  const Args a(args, "cache or state, parent, child[, position]");
  RLDB_TRY(const std::int64_t parent, a.integer(1));
  RLDB_TRY(const std::int64_t child, a.integer(2));
  std::int64_t position = -1;
  if (args.size() > 3) {
    RLDB_TRY(position, a.integer(3));
  }
  return change(a, [&](const auto& s) { return s.fork(parent, child, position); });
}

Result<Value> kv_state_popn(PackedArgs args) {
  const Args a(args, "cache or state, sequence, rows");
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const std::int64_t n, a.integer(2));
  return change(a, [&](const auto& s) { return s.pop(id, n); });
}

Result<Value> kv_state_begin_forward(PackedArgs args) {
  const Args a(args, "cache or state, sequences, lengths[, parents of the nodes of token trees]");
  RLDB_TRY(const std::vector<std::int64_t> ids, a.shape(1));
  RLDB_TRY(const std::vector<std::int64_t> lengths, a.shape(2));
  std::vector<std::int64_t> parents;
  if (!a.is_null(3)) {
    RLDB_TRY(parents, a.shape(3));
  }
  return change(a, [&](const auto& s) { return s.begin(ids, lengths, a.is_null(3) ? nullptr : &parents); });
}

Result<Value> kv_state_end_forward(PackedArgs args) {
  return change(Args(args, "cache or state"), [](const auto& s) { return s.end(); });
}

// ---- the paged cache ----

Result<Value> kv_cache_enable_window(PackedArgs args) {
  const Args a(args, "cache, sequence, rows of the window, first rows that it keeps");
  RLDB_TRY(const PagedCache cache, cache_of(a));
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const std::int64_t size, a.integer(2));
  RLDB_TRY(const std::int64_t sink, a.integer(3));
  RLDB_TRY_VOID(cache.enable_window(id, size, sink));
  return Value::null();
}

Result<Value> kv_cache_commit_tree(PackedArgs args) {
  const Args a(args, "cache, sequences, the last accepted node of each");
  RLDB_TRY(const PagedCache cache, cache_of(a));
  RLDB_TRY(const std::vector<std::int64_t> ids, a.shape(1));
  RLDB_TRY(const std::vector<std::int64_t> leaves, a.shape(2));
  if (ids.size() != leaves.size())
    return mismatch(fmt::format("{} sequences, but {} accepted nodes", ids.size(), leaves.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RLDB_TRY_VOID(cache.commit(ids[i], leaves[i]));
  }
  return Value::null();
}

Result<Value> kv_cache_empty(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, cache_of(Args(args, "cache")));
  return Value::of_bool(cache.sequences().empty());
}

Result<Value> kv_cache_available_pages(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, cache_of(Args(args, "cache")));
  return Value::of_int(cache.free_pages());
}

Result<Value> kv_cache_total_length(PackedArgs args) {
  RLDB_TRY(const PagedCache cache, cache_of(Args(args, "cache")));
  std::int64_t total = 0;
  for (const Value& s : cache.sequences()) total += PagedCache::length(s);
  return Value::of_int(total);
}

namespace {

// Rows [begin, end) of a sequence from one pool: (layers, rows, heads, dim), or without heads.
void copy_rows(const PagedCache& cache, const Value& sequence, Field which, std::int64_t begin, std::int64_t end,
               Tensor& out) {
  std::byte* to = out.data();
  for (std::int64_t layer = 0; layer < cache.number(Number::Layers); ++layer)
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t head = 0; head < cache.number(Number::KvHeads); ++head)
        for (std::int64_t d = 0; d < out.shape().back(); ++d, to += out.dtype().bytes())
          store_double(to, out.dtype(), cache.load(which, layer, sequence, row, head, d));
}

struct Range {
  const Value* sequence;
  std::int64_t begin, end;
};
// args: cache, sequence, begin, end, ...
Result<Range> range_of(const Args& a, const PagedCache& cache) {
  RLDB_TRY(const std::int64_t id, a.integer(1));
  RLDB_TRY(const Value* sequence, cache.sequence(id));
  RLDB_TRY(const std::int64_t begin, a.integer(2));
  RLDB_TRY(const std::int64_t end, a.integer(3));
  if (begin < 0 || end < begin || end > PagedCache::length(*sequence))
    return mismatch(
        fmt::format("sequence {} has {} rows, not [{}, {})", id, PagedCache::length(*sequence), begin, end));
  return Range{sequence, begin, end};
}

}  // namespace

Result<Value> kv_cache_debug_get(PackedArgs args) {
  const Args a(args, "cache, sequence, begin, end, keys, values");
  RLDB_TRY(const PagedCache cache, cache_of(a));
  RLDB_TRY(const Range r, range_of(a, cache));
  const std::int64_t layers = cache.number(Number::Layers), heads = cache.number(Number::KvHeads);
  for (const Field which : {Keys, Values}) {
    const std::int64_t width = cache.number(which == Keys ? Number::KeyDim : Number::ValueDim);
    RLDB_TRY(Tensor * out, a.tensor_of(which == Keys ? 4 : 5, {layers, r.end - r.begin, heads, width}));
    copy_rows(cache, *r.sequence, which, r.begin, r.end, *out);
  }
  return Value::null();
}

Result<Value> kv_cache_debug_get_latent(PackedArgs args) {
  const Args a(args, "cache, sequence, begin, end, latent rows");
  RLDB_TRY(const PagedCache cache, cache_of(a));
  RLDB_TRY(const Range r, range_of(a, cache));
  if (!cache.has(AttentionKind::Latent)) return mismatch("the cache has no layers of latent attention");
  RLDB_TRY(Tensor * out, a.tensor_of(4, {cache.number(Number::Layers), r.end - r.begin, cache.number(Number::KeyDim)}));
  copy_rows(cache, *r.sequence, Keys, r.begin, r.end, *out);
  return Value::null();
}

}  // namespace rldb::runtime
