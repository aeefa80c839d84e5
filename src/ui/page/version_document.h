// The text of a version, with the relatives of its lines and functions.
#pragma once

#include <nlohmann/json.hpp>

#include "rldb/ir/printer.h"
#include "ui/page/relatives.h"

namespace rldb::ui {

// Keys `text`, `functions` and `relatives`.
nlohmann::ordered_json version_document(const debug::ModuleVersion& version, std::size_t number,
                                        const Relatives& relatives, const ir::PrintOptions& options);

}  // namespace rldb::ui
