// The reply to an entry of the prompt, out of what the entry wrote with `--format=json` (docs/json.md).
#pragma once

#include <string>

#include "protocol/json_rpc.h"

namespace rldb::protocol {

// One line is the reply. Others are output of the program under debug before it, and after it why the entry was
// abandoned although it had replied (a time limit): both go to `text`. Without a reply it has failed.
Json reply_in(const std::string& output);

}  // namespace rldb::protocol
