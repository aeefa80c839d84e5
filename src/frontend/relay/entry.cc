// Relay text at a prompt: judged by its tokens alone, before it is read.
#include <algorithm>
#include <utility>

#include "frontend/cst/parser.h"
#include "frontend/cst/tree.h"
#include "frontend/relay/units.h"
#include "rldb/frontend/relay.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

namespace {

constexpr std::string_view kVersionLine = "#[version";
constexpr std::string_view kMetadataLine = "#[metadata]";

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return text.starts_with(b); });
}

// `fn (%x: int32) { ... }`; `fn(x)` may be a call of TVMScript.
bool begins_lone_function(std::string_view text) {
  if (!text.starts_with("fn")) return false;
  text = support::trim(text.substr(2));
  if (text.starts_with("[")) text.remove_prefix(std::min(text.find(']'), text.size() - 1) + 1);
  if (!text.starts_with("(")) return false;
  text = support::trim(text.substr(1));
  return text.starts_with("%") || (text.starts_with(")") && text.find('{') != std::string_view::npos);
}

// Past the version line: an entry that has nothing else is not complete.
std::string_view behind_version(std::string_view text) {
  text = support::trim(text);
  if (!text.starts_with(kVersionLine)) return text;
  return support::trim(text.substr(std::min(text.find('\n'), text.size())));
}

// The JSON behind `#[metadata]`.
bool is_open_json(std::string_view text) {
  int depth = 0;
  bool any = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (text[i] == '{') {
      ++depth;
      any = true;
    } else if (text[i] == '}') {
      --depth;
    }
  }
  return !any || depth > 0;
}

bool is_missing_closer(const source::Diagnostic& d) {
  return d.id == source::DiagId(diag::NeverClosed) || d.id == source::DiagId(diag::RelayOpenString) ||
         d.id == source::DiagId(diag::RelayOpenComment);
}

struct WrittenDefinition {
  std::string_view name;
  bool is_extern = false;
  std::uint32_t begin = 0, end = 0;
};

std::vector<WrittenDefinition> definitions_in(std::string_view text) {
  cst::TreeOptions options;
  options.grammar = cst::Grammar::Relay;
  const cst::Tree tree = cst::parse_tree({}, text, options);
  std::vector<WrittenDefinition> found;
  for (const cst::Node n : cst::Node(&tree, 0).children()) {
    if (!n.is(cst::Kind::FunctionDefinition) && !n.is(cst::Kind::TypeDefinition)) continue;
    const source::Span name = n.child(cst::Field::Name).span();
    found.push_back({text.substr(name.begin, name.end - name.begin), bool(n.child(cst::Field::Extern)), n.span().begin,
                     n.span().end});
  }
  return found;
}

// Behind the last definition; nothing but another may follow an extern type.
void insert_definition(std::string& text, const std::vector<WrittenDefinition>& known, std::string written,
                       bool is_extern) {
  const auto first = std::find_if(known.begin(), known.end(), [](const auto& d) { return d.is_extern; });
  if (!is_extern && first != known.end())
    text.insert(first->begin, written + "\n");
  else
    text.insert(known.empty() ? text.size() : known.back().end, "\n" + written);
}

}  // namespace

bool begins_relay(std::string_view entry) {
  entry = support::trim(entry);
  if (!looks_like_relay(entry)) return false;
  const std::string_view from = entry.substr(std::min(entry.find_first_not_of(" \t\r\n"), entry.size()));
  if (begins_with_any(from, {"//", "/*"})) return true;
  if (from.starts_with("type ")) return from.substr(0, from.find('\n')).find('{') != std::string_view::npos;
  return begins_lone_function(from) ||
         begins_with_any(from, {kVersionLine, kMetadataLine, "v0.0.", "def @", "extern type ", "free_var %", "let %"});
}

bool is_open_relay(std::string_view entry) {
  const std::string_view text = behind_version(entry);
  if (text.empty()) return true;
  const relay_text::UnitsFound found = relay_text::find_units(text);
  if (found.open) return is_missing_closer(*found.open);
  if (!found.bodiless.empty()) return true;
  if (found.metadata != std::string_view::npos) return is_open_json(text.substr(found.metadata + kMetadataLine.size()));
  if (begins_lone_function(text)) return text.find('{') == std::string_view::npos;
  return text.ends_with(';') || text.ends_with('=');
}

int relay_indent(std::string_view entry) {
  constexpr int kStep = 2;
  int depth = 0;
  bool in_string = false;
  for (const char c : entry) {
    in_string = in_string != (c == '"');
    if (in_string) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') depth = std::max(0, depth - 1);
  }
  return kStep * depth;
}

bool has_relay_version(std::string_view text) { return support::trim(text).starts_with(kVersionLine); }

bool has_relay_metadata(std::string_view text) {
  return relay_text::find_units(text).metadata != std::string_view::npos;
}

RelayAddition with_relay_definitions(std::string_view text, std::string_view entry) {
  RelayAddition made{std::string(text), {}};
  for (const WrittenDefinition& added : definitions_in(entry)) {
    std::string written(entry.substr(added.begin, added.end - added.begin));
    const std::vector<WrittenDefinition> known = definitions_in(made.text);
    const auto old = std::find_if(known.begin(), known.end(), [&](const auto& d) { return d.name == added.name; });
    if (old != known.end())
      made.text.replace(old->begin, old->end - old->begin, written);
    else
      insert_definition(made.text, known, std::move(written), added.is_extern);
    made.names.emplace_back(added.name);
  }
  return made;
}

}  // namespace rldb::frontend
