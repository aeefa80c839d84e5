// The text as it was written, with the bindings of the version that was read from it where they stand in it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "rldb/ir/context.h"
#include "rldb/ir/printer.h"
#include "rldb/source/buffer.h"
#include "ui/page/relatives.h"

namespace rldb::ui {

// Keys `name`, `text`, `version`, `functions`, `relatives` (of lines) and `printed`: lines and those of the version's
// own text on which the same binding is. Nullopt: the module has no text (a model, code).
std::optional<nlohmann::ordered_json> source_document(const ir::Context& context, const source::SourceManager& sources,
                                                      const std::vector<debug::ModuleVersion>& versions,
                                                      const Relatives& relatives, const ir::PrintOptions& options);

}  // namespace rldb::ui
