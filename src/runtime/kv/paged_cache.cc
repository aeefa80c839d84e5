// The state of a paged cache: sequences, their pages, sliding windows, token trees, and the forward in progress.
#include "runtime/kv/paged_cache.h"

#include <algorithm>
#include <cstring>

namespace rldb::runtime::kv {

namespace {

using Ints = std::vector<std::int64_t>;

// The rows of the pages that this many rows of a sequence take.
std::int64_t span_of(std::int64_t length, const Window& w) { return length > w.sink ? length + w.gap : length; }

// ---- reading a program's value as a cache ----

// The numbers, if they are consistent.
bool are_numbers(const Value& v) {
  if (!v.is(ValueKind::Shape) || v.as_shape().size() != std::size_t(Number::Count)) return false;
  const Ints& n = v.as_shape();
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  for (const Number positive : {Number::QoHeads, Number::KvHeads, Number::KeyDim, Number::ValueDim, Number::PageSize,
                                Number::Pages, Number::MostSequences, Number::Chunk})
    if (at(positive) <= 0) return false;
  const bool rope = at(Number::Rope) >= 0 && at(Number::Rope) <= std::int64_t(RopeMode::Inline);
  return at(Number::Layers) >= 0 && at(Number::FirstLayer) >= 0 && at(Number::QoHeads) % at(Number::KvHeads) == 0 &&
         rope;
}

bool are_kinds(const Value& v, const Ints& n) {
  if (!v.is(ValueKind::Shape) || std::int64_t(v.as_shape().size()) != n[std::size_t(Number::Layers)]) return false;
  return std::all_of(v.as_shape().begin(), v.as_shape().end(), is_layer_kind);
}

bool is_pool(const Value& v, const Ints& n, Number width) {
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  return v.is(ValueKind::Tensor) && v.as_tensor().dtype().is_float() &&
         v.as_tensor().shape() ==
             Ints{at(Number::Layers), at(Number::Pages), at(Number::KvHeads), at(Number::PageSize), at(width)};
}

bool is_window(const Ints& w, std::int64_t length, std::int64_t page_size) {
  return w.size() == 4 && std::all_of(w.begin(), w.end(), [](std::int64_t x) { return x >= 0; }) &&
         (w[0] == 0 || w[1] < w[0]) && w[2] < 2 * page_size && w[1] <= INT64_MAX / 4 && length <= INT64_MAX / 4;
}

bool is_tree(const Ints& parents, std::int64_t length) {
  if (std::int64_t(parents.size()) > std::min(length, kMostTreeNodes)) return false;
  for (std::size_t i = 0; i < parents.size(); ++i)
    if (parents[i] < -1 || parents[i] >= std::int64_t(i)) return false;
  return true;
}

bool is_sequence(const Value& v, const Ints& n) {
  if (!is_tuple(v, SequenceFieldCount)) return false;
  const std::vector<Value>& parts = v.as_tuple().fields;
  if (!parts[Id].is(ValueKind::Int) || !parts[Length].is(ValueKind::Int)) return false;
  for (const SequenceField list : {PageList, WindowOf, Tree})
    if (!parts[list].is(ValueKind::Shape)) return false;
  const std::int64_t length = parts[Length].as_int(), size = n[std::size_t(Number::PageSize)];
  const Ints& pages = parts[PageList].as_shape();
  if (length < 0 || size > INT64_MAX / 4 || !is_window(parts[WindowOf].as_shape(), length, size) ||
      !is_tree(parts[Tree].as_shape(), length))
    return false;
  const std::int64_t span = span_of(length, PagedCache::window(v));
  if (span / size + (span % size != 0 ? 1 : 0) != std::int64_t(pages.size())) return false;
  return std::all_of(pages.begin(), pages.end(),
                     [&](std::int64_t p) { return p >= 0 && p < n[std::size_t(Number::Pages)]; });
}

bool is_forward(const Value& v) {
  if (v.is_null()) return true;
  if (!is_tuple(v, 2)) return false;
  const std::vector<Value>& parts = v.as_tuple().fields;
  if (!parts[0].is(ValueKind::Shape) || !parts[1].is(ValueKind::Shape)) return false;
  const Ints& lengths = parts[1].as_shape();
  return parts[0].as_shape().size() == lengths.size() &&
         std::all_of(lengths.begin(), lengths.end(), [](std::int64_t n) { return n >= 0; });
}

bool is_cache(const Value& v) {
  if (!is_tuple(v, FieldCount)) return false;
  const std::vector<Value>& f = v.as_tuple().fields;
  if (!f[Kind].is(ValueKind::String) || f[Kind].as_string() != kPagedKind || !are_numbers(f[Numbers])) return false;
  const Ints& n = f[Numbers].as_shape();
  const auto is_float = [](const Value& x) { return x.is(ValueKind::Float); };
  if (!is_tuple(f[Rotation], 2) || !are_kinds(f[Kinds], n) ||
      !std::all_of(f[Rotation].as_tuple().fields.begin(), f[Rotation].as_tuple().fields.end(), is_float))
    return false;
  if (!is_pool(f[Keys], n, Number::KeyDim) || !is_pool(f[Values], n, Number::ValueDim)) return false;
  if (!f[Sequences].is(ValueKind::Tuple) || !is_forward(f[Forward])) return false;
  const std::vector<Value>& all = f[Sequences].as_tuple().fields;
  return std::all_of(all.begin(), all.end(), [&](const Value& s) { return is_sequence(s, n); });
}

}  // namespace

std::optional<PagedCache> PagedCache::of(const Value& v) {
  if (!is_cache(v)) return std::nullopt;
  return PagedCache(v.as_tuple());
}

Result<PagedCache> cache_of(const Args& a) {
  const auto cache = a.size() > 0 ? PagedCache::of(a.at(0)) : std::nullopt;
  if (!cache) return a.wrong(0);
  return *cache;
}

AttentionKind PagedCache::kind(std::int64_t layer) const {
  return AttentionKind(tuple_->fields[Kinds].as_shape()[std::size_t(layer)]);
}

bool PagedCache::has(AttentionKind kind) const {
  const Ints& kinds = tuple_->fields[Kinds].as_shape();
  return std::count(kinds.begin(), kinds.end(), std::int64_t(kind)) > 0;
}

// ---- sequences ----

Window PagedCache::window(const Value& sequence) {
  const Ints& w = parts(sequence)[WindowOf].as_shape();
  return {w[0], w[1], w[2], w[3]};
}

void PagedCache::set_window(const Value& sequence, const Window& w) const {
  parts(sequence)[WindowOf] = Value::of_shape({w.size, w.sink, w.gap, w.shared});
}

std::int64_t PagedCache::depth(const Value& sequence, std::int64_t node) {
  std::int64_t deep = 0;
  for (node = tree(sequence)[std::size_t(node)]; node >= 0; node = tree(sequence)[std::size_t(node)]) ++deep;
  return deep;
}

const Value* PagedCache::find(std::int64_t id) const {
  for (const Value& s : sequences())
    if (parts(s)[Id].as_int() == id) return &s;
  return nullptr;
}

Result<const Value*> PagedCache::sequence(std::int64_t id) const {
  const Value* found = find(id);
  if (!found) return mismatch(fmt::format("the cache has no sequence {}", id));
  return found;
}

void PagedCache::clear() const {
  tuple_->fields[Sequences] = Value::of_tuple({});
  tuple_->fields[Forward] = Value();
}

Result<support::Unit> PagedCache::add(std::int64_t id) const {
  if (find(id)) return mismatch(fmt::format("the cache has a sequence {} already", id));
  if (std::int64_t(sequences().size()) >= number(Number::MostSequences))
    return mismatch(fmt::format("the cache is for {} sequences", number(Number::MostSequences)));
  sequences().push_back(Value::of_tuple(
      {Value::of_int(id), Value::of_int(0), Value::of_shape({}), Value::of_shape({0, 0, 0, 0}), Value::of_shape({})}));
  return support::Unit{};
}

Result<support::Unit> PagedCache::remove(std::int64_t id) const {
  RLDB_TRY(const Value* s, sequence(id));
  sequences().erase(sequences().begin() + (s - sequences().data()));
  return support::Unit{};
}

Result<support::Unit> PagedCache::fork(std::int64_t parent, std::int64_t child, std::int64_t position) const {
  RLDB_TRY(const Value* from, sequence(parent));
  const std::int64_t rows = length(*from), size = number(Number::PageSize);
  if (position < -1 || position > rows)
    return mismatch(fmt::format("sequence {} of {} rows cannot be forked at {}", parent, rows, position));
  if (!tree(*from).empty())
    return mismatch(fmt::format("sequence {} has a token tree whose accepted nodes are not committed", parent));
  const std::int64_t at = position < 0 ? rows : position;
  Window w = window(*from);
  if (w.size > 0 && at > w.sink)
    return mismatch(
        fmt::format("sequence {} has a sliding window: it can be forked up to row {}, not at {}", parent, w.sink, at));
  Ints list = pages(*from);
  w.shared = std::max(w.shared, at - at % size);
  set_window(*from, w);
  RLDB_TRY_VOID(add(child));
  const Value& made = *find(child);
  set_window(made, {0, 0, 0, at - at % size});
  set(made, at, std::move(list));
  return support::Unit{};
}

Result<support::Unit> PagedCache::pop(std::int64_t id, std::int64_t rows) const {
  RLDB_TRY(const Value* s, sequence(id));
  const std::int64_t had = length(*s);
  if (rows < 0 || rows > had)
    return mismatch(fmt::format("{} rows are to be removed from sequence {}, which has {}", rows, id, had));
  if (!tree(*s).empty())
    return mismatch(fmt::format("sequence {} has a token tree whose accepted nodes are not committed", id));
  set(*s, had - rows, pages(*s));
  return support::Unit{};
}

std::vector<int> PagedCache::users() const {
  std::vector<int> count(std::size_t(number(Number::Pages)), 0);
  for (const Value& s : sequences())
    for (const std::int64_t p : pages(s)) ++count[std::size_t(p)];
  return count;
}

std::int64_t PagedCache::free_pages() const {
  const std::vector<int> count = users();
  return std::count(count.begin(), count.end(), 0);
}

// Makes room for `more` rows at the end of a sequence, in pages that no other sequence uses.
Result<support::Unit> PagedCache::extend(const Value& sequence, std::int64_t more) const {
  const std::int64_t size = number(Number::PageSize), before = span_of(length(sequence), window(sequence));
  Ints list = pages(sequence);
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
  set(sequence, length(sequence) + more, std::move(list));
  return support::Unit{};
}

void PagedCache::set(const Value& sequence, std::int64_t length, Ints list) const {
  const std::int64_t size = number(Number::PageSize);
  Window w = window(sequence);
  if (length <= w.sink) w.gap = 0;
  set_window(sequence, w);
  list.resize(std::size_t((span_of(length, w) + size - 1) / size));
  parts(sequence)[Length] = Value::of_int(length);
  parts(sequence)[PageList] = Value::of_shape(std::move(list));
}

// ---- sliding windows ----

Result<support::Unit> PagedCache::enable_window(std::int64_t id, std::int64_t size, std::int64_t sink) const {
  RLDB_TRY(const Value* s, sequence(id));
  Window w = window(*s);
  const bool by_layer = has(AttentionKind::Windowed);
  if (!slides() && !by_layer) return mismatch("the cache was created without sliding windows");
  if (w.size > 0) return mismatch(fmt::format("sequence {} has a sliding window already", id));
  if (size <= 0 || size > INT64_MAX / 4 || sink < 0 || sink >= size)
    return mismatch(fmt::format("a sliding window of {} rows cannot keep the first {}", size, sink));
  // As in TVM: windows by layer are what they are, and all rows stay for the layers without.
  if (by_layer) return support::Unit{};
  // Pages that a fork shares do not slide: their rows are kept too.
  w.sink = std::max(sink, w.shared);
  if (w.sink >= size)
    return mismatch(fmt::format("a sliding window of {} rows cannot keep the {} that sequence {} shares with others",
                                size, w.sink, id));
  w.size = size;
  set_window(*s, w);
  return support::Unit{};
}

// Drops rows after the first ones that are kept, until the window holds the rest. Pages passed by the window are freed.
Result<support::Unit> PagedCache::slide(const Value& sequence) const {
  Window w = window(sequence);
  const std::int64_t size = number(Number::PageSize), passed = length(sequence) - w.size;
  if (w.size == 0 || passed <= 0) return support::Unit{};
  Ints list = pages(sequence);
  const std::int64_t kept = (w.sink + size - 1) / size;  // pages that hold the first rows
  w.gap += passed;
  while ((kept + 1) * size <= w.sink + w.gap) {
    list.erase(list.begin() + kept);
    w.gap -= size;
  }
  set_window(sequence, w);
  set(sequence, w.size, std::move(list));
  return support::Unit{};
}

// ---- token trees ----

Result<support::Unit> PagedCache::check_tree(const Value& sequence, std::span<const std::int64_t> more) const {
  const std::int64_t id = parts(sequence)[Id].as_int(), had = std::int64_t(tree(sequence).size());
  if (had + std::int64_t(more.size()) > kMostTreeNodes)
    return mismatch(fmt::format("a token tree has at most {} nodes", kMostTreeNodes));
  for (std::size_t i = 0; i < more.size(); ++i)
    if (more[i] < -1 || more[i] >= had + std::int64_t(i))
      return mismatch(fmt::format("node {} of the token tree of sequence {} cannot have node {} as its parent",
                                  had + std::int64_t(i), id, more[i]));
  return support::Unit{};
}

Result<support::Unit> PagedCache::commit(std::int64_t id, std::int64_t leaf) const {
  RLDB_TRY(const Value* s, sequence(id));
  const Ints parents = tree(*s);
  if (leaf < -1 || leaf >= std::int64_t(parents.size()))
    return mismatch(
        fmt::format("the token tree of sequence {} has {} nodes, and no node {}", id, parents.size(), leaf));
  const std::int64_t first = base(*s), rows = leaf < 0 ? 0 : depth(*s, leaf) + 1;
  Ints path;
  for (std::int64_t node = leaf; node >= 0; node = parents[std::size_t(node)]) path.push_back(node);
  std::reverse(path.begin(), path.end());
  for (std::size_t i = 0; i < path.size(); ++i) copy_row(*s, first + path[i], first + std::int64_t(i));
  parts(*s)[Tree] = Value::of_shape({});
  set(*s, first + rows, pages(*s));
  return support::Unit{};
}

// ---- rows ----

double PagedCache::load(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
                        std::int64_t dim) const {
  const Tensor& t = tuple_->fields[which].as_tensor();
  return load_as_double(t.data() + offset(which, layer, sequence, row, head, dim), t.dtype());
}

void PagedCache::store(Field which, std::int64_t layer, const Value& sequence, std::int64_t row, std::int64_t head,
                       std::int64_t dim, double value) const {
  Tensor& t = tuple_->fields[which].as_tensor();
  store_double(t.data() + offset(which, layer, sequence, row, head, dim), t.dtype(), value);
}

std::size_t PagedCache::offset(Field which, std::int64_t layer, const Value& sequence, std::int64_t row,
                               std::int64_t head, std::int64_t dim) const {
  const std::int64_t size = number(Number::PageSize), width = number(which == Keys ? Number::KeyDim : Number::ValueDim);
  const Window w = window(sequence);
  const std::int64_t place = row < w.sink ? row : row + w.gap;
  const std::int64_t page = pages(sequence)[std::size_t(place / size)];
  const std::int64_t at =
      (((layer * number(Number::Pages) + page) * number(Number::KvHeads) + head) * size + place % size) * width + dim;
  return std::size_t(at) * tuple_->fields[which].as_tensor().dtype().bytes();
}

void PagedCache::copy_page(std::int64_t from, std::int64_t to) const {
  for (const Field which : {Keys, Values}) {
    Tensor& t = tuple_->fields[which].as_tensor();
    const std::size_t layers = std::size_t(number(Number::Layers)), pages = std::size_t(number(Number::Pages));
    const std::size_t bytes = layers == 0 ? 0 : t.byte_size() / (layers * pages);
    for (std::size_t layer = 0; layer < layers; ++layer)
      std::memcpy(t.data() + (layer * pages + std::size_t(to)) * bytes,
                  t.data() + (layer * pages + std::size_t(from)) * bytes, bytes);
  }
}

void PagedCache::copy_row(const Value& sequence, std::int64_t from, std::int64_t to) const {
  if (from == to) return;
  for (const Field which : {Keys, Values}) {
    Tensor& t = tuple_->fields[which].as_tensor();
    const std::size_t bytes = std::size_t(t.shape().back()) * t.dtype().bytes();
    for (std::int64_t layer = 0; layer < number(Number::Layers); ++layer)
      for (std::int64_t head = 0; head < number(Number::KvHeads); ++head)
        std::memcpy(t.data() + offset(which, layer, sequence, to, head, 0),
                    t.data() + offset(which, layer, sequence, from, head, 0), bytes);
  }
}

support::Failure<Error> PagedCache::full() const {
  return fail(ErrorKind::OutOfMemory, fmt::format("the {} pages of the cache are in use", number(Number::Pages)));
}

// ---- the forward ----

std::int64_t PagedCache::Rows::position(std::int64_t i) const {
  const std::int64_t nodes = std::int64_t(tree(*sequence).size());
  return nodes == 0 ? begin + i : base(*sequence) + depth(*sequence, nodes - count + i);
}

std::vector<std::int64_t> PagedCache::Rows::before() const {
  const std::int64_t end = tree(*sequence).empty() ? begin : base(*sequence);
  Ints rows;
  for (std::int64_t row = 0; row < end; ++row) rows.push_back(row);
  return rows;
}

// Rows of an earlier forward over the same tree are seen if they are ancestors.
std::vector<std::int64_t> PagedCache::Rows::seen_before(std::int64_t i) const {
  Ints rows = before();
  for (const std::int64_t row : seen_here(i))
    if (row < begin) rows.push_back(row);
  return rows;
}

std::vector<std::int64_t> PagedCache::Rows::seen_here(std::int64_t i) const {
  const Ints& parents = tree(*sequence);
  Ints rows;
  if (parents.empty()) {
    for (std::int64_t row = begin; row <= begin + i; ++row) rows.push_back(row);
    return rows;
  }
  const std::int64_t first = base(*sequence);
  for (std::int64_t node = begin + i - first; node >= 0; node = parents[std::size_t(node)])
    rows.push_back(first + node);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<std::vector<PagedCache::Rows>> PagedCache::forward() const {
  if (tuple_->fields[Forward].is_null()) return mismatch("no forward of the cache has begun");
  std::vector<Rows> rows;
  for (std::size_t i = 0; i < part(0).size(); ++i) {
    RLDB_TRY(const Value* s, sequence(part(0)[i]));
    const std::int64_t nodes = std::int64_t(tree(*s).size());
    if (part(1)[i] > length(*s) || (nodes > 0 && part(1)[i] > nodes))
      return mismatch(fmt::format("sequence {} has lost rows of the forward that has begun", part(0)[i]));
    rows.push_back({s, length(*s) - part(1)[i], part(1)[i]});
  }
  return rows;
}

Result<support::Unit> PagedCache::check_forward(const Ints& ids, const Ints& lengths, const Ints* parents) const {
  if (ids.size() != lengths.size())
    return mismatch(fmt::format("{} sequences, but {} lengths", ids.size(), lengths.size()));
  if (parents && slides()) return unsupported("a paged cache with sliding windows takes no token trees");
  if (parents && has(AttentionKind::Latent))
    return unsupported("a paged cache of latent attention takes no token trees");
  if (parents && has(AttentionKind::Windowed))
    return unsupported("a paged cache with windows by layer takes no token trees");
  if (parents && rope() == RopeMode::Inline)
    return unsupported("a paged cache that rotates keys when they are used takes no token trees");
  std::int64_t room = number(Number::Chunk);
  std::size_t node = 0, wanted = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    RLDB_TRY(const Value* s, sequence(ids[i]));
    if (std::count(ids.begin(), ids.end(), ids[i]) > 1)
      return mismatch(fmt::format("sequence {} is given twice", ids[i]));
    if (lengths[i] < 0) return mismatch(fmt::format("{} rows cannot be appended", lengths[i]));
    if (lengths[i] > room)
      return mismatch(fmt::format("a forward appends at most {} rows to this cache", number(Number::Chunk)));
    room -= lengths[i];
    if (!parents && !tree(*s).empty())
      return mismatch(fmt::format("sequence {} has a token tree whose accepted nodes are not committed", ids[i]));
    if (!parents) continue;
    const auto count = std::size_t(lengths[i]);
    if (count <= parents->size() - node) {
      RLDB_TRY_VOID(check_tree(*s, std::span(*parents).subspan(node, count)));
    }
    node += std::min(count, parents->size() - node);
    wanted += count;
  }
  if (parents && wanted != parents->size())
    return mismatch(fmt::format("{} nodes of token trees for a forward of {} rows", parents->size(), wanted));
  return support::Unit{};
}

Result<support::Unit> PagedCache::begin(const Ints& ids, const Ints& lengths, const Ints* parents) const {
  RLDB_TRY_VOID(check_forward(ids, lengths, parents));
  std::size_t node = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Value& s = *find(ids[i]);
    RLDB_TRY_VOID(slide(s));  // if the last forward was not ended
    RLDB_TRY_VOID(extend(s, lengths[i]));
    if (!parents) continue;
    Ints nodes = tree(s);
    for (std::int64_t k = 0; k < lengths[i]; ++k) nodes.push_back((*parents)[node++]);
    parts(s)[Tree] = Value::of_shape(std::move(nodes));
  }
  tuple_->fields[Forward] = Value::of_tuple({Value::of_shape(ids), Value::of_shape(lengths)});
  return support::Unit{};
}

Result<support::Unit> PagedCache::end() const {
  tuple_->fields[Forward] = Value();
  for (const Value& s : sequences()) {
    RLDB_TRY_VOID(slide(s));
  }
  return support::Unit{};
}

}  // namespace rldb::runtime::kv
