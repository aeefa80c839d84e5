// Messages in frames: a header with `Content-Length: N`, an empty line, and N bytes (the base protocol of LSP and DAP).
//
// A frame that is damaged gives one message with its fault; reading goes on at the next line that ends with a good
// `Content-Length`. Other headers are ignored. Source: microsoft.github.io/language-server-protocol, "Base Protocol".
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "protocol/json_rpc.h"
#include "protocol/message_reader.h"

namespace rldb::protocol {

constexpr std::size_t kMaxHeaderBytes = std::size_t(4) << 10;  // of all headers of a frame

// Bodies longer than `limit` are skipped.
std::unique_ptr<MessageSplitter> split_frames(std::size_t limit);
// Bytes that are not UTF-8 become U+FFFD.
std::string to_frame(const Json& message);
std::string frame_of(std::string_view body);

}  // namespace rldb::protocol
