// A program and its values with every narrow float (float32, float16, bfloat16) in one other format. Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::repro {

bool is_narrow(runtime::DType t);  // of one lane
// Null: the program does not read in that format.
const ir::Module* in_precision(session::Session& session, const ir::Module* module, runtime::DType format);
runtime::Value in_precision(const runtime::Value& v, runtime::DType format);

}  // namespace rldb::repro
