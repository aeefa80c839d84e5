// The builtins of programs translated from Relay, for the table in lowered.cc.
#pragma once

#include "rldb/bytecode/builtin_args.h"

namespace rldb::eval {

runtime::Result<runtime::Value> adt_make(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> adt_is(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> adt_field(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> no_match(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> ref_make(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> ref_read(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> ref_write(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> broadcast_shape(const bytecode::BuiltinArgs& a);
runtime::Result<runtime::Value> reshaped_shape(const bytecode::BuiltinArgs& a);

}  // namespace rldb::eval
