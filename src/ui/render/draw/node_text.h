// A binding on one line, as the tree, DOT and the picture show it.
#pragma once

#include <string>

#include "rldb/debug/graph.h"

namespace rldb::ui {

// `lv = R.add(x, y)`; a parameter is `x: TYPE`.
std::string node_text(const debug::GraphNode& n);

}  // namespace rldb::ui
