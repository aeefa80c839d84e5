// Python's keywords: words that no text of ours can take as a name. Users: frontend, printers, lsp, to_relax.
#pragma once

#include <string_view>

namespace rldb::support {

bool is_python_keyword(std::string_view word);

}  // namespace rldb::support
