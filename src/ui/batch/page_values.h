// The tensors of a run, as replies to the requests that the page of `rldb opt --html` makes for values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/session/session.h"
#include "rldb/ui/page/document.h"

namespace rldb::ui {

// The arguments of a run: of `main`, or of the only function, of the module as it was loaded.
struct PageRun {
  std::string function;
  std::vector<std::string> texts;
  std::vector<runtime::Value> values;
};
// None: diagnosed.
std::optional<PageRun> page_run(session::Session& session, const std::vector<std::string>& texts,
                                source::Diagnostics& out);
// Runs the module as it was loaded and as it is now. Where the program has the name of a value in both, it is that of
// the first.
PageReplies page_values(session::Session& session, const ir::Module* loaded, const PageRun& run);

}  // namespace rldb::ui
