// JSON-RPC 2.0 as a server reads and writes it, whatever carries the messages (lines for MCP, frames for LSP).
//
// A message of a client is bytes by a stranger: it is bounded in size and in nesting before anything looks at it, and
// whatever is wrong with it is answered by an error, never by ending. Source: jsonrpc.org/specification.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/support/result.h"

namespace rldb::protocol {

using Json = nlohmann::ordered_json;

enum class RpcCode : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  UnsupportedVersion = -32022,    // of MCP
  ServerNotInitialized = -32002,  // these and the following: of LSP
  RequestCancelled = -32800,
  ContentModified = -32801,
  RequestFailed = -32803,
};

struct RpcError {
  RpcCode code;
  std::string message;
  Json data = {};  // null: none
};

template <class T>
using RpcResult = support::Result<T, RpcError>;
inline support::Failure<RpcError> rpc_failure(RpcCode code, std::string message, Json data = {}) {
  return support::Failure(RpcError{code, std::move(message), std::move(data)});
}

constexpr std::size_t kMaxMessageBytes = std::size_t(64) << 20;
constexpr int kMaxNesting = 100;

// JSON within these limits.
RpcResult<Json> parse_bounded(std::string_view text);

// One message of a client.
struct Request {
  std::string method;
  Json params;             // an object
  std::optional<Json> id;  // a number or a string; none: a notification, which gets no reply
};

// nullopt: a reply of the client, of which a server that asks nothing expects none. An error's id is that of the
// message where it has one: `id_of_failure`.
RpcResult<std::optional<Request>> read_request(std::string_view text, Json& id_of_failure);

Json reply(const Json& id, Json result);
// The result of a request: a value, or, as it is quicker if there are thousands of parts, the text of one.
struct Answer {
  Json value;
  std::string text;  // empty: `value` is meant
};
// The reply as `to_text` gives it.
std::string reply_text(const Json& id, const Answer& answer);
Json error_reply(const Json& id, const RpcError& error);
// On one line; bytes that are not UTF-8 become U+FFFD.
std::string to_text(const Json& message);
// A string as JSON has it.
void append_quoted(std::string& out, std::string_view text);
std::string to_line(const Json& message);

}  // namespace rldb::protocol
