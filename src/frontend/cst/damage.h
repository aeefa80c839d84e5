// Syntax errors: what is wrong with a tree, reported once per place, in the words of the language.
#pragma once

#include "frontend/cst/tree.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend::cst {

// Reports every Error and Missing node, unterminated strings, missing bodies, stray indentation, keywords used as
// names, and text that is nested too deeply. True when anything was reported.
bool report_damage(const Tree& tree, source::Diagnostics& out);

}  // namespace rldb::frontend::cst
