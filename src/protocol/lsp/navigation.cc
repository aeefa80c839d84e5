// Definitions, references and highlights of names, and the hierarchy of calls.
#include <algorithm>

#include "protocol/lsp/methods.h"

namespace rldb::protocol::lsp {

using frontend::kNoName;
using frontend::MarkKind;
using frontend::NameDefinition;
using frontend::NameKind;
using frontend::NameMark;
using frontend::TextIndex;

namespace {

struct Named {
  TextFile* file = nullptr;
  const TextIndex* index = nullptr;
  std::uint32_t name = kNoName;  // kNoName: nothing is named there
};

RpcResult<Named> named_at(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto offset = server.offset_of(**file, params);
  if (!offset.ok()) return support::Failure(offset.error());
  Named out{*file, &(*file)->index()};
  const NameMark* mark = out.index->mark_at(*offset);
  if (mark && (*file)->is_script(*offset)) out.name = mark->name;
  return out;
}

Json call_item(const Server& server, const TextFile& file, const TextIndex& index, std::uint32_t name) {
  const NameDefinition& d = index.definitions()[name];
  return {{"name", d.name},
          {"kind", 12},
          {"detail", std::string(to_string(d.kind))},
          {"uri", file.uri()},
          {"range", server.range(file, d.whole)},
          {"selectionRange", server.range(file, d.at)}};
}

// The function that an item of the hierarchy means: the client gives back what it was given.
RpcResult<Named> function_of_item(Server& server, const Json& params) {
  TextFile* file = server.find_file(text_at(params, {"item", "uri"}));
  const auto place = read_range(find(params, {"item", "selectionRange"}));
  if (!file || !place) return rpc_failure(RpcCode::InvalidParams, "`item` does not come from this server");
  Named out{file, &file->index()};
  const NameMark* mark = out.index->mark_at(file->buffer().offset(place->begin, server.client().unit));
  if (mark && mark->name != kNoName && frontend::is_function(out.index->definitions()[mark->name].kind))
    out.name = mark->name;
  return out;
}

}  // namespace

// Of joined definitions all.
RpcResult<Json> definition(Server& server, const Json& params) {
  auto named = named_at(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json(nullptr);
  Json out = Json::array();
  for (const NameDefinition& d : named->index->definitions())
    if (d.joined == named->name) out.push_back(server.location(*named->file, d.at));
  return out;
}

// Of a symbolic variable the line that declares it; of everything else its definition.
RpcResult<Json> declaration(Server& server, const Json& params) {
  auto named = named_at(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json(nullptr);
  Json out = Json::array();
  for (const NameMark& m : named->index->uses_of(named->name))
    if (m.kind == MarkKind::Declaration) out.push_back(server.location(*named->file, m.at));
  return out.empty() ? definition(server, params) : RpcResult<Json>(std::move(out));
}

RpcResult<Json> references(Server& server, const Json& params) {
  auto named = named_at(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json(nullptr);
  const bool declarations = flag_at(params, {"context", "includeDeclaration"});
  Json out = Json::array();
  for (const NameMark& m : named->index->uses_of(named->name))
    if (declarations || (m.kind != MarkKind::Definition && m.kind != MarkKind::Declaration))
      out.push_back(server.location(*named->file, m.at));
  return out;
}

RpcResult<Json> highlight(Server& server, const Json& params) {
  auto named = named_at(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json(nullptr);
  Json out = Json::array();
  for (const NameMark& m : named->index->uses_of(named->name))
    out.push_back({{"range", server.range(*named->file, m.at)}, {"kind", m.kind == MarkKind::Read ? 2 : 3}});
  return out;
}

RpcResult<Json> prepare_calls(Server& server, const Json& params) {
  auto named = named_at(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName || !frontend::is_function(named->index->definitions()[named->name].kind))
    return Json(nullptr);
  Json out = Json::array();
  out.push_back(call_item(server, *named->file, *named->index, named->name));
  return out;
}

RpcResult<Json> incoming_calls(Server& server, const Json& params) {
  auto named = function_of_item(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json::array();
  std::map<std::uint32_t, Json> by_caller;
  for (const NameMark& m : named->index->uses_of(named->name)) {
    const std::uint32_t caller = named->index->function_at(m.at.begin);
    if (m.kind == MarkKind::Definition || caller == kNoName) continue;
    by_caller.try_emplace(caller, Json::array()).first->second.push_back(server.range(*named->file, m.at));
  }
  Json out = Json::array();
  for (auto& [caller, ranges] : by_caller)
    out.push_back(
        {{"from", call_item(server, *named->file, *named->index, caller)}, {"fromRanges", std::move(ranges)}});
  return out;
}

RpcResult<Json> outgoing_calls(Server& server, const Json& params) {
  auto named = function_of_item(server, params);
  if (!named.ok()) return support::Failure(named.error());
  if (named->name == kNoName) return Json::array();
  const TextIndex& index = *named->index;
  const frontend::TextRange body = index.definitions()[named->name].whole;
  std::map<std::uint32_t, Json> by_callee;
  for (const NameMark& m : index.marks()) {
    if (m.name == kNoName || m.kind == MarkKind::Definition || !body.contains(m.at)) continue;
    if (!frontend::is_function(index.definitions()[m.name].kind)) continue;
    by_callee.try_emplace(m.name, Json::array()).first->second.push_back(server.range(*named->file, m.at));
  }
  Json out = Json::array();
  for (auto& [callee, ranges] : by_callee)
    out.push_back({{"to", call_item(server, *named->file, index, callee)}, {"fromRanges", std::move(ranges)}});
  return out;
}

}  // namespace rldb::protocol::lsp
