// The metadata block of a module: TVM's JSON graph of the values that its text cannot represent.
//
// A text refers to them as `metadata["relax.expr.Constant"][i]` and, in attributes, `metadata["ffi.Tensor"][i]`; the
// block precedes it. The JSON is tvm-ffi's (type, data, references by index; tensors are base64 of the
// NDArray dump: magic, device, ndim, dtype, shape, byte size, bytes). Nodes are numbered as in TVM, except for source
// spans: those name files of whoever made the constants, and the reader drops them. Used by the printer only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::ir::print_detail {

// The values under one key, in the order of their first occurrence.
class MetaList {
 public:
  std::int64_t index_of(const Constant* c) {
    auto [it, fresh] = index_.try_emplace(c, std::int64_t(items_.size()));
    if (fresh) items_.push_back(c);
    return it->second;
  }
  bool empty() const { return items_.empty(); }
  const std::vector<const Constant*>& items() const { return items_; }

 private:
  std::vector<const Constant*> items_;
  std::unordered_map<const Constant*, std::int64_t> index_;
};

// metadata = tvm.ir.load_json("""...""")
std::string metadata_text(const MetaList& constants, const MetaList& tensors);

}  // namespace rldb::ir::print_detail
