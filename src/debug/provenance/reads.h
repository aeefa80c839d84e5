// The reads of a scalar expression of a kernel: elements of memory, with their part in it. Room-private.
#pragma once

#include "debug/provenance/kernel_writes.h"

namespace rldb::debug {

// How a source of writes looks at a moment.
struct ReadScope {
  std::function<std::optional<MemoryPlace>(const ir::Buffer*, ir::Span<const ir::Expr*>)> place;
  std::function<const ir::Expr*(const ir::Var*)> let;                 // the value bound to it; null: no let
  std::function<std::optional<std::int64_t>(const ir::Expr*)> value;  // of a condition
  // The reads of a let's value, made when it was bound; null: those of its expression are made now.
  std::function<const std::vector<KernelRead>*(const ir::Var*)> bound = {};
};

bool has_loads(const ir::Expr* e);

// Adds the reads of `e`: of a choice only the branch taken. False: a place or a condition has no known value.
bool collect_reads(const ir::Expr* e, ReadRole role, const ir::Expr* condition, const ReadScope& scope,
                   std::vector<KernelRead>& out);
bool collect_indices(ir::Span<const ir::Expr*> indices, const ReadScope& scope, std::vector<KernelRead>& out);

}  // namespace rldb::debug
