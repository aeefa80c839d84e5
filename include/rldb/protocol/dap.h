// A session with one client, over two file descriptors. Users: `rldb dap`, tests, the fuzz target.
#pragma once

#include "rldb/ui/command_line/cli.h"

namespace rldb::protocol::dap {

// Until the client disconnects or its input ends.
void serve_client(const ui::CommandLine& line, int input, int output);

}  // namespace rldb::protocol::dap
