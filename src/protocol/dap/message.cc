// Requests out of JSON, and replies and events into it.
#include "protocol/dap/message.h"

namespace rldb::protocol::dap {

support::Result<Request, Unreadable> read_message(std::string_view text) {
  const auto wrong = [](std::string message, Request request = {}) {
    return support::Failure(Unreadable{std::move(message), std::move(request)});
  };
  auto parsed = parse_bounded(text);
  if (!parsed.ok()) return wrong(parsed.error().message);
  Json& message = *parsed;
  if (!message.is_object()) return wrong("a message is an object");
  const auto member = [&](const char* name) { return message.contains(name) ? message[name] : Json(); };
  Request request;
  if (const Json seq = member("seq"); seq.is_number_integer()) request.seq = seq.get<std::int64_t>();
  if (const Json type = member("type"); type == "response") return wrong("", {});  // nothing is asked of a client
  if (member("type") != "request") return wrong("`type` must be \"request\"");
  if (!member("command").is_string()) return wrong("`command` must be a string");
  request.command = message["command"].get<std::string>();
  if (!member("seq").is_number_integer()) return wrong("`seq` must be a number", std::move(request));
  if (Json arguments = member("arguments"); arguments.is_object())
    request.arguments = std::move(arguments);
  else if (!arguments.is_null() && !(arguments.is_array() && arguments.empty()))
    return wrong("`arguments` must be an object", std::move(request));
  return request;
}

void Channel::send(Json message) {
  const std::lock_guard lock(mutex_);
  message["seq"] = ++seq_;
  sink_(message);
}

void Channel::reply(const Request& request, Json body) {
  Json message{
      {"seq", 0}, {"type", "response"}, {"request_seq", request.seq}, {"success", true}, {"command", request.command}};
  if (!body.is_null()) message["body"] = std::move(body);
  send(std::move(message));
}

void Channel::fail(const Request& request, const Failure& failure) {
  constexpr int kId = 1;
  // Clients replace what stands in braces.
  Json error{{"id", kId},
             {"format", "{text}"},
             {"variables", {{"text", failure.message}}},
             {"showUser", failure.shown && failure.message != "cancelled"}};
  send({{"seq", 0},
        {"type", "response"},
        {"request_seq", request.seq},
        {"success", false},
        {"command", request.command},
        {"message", failure.message},
        {"body", {{"error", std::move(error)}}}});
}

void Channel::answer(const Request& request, Answer answer) {
  if (answer.ok())
    reply(request, std::move(*answer));
  else
    fail(request, answer.error());
}

void Channel::event(std::string_view name, Json body) {
  send({{"seq", 0}, {"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void Channel::output(std::string_view category, std::string_view text) {
  if (!text.empty()) event("output", {{"category", category}, {"output", text}});
}

}  // namespace rldb::protocol::dap
