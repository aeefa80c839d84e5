// Values that stand outside of a module, as in the options of a pass: read by the grammar of modules, so that
// `R.Tensor[(4, 4), "float16"]`, `2 ** 2` and `0x4` mean there what they mean in a module.
//
// Nothing is diagnosed: whoever asked names the option and what it expects. No spans are recorded. Users: passes,
// relay_passes.
#pragma once

#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/source/written_value.h"

namespace rldb::frontend {

// Of any text. A text that is no expression is Text; if its brackets are those of a list or a dictionary, its items may
// be such texts.
source::WrittenValue read_written_value(std::string_view text);

// Null: it is no type. A name is that of a variable among `symbols`, or of a new one, which is added to them.
const ir::Type* read_written_type(ir::Context& ctx, std::string_view text, std::vector<const ir::Var*>& symbols);

// A literal, a lambda, a target and the like, as an attribute; null: it is none.
const ir::Attr* read_written_attr(ir::Context& ctx, std::string_view text);

}  // namespace rldb::frontend
