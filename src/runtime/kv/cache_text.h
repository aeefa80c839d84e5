// A paged cache of keys and values as its user thinks of it: pages, sequences, lengths. User: the text of values.
#pragma once

#include <string>

#include "rldb/runtime/value.h"

namespace rldb::runtime::kv {

// Several lines; empty: the value is no paged cache.
std::string cache_text(const Value& v);

}  // namespace rldb::runtime::kv
