// Sizes as PyTorch writes them: `s0`, `2*s0 + 1`, or in SymPy's long form `Add(Symbol('s0', integer=True),
// Integer(1))`. Inside the room only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::onnx {

using SymbolValue = std::function<const ir::Expr*(const std::string& symbol)>;  // null: not known

// Null: not a sum, product, quotient, remainder, minimum or maximum of whole numbers and symbols that are known.
const ir::Expr* size_of_text(ir::Context& ctx, std::string_view text, const SymbolValue& value);

// The name, if the text is a symbol and nothing else; otherwise empty.
std::string symbol_of_text(std::string_view text);

// The short form of a text, for readers: `2*s0`. The text itself if it has a form that is not known.
std::string short_size(std::string_view text);

}  // namespace rldb::onnx
