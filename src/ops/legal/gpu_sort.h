// Sorting and scanning in the threads of a GPU. Users: gpu_order.cc.
#pragma once

#include "ops/legal/statements.h"
#include "rldb/ops/gpu_kernels.h"

namespace rldb::ops::legal {

// Rows of the innermost axis, in the order of a comparison. `values` and `values_swap` have the shape of the data; the
// result is in `values` and `indices`. The indices are null when only the elements are wanted.
struct GpuSort {
  const ir::Buffer* data;
  const ir::Buffer *values, *values_swap;
  const ir::Buffer *indices, *indices_swap;
  bool ascending;
};

const ir::Stmt* gpu_sort(Legalizer::Te& te, const GpuDevice& device, const GpuSort& sort);

// gpu_scan.cc: running sums and products.
bool has_gpu_scan(const ir::Call* c);
Result<const Expr*> gpu_scan(Legalizer& l, const ir::Call* c, std::int64_t threads);

// `body` in each thread, or block, of a tag.
const ir::Stmt* launch(ir::Context& ctx, std::string_view tag, const Expr* extent,
                       const std::function<const ir::Stmt*(const Expr* index)>& body);

}  // namespace rldb::ops::legal
