// Python that TVMScript does not have: the names of its statements and expressions in reports, and what to write
// instead. Users: the body readers and expr.cc.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// "a while loop", "`:=`".
std::string shown_kind(Kind kind);
// Reports a statement that cannot be in `where` at its first line, and poisons the names that it would have bound.
void unsupported_statement(Reader& r, Node statement, std::string_view where);
// x = y = e
bool has_several_targets(Node binding);
// A plain `def` inside of a function: reported, and its name is poisoned.
void undecorated_function(Reader& r, Node function, std::string_view hint);

}  // namespace rldb::frontend::script
