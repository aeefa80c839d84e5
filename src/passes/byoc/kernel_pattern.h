// A PrimFunc as a pattern for the first nests of another one (SplitCallTIRByPattern).
//
// Both are loops from 0 around one block that stores one element; nests are equal up to names of loops, axes and
// buffers. The scalar parameters of a pattern are its symbols: each takes the number found in its place, the same one
// everywhere; as a factor it may also be missing (then it is 1), as a summand too (0). Operands of + and * match in
// either order. TVM's rules; symbolic sizes of the kernel match nothing.
#pragma once

#include <optional>
#include <vector>

#include "rldb/passes/codegen.h"

namespace rldb::passes {

// The block that is the whole body of a kernel; null for another body.
const ir::SBlock* root_block(const ir::PrimFunc* f);
// The statements of a block, in order.
std::vector<const ir::Stmt*> statements_of(const ir::SBlock* root);
// Whether the function can be a pattern: its root has one nest, its parameters are buffers and scalars.
bool is_kernel_pattern(const ir::PrimFunc* f);
// The pattern's symbols and buffers in the nest, in the order of its parameters; nullopt: the nest does not match.
std::optional<KernelMatch> match_nest(ir::Context& ctx, std::string_view name, const ir::PrimFunc* pattern,
                                      const ir::Stmt* nest);

}  // namespace rldb::passes
