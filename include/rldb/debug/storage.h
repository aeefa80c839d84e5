// Memory as the program sees it: what each register holds and where that lies, and the storage plan of a function:
// which tensors share each storage, and for how long.
//
// The plan is read off the instructions (storages are allocated, tensors created in them, kernels write them, registers
// are cleared), in the order of the text; it needs no run. Register contents are seen at a stop. Users: `registers`,
// `locals`, `:storage`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// A tensor created in a storage.
struct Tenant {
  bytecode::RegName reg = -1;
  Pc made = -1;             // pc of its allocation
  Pc written = -1;          // of the first call that takes it; -1: none
  Pc last_use = -1;         // of the last such call
  Pc cleared = -1;          // of the instruction that clears or reuses its register; -1: lives to the end
  std::int64_t offset = 0;  // bytes into the storage; -1: computed at run time
  std::string binding;      // that it is created for; empty: not known
  std::string shape;        // `(n, 8)` where the text gives it, else empty
};

struct PlannedStorage {
  int id = 0;                  // `s0`
  bytecode::RegName reg = -1;  // its own register
  Pc allocated = -1;           // pc
  Pc dropped = -1;             // when that register is cleared; -1: at the end
  Pc released = -1;            // when its own register and all tenants are cleared; -1: at the end
  std::int64_t device = 0;     // its index among the program's devices
  std::string size;            // bytes, `32 * n` where it depends on dims
  std::vector<Tenant> tenants;
};

struct StoragePlan {
  std::string function;
  Pc begin = 0, end = 0;  // instructions of the function
  std::vector<PlannedStorage> storages;
};

// For a bytecode function of the code that would run now, or of the stopped run. Null: no function of that name, or
// the loaded module does not build (diagnosed by whoever builds it).
std::optional<StoragePlan> storage_plan(const Debugger& debugger, session::Session& session, std::string_view function);

enum class Liveness : std::uint8_t {
  NotYet,  // nothing was stored yet
  Live,    // holds a value that is still needed
  Done,    // still holds a value that is no longer needed
  Freed,   // was cleared
};
std::string_view to_string(Liveness l);

struct RegisterInfo {
  bytecode::RegName reg = 0;
  std::string name;  // the user's, else the lowered one
  runtime::Value value;
  std::string storage;                    // `s0`, `m1`; empty: no tensor
  std::size_t offset = 0;                 // bytes
  std::vector<bytecode::RegName> shared;  // other registers over the same storage
  Liveness state = Liveness::NotYet;
};
// Of a frame of a stopped run; empty: no such frame.
std::vector<RegisterInfo> registers_of(const Debugger& debugger, int frame);
// RegisterInfo::storage of some registers of a frame.
std::vector<std::string> storages_in(const Debugger& debugger, int frame, std::span<const bytecode::RegName> wanted);
// Names of the frame's bindings without a register of their own, each once, in the order of the code.
struct OtherNames {
  std::vector<std::string> ahead;     // not reached yet
  std::vector<std::string> not_kept;  // fused or merged with others, and executed: the evaluator computes them
};
OtherNames other_names(const Debugger& debugger, int frame);
// The arguments of a frame with the values that their registers hold now.
std::vector<std::pair<std::string, runtime::Value>> arguments_of(const Debugger& debugger, int frame);

// Where a slot of the shape heap is written and read, in the frame's function.
struct SlotUse {
  std::vector<Pc> written, read;
};
std::vector<SlotUse> slot_uses(const Debugger& debugger, int frame);

}  // namespace rldb::debug
