// A message of protobuf as a tree of fields, so that a changed model can still be read: the sizes around a change are
// right. Which fields are messages is told by the numbers of onnx.proto.
#pragma once

#include "fuzz/target.h"

namespace rldb::fuzz {

// One field is changed: a number becomes an odd one, a name that of another field, a node or value is given twice, left
// out, put elsewhere or taken from another place. The bytes if they are no model.
std::string mutate_model(const std::string& bytes, Rng& rng);

}  // namespace rldb::fuzz
