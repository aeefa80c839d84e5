// GraphFold: the boxes of a picture of a large graph, which are fewer than its bindings.
//
// A parameter that one binding reads is named in that binding's box: a model has hundreds of weights, each used once.
// Of parallel chains that are alike (the eight lanes in which packed weights are taken apart), one is drawn. A small
// graph is drawn as it is. Users: graph_picture, the page.
#pragma once

#include <vector>

#include "rldb/debug/graph.h"

namespace rldb::ui {

struct GraphFold {
  static constexpr int kNoBox = -1;
  std::vector<int> box_of;              // for each binding the binding whose box stands for it; kNoBox: named only
  std::vector<std::vector<int>> alike;  // for each binding with a box, the others that it stands for
};

GraphFold fold_graph(const debug::BindingGraph& graph);

}  // namespace rldb::ui
