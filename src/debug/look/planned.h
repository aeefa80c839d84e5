// The plan of storages at a moment of a run: the planned storage behind a register, and the contents of one. Users:
// storage.cc, watchpoints on storages.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "debug/look/code_map.h"
#include "rldb/debug/storage.h"

namespace rldb::debug {

// Null: not a bytecode function.
std::optional<StoragePlan> plan_of(const bytecode::Executable& exe, FunctionIndex function);
// The planned storage that the register holds from `pc` on: itself, or a tensor in it. -1: none.
int planned_storage(const StoragePlan& plan, bytecode::RegName reg, Pc pc);
// Its memory as held by a frame of the run; null: not allocated yet, or no longer held.
support::Ref<runtime::Storage> memory_of(const PlannedStorage& storage, Pc pc,
                                         std::span<const runtime::Value> registers);
// Of a tuple whose register is kept: before `now`, others were written to the planned memory of its fields.
bool is_lent(const CodeMap& map, FunctionIndex function, const UserVariable& v, Pc now);
// The user's name for a tensor in a storage, else the lowered one.
std::string tenant_name(const CodeMap& map, FunctionIndex function, const Tenant& t);

}  // namespace rldb::debug
