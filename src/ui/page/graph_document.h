// The bindings of a function as the nodes of a graph.
#pragma once

#include <nlohmann/json.hpp>

#include "rldb/debug/graph.h"
#include "ui/page/relatives.h"

namespace rldb::ui {

struct FunctionGraph {
  nlohmann::ordered_json nodes;  // as docs/page.md has them
  debug::BindingGraph graph;     // the same nodes, for what is drawn
};

FunctionGraph graph_of(const ir::Function* function, const Relatives& relatives);

}  // namespace rldb::ui
