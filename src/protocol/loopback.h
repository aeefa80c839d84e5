// A listening socket that only this machine reaches. Users: the server of the live page, `rldb dap --port`.
#pragma once

#include <cstdint>
#include <string>

namespace rldb::protocol {

// `port` 0: a free one. `chosen`: the port that it has. The caller closes the descriptor; programs that are started do
// not have it. -1: `why`.
int listen_on_loopback(std::uint16_t port, std::uint16_t& chosen, std::string& why);

}  // namespace rldb::protocol
