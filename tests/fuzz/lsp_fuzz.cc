// Fuzz target: bytes as a client of the language server would send them, well framed or not. Each message is
// answered or left out; see text_fuzz.cc for the texts themselves.
#include <cctype>
#include <string>
#include <vector>

#include "fuzz/mutate.h"
#include "protocol/lsp/server.h"
#include "protocol/message_frames.h"

namespace rldb::fuzz {

namespace {

using protocol::Json;

constexpr const char* kPlaced[] = {"textDocument/hover",
                                   "textDocument/completion",
                                   "textDocument/signatureHelp",
                                   "textDocument/definition",
                                   "textDocument/declaration",
                                   "textDocument/references",
                                   "textDocument/documentHighlight",
                                   "textDocument/prepareRename",
                                   "textDocument/prepareCallHierarchy"};
constexpr const char* kWhole[] = {"textDocument/diagnostic",   "textDocument/documentSymbol",
                                  "textDocument/foldingRange", "textDocument/semanticTokens/full",
                                  "textDocument/codeLens",     "textDocument/semanticTokens/full/delta"};
constexpr const char* kRanged[] = {"textDocument/inlayHint", "textDocument/semanticTokens/range",
                                   "textDocument/codeAction"};

// The text of a module with edits and requests at places that its bytes tell.
void talk_about(protocol::lsp::Server& server, const std::string& text) {
  const std::string uri = "file:///f.py";
  const char* language = text.size() % 3 == 0 ? "relay" : text.size() % 3 == 1 ? "python" : "tvmscript";
  const Json document{{"uri", uri}};
  server.notice({"textDocument/didOpen",
                 {{"textDocument", {{"uri", uri}, {"languageId", language}, {"version", 1}, {"text", text}}}},
                 std::nullopt});
  std::uint64_t seed = 1469598103934665603ULL;
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  Rng rng(seed);
  const auto position = [&]() -> Json { return {{"line", below(rng, 40)}, {"character", below(rng, 60)}}; };
  for (int step = 0; step < 6; ++step) {
    const Json range{{"start", position()}, {"end", position()}};
    const std::string piece = text.substr(below(rng, text.size() + 1), below(rng, 30));
    server.notice({"textDocument/didChange",
                   {{"textDocument", {{"uri", uri}, {"version", step + 2}}},
                    {"contentChanges", Json::array({{{"range", range}, {"text", piece}}})}},
                   std::nullopt});
    server.publish();
    for (const char* method : kPlaced)
      (void)server.answer({method, {{"textDocument", document}, {"position", position()}}, Json(1)});
    (void)server.answer(
        {"textDocument/rename", {{"textDocument", document}, {"position", position()}, {"newName", "zz"}}, Json(1)});
    for (const char* method : kWhole)
      (void)server.answer({method, {{"textDocument", document}, {"previousResultId", "1"}}, Json(1)});
    for (const char* method : kRanged)
      (void)server.answer({method, {{"textDocument", document}, {"range", range}}, Json(1)});
    (void)server.answer({"textDocument/selectionRange",
                         {{"textDocument", document}, {"positions", Json::array({position()})}},
                         Json(1)});
  }
}

// What the server would do with the bytes of its input.
void take_stream(protocol::lsp::Server& server, std::string_view bytes) {
  const auto splitter = protocol::split_frames(std::size_t(1) << 20);
  std::vector<protocol::Message> messages;
  splitter->feed(bytes, messages);
  splitter->finish(messages);
  for (const protocol::Message& m : messages) {
    if (m.fault) continue;
    Json id;
    auto request = protocol::read_request(m.text, id);
    if (!request.ok() || !*request) continue;
    if ((*request)->method == "workspace/executeCommand") continue;  // runs programs: program_fuzz's business
    if ((*request)->id)
      (void)server.answer(**request);
    else
      server.notice(**request);
  }
  server.publish();
}

}  // namespace

const std::vector<std::string> kSeedEndings{".py", ".relay"};

std::string run_one(const std::string& input) {
  std::size_t said = 0;
  protocol::lsp::Server server({}, [&](const Json& message) { said += protocol::to_frame(message).size(); });
  (void)server.answer({"initialize", Json::object(), Json(0)});
  if (input.starts_with("Content-Length"))
    take_stream(server, input);
  else
    talk_about(server, input);
  return {};
}

// A text, or messages about one.
std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  if (input.starts_with("Content-Length")) return mutate_bytes(input, pool, rng);
  std::string text = mutate_text(input, pool, rng);
  if (below(rng, 4) != 0) return text;
  std::string stream = protocol::to_frame(
      {{"jsonrpc", "2.0"},
       {"method", "textDocument/didOpen"},
       {"params", {{"textDocument", {{"uri", "u"}, {"languageId", "python"}, {"version", 1}, {"text", text}}}}}});
  for (const char* method : kPlaced)
    stream += protocol::to_frame({{"jsonrpc", "2.0"},
                                  {"id", 1},
                                  {"method", method},
                                  {"params",
                                   {{"textDocument", {{"uri", "u"}}},
                                    {"position", {{"line", below(rng, 40)}, {"character", below(rng, 60)}}}}}});
  return below(rng, 2) == 0 ? stream : mutate_bytes(std::move(stream), pool, rng);
}

}  // namespace rldb::fuzz
