// Collectives in the code of a program: where they are called, and who takes part. Room-private.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/workers.h"
#include "rldb/vm/machine.h"

namespace rldb::session {

struct CollectiveName {
  std::string_view name;
  runtime::Collective what;
};

std::string_view name_of(runtime::Collective what);
// The collective that an instruction calls; null: none.
const CollectiveName* collective_at(const bytecode::Executable& exe, bytecode::Pc pc);
vm::StopSet collectives_of(const bytecode::Executable& exe);
// The arguments of the call at the machine's pc.
std::vector<runtime::Value> arguments_at(const vm::Machine& m);
// Whether the collective at the machine's pc involves the rank's group alone.
bool is_in_group_at(const vm::Machine& m);

// A rank reduces in another way than the others at the same all-reduce.
runtime::Error other_reduction(std::string_view by, std::size_t other, std::string_view others_by);

bool is_send(runtime::Collective what);
bool is_receive(runtime::Collective what);
// The receiver or sender of a message, perhaps no rank that there is; nullopt: it is no message.
std::optional<std::int64_t> peer_of(runtime::Collective what, runtime::PackedArgs args, std::size_t rank,
                                    std::size_t group_size);

}  // namespace rldb::session
