// Fuzz target: a client of the language server. An input is the text of a module, about which it asks everything at
// places that the text's bytes choose, while it edits it; or bytes with frames, well made or not. Each request gets one
// reply, and what the server says of an edited text is what it says of the same text when that is opened.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "frontend/edit_texts.h"
#include "frontend/vandal.h"
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

// Asked about an edited text and about the same text as it is opened. While a text has errors, hints are also those of
// its last good reading.
constexpr std::string_view kOfGoodTexts = "inlayHint";
constexpr const char* kCompared[] = {"diagnostic",          "documentSymbol", "foldingRange",
                                     "semanticTokens/full", "codeLens",       "inlayHint"};

std::string frame(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

class Client {
 public:
  explicit Client(std::uint64_t seed) : rng_(seed), server_([this](std::string_view reply) { note(reply); }) {
    ask("initialize", {{"capabilities", {{"general", {{"positionEncodings", {"utf-8"}}}}}}});
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
  // ---- an edited text beside the same text as it is opened ----

  void open_edited(std::string_view language, const std::string& text) { open_script(kEdited, language, text); }
  // Replaces bytes of a text that has the line ends of Unix.
  void replace(std::string& text, std::size_t begin, std::size_t end, const std::string& by) {
    const auto place = [&](std::size_t at) -> Json {
      const std::size_t line = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
      const std::size_t first = line == std::string::npos ? 0 : line + 1;
      return {{"line", std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n')}, {"character", at - first}};
    };
    const Json range = {{"start", place(begin)}, {"end", place(end)}};
    tell("textDocument/didChange", {{"textDocument", {{"uri", kEdited}, {"version", 2}}},
                                    {"contentChanges", Json::array({{{"range", range}, {"text", by}}})}});
    text.replace(begin, end - begin, by);
  }
  // Empty, or what differs.
  std::string difference(std::string_view language, const std::string& text) {
    open_script(kFresh, language, text);
    std::string found;
    bool has_errors = false;
    for (const char* method : kCompared) {
      if (has_errors && method == kOfGoodTexts) continue;
      const std::string edited = said_of(kEdited, method), fresh = said_of(kFresh, method);
      has_errors = has_errors || fresh.find("\"severity\":1") != fresh.npos;
      if (found.empty() && edited != fresh) found = fmt::format("{}: {}\n---- fresh: {}", method, edited, fresh);
    }
    tell("textDocument/didClose", {{"textDocument", {{"uri", kFresh}}}});
    return found;
  }

  // Empty, or how many replies are missing.
  std::string problem() const {
    return asked_ == answered_ ? "" : fmt::format("{} requests, {} replies", asked_, answered_);
  }

 private:
  static constexpr const char *kEdited = "text:edited", *kFresh = "text:fresh";

  void note(std::string_view reply) {
    if (reply.find("\"id\":") >= reply.find("\"method\":") || reply.find("\"id\":null") != reply.npos) return;
    ++answered_;
    reply_ = reply.substr(reply.find("\r\n\r\n") + 4);
  }
  void open_script(const char* uri, std::string_view language, const std::string& text) {
    tell("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"languageId", language}, {"version", 1}, {"text", text}}}});
  }
  // Without what counts the texts and their changes.
  std::string said_of(const char* uri, const std::string& method) {
    const Json whole = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 100000}, {"character", 0}}}};
    ask("textDocument/" + method, {{"textDocument", {{"uri", uri}}}, {"range", whole}});
    Json reply = Json::parse(reply_);
    reply.erase("id");
    if (reply.contains("result") && reply["result"].is_object()) reply["result"].erase("resultId");
    std::string said = reply.dump();
    const std::string own = uri;
    for (std::size_t at = 0; (at = said.find(own, at)) != said.npos;) said.erase(at, own.size());
    return said;
  }
  Json position() { return {{"line", below(rng_, 40)}, {"character", below(rng_, 60)}}; }
  Json range() { return {{"start", position()}, {"end", position()}}; }

  Rng rng_;
  std::size_t asked_ = 0, answered_ = 0;
  std::string reply_;
  protocol::LanguageServer server_;
};

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t seed = 1469598103934665603ULL;
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return seed;
}

}  // namespace

namespace {

// Edits as they are made by hand: lines, words, indentation, most of them taken back.
std::string edit_and_compare(Client& client, std::string text) {
  constexpr std::size_t kMostBytes = 12 << 10;
  constexpr int kEdits = 8;
  if (text.size() > kMostBytes) text.resize(text.rfind('\n', kMostBytes) + 1);
  std::erase_if(text, [](char c) { return c == '\r' || c == 0 || (c & 0x80) != 0; });  // of more bytes than one
  if (text.empty()) return {};
  const std::string language = text.find("def @") == text.npos ? "tvmscript" : "relay";
  frontend::testing::Vandal vandal(static_cast<std::uint32_t>(seed_of(text)), frontend::testing::kEditPieces);
  client.open_edited(language, text);
  for (int i = 0; i < kEdits && !text.empty(); ++i) {
    const std::string before = text;
    const auto c = vandal.change(text);
    client.replace(text, c.begin, c.end, c.text);
    if (std::string found = client.difference(language, text); !found.empty())
      return fmt::format("after the edit of {} to {} by `{}`: {}\n---- before:\n{}", c.begin, c.end, c.text, found,
                         before);
    if (vandal.below(4) == 0) continue;
    client.replace(text, c.begin, c.begin + c.text.size(), before.substr(c.begin, c.end - c.begin));
    if (std::string found = client.difference(language, text); !found.empty())
      return fmt::format("when the edit of {} to {} by `{}` is taken back: {}\n---- before:\n{}", c.begin, c.end,
                         c.text, found, before);
  }
  return {};
}

}  // namespace

std::string run_one(const std::string& input) {
  Client client(seed_of(input));
  if (input.starts_with(kFramed)) {
    client.feed(input);
    return {};
  }
  if (std::string found = edit_and_compare(client, input); !found.empty()) return found;
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
