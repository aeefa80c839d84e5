// Environment of one PrimFunc in progress: values of variables, buffers and allocations, by node id. Copyable (a clone
// of a run shares tensor storage only).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "eval/tir/scalar_value.h"
#include "rldb/ir/stmt.h"
#include "rldb/runtime/value.h"

namespace rldb::eval {

// A buffer at run time: a strided window of a storage. Offsets and strides count elements.
struct BufferValue {
  const ir::Buffer* buffer = nullptr;
  runtime::Ref<runtime::Storage> storage;  // null: zero elements
  std::size_t byte_offset = 0;             // of the storage, where the element 0 of the window is
  std::size_t end = 0;                     // of the storage, where the memory that the window may touch ends
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // one per dimension
  DType dtype;
  std::int64_t offset = 0;                               // elem_offset inside the window
  bool holds(std::int64_t element) const;                // of the window, at this flat index: it lies inside its memory
  bool inside() const;                                   // every element does
  void set_rows(const std::vector<std::int64_t>& dims);  // in rows, without gaps
  runtime::Value as_value() const;                       // elements outside the memory are zero
};

// A pointer: the value of a handle variable or of a buffer's data.
struct Pointer {
  runtime::Ref<runtime::Storage> storage;
  std::size_t byte_offset = 0;
  std::size_t end = 0;  // the end of its memory; a storage may hold other tensors after it
  static Pointer to(const runtime::Tensor& t) {
    return {t.storage(), t.byte_offset(), t.byte_offset() + t.byte_size()};
  }
};

// Variables by id, in an open-addressed table: ids of one function are few but may be spread over the whole session.
class VarTable {
 public:
  const Scalar* find(std::uint32_t id) const {
    if (rows_.empty()) return nullptr;
    for (std::size_t i = hash(id);; i = (i + 1) & (rows_.size() - 1)) {
      if (rows_[i].id == id) return &rows_[i].value;
      if (rows_[i].id == 0) return nullptr;
    }
  }
  void set(std::uint32_t id, Scalar value) {
    if ((used_ + 1) * 2 > rows_.size()) grow();
    std::size_t i = hash(id);
    while (rows_[i].id != 0 && rows_[i].id != id) i = (i + 1) & (rows_.size() - 1);
    used_ += rows_[i].id == 0;
    rows_[i] = {id, value};
  }

 private:
  struct Row {
    std::uint32_t id = 0;
    Scalar value;
  };
  std::size_t hash(std::uint32_t id) const { return (id * 2654435769u >> 7) & (rows_.size() - 1); }
  void grow() {
    std::vector<Row> old = std::exchange(rows_, std::vector<Row>(rows_.empty() ? 32 : rows_.size() * 2));
    used_ = 0;
    for (const Row& r : old)
      if (r.id) set(r.id, r.value);
  }
  std::vector<Row> rows_;
  std::size_t used_ = 0;
};

// A field of a record of arguments (packed_records.cc): a value, or a pointer.
struct Field {
  runtime::Value value;
  Pointer pointer;
};
// By the number of the record on its stack, and that of the field.
using Records = std::map<std::pair<std::int64_t, std::int64_t>, Field>;

struct Environment {
  VarTable vars;
  std::unordered_map<const ir::Var*, std::vector<Scalar>> vectors;  // variables of vector dtype
  std::unordered_map<const ir::Buffer*, BufferValue> buffers;
  std::unordered_map<const ir::Var*, Pointer> pointers;
  std::unordered_map<const ir::Var*, Records> records;
  std::unordered_map<const ir::Call*, Scalar> exchanged;  // of the statement in progress: values from other threads
};

}  // namespace rldb::eval
