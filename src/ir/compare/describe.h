// Short one-line descriptions for messages and differences. Bounded in length, never recursive, unlike the printer.
#pragma once

#include <string>

#include "rldb/ir/stmt.h"

namespace rldb::ir {

std::string describe(const Type* t);
std::string describe(const Node* n);
std::string describe(const Attr* a);

}  // namespace rldb::ir
