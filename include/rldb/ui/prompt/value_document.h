// A value as a document: facts, a histogram, a heat map and the numbers of a slice.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::ui {

// Of a tensor the slice along its last two axes at `index` (of the axes before them, missing ones 0). At most `most` x
// `most` cells, every n-th of a larger one; facts of tensors above 16 million elements are left out. Anything else: its
// text. Users: the live page, `rldb opt --html`.
nlohmann::ordered_json value_document(const runtime::Value& value, std::vector<std::int64_t> index,
                                      std::int64_t most = 96);

}  // namespace rldb::ui
