// The function that a command means where none is named. Users: what starts runs, `:sanitize`, pictures, reproducers.
#pragma once

#include <string>

namespace rldb::session {

class Session;

// The only public Relax function of the program; of none, its only private one; of none, its only kernel. Else the
// usual name, which may not be there.
std::string default_function(const Session& session);

}  // namespace rldb::session
