// Answers of the language server by example: tests/protocol/lsp/*.txt. A case is
//
//   # CASE what the case is about
//   # TEXT LANGUAGE               (python, tvmscript, relay)
//   <text>
//   # EDIT FROM => TO             (what the diagnostics are afterwards)
//   # ASK METHOD PLACE            (the answer, in short; `|` in the place is the cursor)
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "golden/golden.h"
#include "protocol/lsp/methods.h"
#include "protocol/lsp_client.h"

namespace rldb::protocol::lsp::testing {

namespace {

// `3: «lv» = R.add(x, x)`
std::string show_range(const Asker& a, const Json& range) {
  const std::size_t begin = a.offset_of(range["start"]), end = a.offset_of(range["end"]);
  const std::size_t before = begin == 0 ? std::string::npos : a.text.rfind('\n', begin - 1);
  const std::size_t line = before == std::string::npos ? 0 : before + 1;
  std::size_t line_end = std::min(a.text.find('\n', line), a.text.size());
  const std::size_t shown = std::min(end, line_end);
  std::string out = a.text.substr(line, begin - line) + "«" + a.text.substr(begin, shown - begin) + "»" +
                    a.text.substr(shown, line_end - shown);
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  return fmt::format("{}: {}", range["start"]["line"].get<int>() + 1, out);
}

std::string show_locations(const Asker& a, const Json& all) {
  std::string out;
  for (const Json& l : all)
    out += show_range(a, l["range"]) + (l.contains("kind") ? l["kind"] == 2 ? " (read)" : " (written)" : "") + "\n";
  return out;
}

// The text after edits of a WorkspaceEdit: only the lines that differ.
std::string show_edit(const Asker& a, const Json& edit) {
  if (edit.contains("error")) return "error: " + edit["error"].get<std::string>() + "\n";
  std::vector<Json> edits;
  for (const Json& e : edit["changes"][a.uri]) edits.push_back(e);
  std::stable_sort(edits.begin(), edits.end(), [&](const Json& x, const Json& y) {
    return a.offset_of(x["range"]["start"]) < a.offset_of(y["range"]["start"]);
  });
  std::string text = a.text;
  std::reverse(edits.begin(), edits.end());
  for (const Json& e : edits) {
    const std::size_t begin = a.offset_of(e["range"]["start"]), end = a.offset_of(e["range"]["end"]);
    text.replace(begin, end - begin, e["newText"].get<std::string>());
  }
  const source::Buffer before("", a.text), after("", text);
  std::string out;
  for (std::uint32_t line = 1; line <= after.line_count(); ++line) {
    bool known = false;
    for (std::uint32_t k = 1; k <= before.line_count() && !known; ++k) known = before.line(k) == after.line(line);
    if (!known) out += fmt::format("{}: {}\n", line, after.line(line));
  }
  return out.empty() ? "no line is new\n" : out;
}

void show_symbol(const Json& s, int depth, std::string& out) {
  out += std::string(std::size_t(depth) * 2, ' ') + s["name"].get<std::string>();
  if (const std::string detail = s["detail"]; !detail.empty()) out += "  " + detail;
  out += "\n";
  if (s.contains("children"))
    for (const Json& c : s["children"]) show_symbol(c, depth + 1, out);
}

std::string show_diagnostics(const Asker& a, const Json& all) {
  std::string out;
  for (const Json& d : all) {
    out += fmt::format("{} {}\n", d["code"].get<std::string>(), show_range(a, d["range"]));
    out += "  " + d["message"].get<std::string>() + "\n";
    if (d.contains("relatedInformation"))
      for (const Json& r : d["relatedInformation"])
        out += fmt::format("  {} ({})\n", r["message"].get<std::string>(), show_range(a, r["location"]["range"]));
  }
  return out.empty() ? "no diagnostics\n" : out;
}

std::string show_tokens(const Asker& a, const Json& reply) {
  const Json legend = token_legend();
  std::string out;
  std::uint32_t line = 0, column = 0;
  const Json& data = reply["data"];
  for (std::size_t i = 0; i + 4 < data.size(); i += 5) {
    column = data[i] == 0 ? column + data[i + 1].get<std::uint32_t>() : data[i + 1].get<std::uint32_t>();
    line += data[i].get<std::uint32_t>();
    const std::size_t at = a.offset_of({{"line", line}, {"character", column}});
    const std::size_t end = a.offset_of({{"line", line}, {"character", column + data[i + 2].get<std::uint32_t>()}});
    out += fmt::format("{}:{} {} {}\n", line + 1, a.text.substr(at, end - at),
                       legend["tokenTypes"][data[i + 3].get<std::size_t>()].get<std::string>(), data[i + 4].get<int>());
  }
  return out;
}

std::string show_completion(const Json& reply) {
  std::string out;
  std::size_t shown = 0;
  for (const Json& i : reply["items"]) {
    if (++shown > 12) break;
    out += i["label"].get<std::string>() + (i.contains("detail") ? "  " + i["detail"].get<std::string>() : "") + "\n";
  }
  const std::size_t more = reply["items"].size() - std::min<std::size_t>(reply["items"].size(), 12);
  if (more > 0) out += fmt::format("and {} more\n", more);
  return out.empty() ? "nothing\n" : out;
}

std::string answer(Asker& a, const std::string& method, const std::string& place) {
  const Json document{{"textDocument", a.document()}};
  const Json all{{"textDocument", a.document()},
                 {"range", {{"start", a.position(0)}, {"end", a.position(a.text.size())}}}};
  if (method == "diagnostics") return show_diagnostics(a, a.ask("textDocument/diagnostic", document)["items"]);
  if (method == "hover") {
    const Json r = a.ask_at("textDocument/hover", place);
    return r.is_null() ? "nothing\n"
                       : r["contents"]["value"].get<std::string>() + "\n" + show_range(a, r["range"]) + "\n";
  }
  if (method == "completion") return show_completion(a.ask_at("textDocument/completion", place));
  if (method == "signature") {
    const Json r = a.ask_at("textDocument/signatureHelp", place);
    if (r.is_null()) return "nothing\n";
    const Json& s = r["signatures"][0];
    std::string out = s["label"].get<std::string>() + "\n";
    if (r.contains("activeParameter"))
      out += s["parameters"][r["activeParameter"].get<std::size_t>()]["label"].get<std::string>() + "\n";
    return out;
  }
  if (method == "definition" || method == "declaration" || method == "documentHighlight") {
    const Json r = a.ask_at("textDocument/" + method, place);
    return r.is_null() ? "nothing\n" : show_locations(a, r);
  }
  if (method == "references") {
    const Json r = a.ask_at("textDocument/references", place, {{"context", {{"includeDeclaration", true}}}});
    return r.is_null() ? "nothing\n" : show_locations(a, r);
  }
  if (method == "rename") {
    const std::size_t arrow = place.rfind(" -> ");
    REQUIRE(arrow != std::string::npos);
    return show_edit(a,
                     a.ask_at("textDocument/rename", place.substr(0, arrow), {{"newName", place.substr(arrow + 4)}}));
  }
  if (method == "symbols") {
    std::string out;
    for (const Json& s : a.ask("textDocument/documentSymbol", document)) show_symbol(s, 0, out);
    return out.empty() ? "nothing\n" : out;
  }
  if (method == "folds") {
    std::string out;
    for (const Json& f : a.ask("textDocument/foldingRange", document))
      out += fmt::format("{}-{}\n", f["startLine"].get<int>() + 1, f["endLine"].get<int>() + 1);
    return out;
  }
  if (method == "selection") {
    const Json r = a.ask("textDocument/selectionRange",
                         {{"textDocument", a.document()}, {"positions", Json::array({a.position(a.place(place))})}});
    std::string out;
    for (const Json* at = &r[0]; at; at = at->contains("parent") ? &(*at)["parent"] : nullptr)
      out += show_range(a, (*at)["range"]) + "\n";
    return out;
  }
  if (method == "hints") {
    std::string out;
    for (const Json& h : a.ask("textDocument/inlayHint", all)) {
      const std::size_t at = a.offset_of(h["position"]);
      const std::size_t line = a.text.rfind('\n', at) + 1;
      std::string shown = a.text.substr(line, at - line);
      shown.erase(0, std::min(shown.find_first_not_of(' '), shown.size()));
      out += fmt::format("{}: {}«{}»\n", h["position"]["line"].get<int>() + 1, shown, h["label"].get<std::string>());
    }
    return out.empty() ? "nothing\n" : out;
  }
  if (method == "tokens") return show_tokens(a, a.ask("textDocument/semanticTokens/full", document));
  if (method == "lenses") {
    std::string out;
    for (const Json& l : a.ask("textDocument/codeLens", document))
      out += fmt::format("{}  {} {}\n", show_range(a, l["range"]), l["command"]["title"].get<std::string>(),
                         l["command"]["command"].get<std::string>());
    return out.empty() ? "nothing\n" : out;
  }
  if (method == "actions") {
    const Json at = a.position(a.place(place));
    std::string out;
    for (const Json& action : a.ask("textDocument/codeAction", {{"textDocument", a.document()},
                                                                {"range", {{"start", at}, {"end", at}}},
                                                                {"context", {{"diagnostics", Json::array()}}}}))
      out += action["title"].get<std::string>() + "\n" + show_edit(a, action["edit"]);
    return out.empty() ? "nothing\n" : out;
  }
  if (method == "callers" || method == "callees") {
    const Json items = a.ask_at("textDocument/prepareCallHierarchy", place);
    if (items.is_null()) return "nothing\n";
    const bool up = method == "callers";
    std::string out;
    for (const Json& c :
         a.ask(up ? "callHierarchy/incomingCalls" : "callHierarchy/outgoingCalls", {{"item", items[0]}})) {
      out += c[up ? "from" : "to"]["name"].get<std::string>() + "\n";
      for (const Json& r : c["fromRanges"]) out += "  " + show_range(a, r) + "\n";
    }
    return out.empty() ? "nothing\n" : out;
  }
  if (method == "command") {
    // `rldb.kernel scale tir`
    std::istringstream words(place);
    std::string name, word;
    words >> name;
    Json arguments = Json::array({a.uri});
    while (words >> word) arguments.push_back(word);
    const Json r = a.ask("workspace/executeCommand", {{"command", name}, {"arguments", arguments}});
    if (r.contains("error")) return "error: " + r["error"].get<std::string>() + "\n";
    return r.contains("after") ? r["title"].get<std::string>() + "\n" + r["after"].get<std::string>() + "\n"
                               : r["title"].get<std::string>() + "\n" + r["text"].get<std::string>();
  }
  FAIL("no such question: " << method);
  return {};
}

void run_case(golden::Case& c) {
  Asker a({{"textDocument",
            {{"documentSymbol", {{"hierarchicalDocumentSymbolSupport", true}}},
             {"publishDiagnostics", {{"relatedInformation", true}}}}}},
          {{"debugs", true}, {"showsResults", true}});
  for (golden::Part& part : c.parts) {
    INFO(c.name << ": " << part.directive << " " << part.argument);
    if (part.directive == "TEXT") {
      a.open(part.text + "\n", part.argument.empty() ? "python" : part.argument);
    } else if (part.directive == "EDIT") {
      const std::size_t arrow = part.argument.find(" => ");
      REQUIRE(arrow != std::string::npos);
      const std::string from = Asker::with_breaks(part.argument.substr(0, arrow));
      const std::size_t at = a.place(from);
      a.edit(at, at + from.size(), Asker::with_breaks(part.argument.substr(arrow + 4)));
      part.text = show_diagnostics(a, a.diagnostics());
    } else if (part.directive == "PASSES") {
      a.server.work_in_background();
      a.server.publish();
      part.text = show_diagnostics(a, a.diagnostics());
    } else if (part.directive == "ASK") {
      const std::size_t blank = std::min(part.argument.find(' '), part.argument.size());
      part.text = answer(a, part.argument.substr(0, blank),
                         blank < part.argument.size() ? part.argument.substr(blank + 1) : std::string());
    } else {
      FAIL("no such directive: " << part.directive);
    }
    while (part.text.ends_with('\n')) part.text.pop_back();
  }
}

}  // namespace

TEST_CASE("answers of the language server") { golden::check_cases("protocol/lsp", run_case); }

}  // namespace rldb::protocol::lsp::testing
