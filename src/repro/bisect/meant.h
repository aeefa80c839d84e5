// TVM passes that by their nature may change results. Room-private.
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::repro {

enum class Meant : std::uint8_t { Exact, Coarse, Any };
Meant meant_by(std::string_view pass);
// The least exact of a pipeline's passes; none: exact, also if the text is not a pipeline.
Meant meant_by_pipeline(std::string_view passes);

// Whether results that differ may be what such a pass makes of these. Exact: never.
bool is_as_meant(Meant meant, const runtime::Value& before, const runtime::Value& after);

}  // namespace rldb::repro
