// Kernels that are one call of a sorting function of the runtime (`tvm.contrib.sort`). Their TensorIR does not show
// what they write and read. Users: may_write, kernel_origin.
#pragma once

#include <optional>
#include <string_view>

#include "debug/provenance/kernel_writes.h"

namespace rldb::debug {

struct SortingCall {
  std::vector<std::size_t> arrays;  // parameters of the kernel: the data first
  std::size_t first_output = 1;     // among `arrays`
  std::int64_t axis = 0;            // not negative
};
// Nullopt: the kernel is something else.
std::optional<SortingCall> sorting_call(const ir::PrimFunc* f);

// An element of an output is written once, from all elements of its row along the axis. Null: another kernel.
std::unique_ptr<KernelWrites> sorting_kernel(const ir::PrimFunc* f, const std::vector<runtime::Value>& args);

}  // namespace rldb::debug
