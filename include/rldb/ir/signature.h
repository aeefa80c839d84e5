// Signatures of functions as one line of text, for listings and hints; not TVMScript that is read back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::ir {

// `T.Buffer((n, 4), "float32")`, with its scope unless that is "global".
std::string buffer_text(const Buffer* buffer);
// `x: R.Tensor((n, 4), dtype="float32")`, or `A: T.Buffer((n, 4), "float32")` of a PrimFunc.
std::vector<std::string> parameter_texts(const Expr* function);
// `(x: R.Tensor(...), y: ...) -> R.Tensor(...)`; `: R.Callable(...)` of functions that have no parameters of their own
// (external ones). At most `most` parameters, the others are counted: `(x: ..., 73 more) -> ...`.
std::string signature_text(const Expr* function, std::size_t most = std::size_t(-1));

}  // namespace rldb::ir
