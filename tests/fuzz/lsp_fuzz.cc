// Fuzz target: a client of the language server. An input is the text of a module, about which it asks everything at
// places that the text's bytes choose, while it edits it; or bytes with frames, well made or not. Each request gets one
// reply.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "fuzz/mutate.h"
#include "rldb/protocol/lsp.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".relay"};

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFramed = "Content-Length";
constexpr const char* kPlaced[] = {
    "hover",      "completion",        "signatureHelp", "definition",     "declaration",
    "references", "documentHighlight", "prepareRename", "selectionRange", "prepareCallHierarchy",
    "rename"};
constexpr const char* kOthers[] = {"diagnostic",   "documentSymbol",
                                   "foldingRange", "semanticTokens/full",
                                   "codeLens",     "semanticTokens/full/delta",
                                   "inlayHint",    "semanticTokens/range",
                                   "codeAction"};

std::string frame(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

class Client {
 public:
  explicit Client(std::uint64_t seed) : rng_(seed), server_([this](std::string_view reply) { note(reply); }) {
    ask("initialize", {{"capabilities", Json::object()}});
  }
  void ask(const std::string& method, Json params) {
    server_.feed(frame({{"jsonrpc", "2.0"}, {"id", ++asked_}, {"method", method}, {"params", std::move(params)}}));
  }
  void tell(const std::string& method, Json params) {
    server_.feed(frame({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}));
  }
  void feed(std::string_view bytes) { server_.feed(bytes); }

  void open(const std::string& text) {
    constexpr const char* kLanguages[] = {"python", "tvmscript", "relay"};
    tell(
        "textDocument/didOpen",
        {{"textDocument", {{"uri", "u"}, {"languageId", kLanguages[below(rng_, 3)]}, {"version", 1}, {"text", text}}}});
  }
  void edit(std::string_view text) {
    const std::string piece(text.substr(below(rng_, text.size() + 1), below(rng_, 30)));
    tell("textDocument/didChange", {{"textDocument", {{"uri", "u"}, {"version", 2}}},
                                    {"contentChanges", Json::array({{{"range", range()}, {"text", piece}}})}});
  }
  void ask_everything() {
    for (const auto& methods : {std::span<const char* const>(kPlaced), std::span<const char* const>(kOthers)})
      for (const char* method : methods)
        ask(std::string("textDocument/") + method, {{"textDocument", {{"uri", "u"}}},
                                                    {"position", position()},
                                                    {"positions", Json::array({position(), position()})},
                                                    {"range", range()},
                                                    {"newName", below(rng_, 2) == 0 ? "zz" : "x"},
                                                    {"previousResultId", "1"}});
  }
  // Empty, or how many replies are missing.
  std::string problem() const {
    return asked_ == answered_ ? "" : fmt::format("{} requests, {} replies", asked_, answered_);
  }

 private:
  void note(std::string_view reply) {
    if (reply.find("\"id\":") < reply.find("\"method\":") && reply.find("\"id\":null") == reply.npos) ++answered_;
  }
  Json position() { return {{"line", below(rng_, 40)}, {"character", below(rng_, 60)}}; }
  Json range() { return {{"start", position()}, {"end", position()}}; }

  Rng rng_;
  std::size_t asked_ = 0, answered_ = 0;
  protocol::LanguageServer server_;
};

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t seed = 1469598103934665603ULL;
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return seed;
}

}  // namespace

std::string run_one(const std::string& input) {
  Client client(seed_of(input));
  if (input.starts_with(kFramed)) {
    client.feed(input);
    return {};
  }
  client.open(input);
  for (int step = 0; step < 6; ++step) {
    client.edit(input);
    client.ask_everything();
  }
  return client.problem();
}

// A text, or messages about one.
std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  if (input.starts_with(kFramed)) return mutate_bytes(input, pool, rng);
  std::string text = mutate_text(input, pool, rng);
  if (below(rng, 4) != 0) return text;
  std::string stream =
      frame({{"jsonrpc", "2.0"},
             {"method", "textDocument/didOpen"},
             {"params", {{"textDocument", {{"uri", "u"}, {"languageId", "python"}, {"text", text}}}}}});
  for (const char* method : kPlaced)
    stream += frame({{"jsonrpc", "2.0"},
                     {"id", 1},
                     {"method", std::string("textDocument/") + method},
                     {"params",
                      {{"textDocument", {{"uri", "u"}}},
                       {"position", {{"line", below(rng, 40)}, {"character", below(rng, 60)}}}}}});
  return below(rng, 2) == 0 ? stream : mutate_bytes(std::move(stream), pool, rng);
}

}  // namespace rldb::fuzz
