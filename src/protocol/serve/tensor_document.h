// A value as a document: facts, a histogram, a heat map and the numbers of a slice.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::protocol {

// Of a tensor the slice along its last two axes at `index` (of the axes before them, missing ones 0). At most 96 x 96
// cells, every n-th of a larger one; facts of tensors above 16 million elements are left out. Anything else: its text.
nlohmann::ordered_json value_document(const runtime::Value& value, std::vector<std::int64_t> index);

}  // namespace rldb::protocol
