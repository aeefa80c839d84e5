// The rows behind an element that a function of the paged cache writes.
#include <algorithm>
#include <iterator>

#include "rldb/runtime/call_reads.h"
#include "rldb/runtime/contrib.h"
#include "runtime/kv/paged_cache.h"

namespace rldb::runtime {

using namespace kv;

namespace {

bool is_plain(const PagedCache& c) {
  if (c.slides() || c.has(AttentionKind::Latent) || c.has(AttentionKind::Windowed) || c.has(AttentionKind::Linear))
    return false;
  return std::all_of(c.sequences().begin(), c.sequences().end(), [](const Value& s) {
    return PagedCache::tree(s).empty() && PagedCache::window(s).size == 0 && PagedCache::window(s).gap == 0;
  });
}

bool is_in(const Tensor& t, const ElementPlace& p) {
  return t.storage().get() == p.memory && p.byte >= t.byte_offset() && p.byte < t.byte_offset() + t.byte_size();
}

// The attention of a forward, with queries, keys and values in one tensor: [row, heads of all three, dim].
class Attention {
 public:
  Attention(const PagedCache& c, std::int64_t layer, const Tensor& qkv, const Tensor& out,
            std::vector<PagedCache::Rows> forward)
      : c_(c), layer_(layer), qkv_(qkv), out_(out), forward_(std::move(forward)) {}

  CallReads of(const ElementPlace& written) {
    if (is_in(out_, written)) output(std::int64_t((written.byte - out_.byte_offset()) / out_.dtype().bytes()));
    for (const Field which : {Keys, Values})
      if (is_in(c_.pool(which), written)) appended(which, written.byte);
    return std::move(found_);
  }

  // The output, and the rows that are appended to the pools.
  std::vector<WrittenBytes> writes() const {
    std::vector<WrittenBytes> list{
        {out_.storage().get(), out_.byte_offset(), out_.byte_offset() + out_.byte_size(), out_.dtype().bytes()}};
    for (const Field which : {Keys, Values})
      for (const PagedCache::Rows& r : forward_)
        for (std::int64_t i = 0; i < r.count; ++i)
          for (std::int64_t head = 0; head < kv(); ++head) list.push_back(row(which, r, i, head));
    return list;
  }

 private:
  std::int64_t qo() const { return c_.number(Number::QoHeads); }
  std::int64_t kv() const { return c_.number(Number::KvHeads); }
  std::int64_t dim() const { return c_.number(Number::KeyDim); }

  // In a pool: a row of the forward.
  WrittenBytes row(Field which, const PagedCache::Rows& r, std::int64_t i, std::int64_t head) const {
    const Tensor& pool = c_.pool(which);
    const std::size_t begin = pool.byte_offset() + c_.offset(which, layer_, *r.sequence, r.begin + i, head, 0);
    const std::size_t width = pool.dtype().bytes();
    return {pool.storage().get(), begin, begin + std::size_t(dim()) * width, width};
  }

  void given(std::int64_t row, std::int64_t head, std::int64_t d) {
    const std::size_t at = std::size_t((row * qkv_.shape()[1] + head) * dim() + d);
    found_.reads.push_back({qkv_.storage().get(), qkv_.byte_offset() + at * qkv_.dtype().bytes()});
  }
  void given_row(std::int64_t row, std::int64_t head) {
    for (std::int64_t d = 0; d < dim(); ++d) given(row, head, d);
  }
  void cached(Field which, const Value& sequence, std::int64_t row, std::int64_t head, std::int64_t d) {
    const Tensor& pool = c_.pool(which);
    found_.reads.push_back(
        {pool.storage().get(), pool.byte_offset() + c_.offset(which, layer_, sequence, row, head, d)});
  }

  void output(std::int64_t position) {
    const std::int64_t d = position % dim(), head = position / dim() % qo(), row = position / dim() / qo();
    const std::int64_t shared = head / (qo() / kv());
    std::int64_t first = 0;
    for (const PagedCache::Rows& r : forward_) {
      if (row < first + r.count) {
        found_.writes = true;
        given_row(row, head);
        for (const std::int64_t before : r.before()) {
          for (std::int64_t k = 0; k < dim(); ++k) cached(Keys, *r.sequence, before, shared, k);
          cached(Values, *r.sequence, before, shared, d);
        }
        for (const std::int64_t here : r.seen_here(row - first)) {
          given_row(first + here - r.begin, qo() + shared);
          given(first + here - r.begin, qo() + kv() + shared, d);
        }
        return;
      }
      first += r.count;
    }
  }

  void appended(Field which, std::size_t byte) {
    std::int64_t number = 0;
    for (const PagedCache::Rows& r : forward_)
      for (std::int64_t i = 0; i < r.count; ++i, ++number)
        for (std::int64_t head = 0; head < kv(); ++head) {
          const WrittenBytes here = row(which, r, i, head);
          if (byte < here.begin || byte >= here.end) continue;
          found_.writes = true;
          const std::int64_t d = std::int64_t((byte - here.begin) / here.width);
          const std::int64_t from = qo() + (which == Values ? kv() : 0) + head;
          given(number, from, d);
          // A rotation mixes pairs half a row apart.
          if (which == Keys && c_.rope() == RopeMode::Normal) given(number, from, (d + dim() / 2) % dim());
        }
  }

