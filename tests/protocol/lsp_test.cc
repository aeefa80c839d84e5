// The language server: its lifecycle, hostile messages, encodings, and random edits compared with a text that is opened
// afresh. Answers by example are in lsp/*.txt (lsp_golden_test.cc).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "fuzz/edit_input.h"
#include "protocol/lsp/traffic.h"
#include "protocol/lsp_client.h"
#include "rldb/support/cancel.h"

namespace rldb::protocol::lsp {

using testing::Asker;

namespace {

constexpr std::string_view kText = R"(from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        "é😀"; lv = R.add(x, x)
        return lv
)";

const Json kUtf8{{"general", {{"positionEncodings", {"utf-8", "utf-16"}}}}};

// Requests about a text, with good parameters.
std::vector<std::pair<std::string, Json>> all_requests(const Asker& a) {
  const Json document{{"textDocument", a.document()}};
  const Json range{{"start", a.position(0)}, {"end", a.position(a.text.size())}};
  std::vector<std::pair<std::string, Json>> out;
  for (const char* method : {"textDocument/diagnostic", "textDocument/documentSymbol", "textDocument/foldingRange",
                             "textDocument/semanticTokens/full", "textDocument/codeLens"})
    out.emplace_back(method, document);
  Json ranged = document;
  ranged["range"] = range;
  for (const char* method : {"textDocument/inlayHint", "textDocument/semanticTokens/range", "textDocument/codeAction"})
    out.emplace_back(method, ranged);
  for (const char* method :
       {"textDocument/hover", "textDocument/completion", "textDocument/signatureHelp", "textDocument/definition",
        "textDocument/declaration", "textDocument/references", "textDocument/documentHighlight",
        "textDocument/prepareRename", "textDocument/prepareCallHierarchy"}) {
    Json placed = document;
    placed["position"] = a.position(a.text.size() / 2);
    out.emplace_back(method, placed);
  }
  return out;
}

}  // namespace

TEST_CASE("the lifecycle is that of the protocol") {
  std::vector<Json> sent;
  Server server({}, [&](const Json& m) { sent.push_back(m); });
  const auto code = [&](std::string method, Json params = Json::object()) {
    const auto result = server.answer({std::move(method), std::move(params), Json(1)});
    return result.ok() ? 0 : int(result.error().code);
  };
  CHECK(code("textDocument/hover") == -32002);
  CHECK(code("shutdown") == -32002);
  server.notice({"textDocument/didOpen", Json::object(), std::nullopt});
  CHECK(code("initialize") == 0);
  CHECK(code("initialize") == -32600);
  CHECK(code("nothing/like/that") == -32601);
  CHECK(code("textDocument/hover") == -32602);
  CHECK_FALSE(server.ended());
  CHECK(code("shutdown") == 0);
  CHECK(code("textDocument/hover") == -32600);
  server.notice({"exit", Json::object(), std::nullopt});
  CHECK(server.ended());
  CHECK(server.exit_code() == 0);
  Server other({}, [](const Json&) {});
  other.notice({"exit", Json::object(), std::nullopt});
  CHECK(other.exit_code() == 1);
}

TEST_CASE("columns are counted as the client says") {
  for (const bool utf8 : {false, true}) {
    Asker a(utf8 ? kUtf8 : Json::object());
    a.open(std::string(kText));
    const Json found = a.ask_at("textDocument/definition", "return |lv");
    REQUIRE(found.size() == 1);
    // "é😀" and its quotes, 6 or 8 characters after the indentation
    CHECK(found[0]["range"]["start"]["character"] == 8 + (utf8 ? 10 : 7));
    a.edit(a.place("|add(x"), a.place("add|(x"), "subtract");
    CHECK(a.server.find_file(a.uri)->text() == a.text);
    CHECK(a.diagnostics().empty());
  }
}

TEST_CASE("diagnostics are pushed, or pulled by clients that do") {
  Asker pushed;
  pushed.open(std::string(kText));
  CHECK(pushed.diagnostics().empty());
  pushed.edit(pushed.place("|add(x"), pushed.place("add|(x"), "ad");
  CHECK(pushed.diagnostics()[0]["code"] == "OperatorWithoutType");
  const std::size_t messages = pushed.sent.size();
  pushed.server.publish();
  CHECK(pushed.sent.size() == messages);
  pushed.tell("textDocument/didClose", {{"textDocument", pushed.document()}});
  CHECK(pushed.diagnostics().empty());

  Asker pulled(Json{{"textDocument", {{"diagnostic", Json::object()}}}});
  pulled.open(std::string(kText));
  CHECK(pulled.sent.empty());
  const Json first = pulled.ask("textDocument/diagnostic", {{"textDocument", pulled.document()}});
  CHECK(first["kind"] == "full");
  const Json again = pulled.ask("textDocument/diagnostic",
                                {{"textDocument", pulled.document()}, {"previousResultId", first["resultId"]}});
  CHECK(again["kind"] == "unchanged");
}

