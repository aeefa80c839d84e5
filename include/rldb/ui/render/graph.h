// A graph of bindings as a text tree, for Graphviz, and as SVG.
#pragma once

#include <string>

#include "rldb/debug/graph.h"

namespace rldb::ui {

// From the results back: a binding is below its uses; a further occurrence is named with `^`.
std::string graph_text(const debug::BindingGraph& graph, bool ascii);
std::string graph_dot(const debug::BindingGraph& graph);
std::string graph_svg(const debug::BindingGraph& graph);

}  // namespace rldb::ui
