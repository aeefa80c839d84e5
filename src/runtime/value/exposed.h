// Room-private.
#pragma once

namespace rldb::runtime {

// Whether foreign code was ever given the address of memory for good.
bool any_exposed();

}  // namespace rldb::runtime
