// A session with one client, over two file descriptors. Users: `rldb dap`, tests, the fuzz target.
#pragma once

#include "rldb/ui/command_line/cli.h"

namespace rldb::protocol::dap {

// Text that others than the session write to the process's standard output and error: a shell, a library.
enum class OthersOutput { IsLeft, IsSent };

// Until the client disconnects or its input ends.
void serve_client(const ui::CommandLine& line, int input, int output, OthersOutput others = OthersOutput::IsLeft);

}  // namespace rldb::protocol::dap
