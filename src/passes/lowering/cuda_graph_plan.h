// The plan of RewriteCUDAGraph: regions of a function that always do the same work on the same memory, and the storage
// that they use.
//
// Static values are storages of known size, weights (parameters after `num_input`), and values computed from static
// values only. A region begins with a kernel all of whose operands are static, and ends where one is not. Storage that
// the function returns is not lifted. A parameter's symbolic variables are not static; those of weights and those named
// by `relax.rewrite_cuda_graph.capture_symbolic_vars` are: a region takes them as an extra argument.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

struct CudaGraphRegion {
  std::string_view function;  // from which it is lifted
  std::vector<const ir::Binding*> bindings;
  std::vector<const ir::Var*> inputs;
  std::vector<const ir::Var*> outputs;
  std::vector<const ir::Var*> symbols;
};

struct CudaGraphPlan {
  std::deque<CudaGraphRegion> storages;  // one for each function that has any: its R.memory.alloc_storage
  std::deque<CudaGraphRegion> captures;  // in program order
};

CudaGraphPlan plan_cuda_graph(const ir::Module* module);

}  // namespace rldb::passes
