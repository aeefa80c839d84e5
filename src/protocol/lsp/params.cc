// Reading parameters, and positions both ways.
#include "protocol/lsp/params.h"

#include <fmt/compile.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace rldb::protocol::lsp {

const Json* find(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = &from;
  for (const std::string_view key : path) {
    if (!at->is_object()) return nullptr;
    const auto it = at->find(key);
    if (it == at->end()) return nullptr;
    at = &*it;
  }
  return at;
}

std::string text_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = find(from, path);
  return at && at->is_string() ? at->get<std::string>() : std::string();
}

bool flag_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = find(from, path);
  return at && at->is_boolean() && at->get<bool>();
}

std::optional<std::int64_t> number_at(const Json& from, std::initializer_list<std::string_view> path) {
  const Json* at = find(from, path);
  if (!at || !at->is_number_integer()) return std::nullopt;
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  return at->get<std::int64_t>();
}

std::optional<source::LineColumn> read_position(const Json* position) {
  if (!position) return std::nullopt;
  const auto line = number_at(*position, {"line"}), character = number_at(*position, {"character"});
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // `uinteger` of the protocol
  if (!line || !character || *line < 0 || *character < 0 || *line > kMost || *character > kMost) return std::nullopt;
  return source::LineColumn{static_cast<std::uint32_t>(*line + 1), static_cast<std::uint32_t>(*character + 1)};
}

std::optional<PlaceRange> read_range(const Json* range) {
  if (!range) return std::nullopt;
  const auto begin = read_position(find(*range, {"start"})), end = read_position(find(*range, {"end"}));
  if (!begin || !end) return std::nullopt;
  return PlaceRange{*begin, *end};
}

Json write_position(const source::Buffer& buffer, std::uint32_t offset, source::ColumnUnit unit) {
  const source::LineColumn at = buffer.line_column(offset, unit);
  return {{"line", at.line - 1}, {"character", at.column - 1}};
}

Json write_range(const source::Buffer& buffer, frontend::TextRange range, source::ColumnUnit unit) {
  return {{"start", write_position(buffer, range.begin, unit)},
          {"end", write_position(buffer, std::max(range.begin, range.end), unit)}};
}

void append_range(std::string& out, const source::Buffer& buffer, frontend::TextRange range, source::ColumnUnit unit) {
  const source::LineColumn begin = buffer.line_column(range.begin, unit),
                           end = buffer.line_column(std::max(range.begin, range.end), unit);
  fmt::format_to(std::back_inserter(out),
                 FMT_COMPILE(R"({{"start":{{"line":{},"character":{}}},"end":{{"line":{},"character":{}}}}})"),
                 begin.line - 1, begin.column - 1, end.line - 1, end.column - 1);
}

std::string path_of_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return std::string(uri);
  uri.remove_prefix(kScheme.size());
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string path;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    const int high = uri[i] == '%' && i + 2 < uri.size() ? digit(uri[i + 1]) : -1;
    const int low = high >= 0 ? digit(uri[i + 2]) : -1;
    if (low >= 0) {
      path += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

}  // namespace rldb::protocol::lsp
