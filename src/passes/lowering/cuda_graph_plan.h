// What RewriteCUDAGraph lifts: regions of a function that always do the same with the same memory, and the storage
// that they work in.
//
// Static is a storage of known size, a weight (a parameter behind `num_input`), and what is made of static things only.
// A region begins with a kernel all of whose operands are static, and ends where something is not. Storage that the
// function returns stays where it is. A parameter's symbolic variables are not static, those of weights and those that
// `relax.rewrite_cuda_graph.capture_symbolic_vars` names are: a region has them as one more argument.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

struct CudaGraphRegion {
  std::string_view function;  // that it is lifted out of
  std::vector<const ir::Binding*> bindings;
  std::vector<const ir::Var*> inputs;
  std::vector<const ir::Var*> outputs;
  std::vector<const ir::Var*> symbols;
};

struct CudaGraphPlan {
  std::deque<CudaGraphRegion> storages;  // one for each function that has any: its R.memory.alloc_storage
  std::deque<CudaGraphRegion> captures;  // in the order of the program
};

CudaGraphPlan plan_cuda_graph(const ir::Module* module);

}  // namespace rldb::passes
