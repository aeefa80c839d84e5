// Dependences between the bindings of a dataflow block: variables, and symbolic variables that a match_cast of the
// block defines. A binding that is moved has to stay after all of them.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

struct BlockRead {
  const ir::Var* var;
  std::size_t producer;  // the binding that defines it, before the reader
};

class BlockReads {
 public:
  // `known`: symbolic variables defined before the block; those of the block are added.
  BlockReads(const ir::BindingBlock* block, std::unordered_set<const ir::Var*>& known);
  // In the order of reading; the same variable may be read again.
  std::span<const BlockRead> of(std::size_t binding) const {
    return std::span(reads_).subspan(begin_[binding], begin_[binding + 1] - begin_[binding]);
  }

 private:
  std::vector<BlockRead> reads_;    // of all bindings, concatenated
  std::vector<std::size_t> begin_;  // by binding, then the end of the last
};

// The variables that an expression reads, including those in types and symbolic ones, with repetitions.
std::vector<const ir::Var*> variables_read(const ir::Expr* value);
void collect_variables_read(const ir::Expr* value, std::vector<const ir::Var*>& found);
// The symbolic variables that are defined on entry to a function.
std::unordered_set<const ir::Var*> symbols_of_parameters(const ir::Function* f);
// Adds those defined by the match_casts of a block.
void add_symbols_of_casts(const ir::BindingBlock* block, std::unordered_set<const ir::Var*>& known);

}  // namespace rldb::passes
