// A function's bindings as a graph, and what is known about one binding.
//
// Nodes are the bindings of the version that runs or would run now, in the order of the text; edges lead from inputs to
// values computed from them. Costs are counted on the kernels that a binding became: arithmetic operations times the
// extents of the loops around them, under the dims of the frame. Of a program without a Relax module the nodes are the
// variables of its code, and the inputs are the variables that their instructions read. Users: `:graph`, `:info NAME`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct GraphNode {
  std::string name;
  std::string value;  // as text, on one line; empty: a parameter
  std::string type;
  std::vector<int> inputs;  // nodes, each once
  std::vector<int> users;
  int line = 0;  // 0: not known
  bool parameter = false;
  bool result = false;     // the function returns it, or it is part of the returned value
  bool current = false;    // the frame is at it
  std::uint32_t node = 0;  // ir node id of the binding
};

struct BindingGraph {
  std::string function;
  std::vector<GraphNode> nodes;
};

// Which version of the functions: the one that runs (or would run), or, of a stopped run, the one that the user wrote.
enum class GraphOf : std::uint8_t { Running, Written };

// Inner: also the bindings in branches and local functions, of a module. A branch's result is used by the binding of
// the `if`.
enum class GraphDepth : std::uint8_t { Outer, Inner };

// Null: that version has no such function.
std::optional<BindingGraph> binding_graph(Debugger& debugger, session::Session& session, std::string_view function,
                                          int frame, GraphOf version = GraphOf::Running,
                                          GraphDepth depth = GraphDepth::Outer);

struct BindingCost {
  std::vector<std::string> kernels;  // that compute it
  // Numbers, or sums of products of the dims that have no value: `2*k*n + 4096`.
  std::string operations;  // of floats and integers, not of indices
  std::string bytes_read, bytes_written;
  std::string unknown;  // what the count leaves out: a loop whose extent depends on memory
};
// Of a binding of `function`, under `dims` (name, value). Null: nothing of it is left in the build.
std::optional<BindingCost> cost_of_binding(session::Session& session, const session::Build& build,
                                           std::string_view function, std::uint32_t binding,
                                           const std::vector<std::pair<std::string, std::int64_t>>& dims);

}  // namespace rldb::debug
