// Known values whose elements are the same in another shape or order.
#include <algorithm>
#include <functional>

#include "onnx/ops/fold.h"

namespace rldb::onnx::bodies {

namespace {

constexpr std::size_t kMostAxes = 8;

// Calls `each` with the places of a tensor of this shape, the last axis fastest.
void each_place(const Ints& shape, const std::function<void(const Ints&)>& each) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  Ints place(shape.size(), 0);
  while (true) {
    each(place);
    std::size_t k = shape.size();
    while (k > 0 && ++place[k - 1] == shape[k - 1]) place[--k] = 0;
    if (k == 0) return;
  }
}

std::size_t flat(const Ints& shape, const Ints& place) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) at = at * shape[k] + place[k];
  return std::size_t(at);
}

// The elements of `from` at the places that `source` gives for those of the result.
void know_moved(NodeContext& c, const Known& from, const Ints& shape, const std::function<Ints(const Ints&)>& source) {
  const Ints old = shape_of(from);
  Known made{from.dtype, int(shape.size()), {}};
  if (made.rank > 1) made.shape = shape;
  each_place(shape, [&](const Ints& to) { made.items.push_back(from.items[flat(old, source(to))]); });
  c.know(std::move(made));
}

bool is_movable(const Known& k) { return k.dtype.is_int() && k.items.size() <= kMostFolded; }

}  // namespace

bool fold_reshape(NodeContext& c, const Dims& to) {
  const auto x = c.known(0);
  if (!x || to.size() < 2 || to.size() > kMostAxes || !is_movable(*x)) return false;
  Known made{x->dtype, int(to.size()), x->items};
  std::int64_t count = 1;
  for (const Expr* d : to) {
    const auto n = int_of(d);
    if (!n || *n < 0 || *n > std::int64_t(kMostFolded)) return false;
    made.shape.push_back(*n);
    count *= *n;
    if (count > std::int64_t(kMostFolded)) return false;
  }
  if (count != std::int64_t(x->items.size())) return false;
  c.know(std::move(made));
  return true;
}

bool fold_transpose(NodeContext& c, const Ints& axes) {
  const auto x = c.known(0);
  if (!x || x->rank < 2 || !is_movable(*x)) return false;
  const Ints old = shape_of(*x);
  Ints sorted = axes, shape;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != iota(0, std::int64_t(old.size()))) return false;
  for (const std::int64_t a : axes) shape.push_back(old[std::size_t(a)]);
  know_moved(c, *x, shape, [&](const Ints& to) {
    Ints from(old.size());
    for (std::size_t k = 0; k < axes.size(); ++k) from[std::size_t(axes[k])] = to[k];
    return from;
  });
  return true;
}

bool fold_slice(NodeContext& c, const std::vector<Cut>& cuts) {
  const auto x = c.known(0);
  if (!x) return false;
  Ints shape = shape_of(*x);
  const std::size_t rank = shape.size();
  Ints begins(rank, 0), steps(rank, 1);
  std::vector<bool> is_cut(rank, false);
  for (const Cut& cut : cuts) {
    if (is_cut[cut.axis]) return false;
    is_cut[cut.axis] = true;
    const std::int64_t last = cut.step > 0 ? cut.end - 1 : cut.end + 1;  // the step may have no opposite number
    begins[cut.axis] = cut.begin;
    steps[cut.axis] = cut.step;
    const bool none = cut.step > 0 ? last < cut.begin : last > cut.begin;
    shape[cut.axis] = none ? 0 : (last - cut.begin) / cut.step + 1;
  }
  know_moved(c, *x, shape, [&](const Ints& to) {
    Ints from(rank);
    for (std::size_t k = 0; k < rank; ++k) from[k] = begins[k] + to[k] * steps[k];
    return from;
  });
  return true;
}

}  // namespace rldb::onnx::bodies
