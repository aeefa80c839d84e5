// The files of src/ui/page/assets, embedded by src/CMakeLists.txt.
#pragma once

#include <string_view>

namespace rldb::ui {

std::string_view page_template();  // page.html, with the marks {policy} {title} {style} {report} {data} {scripts}
std::string_view page_sheet();     // page.css
std::string_view page_scripts();   // the scripts, in the order of their names

}  // namespace rldb::ui
