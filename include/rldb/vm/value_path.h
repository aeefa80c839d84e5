// ValuePath: a way to a value from a register. In each execution of a run the same way leads to the same value at the
// same time, in memory of another address. Users: CallLog, debug.
#pragma once

#include <functional>
#include <vector>

#include "rldb/vm/program.h"

namespace rldb::vm {

class Machine;

// Fields of tuples, and items of maps, behind the register.
struct ValuePath {
  std::size_t frame = 0;
  bytecode::RegName reg = 0;
  std::vector<std::size_t> fields;
  friend bool operator==(const ValuePath&, const ValuePath&) = default;
};

// Null: the registers of the machine do not lead there.
Value value_at(const Machine& m, const ValuePath& path);
// The memory of a tensor or a storage; null for other values.
Ref<runtime::Storage> memory_of(const Value& v);

// Every tensor and storage that a value reaches, with the fields behind it. `fields` is as before at the end.
using SeeMemory = std::function<void(const Value& holder)>;
void each_memory(const Value& v, std::vector<std::size_t>& fields, const SeeMemory& f);
// The same of all registers.
void each_memory(const Machine& m, const std::function<void(const ValuePath& path, const Value& holder)>& f);

}  // namespace rldb::vm