TEST_CASE("differences of tokens give the tokens") {
  Asker a;
  a.open(std::string(kText));
  Json before = a.ask("textDocument/semanticTokens/full", {{"textDocument", a.document()}});
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"R.add(x, x)", "R.add(x, R.add(x, x))"},
                                 {"        return lv\n", "        gv = lv\n        return gv\n"},
                                 {"R.add(x, R.add(x, x))", "x"}}) {
    const std::size_t at = a.place(from);
    a.edit(at, at + from.size(), to);
    const Json delta = a.ask("textDocument/semanticTokens/full/delta",
                             {{"textDocument", a.document()}, {"previousResultId", before["resultId"]}});
    std::vector<int> data = before["data"].get<std::vector<int>>();
    for (const Json& e : delta["edits"]) {
      const auto start = data.begin() + e["start"].get<std::ptrdiff_t>();
      const auto next = data.erase(start, start + e["deleteCount"].get<std::ptrdiff_t>());
      const std::vector<int> fresh = e["data"].get<std::vector<int>>();
      data.insert(next, fresh.begin(), fresh.end());
    }
    before = a.ask("textDocument/semanticTokens/full", {{"textDocument", a.document()}});
    CHECK(data == before["data"].get<std::vector<int>>());
  }
}

TEST_CASE("a token over lines that end in a carriage return is one a line") {
  Asker a;
  a.open("@R.function\r\ndef f(x: R.Tensor):\r\n    \"\"\"a\r\nb\"\"\"\r\n    return x\r\n");
  const Json data = a.ask("textDocument/semanticTokens/full", {{"textDocument", a.document()}})["data"];
  REQUIRE(data.size() % 5 == 0);
  std::size_t strings = 0;
  for (std::size_t i = 0; i < data.size(); i += 5) strings += data[i + 2] == 4 && data[i + 3] == 11 ? 1 : 0;
  CHECK(strings == 2);
}

