// A value as part of a page: a tensor as a table with its last two axes, a tuple as the list of its fields.
//
// The part of a tensor that is shown is bounded, whatever its size. Users: pages, notebooks.
#pragma once

#include <string>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::ui {

// HTML. `name` may be empty.
std::string value_html(const runtime::Value& value, std::string_view name);

}  // namespace rldb::ui
