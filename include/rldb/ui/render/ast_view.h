// The nodes of a Relax function as RFC 0089, section 4.1 names them: one line a node, with its checked type and shape
// where it has them. Used by `:ast`.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ir/expr.h"

namespace rldb::ui {

// `binding`: only the binding of that variable; empty: the whole function. Empty text: there is none of that name.
std::string ast_text(const ir::Function* f, std::string_view name, std::string_view binding = {});

}  // namespace rldb::ui
