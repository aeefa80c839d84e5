#include "protocol/json_rpc.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rldb/support/json_document.h"

namespace rldb::protocol {

namespace {

bool is_id(const Json& id) { return id.is_string() || id.is_number(); }

}  // namespace

RpcResult<Json> parse_bounded(std::string_view text) {
  if (support::json_nesting(text) > kMaxNesting)
    return rpc_failure(RpcCode::ParseError, fmt::format("the message is nested more than {} deep", kMaxNesting));
  Json message = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded()) return rpc_failure(RpcCode::ParseError, "the message is not JSON");
  return message;
}

RpcResult<std::optional<Request>> read_request(std::string_view text, Json& id_of_failure) {
  id_of_failure = nullptr;
  RLDB_TRY(Json message, parse_bounded(text));
  if (!message.is_object())
    return rpc_failure(RpcCode::InvalidRequest, "a message is an object; batches are not supported");
  const bool has_id = message.contains("id");
  if (has_id && is_id(message["id"])) id_of_failure = message["id"];
  if (message.value("jsonrpc", Json()) != "2.0")
    return rpc_failure(RpcCode::InvalidRequest, "`jsonrpc` must be \"2.0\"");
  if (!message.contains("method")) {
    if (has_id && (message.contains("result") || message.contains("error"))) return std::optional<Request>();
    return rpc_failure(RpcCode::InvalidRequest, "the message has no `method`");
  }
  if (!message["method"].is_string()) return rpc_failure(RpcCode::InvalidRequest, "`method` must be a string");
  if (has_id && !is_id(message["id"])) return rpc_failure(RpcCode::InvalidRequest, "`id` must be a string or a number");
  Json params = message.value("params", Json::object());
  if (params.is_null()) params = Json::object();  // as some clients write none
  if (!params.is_object()) return rpc_failure(RpcCode::InvalidParams, "`params` must be an object");
  return std::optional(Request{message["method"].get<std::string>(), std::move(params),
                               has_id ? std::optional(message["id"]) : std::nullopt});
}

Json reply(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

std::string reply_text(const Json& id, const Answer& answer) {
  if (answer.text.empty()) return to_text({{"jsonrpc", "2.0"}, {"id", id}, {"result", answer.value}});
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", to_text(id), answer.text);
}

Json error_reply(const Json& id, const RpcError& error) {
  Json body{{"code", int(error.code)}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

std::string to_text(const Json& message) { return message.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_quoted(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    out += to_text(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

std::string to_line(const Json& message) { return to_text(message) + "\n"; }

}  // namespace rldb::protocol
