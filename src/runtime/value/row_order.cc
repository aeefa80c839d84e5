// Sorts and selections of a row: elements as unsigned keys, then by digits, or by a threshold.
#include "runtime/value/row_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace rldb::runtime {

namespace {

// A key of 32 bits above the index, or both in 64: all items of a row differ, and their order is a stable one.
struct NarrowItem {
  std::uint64_t both;
  using Key = std::uint32_t;
  static NarrowItem of(Key key, std::int64_t index) { return {std::uint64_t(key) << 32 | std::uint64_t(index)}; }
  Key key() const { return Key(both >> 32); }
  std::int64_t index() const { return std::int64_t(both & 0xffffffffu); }
  bool operator<(const NarrowItem& o) const { return both < o.both; }
};

struct WideItem {
  std::uint64_t bits;
  std::int64_t at;
  using Key = std::uint64_t;
  static WideItem of(Key key, std::int64_t index) { return {key, index}; }
  Key key() const { return bits; }
  std::int64_t index() const { return at; }
  bool operator<(const WideItem& o) const { return bits != o.bits ? bits < o.bits : at < o.at; }
};

// ---- keys ----

template <class Key, class Float>
Key key_of_float(Float v) {
  if (v != v) return ~Key(0);
  if (v == 0) v = 0;  // -0 is equal to 0
  const auto bits = std::bit_cast<Key>(v);
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  return bits & kSign ? Key(~bits) : Key(bits | kSign);
}

// In at least 32 bits.
template <class T>
auto key_of(T v) {
  using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if constexpr (std::is_floating_point_v<T>)
    return key_of_float<Key>(v);
  else if constexpr (std::is_signed_v<T>)
    return Key(Key(std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>(v)) ^ Key(1)
                                                                                            << (8 * sizeof(Key) - 1));
  else
    return Key(v);
}

template <class Item>
using KeyFn = void (*)(const Row& row, std::int64_t first, std::span<typename Item::Key> keys);

template <class T, class Item>
void keys_of(const Row& row, std::int64_t first, std::span<typename Item::Key> keys) {
  const std::byte* data = row.tensor->peek() + std::size_t(row.base + first * row.stride) * sizeof(T);
  const std::size_t step = std::size_t(row.stride) * sizeof(T);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    T v;
    std::memcpy(&v, data + i * step, sizeof(T));
    keys[i] = typename Item::Key(key_of(v));
  }
}

// Every float of 16 bits and fewer is a float32.
template <class Item>
void keys_of_small_floats(const Row& row, std::int64_t first, std::span<typename Item::Key> keys) {
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = key_of(float(row.tensor->at(row.base + (first + std::int64_t(i)) * row.stride)));
}

template <class Item>
KeyFn<Item> keys_for(DType t) {
  const bool is_unsigned = t.is_uint() || t.is_bool();
  if (t == DType::Float(32)) return keys_of<float, Item>;
  if (t == DType::Float(64)) return keys_of<double, Item>;
  if (t.is_float()) return keys_of_small_floats<Item>;
  switch (t.bytes()) {
    case 1:
      return is_unsigned ? keys_of<std::uint8_t, Item> : keys_of<std::int8_t, Item>;
    case 2:
      return is_unsigned ? keys_of<std::uint16_t, Item> : keys_of<std::int16_t, Item>;
    case 4:
      return is_unsigned ? keys_of<std::uint32_t, Item> : keys_of<std::int32_t, Item>;
    case 8:
      return is_unsigned ? keys_of<std::uint64_t, Item> : keys_of<std::int64_t, Item>;
    default:
      return nullptr;
  }
}

// All items of a row in the order of their indices, some at a time: `take` gets them.
template <class Item, class Take>
void each_item(const Row& row, DType t, bool flip, Watch& watch, const Take& take) {
  constexpr std::size_t kAtOnce = 512;
  std::array<typename Item::Key, kAtOnce> keys;
  const KeyFn<Item> keys_at = keys_for<Item>(t);
  const typename Item::Key mask = flip ? ~typename Item::Key(0) : 0;
  for (std::int64_t first = 0; first < row.length; first += std::int64_t(kAtOnce)) {
    const auto n = std::size_t(std::min<std::int64_t>(std::int64_t(kAtOnce), row.length - first));
    keys_at(row, first, {keys.data(), n});
    for (std::size_t i = 0; i < n; ++i) keys[i] ^= mask;
    take(first, std::span<const typename Item::Key>(keys.data(), n));
    for (std::size_t i = 0; i < n; ++i) watch.look();
  }
}

// ---- sorts ----

constexpr std::size_t kDigits = 256;

