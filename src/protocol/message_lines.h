// Messages that are lines (the stdio transport of MCP).
#pragma once

#include <cstddef>
#include <memory>

#include "protocol/message_reader.h"

namespace rldb::protocol {

// Lines longer than `limit` lose their text.
std::unique_ptr<MessageSplitter> split_lines(std::size_t limit);

}  // namespace rldb::protocol
