// Code actions (quick fixes) and code lenses.
#include <algorithm>

#include "protocol/lsp/fixes.h"
#include "protocol/lsp/methods.h"

namespace rldb::protocol::lsp {

using frontend::NameDefinition;
using frontend::NameKind;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

bool same_error(const source::Diagnostic& a, const source::Diagnostic& b) {
  return a.id == b.id && a.message == b.message;
}

// Whether the fixed text has one such diagnostic less, and no more errors.
bool holds(TextFile& file, const source::Diagnostic& fixed, const Fix& fix) {
  TextFile after("",
                 file.is_relay()                                 ? "relay"
                 : file.language() == TextFile::Language::Python ? "python"
                                                                 : "tvmscript",
                 0, with_edits(file.text(), fix.edits));
  const std::vector<source::Diagnostic> before = file.diagnostics(), now = after.diagnostics();
  const auto count = [&](const std::vector<source::Diagnostic>& all) {
    return std::count_if(all.begin(), all.end(), [&](const source::Diagnostic& d) { return same_error(d, fixed); });
  };
  const auto errors = [](const std::vector<source::Diagnostic>& all) {
    return std::count_if(all.begin(), all.end(),
                         [](const source::Diagnostic& d) { return d.severity == source::Severity::Error; });
  };
  return count(now) < count(before) && errors(now) <= errors(before);
}

Json edit_json(const Server& server, const TextFile& file, const Fix& fix) {
  Json edits = Json::array();
  for (const FixEdit& e : fix.edits) edits.push_back({{"range", server.range(file, e.at)}, {"newText", e.text}});
  if (!server.client().document_changes) return {{"changes", {{file.uri(), std::move(edits)}}}};
  Json one{{"textDocument", {{"uri", file.uri()}, {"version", file.version}}}, {"edits", std::move(edits)}};
  return {{"documentChanges", Json::array({std::move(one)})}};
}

}  // namespace

RpcResult<Json> code_actions(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto range = server.range_of(**file, params);
  if (!range.ok()) return support::Failure(range.error());
  Json out = Json::array();
  if (const Json* only = find(params, {"context", "only"}); only && only->is_array() && !only->empty())
    if (std::none_of(only->begin(), only->end(), [](const Json& kind) { return kind == "quickfix" || kind == ""; }))
      return out;
  constexpr std::size_t kMostTried = 10;
  std::size_t tried = 0;
  const std::vector<source::Diagnostic> all = (*file)->diagnostics();
  // Those of the lines of the range: a cursor is rarely on the very place.
  const source::Buffer& buffer = (*file)->buffer();
  const std::uint32_t first_line = buffer.line_start(buffer.line_column(range->begin).line);
  const std::uint32_t last_line = buffer.line_column(range->end).line;
  const auto last = static_cast<std::uint32_t>(buffer.line_start(last_line) + buffer.line(last_line).size());
  const Json published = diagnostics_of(server, **file);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const source::Diagnostic& d = all[i];
    if (d.span.begin > last || d.span.end < first_line) continue;
    bool first = true;
    for (const Fix& fix : fixes_of(**file, d)) {
      if (tried == kMostTried) return out;
      ++tried;
      if (!holds(**file, d, fix)) continue;
      out.push_back({{"title", fix.title},
                     {"kind", "quickfix"},
                     {"diagnostics", Json::array({published[i]})},
                     {"isPreferred", first},
                     {"edit", edit_json(server, **file, fix)}});
      first = false;
    }
  }
  return out;
}

RpcResult<Json> code_lenses(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  Json out = Json::array();
  if (!server.client().lenses) return out;
  const TextIndex& index = (*file)->index();
  for (const NameDefinition& d : index.definitions()) {
    const bool relax = d.kind == NameKind::RelaxFunction, kernel = d.kind == NameKind::PrimFunc;
    const bool member = d.owner == frontend::kNoName || index.definitions()[d.owner].kind == NameKind::Module;
    if (!(relax || kernel) || !member || !(*file)->is_script(d.at.begin)) continue;
    const Json range = server.range(**file, d.at);
    const std::string name = (*file)->is_relay() ? d.name.substr(1) : d.name;
    const auto add = [&](const char* title, const char* command, Json arguments) {
      out.push_back({{"range", range},
                     {"command", {{"title", title}, {"command", command}, {"arguments", std::move(arguments)}}}});
    };
    if (relax) {
      add("Run", "rldb.run", {(*file)->uri(), name});
      if (server.client().debugs) add("Debug", "rldb.debug", {(*file)->uri(), name});
      if (!(*file)->is_relay()) add("Lower", "rldb.lower", {(*file)->uri()});
    }
    if (kernel) add("Show kernel", "rldb.kernel", {(*file)->uri(), name, "llvm"});
  }
  return out;
}

}  // namespace rldb::protocol::lsp
