// Diagnostics of a text and of its pipeline, pushed and pulled.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/lsp/methods.h"

namespace rldb::protocol::lsp {

namespace {

int severity_of(source::Severity s) {
  switch (s) {
    case source::Severity::Error:
      return 1;
    case source::Severity::Warning:
      return 2;
    case source::Severity::Note:
      return 3;
  }
  return 1;
}

// Notes without a place, and those that the client cannot show, are part of the message.
Json diagnostic_json(const Server& server, const TextFile& file, const source::Diagnostic& d, frontend::TextRange at) {
  std::string message = d.message;
  Json related = Json::array();
  for (const source::Note& n : d.notes) {
    const bool placed = n.span && n.span.file == file.file() && server.client().related_information;
    if (placed)
      related.push_back({{"location", server.location(file, {n.span.begin, n.span.end})}, {"message", n.text}});
    else
      message += "\n" + n.text;
  }
  if (!d.hint.empty()) message += "\nhint: " + d.hint;
  Json out{{"range", server.range(file, at)},
           {"severity", severity_of(d.severity)},
           {"code", d.id.row().name},
           {"source", "rldb"},
           {"message", std::move(message)}};
  if (!related.empty()) out["relatedInformation"] = std::move(related);
  return out;
}

}  // namespace

Json diagnostics_of(Server& server, TextFile& file) {
  Json all = Json::array();
  for (const source::Diagnostic& d : file.diagnostics()) {
    frontend::TextRange at{d.span.begin, d.span.end};
    if (!(d.span.file == file.file())) at = {0, 0};
    all.push_back(diagnostic_json(server, file, d, at));
  }
  for (const PipelineFinding& f : file.pipeline.findings)
    all.push_back(diagnostic_json(server, file, f.diagnostic, f.at));
  return all;
}

RpcResult<Json> pull_diagnostics(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  const std::string id = fmt::format("{}-{}", (*file)->generation(), (*file)->pipeline.generation.value_or(0));
  if (text_at(params, {"previousResultId"}) == id) return Json{{"kind", "unchanged"}, {"resultId", id}};
  return Json{{"kind", "full"}, {"resultId", id}, {"items", diagnostics_of(server, **file)}};
}

}  // namespace rldb::protocol::lsp
