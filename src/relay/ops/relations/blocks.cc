// Space and batch moved into each other, buffers, sparse positions, Fourier transforms.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

// A list of pairs of integers, one for each block dim.
std::optional<std::vector<std::array<std::int64_t, 2>>> pairs(const Operands& o, std::string_view name) {
  const AttrValue* v = o.attr(name);
  std::vector<std::array<std::int64_t, 2>> made;
  if (!v || v->kind != AttrKind::List) return std::nullopt;
  for (const AttrValue* pair : v->items) {
    const bool ints = pair->kind == AttrKind::List && pair->items.size() == 2 &&
                      pair->items[0]->kind == AttrKind::Int && pair->items[1]->kind == AttrKind::Int;
    if (!ints) return std::nullopt;
    made.push_back({pair->items[0]->integer, pair->items[1]->integer});
  }
  return made;
}

struct Blocks {
  std::vector<std::int64_t> sizes;
  std::vector<std::array<std::int64_t, 2>> pairs;
  std::int64_t total = 1;
};

// The block shape with the pairs of another attribute; nullopt when they do not fit the data.
std::optional<Blocks> blocks_of(const Operands& o, std::string_view name) {
  const auto sizes = o.ints(relay::field::BlockShape);
  auto found = pairs(o, name);
  if (!sizes || !found || sizes->size() != found->size() || sizes->size() >= o.tensor(0)->shape.size())
    return std::nullopt;
  Blocks b{*sizes, std::move(*found), 1};
  for (const std::int64_t s : b.sizes)
    if (s < 1 || __builtin_mul_overflow(b.total, s, &b.total)) return std::nullopt;
  return b;
}

Outcome bad_blocks(std::string_view name) {
  return Outcome::error(fmt::format("`block_shape` and `{}` need an entry for each axis after the batch", name));
}
Outcome too_large() { return Outcome::error("an axis is larger than a number of 64 bits"); }
// False: the result overflows.
bool grow(Dim& d, const std::array<std::int64_t, 2>& by) {
  return !__builtin_add_overflow(d.value, by[0], &d.value) && !__builtin_add_overflow(d.value, by[1], &d.value);
}
Outcome not_divided(std::int64_t what, std::int64_t by) {
  return Outcome::error(fmt::format("{} elements cannot be divided by {}", what, by));
}

}  // namespace

Outcome SpaceToBatch(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto b = blocks_of(o, relay::field::Paddings);
  if (!b) return bad_blocks("paddings");
  Dims dims = dims_of(*o.tensor(0));
  dims[0] = times(dims[0], known(b->total));
  for (std::size_t i = 0; i < b->sizes.size(); ++i) {
    Dim& d = dims[i + 1];
    if (!is_known(d)) continue;
    if (!grow(d, b->pairs[i])) return too_large();
    if (d.value < 0 || d.value % b->sizes[i] != 0) return not_divided(d.value, b->sizes[i]);
    d.value /= b->sizes[i];
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome BatchToSpace(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto b = blocks_of(o, relay::field::Crops);
  if (!b) return bad_blocks("crops");
  Dims dims = dims_of(*o.tensor(0));
  if (is_known(dims[0])) {
    if (dims[0].value % b->total != 0) return not_divided(dims[0].value, b->total);
    dims[0].value /= b->total;
  }
  for (std::size_t i = 0; i < b->sizes.size(); ++i) {
    Dim& d = dims[i + 1];
    d = times(d, known(b->sizes[i]));
    if (!is_known(d)) continue;
    const auto& [before, after] = b->pairs[i];
    if (__builtin_sub_overflow(d.value, before, &d.value) || __builtin_sub_overflow(d.value, after, &d.value))
      return too_large();
    if (d.value < 0) return Outcome::error("more is cut off than there is");
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Operands: the new data, the buffer.
Outcome FifoBuffer(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::size_t rank = o.tensor(1)->shape.size();
  const std::int64_t axis = o.integer(relay::field::Axis).value_or(0);
  if (o.tensor(0)->shape.size() != rank) return Outcome::error("data and buffer have one rank");
  if (!axis_of(axis, rank)) return Outcome::error(out_of_range(axis, rank));
  return Outcome::of(o.types[1]);
}

// Operands: positions, values, the value of all other positions.
Outcome SparseToDense(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto sizes = o.ints(relay::field::OutputShape);
  if (!sizes) return Outcome::error("the attribute `output_shape` is a list of integers");
  Dims dims;
  for (const std::int64_t d : *sizes) dims.push_back(known(d));
  if (o.tensor(0)->shape.size() > 2) return Outcome::error("the places have rank 2 at most");
  return Outcome::of(o.ctx.tensor(dims, o.tensor(1)->dtype));
}

// Operands: flat indices, and the shape that they index.
Outcome UnravelIndex(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto &indices = o.tensor(0)->shape, &shape = o.tensor(1)->shape;
  if (shape.size() != 1) return Outcome::error("the shape is a tensor of rank 1");
  if (indices.size() > 1) return Outcome::error("the indices have rank 1 at most");
  Dims dims{shape[0]};
  dims.insert(dims.end(), indices.begin(), indices.end());
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Operands and results: real and imaginary parts.
Outcome Dft(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (o.tensor(0)->shape.empty()) return Outcome::error("the data has an axis");
  return Outcome::of(o.ctx.tuple_type(std::vector<const Type*>{o.types[0], o.types[0]}));
}

// Operands: the signal, with or without a batch, and the window.
Outcome Stft(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto length = o.integer(relay::field::NFft), hop = o.integer(relay::field::HopLength);
  if (!length || !hop || *length < 1 || *hop < 1) return Outcome::error("`n_fft` and `hop_length` are positive");
  const auto& data = o.tensor(0)->shape;
  if (data.size() != 1 && data.size() != 2) return Outcome::error("the data has rank 1 or 2");
  const AttrValue* onesided = o.attr(relay::field::Onesided);
  const bool half = !onesided || onesided->integer != 0;
  Dims dims(data.begin(), data.end() - 1);
  const Dim& samples = data[data.size() - 1];
  if (is_known(samples) && samples.value < *length) return Outcome::error("the data is shorter than a frame");
  dims.push_back(known(half ? *length / 2 + 1 : *length));
  dims.push_back(is_known(samples) ? known((samples.value - *length) / *hop + 1) : Dim{});
  dims.push_back(known(2));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
