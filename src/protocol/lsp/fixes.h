// Quick fixes: edits that a diagnostic's hint describes. Each is tried before it is offered: one that does not take its
// diagnostic away, or brings another error, is not.
#pragma once

#include <string>
#include <vector>

#include "protocol/lsp/text_file.h"

namespace rldb::protocol::lsp {

struct FixEdit {
  frontend::TextRange at;
  std::string text;
};
struct Fix {
  std::string title;
  std::vector<FixEdit> edits;  // ascending
};

// Of one diagnostic of the text; untried.
std::vector<Fix> fixes_of(TextFile& file, const source::Diagnostic& diagnostic);
std::string with_edits(std::string_view text, const std::vector<FixEdit>& edits);

}  // namespace rldb::protocol::lsp
