// Graphviz's layered layout (`dot`), by its C library: opened where it is installed, not linked, because nothing else
// needs it. Only positions come from it. It is given numbers and never names, so no text of a module is interpreted.
//
// Call it in a process that may be killed: for some graphs it takes very long, and it cannot be told to stop.
#pragma once

#include <string>

namespace rldb::ui {

// Lays out a graph in the DOT language whose nodes are called 0, 1, ... and whose edges have numbers as `id`.
// True: `out` is a text of lines, coordinates in points with y upwards:
//   box X0,Y0,X1,Y1
//   node NUMBER X,Y              of its middle
//   edge ID X,Y X,Y X,Y X,Y ...  control points of cubic curves, 3n + 1
// False: `out` says why not.
bool graphviz_positions(const std::string& dot, std::string& out);

}  // namespace rldb::ui
