// Syntax that options of passes share with programs: types (`R.Tensor((n, 4), "float32")`), sizes (`n * 2 + 1`) and
// index maps (`T.index_map(lambda i, j: (i, j // 4, j % 4))`). TVM's Python takes objects or functions there.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

// Names that a text may mention, and their variables. Any other name becomes a new symbolic variable of int64, the same
// one for all occurrences in the same reader.
using NamedVars = std::unordered_map<std::string_view, const ir::Var*>;

class OptionReader {
 public:
  explicit OptionReader(ir::Context& ctx, NamedVars names = {}) : ctx_(ctx), names_(std::move(names)) {}

  // Null when the text is not a type.
  const ir::Type* type(std::string_view text) { return type(text, 0); }
  const ir::Expr* scalar(std::string_view text);
  // A function of indices with variables of its own.
  const ir::Lambda* index_map(std::string_view text);

 private:
  const ir::Type* type(std::string_view text, int depth);
  const ir::Type* tensor(const std::vector<std::string_view>& items);
  std::optional<std::vector<const ir::Expr*>> dims(std::string_view text);

  ir::Context& ctx_;
  NamedVars names_;
};

}  // namespace rldb::passes