TEST_CASE("requests are given up when they are cancelled or their text has changed") {
  const auto text_of = [](std::string method, Json params) {
    return to_text({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
  };
  const std::string change =
      text_of("textDocument/didChange", {{"textDocument", {{"uri", "u"}}}, {"contentChanges", Json::array()}});
  const auto cancel = [&](int id) { return text_of("$/cancelRequest", {{"id", id}}); };
  using Fate = Traffic::Fate;
  Traffic traffic;
  traffic.look(cancel(7));
  CHECK(traffic.begin(7, "u") == Fate::Cancelled);
  CHECK(traffic.begin(7, "u") == Fate::Goes);  // a new one of the same number
  traffic.look(change);
  CHECK(support::cancel_cause() == support::CancelCause::Interrupt);
  CHECK(traffic.end() == Fate::Stale);
  CHECK(support::cancel_cause() == support::CancelCause::None);
  CHECK(traffic.begin(8, "u") == Fate::Stale);
  CHECK(traffic.begin(9, "other") == Fate::Goes);
  traffic.look(cancel(9));
  CHECK(traffic.end() == Fate::Cancelled);
  traffic.apply(change, "u");
  CHECK(traffic.begin(10, "u") == Fate::Goes);
  CHECK(traffic.end() == Fate::Goes);
  // Damage does no harm.
  traffic.look("$/cancelRequest");
  traffic.look(text_of("$/cancelRequest", {{"id", Json::array()}}));
  traffic.look(text_of("textDocument/didChange", {{"textDocument", 7}}));
  CHECK(traffic.begin(11, "u") == Fate::Goes);
  traffic.set_background(true);
  traffic.look("anything");
  CHECK(support::cancel_cause() == support::CancelCause::Interrupt);
  traffic.set_background(false);
  CHECK(traffic.end() == Fate::Goes);
}

TEST_CASE("wrong parameters are answered by errors") {
  Asker a;
  a.open(std::string(kText));
  const std::vector<Json> wrong{nullptr,        7,  "x",   Json::array(),
                                Json::object(), -1, 1e300, Json::array({Json::object()})};
  for (const auto& [method, params] : all_requests(a)) {
    CHECK_FALSE(a.ask(method, params).contains("error"));
    for (const auto& [key, value] : params.items())
      for (const Json& w : wrong) {
        Json changed = params;
        changed[key] = w;
        (void)a.ask(method, changed);
        for (const auto& [inner, ignored] : value.items()) {
          changed = params;
          changed[key][inner] = w;
          const Json reply = a.ask(method, changed);
          if (key == "position" && w != 7) CHECK((reply.contains("code") && reply["code"] == -32602));
        }
      }
    CHECK(a.ask(method, {{"textDocument", {{"uri", "file:///other.py"}}}})["code"] == -32602);
  }
  for (const Json& w : wrong) {
    a.tell("textDocument/didOpen", {{"textDocument", w}});
    a.tell("textDocument/didChange", {{"textDocument", a.document()}, {"contentChanges", w}});
    a.tell("textDocument/didChange", {{"textDocument", a.document()}, {"contentChanges", Json::array({w})}});
    a.tell("textDocument/didChange",
           {{"textDocument", a.document()}, {"contentChanges", Json::array({{{"range", w}, {"text", "y"}}})}});
    a.tell("workspace/didChangeConfiguration", {{"settings", {{"rldb", w}}}});
    (void)a.ask("workspace/executeCommand", {{"command", w}, {"arguments", w}});
    (void)a.ask("workspace/executeCommand", {{"command", "rldb.run"}, {"arguments", w}});
    (void)a.ask("callHierarchy/incomingCalls", {{"item", w}});
    (void)a.ask("textDocument/selectionRange", {{"textDocument", a.document()}, {"positions", w}});
  }
  CHECK(a.server.find_file(a.uri)->text() == a.text);
}

TEST_CASE("positions outside of the text mean its nearest place") {
  Asker a;
  a.open(std::string(kText));
  for (const auto& [line, character] : {std::pair{1000000, 0}, {3, 1000000}, {2147483647, 2147483647}})
    for (const auto& [method, good] : all_requests(a)) {
      Json params = good;
      if (!params.contains("position")) continue;
      params["position"] = {{"line", line}, {"character", character}};
      CHECK_FALSE(a.ask(method, params).contains("error"));
    }
  // The end before the beginning: the change is left out and noted.
  a.tell(
      "textDocument/didChange",
      {{"textDocument", a.document()},
       {"contentChanges",
        Json::array({{{"range", {{"start", {{"line", 3}, {"character", 0}}}, {"end", {{"line", 1}, {"character", 0}}}}},
                      {"text", "y"}}})}});
  CHECK(a.server.find_file(a.uri)->text() == a.text);
  CHECK(a.sent.back()["method"] == "window/logMessage");
}

TEST_CASE("after random edits every answer is that of a text opened afresh") {
  std::mt19937 random(11);
  for (const bool utf8 : {false, true}) {
    for (int round = 0; round < 12; ++round) {
      Asker a(utf8 ? kUtf8 : Json::object());
      a.open(std::string(frontend::testing::kModule), "tvmscript");
      for (int step = 0; step < 12; ++step) {
        std::size_t begin = random() % (a.text.size() + 1);
        std::size_t end = std::min(a.text.size(), begin + (random() % 3 == 0 ? random() % 40 : 0));
        const auto inside = [&](std::size_t at) { return at < a.text.size() && (a.text[at] & 0xC0) == 0x80; };
        while (inside(begin)) --begin;
        while (inside(end)) ++end;
        a.edit(begin, std::max(begin, end), fuzz::kPieces[random() % std::size(fuzz::kPieces)]);
        REQUIRE(a.server.find_file(a.uri)->text() == a.text);
        (void)a.ask_at("textDocument/completion", "|");
      }
      INFO(a.text);
      Asker fresh(utf8 ? kUtf8 : Json::object());
      fresh.open(a.text, "tvmscript");
      CHECK(a.diagnostics() == fresh.diagnostics());
      const bool good = a.server.find_file(a.uri)->document()->result().ok;
      for (auto [method, params] : all_requests(fresh)) {
        // A text with errors keeps types of the last one without.
        const bool typed = method == "textDocument/inlayHint" || method == "textDocument/documentSymbol" ||
                           method == "textDocument/hover" || method == "textDocument/completion" ||
                           method == "textDocument/signatureHelp";
        if (typed && !good) continue;
        Json left = a.ask(method, params), right = fresh.ask(method, params);
        if (left.is_object()) left.erase("resultId"), right.erase("resultId");
        INFO(method);
        CHECK(left == right);
      }
    }
  }
}

}  // namespace rldb::protocol::lsp
