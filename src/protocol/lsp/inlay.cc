// Inlay hints: the types that the text leaves out.
#include "protocol/lsp/methods.h"

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

}  // namespace

RpcResult<Json> inlay_hints(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto range = server.range_of(**file, params);
  if (!range.ok()) return support::Failure(range.error());
  Json out = Json::array();
  if ((*file)->is_relay() || !server.client().hints) return out;
  const TextIndex& index = (*file)->index();
  for (std::uint32_t i = 0; i < index.definitions().size(); ++i) {
    const NameDefinition& d = index.definitions()[i];
    const bool variable = d.kind == NameKind::Variable || d.kind == NameKind::DataflowVariable;
    if (!variable || !range->contains(d.at) || is_annotated((*file)->text(), d)) continue;
    const std::string type = (*file)->types().text_of(index, i);
    if (type.empty()) continue;
    Json hint{{"position", write_position((*file)->buffer(), d.at.end, server.client().unit)},
              {"label", ": " + type},
              {"kind", 1},
              {"paddingLeft", false}};
    if (stands_alone(index, d))
      hint["textEdits"] =
          Json::array({{{"range", server.range(**file, {d.at.end, d.at.end})}, {"newText", ": " + type}}});
    out.push_back(std::move(hint));
  }
  return out;
}

}  // namespace rldb::protocol::lsp
