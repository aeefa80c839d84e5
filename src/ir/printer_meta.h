// The metadata block: the constants of a printed module as `metadata = tvm.ir.load_json("""...""")`.
//
// The JSON is tvm-ffi's graph of nodes (type, data, references by index); tensors are base64 of the NDArray dump
// (magic, device, ndim, dtype, shape, byte size, bytes). Used by the printer when show_meta is on.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::ir::print_detail {

std::string metadata_text(const std::vector<const Constant*>& constants);

}  // namespace rldb::ir::print_detail
