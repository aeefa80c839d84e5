// Fuzz target: any text, read as a file, as an entry at the prompt and as something being typed.
//
// Aborts when a diagnostic points outside of the text, or when a module that was read without errors prints as a text
// that cannot be read. Started by scripts/fuzz.
#include <cstdlib>
#include <string>

#include "rldb/frontend/parse.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"

using namespace rldb;

namespace {

constexpr std::size_t kMaxSize = 16 * 1024;

void check_spans(const source::Diagnostics& diagnostics, const source::SourceManager& sources) {
  for (const source::Diagnostic& d : diagnostics.all()) {
    const source::Buffer* buffer = sources.find(d.span.file);
    if (buffer && (d.span.begin > d.span.end || d.span.end > buffer->text().size())) std::abort();
  }
  source::render(diagnostics, sources);
  source::render_json(diagnostics, sources);
}

void read_file(const std::string& text) {
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics found;
  const frontend::ParseResult result = frontend::parse(ctx, sources, sources.add("text", text), found);
  frontend::verify_parsed(ctx, result, found);
  check_spans(found, sources);
  if (!result.module || found.has_errors()) return;
  source::Diagnostics again;
  frontend::parse(ctx, sources, sources.add("printed", ir::print(result.module)), again);
  if (again.has_errors()) std::abort();
}

void read_entry(const std::string& text) {
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics found;
  frontend::parse_input(ctx, sources, sources.add("entry", text), {}, found);
  check_spans(found, sources);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxSize) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_file(text);
  read_entry(text);
  frontend::completeness(text);
  frontend::next_indent(text);
  frontend::highlight(text);
  return 0;
}
