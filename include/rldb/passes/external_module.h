// External modules as data: what code generators and AttachExternModules attach to a module, in its attribute
// `external_mods`, a list of dicts. All are strings, integers, lists and dicts, so that their text is JSON.
//
//   {"kind": "plugin", "library": "my.so", "symbols": ["f"]}     f is a packed function of a plugin
//   {"kind": "tir", "symbol": "f", "module": "..."}              f is the PrimFunc of that module
//   {"kind": "json", "symbol": "f", "dims": ["n"], "nodes": [...], "heads": [[2, 0, 0]], "outputs": [...]}
//
// The graph is as in TVM's JSON runtime: nodes {"op": "input", "name", "dtype", "shape"} for the parameters, in their
// order (the dtype of a shape is "shape"), then {"op": "kernel", "name", "composite", "inputs": [[node, output, 0],
// ...], "call", "num_outputs"}. `call` is the operator's call as text: operand_<i>_ is its i-th input and
// dim_<i>_ for dims[i], a symbolic variable that is a dimension of a parameter. `heads` are the results, and `outputs`
// the dtypes and shapes of the tensors for them. Users: passes (written here), session (run).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

namespace external {
inline constexpr std::string_view kModules = "external_mods";  // TVM's name of the attribute
inline constexpr std::string_view kKind = "kind";
inline constexpr std::string_view kSymbol = "symbol";
inline constexpr std::string_view kSymbols = "symbols";
inline constexpr std::string_view kLibrary = "library";
inline constexpr std::string_view kTensorIr = "module";
}  // namespace external

using GraphDim = std::variant<std::int64_t, std::string>;  // the text of a symbolic dim

struct GraphTensor {
  std::string name;
  bool is_shape = false;  // not a tensor but a shape: R.Shape([n, 4]); only for inputs
  ir::DType dtype;
  std::vector<GraphDim> shape;
};

struct GraphEntry {
  std::size_t node = 0;
  std::size_t output = 0;
};

struct GraphKernel {
  std::string name;       // of the operator, as after R.
  std::string composite;  // of the composite function that it belongs to; empty: none
  std::string call;
  std::vector<GraphEntry> inputs;
  std::size_t outputs = 1;
};

// Nodes are numbered: the inputs, then the kernels, each after its inputs.
struct ExternalGraph {
  std::string symbol;
  std::vector<std::string> dims;
  std::vector<GraphTensor> inputs;
  std::vector<GraphKernel> kernels;
  std::vector<GraphEntry> heads;
  std::vector<GraphTensor> outputs;
};

// The name of dims[i] in a call.
std::string dim_name(std::size_t i);
const ir::Attr* write_graph(ir::Context& ctx, const ExternalGraph& graph);
// The error tells what is wrong: indices must be in range, kernels must read earlier nodes only.
support::Result<ExternalGraph, std::string> read_graph(const ir::Attr* module);

// The string under `key`; empty: absent.
std::string_view string_of(const ir::Attr* dict, std::string_view key);
// The external modules of the module.
std::vector<const ir::Attr*> external_modules(const ir::Module* module);
// The module with these appended to those that it has.
const ir::Module* attach_external(ir::Context& ctx, const ir::Module* module,
                                  const std::vector<const ir::Attr*>& added);

}  // namespace rldb::passes
