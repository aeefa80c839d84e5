// Values as bytes, from one rank to another. Room-private.
#pragma once

#include <string>

#include "rldb/runtime/value.h"
#include "rldb/support/bytes.h"

namespace rldb::session {

// Empty, or why it cannot be sent: functions and objects stay where they are.
std::string write_value(support::ByteWriter& out, const runtime::Value& value);
// `in` fails if there is no value.
runtime::Value read_value(support::ByteReader& in);

}  // namespace rldb::session
