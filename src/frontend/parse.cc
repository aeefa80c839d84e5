// The entry point: checks of the text, the tree, the reader.
#include "rldb/frontend/parse.h"

#include "frontend/cst/damage.h"
#include "frontend/echo.h"
#include "frontend/script/module.h"
#include "frontend/script/value/types.h"
#include "frontend/text.h"
#include "rldb/frontend/entry_tree.h"

namespace rldb::frontend {

namespace {

template <class F>
ParseResult with_reader(ir::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        source::Diagnostics& out, const ParseOptions& options, const Environment* env, F&& read) {
  const source::Buffer& buffer = sources.get(file);
  if (!check_text(buffer, file, out)) {
    ParseResult failed;
    failed.ok = false;
    return failed;
  }
  cst::TreeOptions tree_options;
  tree_options.max_depth = options.max_depth;
  const cst::Tree tree = cst::parse_tree(file, buffer.text(), tree_options);
  source::Diagnostics mine;
  cst::report_damage(tree, mine);
  script::Reader reader(ctx, sources, file, mine, options, env);
  ParseResult result = read(reader, tree);
  result.ok = !mine.has_errors();
  if (!mine.all().empty()) add_without_echoes(mine.all(), functions_of(tree), buffer.text(), out);
  return result;
}

}  // namespace

ParseResult parse(ir::Context& ctx, const source::SourceManager& sources, source::FileId file, source::Diagnostics& out,
                  const ParseOptions& options) {
  return with_reader(ctx, sources, file, out, options, nullptr,
                     [](script::Reader& r, const cst::Tree& t) { return script::read_file(r, t); });
}

ParseResult parse_input(ir::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        const Environment& env, source::Diagnostics& out, const ParseOptions& options) {
  return with_reader(ctx, sources, file, out, options, &env,
                     [](script::Reader& r, const cst::Tree& t) { return script::read_entry(r, t); });
}

const ir::Type* parse_type(ir::Context& ctx, const source::SourceManager& sources, source::FileId file,
                           const Environment& env, std::vector<const ir::Var*>& symbols, source::Diagnostics& out) {
  const ir::Type* type = nullptr;
  with_reader(ctx, sources, file, out, {}, &env, [&](script::Reader& r, const cst::Tree& t) {
    type = script::read_lone_type(r, t, symbols);
    return ParseResult{};
  });
  return type;
}

bool is_syntax(std::string_view text) {
  source::Diagnostics found;
  return cst::within_limits(text) && !cst::report_damage(cst::parse_tree({}, text), found);
}

Completeness completeness(std::string_view text) { return EntryTree().completeness(text); }
std::optional<ClosedEntry> close_brackets(std::string_view text) { return EntryTree().close_brackets(text); }
OpenCall find_open_call(std::string_view text, std::size_t cursor) { return EntryTree().open_call(text, cursor); }
std::string_view open_call(std::string_view text, std::size_t cursor) { return find_open_call(text, cursor).name; }
int next_indent(std::string_view text) { return EntryTree().next_indent(text); }
std::vector<Highlight> highlight(std::string_view text) { return EntryTree().highlight(text, 0, text.size()); }

}  // namespace rldb::frontend
