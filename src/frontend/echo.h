// The diagnostics of a text in the order of the text, each mistake once: the second use of a name that is not there is
// no second mistake, nor is a consequence of a line whose syntax is damaged. Users: parse.cc, document.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/cst/tree.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend {

// Where the outermost functions of a text begin and end, sorted.
using FunctionRanges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
FunctionRanges functions_of(const cst::Tree& tree);

// The reports of cst/damage.cc.
bool is_syntax(source::DiagId id);

void add_without_echoes(std::vector<source::Diagnostic> from, const FunctionRanges& functions, std::string_view text,
                        source::Diagnostics& to);

}  // namespace rldb::frontend