template <class Item>
void insertion_sort(std::span<Item> items) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Item moved = items[i];
    std::size_t at = i;
    for (; at > 0 && moved < items[at - 1]; --at) items[at] = items[at - 1];
    items[at] = moved;
  }
}

// By digits of 8 bits from the last; items begin in the order of their indices and keep it among equals. Digits that
// are all the same take no pass. Returns where the result is.
template <class Item>
std::span<Item> radix_sort(std::span<Item> items, std::span<Item> spare, Watch& watch) {
  constexpr std::size_t kPasses = sizeof(typename Item::Key);
  std::array<std::array<std::size_t, kDigits>, kPasses> counts{};
  for (const Item& item : items)
    for (std::size_t pass = 0; pass < kPasses; ++pass) ++counts[pass][item.key() >> (8 * pass) & 0xff];
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    auto& starts = counts[pass];
    if (starts[items[0].key() >> (8 * pass) & 0xff] == items.size()) continue;
    std::size_t sum = 0;
    for (std::size_t& n : starts) n = std::exchange(sum, sum + n);
    for (const Item& item : items) {
      watch.look();
      spare[starts[item.key() >> (8 * pass) & 0xff]++] = item;
    }
    std::swap(items, spare);
  }
  return items;
}

template <class Item>
std::span<Item> sorted(std::span<Item> items, std::span<Item> spare, Watch& watch) {
  constexpr std::size_t kFew = 48;
  if (items.size() <= kFew) {
    insertion_sort(items);
    return items;
  }
  return radix_sort(items, spare.first(items.size()), watch);
}

// The first `kept` items: candidates below the last one kept so far are collected, and cut when there are many.
template <class Item>
std::span<Item> selected(const Row& row, DType t, bool flip, std::size_t kept, std::span<Item> room, Watch& watch) {
  using Key = typename Item::Key;
  const std::size_t most = std::min(room.size(), std::max<std::size_t>(4 * kept, 1024));
  std::size_t count = 0;
  Key limit = ~Key(0);
  bool limited = false;
  const auto cut = [&] {
    std::nth_element(room.begin(), room.begin() + std::ptrdiff_t(kept - 1), room.begin() + std::ptrdiff_t(count));
    count = kept;
    limit = room[kept - 1].key();
    limited = true;
  };
  each_item<Item>(row, t, flip, watch, [&](std::int64_t first, std::span<const Key> keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // Of equal elements the earlier one is kept.
      if (limited && keys[i] >= limit) continue;
      if (count == most) {
        cut();
        if (keys[i] >= limit) continue;
      }
      room[count++] = Item::of(keys[i], first + std::int64_t(i));
    }
  });
  if (count > kept) cut();
  std::sort(room.begin(), room.begin() + std::ptrdiff_t(count));
  return room.first(count);
}

bool is_narrow(DType t, std::int64_t longest) { return t.bytes() <= 4 && longest <= std::int64_t(1) << 32; }

}  // namespace

bool can_order(DType t) {
  return t.is_scalar() && (t.is_float() || t.is_integral()) && keys_for<WideItem>(t) != nullptr;
}

Result<RowOrder> RowOrder::make(DType t, bool ascend, std::int64_t longest) {
  const std::int64_t words = is_narrow(t, longest) ? 1 : 2;
  RLDB_TRY(auto memory, Tensor::empty({longest, 2 * words}, DType::Int(64)));
  return RowOrder(t, ascend, std::move(memory));
}

template <class Item>
void RowOrder::find_as(const Row& row, std::span<std::int64_t> order, Watch& watch) {
  const auto room = std::size_t(memory_->shape()[0]);
  auto* items = reinterpret_cast<Item*>(memory_->data());
  std::span<Item> found;
  constexpr std::size_t kMostSelected = 8;  // a share of the row that is worth a selection
  if (order.size() * kMostSelected <= std::size_t(row.length)) {
    found = selected<Item>(row, type_, flip_, order.size(), {items, room}, watch);
  } else {
    each_item<Item>(row, type_, flip_, watch, [&](std::int64_t first, std::span<const typename Item::Key> keys) {
      for (std::size_t i = 0; i < keys.size(); ++i)
        items[first + std::int64_t(i)] = Item::of(keys[i], first + std::int64_t(i));
    });
    found = sorted<Item>({items, std::size_t(row.length)}, {items + room, room}, watch);
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = found[i].index();
}

void RowOrder::find(const Row& row, std::span<std::int64_t> order, Watch& watch) {
  if (order.empty()) return;
  if (is_narrow(type_, memory_->shape()[0]))
    find_as<NarrowItem>(row, order, watch);
  else
    find_as<WideItem>(row, order, watch);
}

}  // namespace rldb::runtime
