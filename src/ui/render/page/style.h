// The style sheet of pages.
#pragma once

#include <string>
#include <string_view>

namespace rldb::ui {

std::string page_style();
// The rules for parts of a page within an element of this class, whatever document that is in: Jupyter's themes choose
// the colours there.
std::string part_style(std::string_view css_class);

}  // namespace rldb::ui
