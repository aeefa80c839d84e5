// Mutations that keep most of a text's structure: pieces of one module (tokens, lines, indented blocks) are inserted
// into another, removed, repeated, swapped.
#pragma once

#include "fuzz/target.h"

namespace rldb::fuzz {

std::string mutate_text(std::string text, const Pool& pool, Rng& rng);
// Bytes changed, inserted, removed, repeated; numbers replaced by odd ones.
std::string mutate_bytes(std::string bytes, const Pool& pool, Rng& rng);

}  // namespace rldb::fuzz
