// Arbitrary text, parsed as a file, as an entry at the prompt and as text being typed. Used by the fuzz target and by
// the test of its earlier findings.
#pragma once

#include <string>

#include "rldb/frontend/entry_tree.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"

namespace rldb::fuzz {

// Empty, or the problem: a diagnostic points outside the text.
inline std::string check_spans(const source::Diagnostics& diagnostics, const source::SourceManager& sources) {
  for (const source::Diagnostic& d : diagnostics.all()) {
    const source::Buffer* buffer = sources.find(d.span.file);
    if (buffer && (d.span.begin > d.span.end || d.span.end > buffer->text().size()))
      return "a span outside of the text: " + d.message;
  }
  source::render(diagnostics, sources);
  source::render_json(diagnostics, sources);
  return {};
}

// A module that was parsed without errors prints as a text that parses.
inline std::string read_file(const std::string& text) {
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics found;
  const frontend::ParseResult result = frontend::parse(ctx, sources, sources.add("text", text), found);
  frontend::verify_parsed(ctx, sources, result, found);
  if (std::string wrong = check_spans(found, sources); !wrong.empty()) return wrong;
  if (!result.module || found.has_errors()) return {};
  source::Diagnostics again;
  const std::string printed = ir::print(result.module);
  frontend::parse(ctx, sources, sources.add("printed", printed), again);
  return again.has_errors() ? "cannot be read:\n" + printed + source::render(again, sources) : std::string();
}

inline std::string read_text(const std::string& text) {
  if (std::string wrong = read_file(text); !wrong.empty()) return wrong;
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics found;
  frontend::parse_input(ctx, sources, sources.add("entry", text), {}, found);
  frontend::completeness(text);
  frontend::EntryTree tree;
  (void)tree.next_indent(text);
  (void)tree.close_brackets(text);
  (void)tree.open_call(text, text.size() / 2);
  frontend::highlight(text);
  return check_spans(found, sources);
}

}  // namespace rldb::fuzz
