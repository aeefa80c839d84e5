// The connection file that Jupyter writes for a kernel: where its sockets are, and the key that signs the messages.
#pragma once

#include <string>

#include "rldb/support/result.h"

namespace rldb::protocol::jupyter {

struct Connection {
  std::string shell, control, stdin_, iopub, heartbeat;  // addresses of ZeroMQ
  std::string key;                                       // empty: messages are not signed
};

// An error: why the text is no connection file, or which part of it is not supported.
support::Result<Connection, std::string> connection_of(const std::string& text);

}  // namespace rldb::protocol::jupyter
