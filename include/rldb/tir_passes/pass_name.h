// The names of the passes over TensorIR, for messages: pass_name::StorageRewrite.
#pragma once

#include <string_view>

namespace rldb::passes::pass_name {

#define RLDB_PASS(Name, Fn, Kind, Options, Doc) inline constexpr std::string_view Name = #Name;
#include "rldb/tir_passes/pass.def"

}  // namespace rldb::passes::pass_name
