// The order of the elements of a row: stable, NaN after every number (first when descending), -0 equal to 0.
//
// Each element becomes an unsigned key whose order is the wanted one, so that every dtype is sorted by the same code:
// by digits (radix), or, when few elements are kept, by selection with a threshold. User: contrib_sort.cc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rldb/runtime/stoppable.h"
#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Whether elements of the dtype have an order.
bool can_order(DType t);

// Elements `base + i * stride` of a tensor, i below `length`.
struct Row {
  const Tensor* tensor = nullptr;
  std::int64_t base = 0;
  std::int64_t stride = 1;
  std::int64_t length = 0;
};

class RowOrder {
 public:
  // For rows of at most `longest` elements.
  static Result<RowOrder> make(DType t, bool ascend, std::int64_t longest);
  // The indices of the first `order.size()` elements in the order of the row.
  void find(const Row& row, std::span<std::int64_t> order, Watch& watch);

 private:
  RowOrder(DType t, bool ascend, Ref<Tensor> memory) : type_(t), flip_(!ascend), memory_(std::move(memory)) {}
  template <class Item>
  void find_as(const Row& row, std::span<std::int64_t> order, Watch& watch);

  DType type_;
  bool flip_;
  Ref<Tensor> memory_;  // items, and as many to sort them into
};

}  // namespace rldb::runtime
