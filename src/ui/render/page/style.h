// The style sheet of pages.
#pragma once

#include <string_view>

namespace rldb::ui {

std::string_view page_style();

}  // namespace rldb::ui
