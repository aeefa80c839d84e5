// The door: checks of the text, the tree, the reader.
#include "rldb/frontend/parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cst/damage.h"
#include "frontend/cst/query.h"
#include "frontend/script/module.h"
#include "frontend/script/types.h"
#include "rldb/source/diagnostic_id.h"

namespace rldb::frontend {

namespace {

using source::DiagId;

// The first byte that no text has, or npos: a NUL, or bytes that are not UTF-8.
std::size_t find_binary(std::string_view text, std::string_view& what) {
  const auto* s = reinterpret_cast<const unsigned char*>(text.data());
  const std::size_t n = text.size();
  for (std::size_t i = 0; i < n;) {
    const unsigned char c = s[i];
    if (c == 0) {
      what = "a zero byte";
      return i;
    }
    if (c < 0x80) {
      ++i;
      continue;
    }
    const std::size_t more = c >= 0xF0 && c < 0xF5 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC2 && c < 0xE0 ? 1 : 0;
    bool good = more > 0 && i + more < n + 0 && i + more <= n - 1;
    for (std::size_t k = 1; good && k <= more; ++k) good = (s[i + k] & 0xC0) == 0x80;
    if (!good) {
      what = "not UTF-8";
      return i;
    }
    i += more + 1;
  }
  return std::string_view::npos;
}

// A program of 64 MiB has some 800,000 bindings and takes half a minute to read: beyond that it is no program.
constexpr std::size_t kMaxProgramBytes = std::size_t(64) << 20;

bool check_text(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out) {
  const std::string_view text = buffer.text();
  if (text.size() > kMaxProgramBytes) {
    out.add({file, 0, 0}, source::message(DiagId::FileTooLarge, buffer.name(), text.size(), kMaxProgramBytes));
    return false;
  }
  std::string_view what;
  if (const std::size_t at = find_binary(text, what); at != std::string_view::npos) {
    const auto begin = static_cast<std::uint32_t>(at);
    out.add({file, begin, begin + 1}, source::message(DiagId::FileBinary, buffer.name(), at, what));
    return false;
  }
  if (std::size_t at = 0; !cst::within_limits(text, &at)) {
    const auto begin = static_cast<std::uint32_t>(std::min(at, text.size() - 1));
    out.add({file, begin, begin + 1}, source::message(DiagId::NestedTooDeepText));
    return false;
  }
  if (text.find_first_not_of(" \t\r\n\f") == std::string_view::npos) {
    out.add({file, 0, 0}, source::message(DiagId::EmptyText, buffer.name()));
    return false;
  }
  return true;
}

// Members are read on demand; their diagnostics come out in the order of the text.
void add_sorted(const source::Diagnostics& from, source::Diagnostics& to) {
  std::vector<source::Diagnostic> all = from.all();
  std::stable_sort(all.begin(), all.end(), [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  for (source::Diagnostic& d : all) to.add(std::move(d));
}

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
  script::Reader reader{ctx, sources, file, mine, options};
  reader.text = buffer.text();
  reader.env = env;
  ParseResult result = read(reader, tree);
  result.ok = !mine.has_errors();
  add_sorted(mine, out);
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

Completeness completeness(std::string_view text) { return cst::completeness(text); }
int next_indent(std::string_view text) { return cst::next_indent(text); }
std::vector<Highlight> highlight(std::string_view text) { return cst::highlight(text); }

}  // namespace rldb::frontend
