#include "protocol/jupyter/wire.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "protocol/jupyter/hmac.h"

namespace rldb::protocol::jupyter {

namespace {

constexpr std::string_view kMark = "<IDS|MSG>";  // ends the identities
constexpr std::size_t kParts = 4;                // header, parent, metadata, content
constexpr std::string_view kUser = "rldb";

support::Result<Json, std::string> object_in(const std::string& text) {
  auto json = parse_bounded(text);
  if (!json.ok() || !json->is_object()) return support::Failure(std::string("not an object of JSON"));
  return std::move(json).value();
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

support::Result<Message, std::string> message_of(const Frames& frames, std::string_view key) {
  const auto mark = std::find(frames.begin(), frames.end(), kMark);
  if (std::size_t(frames.end() - mark) < 2 + kParts) return support::Failure(std::string("frames are missing"));
  const std::string& signature = mark[1];
  const std::span<const std::string> parts(&mark[2], kParts);
  if (!key.empty() && !is_same_signature(signature, hmac_sha256(key, parts)))
    return support::Failure(std::string("wrong signature"));
  Message message;
  message.identities.assign(frames.begin(), mark);
  Json* const into[kParts] = {&message.header, &message.parent, &message.metadata, &message.content};
  for (std::size_t i = 0; i < kParts; ++i) {
    RLDB_TRY(*into[i], object_in(parts[i]));
  }
  if (!message.header.contains("msg_type") || !message.header["msg_type"].is_string())
    return support::Failure(std::string("the header has no `msg_type`"));
  return message;
}

Frames frames_of(const Message& message, std::string_view key) {
  const Frames parts = {text_of(message.header), text_of(message.parent), text_of(message.metadata),
                        text_of(message.content)};
  Frames frames = message.identities;
  frames.emplace_back(kMark);
  frames.push_back(key.empty() ? std::string() : hmac_sha256(key, parts));
  frames.insert(frames.end(), parts.begin(), parts.end());
  return frames;
}

std::string text_in(const Json& content, const char* key) {
  return content.contains(key) && content[key].is_string() ? content[key].get<std::string>() : std::string();
}

bool flag_in(const Json& content, const char* key, bool otherwise) {
  return content.contains(key) && content[key].is_boolean() ? content[key].get<bool>() : otherwise;
}

std::int64_t number_in(const Json& content, const char* key, std::int64_t otherwise) {
  return content.contains(key) && content[key].is_number_integer() ? content[key].get<std::int64_t>() : otherwise;
}

std::string new_identity() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

Json new_header(std::string_view type, std::string_view session) {
  const auto now = std::chrono::system_clock::now();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  return {
      {"msg_id", new_identity()}, {"session", session},
      {"username", kUser},        {"date", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds), micros)},
      {"msg_type", type},         {"version", kProtocolVersion}};
}

}  // namespace rldb::protocol::jupyter
