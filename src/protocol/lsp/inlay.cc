// Inlay hints: the types that the text leaves out.
#include "protocol/lsp/methods.h"
#include "protocol/lsp/relay_file.h"

namespace rldb::protocol::lsp {

using frontend::NameDefinition;
using frontend::NameKind;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

bool is_annotated(std::string_view text, const NameDefinition& d) {
  std::size_t at = d.at.end;
  while (at < text.size() && text[at] == ' ') ++at;
  return at < text.size() && text[at] == ':';
}

// Whether the name could be annotated: it alone is what the statement binds.
bool stands_alone(const TextIndex&, const NameDefinition& d) { return d.whole.begin == d.at.begin; }

// Of a `let`, or of the value of a graph variable, which cannot be annotated.
std::string relay_type(const TextFile& file, const NameDefinition& d, bool graph) {
  if (!graph) return file.relay()->type_at(d.at);
  const std::string_view text = file.text();
  const std::size_t equals = text.find('=', d.at.end);
  const std::size_t value = equals == text.npos ? equals : text.find_first_not_of(" \t\r\n", equals + 1);
  if (value >= d.whole.end) return {};
  return file.relay()->type_at({static_cast<std::uint32_t>(value), d.whole.end});
}

}  // namespace

RpcResult<Json> inlay_hints(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto range = server.range_of(**file, params);
  if (!range.ok()) return support::Failure(range.error());
  Json out = Json::array();
  if (!server.client().hints) return out;
  const bool relay = (*file)->is_relay();
  const TextIndex& index = (*file)->index();
  for (std::uint32_t i = 0; i < index.definitions().size(); ++i) {
    const NameDefinition& d = index.definitions()[i];
    const bool variable = d.kind == NameKind::Variable || d.kind == NameKind::DataflowVariable;
    if (!variable || !range->contains(d.at) || is_annotated((*file)->text(), d)) continue;
    const bool graph = relay && d.whole.begin == d.at.begin;
    const std::string type = relay ? relay_type(**file, d, graph) : (*file)->types().text_of(index, i);
    if (type.empty()) continue;
    Json hint{{"position", write_position((*file)->buffer(), d.at.end, server.client().unit)},
              {"label", ": " + type},
              {"kind", 1},
              {"paddingLeft", false}};
    if (relay ? !graph : stands_alone(index, d))
      hint["textEdits"] =
          Json::array({{{"range", server.range(**file, {d.at.end, d.at.end})}, {"newText", ": " + type}}});
    out.push_back(std::move(hint));
  }
  return out;
}

}  // namespace rldb::protocol::lsp
