// A graph of bindings as a text tree, for Graphviz, and as SVG.
#pragma once

#include <string>

#include "rldb/debug/graph.h"

namespace rldb::ui {

// From the results back: a binding is below its uses; a further occurrence is named with `^`.
std::string graph_text(const debug::BindingGraph& graph, bool ascii);
std::string graph_dot(const debug::BindingGraph& graph);

// The picture, and how it was laid out when that was not by Graphviz: `Graphviz is not installed`; otherwise empty. The
// picture says so too. An input from far above, or that many read, is named in the box behind `^`, without an edge. In
// a large graph so is a parameter that only this binding reads, and of parallel chains that are alike one is drawn.
struct GraphPicture {
  std::string svg;
  std::string without_graphviz;
};
GraphPicture graph_picture(const debug::BindingGraph& graph);
std::string graph_svg(const debug::BindingGraph& graph);

}  // namespace rldb::ui
