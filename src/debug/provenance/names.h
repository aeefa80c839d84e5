// The user's names for what calls are given and return. Users: WhyMemory, Influence, RangeWrites.
#pragma once

#include <string>

#include "debug/look/code_map.h"
#include "debug/provenance/write_history.h"
#include "rldb/vm/machine.h"

namespace rldb::debug {

// Of an argument before the call, or (`after`) of what it holds by then; -1: of its result.
std::string name_of_argument(const CodeMap& map, const CallMoment& call, int arg, bool after = false);
// Whoever asks knows the names of one frame.
struct Asker {
  std::size_t frame = 0;
  FunctionIndex function{};
};
Asker asker_at(const Run& run, std::size_t frame);  // now
// The same for an asker, of a tensor or storage before the call (`m`): the asker's own name for it, if it has one, else
// the callee's, with its function: `inner:b`.
std::string name_for(const Asker& asker, const CodeMap& map, const vm::Machine& m, const CallMoment& call,
                     const Touch& touch, bool after = false);
// `[4]`, `[0][1]`: the fields that lead to a part of a tuple (Touch); empty: it is none.
std::string fields_text(const runtime::Value& v, int part);
// `i = 3, k = 7`
std::string iteration_text(const std::vector<std::pair<const ir::Var*, std::int64_t>>& loops);

}  // namespace rldb::debug
