// Subscripts as in NumPy: integers, slices, `...`, None, boolean masks, integer arrays; and the elements they select.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "rldb/expression/array.h"

namespace rldb::expression {

struct SliceIndex {
  std::optional<std::int64_t> start, stop, step;
};
struct EllipsisIndex {};
struct NewAxisIndex {};
// An Int; a tensor of integers or booleans.
using IndexItem = std::variant<SliceIndex, EllipsisIndex, NewAxisIndex, runtime::Value>;

// The elements of a tensor that a subscript selects, in the order of the result.
struct Selection {
  Dims shape;  // of the result
  std::int64_t base = 0;
  // How the result's dimensions traverse the tensor: `count` steps of `stride` elements, or the positions in a table.
  struct Walk {
    std::int64_t count = 0;
    std::int64_t stride = 0;
    std::vector<std::int64_t> places;  // flat offsets; empty: count and stride apply
  };
  std::vector<Walk> walks;

  // Calls f(flat) for each selected element.
  template <class F>
  void each(F f) const {
    for (const Walk& w : walks)
      if (w.count == 0) return;
    std::vector<std::int64_t> at(walks.size());
    for (;;) {
      support::poll();
      std::int64_t flat = base;
      for (std::size_t d = 0; d < walks.size(); ++d)
        flat += walks[d].places.empty() ? at[d] * walks[d].stride : walks[d].places[std::size_t(at[d])];
      f(flat);
      std::size_t d = walks.size();
      while (d > 0 && ++at[d - 1] == walks[d - 1].count) at[--d] = 0;
      if (d == 0) return;
    }
  }
};

runtime::Result<Selection> select(const runtime::Tensor& t, const std::vector<IndexItem>& items);
// For tensors, tuples, shapes. A contiguous part is a view of the same storage.
runtime::Result<runtime::Value> subscript(const runtime::Value& v, const std::vector<IndexItem>& items);

}  // namespace rldb::expression
