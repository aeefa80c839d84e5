// The bindings of a function as the nodes of a graph.
#pragma once

#include <nlohmann/json.hpp>

#include "ui/page/relatives.h"

namespace rldb::ui {

nlohmann::ordered_json graph_document(const ir::Function* function, const Relatives& relatives);

}  // namespace rldb::ui
