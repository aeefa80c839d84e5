// A client of the language server for tests: opens a text, asks at places that are found by the text around them, and
// says what it was answered, in short.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "protocol/lsp/server.h"

namespace rldb::protocol::lsp::testing {

struct Asker {
  std::vector<Json> sent;  // notifications and requests of the server
  Server server;
  std::string uri = "file:///m.py";
  std::string text;
  int version = 1;

  explicit Asker(Json capabilities = Json::object(), Json options = Json::object(), const ui::CommandLine& line = {})
      : server(line, [this](const Json& m) { sent.push_back(m); }) {
    ask("initialize", {{"capabilities", std::move(capabilities)}, {"initializationOptions", std::move(options)}});
  }

  // The result, or {"error": message, "code": code}.
  Json ask(std::string method, Json params = Json::object()) {
    auto result = server.answer({std::move(method), std::move(params), Json(1)});
    if (result.ok()) return result->text.empty() ? result->value : Json::parse(result->text);
    return {{"error", result.error().message}, {"code", int(result.error().code)}};
  }
  void tell(std::string method, Json params) { server.notice({std::move(method), std::move(params), std::nullopt}); }

  void open(std::string content, std::string_view language = "python") {
    text = std::move(content);
    tell("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"languageId", language}, {"version", version}, {"text", text}}}});
    server.publish();
  }
  Json document() const { return {{"uri", uri}}; }
  Json position(std::size_t offset) const {
    return write_position(source::Buffer("", text), static_cast<std::uint32_t>(offset), server.client().unit);
  }
  // Replaces bytes, as an editor reports it.
  void edit(std::size_t begin, std::size_t end, std::string_view with) {
    const Json range{{"start", position(begin)}, {"end", position(end)}};
    text.replace(begin, end - begin, with);
    tell("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", ++version}}},
                                    {"contentChanges", Json::array({{{"range", range}, {"text", with}}})}});
    server.publish();
  }
  // `\n` in a needle is a line break.
  static std::string with_breaks(std::string needle) {
    for (std::size_t at = needle.find("\\n"); at != std::string::npos; at = needle.find("\\n", at))
      needle.replace(at, 2, "\n");
    return needle;
  }
  // `|` in the needle is the place; without one it is the beginning.
  std::size_t place(std::string needle) const {
    needle = with_breaks(std::move(needle));
    const std::size_t bar = needle.find('|');
    if (bar != std::string::npos) needle.erase(bar, 1);
    const std::size_t at = text.find(needle);
    INFO(needle);
    REQUIRE(at != std::string::npos);
    return at + (bar == std::string::npos ? 0 : bar);
  }
  Json ask_at(std::string method, const std::string& needle, Json more = Json::object()) {
    more["textDocument"] = document();
    more["position"] = position(place(needle));
    return ask(std::move(method), std::move(more));
  }
  std::size_t offset_of(const Json& at) const {
    const auto place = read_position(&at);
    REQUIRE(place);
    return source::Buffer("", text).offset(*place, server.client().unit);
  }
  // The diagnostics that were published last.
  Json diagnostics() const {
    for (auto m = sent.rbegin(); m != sent.rend(); ++m)
      if ((*m)["method"] == "textDocument/publishDiagnostics") return (*m)["params"]["diagnostics"];
    return Json::array();
  }
};

}  // namespace rldb::protocol::lsp::testing
