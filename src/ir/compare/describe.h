// Short one-line words for messages and differences. Bounded in length, never recursive: the printer is for the rest.
#pragma once

#include <string>

#include "rldb/ir/stmt.h"

namespace rldb::ir {

std::string describe(const Type* t);
std::string describe(const Node* n);
std::string describe(const Attr* a);

}  // namespace rldb::ir
