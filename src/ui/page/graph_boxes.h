// The boxes that the page draws for the bindings of a function, and where they stand.
//
// A view is what the reader chose: every binding with a box of its own, or the fewer boxes of GraphFold, and, of
// bindings whose names begin with the same scope ("layers.0/attn/q", "layers_0_q"), one box as long as nobody has
// opened it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/graph.h"
#include "rldb/ui/render/graph_layout.h"

namespace rldb::ui {

struct GraphView {
  bool all = false;            // also the weights and alike chains that GraphFold leaves out
  bool folded = false;         // scopes are boxes
  std::set<std::string> open;  // scopes that are not, though
  bool wait = false;           // for Graphviz, also where a click would not be answered at once
};

// `words`: `all`, `folded`, `wait`, with commas between them; `open`: scopes, with line feeds.
GraphView graph_view(std::string_view words, std::string_view open);

// The scope that a binding belongs to by its name: "layers/0/attn" of "layers.0/attn/q", "layers_0" of "layers_0_q",
// and none (empty) of "lv3".
std::string scope_of(std::string_view name);

// Layouts by what was laid out: most passes leave the graphs of most functions as they are, and most views of a small
// graph are the same.
class KnownLayouts {
 public:
  // `wait`: as long as for a picture; otherwise as a click is answered.
  const GraphLayout& of(const std::vector<LayerNode>& nodes, bool wait);
  // For a report: Graphviz has so many seconds in all, and no graph that is small; the others get the simple layout.
  void limit_graphviz(double seconds) { left_ = limit_ = seconds; }

 private:
  GraphLayout made(const std::vector<LayerNode>& nodes, bool wait);
  GraphLayout made_for_report(const std::vector<LayerNode>& nodes);

  std::map<std::string, GraphLayout> known_;  // by `wait`, widths and inputs
  std::size_t boxes_ = 0;                     // of all of them
  GraphLayout last_;                          // that is not kept
  GraphLayouts for_report_;
  double left_ = 0, limit_ = 0;  // seconds; 0: this is no report
};

// `boxes`, `width`, `height`, `curved`, `without_graphviz`, `needs_time`, as docs/page.md has them.
nlohmann::ordered_json graph_layout_document(const debug::BindingGraph& graph, const GraphView& view,
                                             KnownLayouts& known);

}  // namespace rldb::ui
