// Lifecycle, open texts, and the dispatch of requests.
#include "protocol/lsp/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/lsp/methods.h"
#include "rldb/ui/render/version.h"

namespace rldb::protocol::lsp {

namespace {

Answer answer_of(Json value) { return {std::move(value), {}}; }
Answer answer_of(Text text) { return {{}, std::move(text)}; }

template <auto kFunction>
RpcResult<Answer> answer_by(Server& server, const Json& params) {
  RLDB_TRY(auto made, kFunction(server, params));
  return answer_of(std::move(made));
}

struct Method {
  std::string_view name;
  RpcResult<Answer> (*answer)(Server&, const Json&);
};
constexpr Method kMethods[] = {
#define RLDB_LSP_METHOD(name, function, Reply) {name, answer_by<function>},
#include "protocol/lsp/method.def"
};

bool offers(const Json& list, std::string_view word) {
  return list.is_array() && std::any_of(list.begin(), list.end(), [&](const Json& item) { return item == word; });
}

Json capabilities_for(const Client& client) {
  return {{"positionEncoding", client.unit == source::ColumnUnit::Bytes ? "utf-8" : "utf-16"},
          {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
          {"diagnosticProvider",
           {{"identifier", "rldb"}, {"interFileDependencies", false}, {"workspaceDiagnostics", false}}},
          {"hoverProvider", true},
          {"completionProvider", {{"triggerCharacters", {".", "@", "="}}}},
          {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
          {"declarationProvider", true},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentSymbolProvider", true},
          {"workspaceSymbolProvider", true},
          {"foldingRangeProvider", true},
          {"selectionRangeProvider", true},
          {"inlayHintProvider", true},
          {"semanticTokensProvider", {{"legend", token_legend()}, {"full", {{"delta", true}}}, {"range", true}}},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
          {"codeLensProvider", {{"resolveProvider", false}}},
          {"callHierarchyProvider", true},
          {"executeCommandProvider", {{"commands", command_names()}}}};
}

}  // namespace

Server::Server(const ui::CommandLine& line, std::function<void(const Json&)> send)
    : line_(line), send_(std::move(send)) {}
Server::~Server() = default;

RpcResult<Answer> Server::initialize(const Json& params) {
  if (state_ != State::New) return rpc_failure(RpcCode::InvalidRequest, "`initialize` was called before");
  static const Json kNone = Json::object();
  const Json* found = find(params, {"capabilities"});
  const Json& can = found ? *found : kNone;
  if (const Json* encodings = find(can, {"general", "positionEncodings"}))
    if (offers(*encodings, "utf-8")) client_.unit = source::ColumnUnit::Bytes;
  if (const Json* formats = find(can, {"textDocument", "hover", "contentFormat"}))
    client_.markdown = offers(*formats, "markdown");
  client_.pulls = find(can, {"textDocument", "diagnostic"}) != nullptr;
  client_.refreshes_diagnostics = flag_at(can, {"workspace", "diagnostics", "refreshSupport"});
  client_.document_changes = flag_at(can, {"workspace", "workspaceEdit", "documentChanges"});
  client_.nested_symbols = flag_at(can, {"textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport"});
  client_.related_information = flag_at(can, {"textDocument", "publishDiagnostics", "relatedInformation"}) ||
                                flag_at(can, {"textDocument", "diagnostic", "relatedInformation"});
  client_.shows_results = flag_at(params, {"initializationOptions", "showsResults"});
  client_.debugs = flag_at(params, {"initializationOptions", "debugs"});
  if (const Json* options = find(params, {"initializationOptions"})) read_settings(*options);
  state_ = State::Running;
  return Answer{
      {{"capabilities", capabilities_for(client_)}, {"serverInfo", {{"name", "rldb"}, {"version", ui::kVersion}}}}, {}};
}

void Server::read_settings(const Json& settings) {
  const std::string before = client_.passes;
  if (find(settings, {"passes"})) client_.passes = text_at(settings, {"passes"});
  if (find(settings, {"inlayHints"})) client_.hints = flag_at(settings, {"inlayHints"});
  if (find(settings, {"codeLenses"})) client_.lenses = flag_at(settings, {"codeLenses"});
  if (client_.passes != before)
    for (const auto& [uri, file] : files_) file->pipeline.generation.reset();
}

RpcResult<Answer> Server::answer(const Request& request) {
  if (request.method == "initialize") return initialize(request.params);
  if (state_ == State::New) return rpc_failure(RpcCode::ServerNotInitialized, "the first request must be `initialize`");
  if (state_ != State::Running) return rpc_failure(RpcCode::InvalidRequest, "the server has been shut down");
  if (request.method == "shutdown") {
    state_ = State::ShutDown;
    shut_down_ = true;
    files_.clear();
    return Answer{};
  }
  for (const Method& m : kMethods)
    if (m.name == request.method) return m.answer(*this, request.params);
  return rpc_failure(RpcCode::MethodNotFound, fmt::format("there is no method `{}`", request.method));
}

void Server::notice(const Request& notification) {
  const std::string& method = notification.method;
  if (method == "exit") {
    state_ = State::Ended;
    return;
  }
  if (state_ != State::Running) return;
  if (method == "textDocument/didOpen") return open(notification.params);
  if (method == "textDocument/didChange") return change(notification.params);
  if (method == "textDocument/didClose") return close(notification.params);
  if (method == "workspace/didChangeConfiguration") {
    const Json* settings = find(notification.params, {"settings", "rldb"});
    if (settings) read_settings(*settings);
  }
  // Others (`initialized`, `didSave`, `$/setTrace`) tell nothing that is needed.
}

void Server::open(const Json& params) {
  const Json* document = find(params, {"textDocument"});
  const std::string uri = document ? text_at(*document, {"uri"}) : std::string();
  const Json* text = document ? find(*document, {"text"}) : nullptr;
  if (uri.empty() || !text || !text->is_string()) return log("didOpen without a `uri` and a `text`");
  constexpr std::size_t kMostFiles = 1000;
  if (files_.size() >= kMostFiles && !find_file(uri))
    return log(fmt::format("{} texts are open: this one is not looked at", kMostFiles));
  files_[uri] = std::make_unique<TextFile>(uri, text_at(*document, {"languageId"}),
                                           number_at(*document, {"version"}).value_or(0), text->get<std::string>());
}

void Server::change(const Json& params) {
  TextFile* file = find_file(text_at(params, {"textDocument", "uri"}));
  const Json* changes = find(params, {"contentChanges"});
  if (!file || !changes || !changes->is_array()) return log("didChange of a text that is not open, or without changes");
  for (const Json& change : *changes) {
    const Json* text = find(change, {"text"});
    if (!text || !text->is_string()) {
      log("a change without a `text` was left out");
      continue;
    }
    const Json* range = find(change, {"range"});
    if (!range) {
      file->replace(text->get<std::string>());
      continue;
    }
    const auto place = read_range(range);
    if (!place || !file->edit(place->begin, place->end, text->get_ref<const std::string&>(), client_.unit))
      log("a change whose range is none was left out");
  }
  file->version = number_at(params, {"textDocument", "version"}).value_or(file->version);
}

void Server::close(const Json& params) {
  const std::string uri = text_at(params, {"textDocument", "uri"});
  if (files_.erase(uri) > 0 && !client_.pulls)
    notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
}

TextFile* Server::find_file(const std::string& uri) {
  const auto it = files_.find(uri);
  return it == files_.end() ? nullptr : it->second.get();
}

RpcResult<TextFile*> Server::file_of(const Json& params) {
  const std::string uri = text_at(params, {"textDocument", "uri"});
  if (TextFile* file = find_file(uri)) return file;
  return rpc_failure(RpcCode::InvalidParams, uri.empty() ? std::string("`textDocument.uri` must be a string")
                                                         : fmt::format("the text `{}` is not open", uri));
}

RpcResult<std::uint32_t> Server::offset_of(const TextFile& file, const Json& params) const {
  const auto place = read_position(find(params, {"position"}));
  if (!place) return rpc_failure(RpcCode::InvalidParams, "`position` must have a `line` and a `character`");
  return file.buffer().offset(*place, client_.unit);
}

RpcResult<frontend::TextRange> Server::range_of(const TextFile& file, const Json& params) const {
  const auto place = read_range(find(params, {"range"}));
  if (!place) return rpc_failure(RpcCode::InvalidParams, "`range` must have a `start` and an `end`");
  const std::uint32_t begin = file.buffer().offset(place->begin, client_.unit);
  return frontend::TextRange{begin, std::max(begin, file.buffer().offset(place->end, client_.unit))};
}

Json Server::location(const TextFile& file, frontend::TextRange at) const {
  return {{"uri", file.uri()}, {"range", range(file, at)}};
}

void Server::notify(std::string_view method, Json params) const {
  send_({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

void Server::request(std::string_view method) {
  send_({{"jsonrpc", "2.0"}, {"id", fmt::format("rldb-{}", ++requests_)}, {"method", method}});
}

void Server::log(std::string_view text) const { notify("window/logMessage", {{"type", 2}, {"message", text}}); }

// ---- what is known of a text, after it has changed ----

void Server::publish() {
  if (state_ != State::Running) return;
  for (const auto& [uri, file] : files_) publish(*file);
}

void Server::publish(TextFile& file) {
  const TextFile::Published now{file.generation(), file.pipeline.generation};
  if (file.published.generation == now.generation && file.published.pipeline == now.pipeline) return;
  const bool text_changed = file.published.generation != now.generation;
  file.published = now;
  if (client_.pulls) {
    // A client asks again after its own changes, but not after those of the pipeline's findings.
    if (!text_changed && client_.refreshes_diagnostics) request("workspace/diagnostic/refresh");
    return;
  }
  notify("textDocument/publishDiagnostics",
         {{"uri", file.uri()}, {"version", file.version}, {"diagnostics", diagnostics_of(*this, file)}});
}

bool Server::has_background_work() const {
  if (state_ != State::Running) return false;
  return std::any_of(files_.begin(), files_.end(), [&](const auto& row) {
    TextFile& file = *row.second;
    return !file.index_is_fresh() || file.pipeline.generation != file.generation();
  });
}

void Server::work_in_background() {
  for (const auto& [uri, file] : files_) {
    if (!file->index_is_fresh()) (void)file->index();
    if (file->pipeline.generation == file->generation()) continue;
    const auto pipeline = pipeline_of(*this, *file);
    if (pipeline) {
      run_pipeline(*this, *file, *pipeline);
    } else {
      const bool had = !file->pipeline.findings.empty();
      file->pipeline.findings.clear();
      file->pipeline.generation = file->generation();
      if (!had) file->published.pipeline = file->pipeline.generation;
    }
  }
}

void Server::give_background_up() {
  for (const auto& [uri, file] : files_) {
    if (file->pipeline.generation == file->generation()) continue;
    file->pipeline.generation = file->generation();
    log("the pipeline of " + uri + " was abandoned");
  }
}

}  // namespace rldb::protocol::lsp
