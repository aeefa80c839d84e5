// The metadata block: `metadata = tvm.ir.load_json("""{...}""")`: constants of a module that was printed with
// show_meta=True, and metadata["relax.expr.Constant"][0], which refers to them. Without a block such a constant is an
// ir::MetaConstant: it has a type (its annotation's) and no value.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// Inspects a file-level `metadata = ...`; decoded at its first use.
void note_metadata(Reader& r, Node value);
Val metadata_constant(Reader& r, Node key, Node index, Node at);

}  // namespace rldb::frontend::script