  const PagedCache& c_;
  std::int64_t layer_;
  const Tensor &qkv_, &out_;
  std::vector<PagedCache::Rows> forward_;
  CallReads found_;
};

std::optional<Attention> attention(const PagedCache& c, PackedArgs args) {
  if (args.size() != 5 || !args[1].is(ValueKind::Int) || !args[3].is(ValueKind::Tensor) ||
      !args[4].is(ValueKind::Tensor))
    return std::nullopt;
  auto forward = c.forward();
  if (!forward.ok() || c.number(Number::KeyDim) != c.number(Number::ValueDim)) return std::nullopt;
  return Attention(c, args[1].as_int() - c.number(Number::FirstLayer), args[3].as_tensor(), args[4].as_tensor(),
                   *std::move(forward));
}

// Of pages that several sequences share, the one that is written to is copied first.
struct CopiedPage {
  std::int64_t from = 0, to = 0;
};
std::optional<std::vector<CopiedPage>> pages_copied(const PagedCache& c, PackedArgs args) {
  if (args.size() != 3 || !args[1].is(ValueKind::Shape) || !args[2].is(ValueKind::Shape)) return std::nullopt;
  const std::int64_t size = c.number(Number::PageSize);
  std::vector<int> users = c.users();
  const auto take = [&] {
    const auto free = std::find(users.begin(), users.end(), 0);
    if (free != users.end()) *free = 1;
    return free - users.begin();
  };
  std::vector<CopiedPage> copied;
  for (std::size_t i = 0; i < args[1].as_shape().size() && i < args[2].as_shape().size(); ++i) {
    const Value* s = c.find(args[1].as_shape()[i]);
    if (!s) return std::nullopt;
    const std::int64_t length = PagedCache::length(*s), more = args[2].as_shape()[i];
    std::int64_t pages = std::int64_t(PagedCache::pages(*s).size());
    if (length % size != 0 && more > 0 && users[std::size_t(PagedCache::pages(*s).back())] > 1) {
      const std::int64_t from = PagedCache::pages(*s).back(), to = take();
      --users[std::size_t(from)];
      copied.push_back({from, to});
    }
    for (; pages * size < length + more; ++pages) (void)take();
  }
  return copied;
}

std::size_t page_bytes(const PagedCache& c, const Tensor& pool) {
  return pool.byte_size() / std::size_t(c.number(Number::Layers) * c.number(Number::Pages));
}

std::optional<CallReads> begin_forward(const PagedCache& c, PackedArgs args, const ElementPlace& written) {
  const auto copied = pages_copied(c, args);
  if (!copied) return std::nullopt;
  CallReads found;
  for (const CopiedPage& p : *copied)
    for (const Field which : {Keys, Values}) {
      const Tensor& pool = c.pool(which);
      if (!is_in(pool, written)) continue;
      const std::size_t page = page_bytes(c, pool), at = written.byte - pool.byte_offset();
      if (std::int64_t(at / page) % c.number(Number::Pages) != p.to) continue;
      found.writes = true;
      found.reads.push_back(
          {pool.storage().get(), std::size_t(std::int64_t(written.byte) + (p.from - p.to) * std::int64_t(page))});
    }
  return found;
}

std::optional<std::vector<WrittenBytes>> begin_forward_writes(const PagedCache& c, PackedArgs args) {
  const auto copied = pages_copied(c, args);
  if (!copied) return std::nullopt;
  std::vector<WrittenBytes> list;
  for (const CopiedPage& p : *copied)
    for (const Field which : {Keys, Values})
      for (std::int64_t layer = 0; layer < c.number(Number::Layers); ++layer) {
        const Tensor& pool = c.pool(which);
        const std::size_t page = page_bytes(c, pool);
        const std::size_t begin = pool.byte_offset() + std::size_t(layer * c.number(Number::Pages) + p.to) * page;
        list.push_back({pool.storage().get(), begin, begin + page, pool.dtype().bytes()});
      }
  return list;
}

// Functions of the cache that change its lists only.
constexpr PackedFunctionPointer kLists[] = {kv_state_add_sequence,   kv_state_remove_sequence, kv_state_fork_sequence,
                                            kv_state_popn,           kv_state_clear,           kv_state_end_forward,
                                            kv_cache_empty,          kv_cache_available_pages, kv_cache_total_length,
                                            kv_cache_query_positions};

bool changes_lists_only(PackedFunctionPointer function) {
  return std::find(std::begin(kLists), std::end(kLists), function) != std::end(kLists);
}

}  // namespace

std::optional<CallReads> call_reads(PackedFunctionPointer function, PackedArgs args, const ElementPlace& written) {
  const auto cache = args.empty() ? std::nullopt : PagedCache::of(args[0]);
  if (!cache || !is_plain(*cache)) return std::nullopt;
  if (function == kv_cache_attention) {
    auto forward = attention(*cache, args);
    return forward ? std::optional(forward->of(written)) : std::nullopt;
  }
  if (function == kv_state_begin_forward) return begin_forward(*cache, args, written);
  if (changes_lists_only(function)) return CallReads{};
  return std::nullopt;
}

std::optional<std::vector<WrittenBytes>> call_writes(PackedFunctionPointer function, PackedArgs args) {
  const auto cache = args.empty() ? std::nullopt : PagedCache::of(args[0]);
  if (!cache || !is_plain(*cache)) return std::nullopt;
  if (function == kv_cache_attention) {
    const auto forward = attention(*cache, args);
    return forward ? std::optional(forward->writes()) : std::nullopt;
  }
  if (function == kv_state_begin_forward) return begin_forward_writes(*cache, args);
  if (changes_lists_only(function)) return std::vector<WrittenBytes>{};
  return std::nullopt;
}

}  // namespace rldb::runtime
