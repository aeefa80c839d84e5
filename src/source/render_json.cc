// Diagnostics as LSP-shaped JSON: zero-based lines, zero-based UTF-16 characters.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/source/diagnostic.h"

namespace rldb::source {

namespace {

using Json = nlohmann::ordered_json;

// An absolute path becomes a file URI; any other buffer name (`<prompt>`, a relative path) stays.
std::string uri_of(std::string_view name) {
  if (!name.starts_with('/')) return std::string(name);
  std::string uri = "file://";
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

Json position(const Buffer& buffer, std::uint32_t offset) {
  const LineColumn place = buffer.line_column(offset, ColumnUnit::Utf16);
  return {{"line", place.line - 1}, {"character", place.column - 1}};
}

// {"uri", "range"}; both null for "no place".
Json location(Span span, const SourceManager& sources) {
  const Buffer* buffer = sources.find(span.file);
  if (!buffer) return {{"uri", nullptr}, {"range", nullptr}};
  return {{"uri", uri_of(buffer->name())},
          {"range",
           {{"start", position(*buffer, span.begin)}, {"end", position(*buffer, std::max(span.begin, span.end))}}}};
}

int lsp_severity(Severity s) {
  switch (s) {
    case Severity::Error:
      return 1;
    case Severity::Warning:
      return 2;
    case Severity::Note:
      return 3;
  }
  return 1;
}

}  // namespace

std::string render_json(const Diagnostics& d, const SourceManager& sources) {
  Json all = Json::array();
  for (const Diagnostic& one : d.all()) {
    Json entry = location(one.span, sources);
    entry["severity"] = lsp_severity(one.severity);
    entry["code"] = one.id.row().name;
    entry["source"] = "rldb";
    entry["message"] = one.message;
    if (!one.hint.empty()) entry["data"] = {{"hint", one.hint}};
    for (const Note& note : one.notes) {
      entry["relatedInformation"].push_back({{"location", location(note.span, sources)}, {"message", note.text}});
    }
    all.push_back(std::move(entry));
  }
  // A file name or a message may contain bytes that are not UTF-8; JSON may not.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rldb::source
