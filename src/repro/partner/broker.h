// The process between rldb and the partner's command. Room-private.
//
// A client connects to the socket, writes one line and reads one line. The answer is an object with one of: `line`,
// as the command wrote it; `greeting`, to an empty line; `ended`, `too_long` or `useless`, with the reason.
#pragma once

#include <string>

#include "rldb/repro/partner.h"

namespace rldb::repro {

// Serves until the lifeline is closed at its other end.
void serve_partner(const PartnerOptions& options, int listener, int lifeline);

}  // namespace rldb::repro
