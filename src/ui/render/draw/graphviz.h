// Layered layouts by Graphviz, made in a process of its own with limits of time and memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rldb/ui/render/layers.h"

namespace rldb::ui {

class LayoutChild;

// The process begins with the first graph, takes one after the other, and ends with this object, after a failure, and
// when its time is over.
class Graphviz {
 public:
  Graphviz();
  ~Graphviz();
  Graphviz(const Graphviz&) = delete;
  Graphviz& operator=(const Graphviz&) = delete;

  // Units as for `lay_out`. None: `why` says so in a few words (`Graphviz is not installed`). ^C ends it
  // (support::poll).
  std::optional<LayerLayout> layout(const std::vector<LayerNode>& nodes, double height, double row, double gap,
                                    double seconds, std::string& why);
  // Why the last graph has none.
  bool out_of_time() const { return out_of_time_; }

 private:
  std::unique_ptr<LayoutChild> begin(std::string& why);

  std::unique_ptr<LayoutChild> child_;
  std::string refusal_;  // it cannot be had
  bool out_of_time_ = false;
};

}  // namespace rldb::ui
