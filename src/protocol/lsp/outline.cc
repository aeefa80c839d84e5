// Document and workspace symbols, folds, selections.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "protocol/lsp/methods.h"

namespace rldb::protocol::lsp {

using frontend::kNoName;
using frontend::NameDefinition;
using frontend::NameKind;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

// SymbolKind of the protocol.
int symbol_kind(NameKind kind) {
  switch (kind) {
    case NameKind::Module:
      return 5;  // Class
    case NameKind::RelaxFunction:
    case NameKind::PrimFunc:
    case NameKind::PythonFunction:
    case NameKind::Macro:
    case NameKind::External:
      return 12;  // Function
    case NameKind::Parameter:
    case NameKind::Variable:
    case NameKind::DataflowVariable:
    case NameKind::LoopVariable:
      return 13;  // Variable
    case NameKind::Symbol:
      return 26;  // TypeParameter
    case NameKind::Buffer:
      return 18;  // Array
    case NameKind::Block:
      return 3;  // Namespace
    case NameKind::Constant:
      return 14;  // Constant
  }
  return 13;
}

// Names below a function that an outline shows; loop variables and uses are too many to help.
bool is_listed(NameKind kind) { return kind != NameKind::LoopVariable && kind != NameKind::Constant; }

struct Outline {
  Server& server;
  TextFile& file;
  const TextIndex& index;
  std::vector<std::vector<std::uint32_t>> below;  // by owner
  std::vector<std::uint32_t> roots;

  Outline(Server& s, TextFile& f) : server(s), file(f), index(f.index()), below(index.definitions().size()) {
    for (std::uint32_t i = 0; i < index.definitions().size(); ++i) {
      const NameDefinition& d = index.definitions()[i];
      const bool top = d.owner == kNoName;
      if (!is_listed(d.kind) && !(d.kind == NameKind::Constant && file.is_relay())) continue;
      if (top && !file.is_relay() && !index.is_script(d.at.begin)) continue;
      top ? roots.push_back(i) : below[d.owner].push_back(i);
    }
  }

  std::string detail(std::uint32_t i) const {
    const NameDefinition& d = index.definitions()[i];
    if (frontend::is_function(d.kind) || d.kind == NameKind::Module) return std::string(to_string(d.kind));
    return file.is_relay() ? std::string() : file.types().text_of(index, i);
  }
  void add_range(std::string_view key, TextRange range, std::string& out) const {
    out += key;
    append_range(out, file.buffer(), range, server.client().unit);
  }
  void begin_symbol(const NameDefinition& d, std::string& out) const {
    out += out.ends_with('[') ? "{\"name\":" : ",{\"name\":";
    append_quoted(out, d.name.empty() ? "_" : d.name);
    out += fmt::format(",\"kind\":{}", symbol_kind(d.kind));
  }

  void add(std::uint32_t i, std::string& out) const {
    const NameDefinition& d = index.definitions()[i];
    begin_symbol(d, out);
    out += ",\"detail\":";
    append_quoted(out, detail(i));
    add_range(",\"range\":", d.whole.contains(d.at) ? d.whole : d.at, out);
    add_range(",\"selectionRange\":", d.at, out);
    if (!below[i].empty()) {
      out += ",\"children\":[";
      for (const std::uint32_t child : below[i]) add(child, out);
      out += ']';
    }
    out += '}';
  }

  void add_flat(std::uint32_t i, std::string& out) const {
    const NameDefinition& d = index.definitions()[i];
    begin_symbol(d, out);
    out += ",\"location\":{\"uri\":";
    append_quoted(out, file.uri());
    add_range(",\"range\":", d.whole.contains(d.at) ? d.whole : d.at, out);
    out += '}';
    if (d.owner != kNoName) {
      out += ",\"containerName\":";
      append_quoted(out, index.definitions()[d.owner].name);
    }
    out += '}';
    for (const std::uint32_t child : below[i]) add_flat(child, out);
  }
};

// The letters of the query in the name, in order, whatever their case.
bool resembles(std::string_view name, std::string_view query) {
  std::size_t at = 0;
  for (const char c : name)
    if (at < query.size() &&
        std::tolower(static_cast<unsigned char>(c)) == std::tolower(static_cast<unsigned char>(query[at])))
      ++at;
  return at == query.size();
}

}  // namespace

RpcResult<Text> document_symbols(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  const Outline outline(server, **file);
  Text out = "[";
  for (const std::uint32_t root : outline.roots) {
    if (server.client().nested_symbols)
      outline.add(root, out);
    else
      outline.add_flat(root, out);
  }
  return out + "]";
}

// Modules and functions of all open texts.
RpcResult<Json> workspace_symbols(Server& server, const Json& params) {
  const std::string query = text_at(params, {"query"});
  constexpr std::size_t kMost = 500;
  Json out = Json::array();
  for (const auto& [uri, file] : server.files()) {
    const TextIndex& index = file->index();
    for (const NameDefinition& d : index.definitions()) {
      if (out.size() >= kMost) return out;
      if (!(frontend::is_function(d.kind) || d.kind == NameKind::Module) || !resembles(d.name, query)) continue;
      Json one{{"name", d.name}, {"kind", symbol_kind(d.kind)}, {"location", server.location(*file, d.at)}};
      if (d.owner != kNoName) one["containerName"] = index.definitions()[d.owner].name;
      out.push_back(std::move(one));
    }
  }
  return out;
}

RpcResult<Json> folding_ranges(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  Json out = Json::array();
  const source::Buffer& buffer = (*file)->buffer();
  for (const TextRange& r : (*file)->index().folds()) {
    const std::uint32_t begin = buffer.line_column(r.begin).line, end = buffer.line_column(r.end - 1).line;
    // The line of a closing bracket stays visible.
    const bool bracket =
        r.end > 0 && std::string_view(")]}").find((*file)->text()[r.end - 1]) != std::string_view::npos;
    const std::uint32_t last = bracket && end > begin + 1 ? end - 1 : end;
    out.push_back({{"startLine", begin - 1}, {"endLine", last - 1}});
  }
  return out;
}

RpcResult<Json> selection_ranges(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  const Json* positions = find(params, {"positions"});
  if (!positions || !positions->is_array()) return rpc_failure(RpcCode::InvalidParams, "`positions` must be an array");
  constexpr std::size_t kMostPositions = 1000;
  constexpr std::size_t kMostLevels = 60;  // each is nested in the JSON of the one before
  if (positions->size() > kMostPositions) return rpc_failure(RpcCode::InvalidParams, "`positions` has too many items");
  Json out = Json::array();
  for (const Json& position : *positions) {
    const auto place = read_position(&position);
    if (!place) return rpc_failure(RpcCode::InvalidParams, "an item of `positions` is not a position");
    const std::uint32_t offset = (*file)->buffer().offset(*place, server.client().unit);
    std::vector<TextRange> around = (*file)->index().enclosing(offset);
    if (around.empty()) around.push_back({offset, offset});
    if (around.size() > kMostLevels) around.resize(kMostLevels);
    Json nested;
    for (auto r = around.rbegin(); r != around.rend(); ++r) {
      Json outer = std::move(nested);
      nested = {{"range", server.range(**file, *r)}};
      if (!outer.is_null()) nested["parent"] = std::move(outer);
    }
    out.push_back(std::move(nested));
  }
  return out;
}

}  // namespace rldb::protocol::lsp
