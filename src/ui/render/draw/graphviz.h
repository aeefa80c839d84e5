// A layered layout by Graphviz, made in a process of its own with limits of time and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/ui/render/layers.h"

namespace rldb::ui {

// Units as for `lay_out`. None: `why` says so in a few words (`Graphviz is not installed`). ^C ends it (support::poll).
std::optional<LayerLayout> graphviz_layout(const std::vector<LayerNode>& nodes, double height, double row, double gap,
                                           std::string& why);

}  // namespace rldb::ui
