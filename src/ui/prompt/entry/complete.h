// Colouring of an entry at the prompt; its completion is a door.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/entry_tree.h"
#include "rldb/ui/prompt/completion.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

// Colours for bytes [begin, end) of an entry from the grammar's highlight query; commands are recognised.
std::vector<TextStyle> entry_styles(frontend::EntryTree& tree, std::string_view text, std::size_t begin,
                                    std::size_t end);
// TVMScript with ANSI colours. No colour continues past the end of a line.
std::string paint_script(std::string_view text);

}  // namespace rldb::ui
