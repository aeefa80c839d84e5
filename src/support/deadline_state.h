// Shared by the two ways to end work in time. Room-private.
#pragma once

namespace rldb::support {

bool deadline_has_passed();

}  // namespace rldb::support
