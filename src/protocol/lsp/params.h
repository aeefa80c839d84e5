// Parts of a message's parameters, whatever a client put there: nothing here throws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/json_rpc.h"
#include "rldb/frontend/text_index.h"
#include "rldb/source/buffer.h"

namespace rldb::protocol::lsp {

// null when a part of the path is missing or no object.
const Json* find(const Json& from, std::initializer_list<std::string_view> path);
// Empty: missing, or of another type.
std::string text_at(const Json& from, std::initializer_list<std::string_view> path);
bool flag_at(const Json& from, std::initializer_list<std::string_view> path);
std::optional<std::int64_t> number_at(const Json& from, std::initializer_list<std::string_view> path);

// 1-based, in the units of the client; nullopt: no position of the protocol. Whether the text has such a place is not
// looked at: source::Buffer::offset takes the nearest one.
std::optional<source::LineColumn> read_position(const Json* position);
struct PlaceRange {
  source::LineColumn begin, end;
};
std::optional<PlaceRange> read_range(const Json* range);

Json write_position(const source::Buffer& buffer, std::uint32_t offset, source::ColumnUnit unit);
Json write_range(const source::Buffer& buffer, frontend::TextRange range, source::ColumnUnit unit);
void append_range(std::string& out, const source::Buffer& buffer, frontend::TextRange range, source::ColumnUnit unit);

// `file:///a%20b.py` as a path; anything else as it is.
std::string path_of_uri(std::string_view uri);

}  // namespace rldb::protocol::lsp
