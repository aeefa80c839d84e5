// Messages of Jupyter as the frames of a socket: the client's identities, a mark, a signature, and four JSON objects.
// Source: jupyter-client.readthedocs.io, "Messaging in Jupyter", protocol 5.3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/json_rpc.h"
#include "rldb/support/result.h"

namespace rldb::protocol::jupyter {

constexpr std::string_view kProtocolVersion = "5.3";

using Frames = std::vector<std::string>;

struct Message {
  Frames identities;  // of the client; of what is published: the topic
  Json header = Json::object();
  Json parent = Json::object();  // the header of the message that this one is about
  Json metadata = Json::object();
  Json content = Json::object();

  std::string type() const { return header.value("msg_type", std::string()); }
};

// An error: why the frames are no message, or not one of a client that knows the key. An empty key: nothing is signed.
support::Result<Message, std::string> message_of(const Frames& frames, std::string_view key);
Frames frames_of(const Message& message, std::string_view key);

// Members of a content. Those that are missing or of another type are as the last argument has it.
std::string text_in(const Json& content, const char* key);
bool flag_in(const Json& content, const char* key, bool otherwise);
std::int64_t number_in(const Json& content, const char* key, std::int64_t otherwise);

// A header with an identity of its own and the time.
Json new_header(std::string_view type, std::string_view session);
// 128 random bits, in hexadecimal.
std::string new_identity();

}  // namespace rldb::protocol::jupyter
