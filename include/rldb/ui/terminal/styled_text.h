// Coloured text as cells: converts text written for a terminal (with SGR sequences) to the form shown in a pane. Other
// escape sequences are dropped, so that no output can move the cursor out of its pane.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/terminal/layout.h"

namespace rldb::ui {

// The cells of one line. `style` is the style at its start on entry, and the one at its end on return.
std::vector<Cell> styled_cells(std::string_view line, std::string_view& style);
// The style at the end of a line that began in `style`.
std::string_view style_after(std::string_view line, std::string_view style);
// A row of exactly `width` columns: the cells from column `left` on, then blanks.
Row clipped(const std::vector<Cell>& cells, int left, int width);
void append_text(Row& row, std::string_view text, std::string_view style);
// The reverse: the text of a row with its colours.
std::string text_of(const Row& row);

}  // namespace rldb::ui
