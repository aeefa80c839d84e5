// A reader of the pickles in which torch.save writes tensors: tensors, containers of them, numbers, strings. Nothing is
// executed: a pickle names what is to be called, and only the names that make tensors, parameters and ordered
// dictionaries are known here; any other one is refused by name. Inside the room only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::onnx {

// A tensor as the pickle describes it: part of a storage, which is a member `data/KEY` of the archive.
struct PickledTensor {
  std::string storage;  // KEY
  std::string type;     // `FloatStorage`
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes, strides;
};

// Of a dictionary by key; of a single tensor under the empty name.
using PickledTensors = std::map<std::string, PickledTensor, std::less<>>;

ir::Result<PickledTensors> read_pickle(std::string_view bytes);

}  // namespace rldb::onnx
