// The user's names for what calls are given and return. Users: WhyMemory, Influence, RangeWrites.
#pragma once

#include <string>

#include "debug/look/code_map.h"
#include "debug/provenance/write_history.h"

namespace rldb::debug {

// Of an argument before the call, or (`after`) of what it holds by then; -1: of its result.
std::string name_of_argument(const CodeMap& map, const CallMoment& call, int arg, bool after = false);
// `[4]`, `[0][1]`: the fields that lead to a part of a tuple (Touch); empty: it is none.
std::string fields_text(const runtime::Value& v, int part);
// `i = 3, k = 7`
std::string iteration_text(const std::vector<std::pair<const ir::Var*, std::int64_t>>& loops);

}  // namespace rldb::debug
