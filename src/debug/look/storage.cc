// Storages, tenants and registers: where values are stored, who shares storage, what is live.
#include "rldb/debug/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "debug/impl.h"
#include "debug/look/function_tables.h"
#include "debug/look/planned.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::Executable;
using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::RegName;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A shape as written in the instruction that makes it: `(n, 8)`.
std::string shape_text(const Executable& exe, FunctionIndex function, const Instruction& make) {
  const bytecode::FunctionDebug* debug = exe.debug.function(function);
  std::string text;
  for (std::size_t i = 2; i + 1 < make.args.size(); i += 2) {
    const auto code = make.arg(i).value();
    const auto value = make.arg(i + 1).value();
    const bool loaded = code == std::int64_t(bytecode::MakeShapeCode::LoadShape);
    const bool known = loaded && debug && value >= 0 && std::size_t(value) < debug->slots.size();
    text += (text.empty() ? "" : ", ") + (!loaded ? fmt::format("{}", value)
                                          : known ? debug->slots[std::size_t(value)].text
                                                  : fmt::format("slot {}", value));
  }
  return text;
}

// Reads a function's instructions in order and tracks the holders.
class Planner {
 public:
  Planner(const Executable& exe, FunctionIndex function) : exe_(exe), function_(function) {
    const bytecode::FunctionEntry& f = exe.functions[std::size_t(function)];
    plan_.function = f.name;
    plan_.begin = f.start;
    plan_.end = f.end;
  }

  StoragePlan run() {
    for (Pc pc = plan_.begin; pc < plan_.end; ++pc) {
      support::poll();
      const Instruction i = exe_.instruction(pc);
      if (i.op == Opcode::Call) call(pc, i);
      if (i.op == Opcode::Ret) use(i.reg, pc);
    }
    for (PlannedStorage& s : plan_.storages) release(s);
    return std::move(plan_);
  }

 private:
  struct Place {
    std::size_t storage, tenant;
  };

  void call(Pc pc, const Instruction& i) {
    const std::string& callee = exe_.functions[std::size_t(i.callee)].name;
    for (std::size_t a = 0; a < i.args.size(); ++a)
      if (i.arg(a).kind() == ArgKind::Register) use(i.arg(a).reg(), pc);
    if (bytecode::is_special(i.dst)) return;
    // A view of a tensor keeps its storage in use.
    const auto viewed =
        callee == builtin::Reshape || callee == builtin::MemoryView || callee == builtin::MemoryViewAlias
            ? held(i, 0)
            : std::nullopt;
    std::string shape;
    if (callee == builtin::MakeShape) shape = shape_text(exe_, function_, i);
    std::optional<std::size_t> made;
    if (callee == builtin::AllocStorage) {
      made = allocate(pc, i);
    } else if (callee == builtin::AllocTensor) {
      tensor(pc, i);
      return;
    }
    clear(i.dst, pc);
    if (made) storage_of_[i.dst] = *made;
    if (viewed) tenants_of_[i.dst] = *viewed;
    if (!shape.empty()) shapes_[i.dst] = shape;
  }

  std::optional<Place> held(const Instruction& i, std::size_t a) const {
    if (a >= i.args.size() || i.arg(a).kind() != ArgKind::Register) return std::nullopt;
    const auto it = tenants_of_.find(i.arg(a).reg());
    return it == tenants_of_.end() ? std::nullopt : std::optional(it->second);
  }
  std::string shape_in(const Instruction& i, std::size_t a) const {
    if (a >= i.args.size()) return {};
    if (i.arg(a).kind() == ArgKind::Constant) {
      const Value& v = exe_.constants[std::size_t(i.arg(a).constant())];
      return v.is(ValueKind::Shape) ? fmt::format("{}", fmt::join(v.as_shape(), ", ")) : std::string();
    }
    const auto it = i.arg(a).kind() == ArgKind::Register ? shapes_.find(i.arg(a).reg()) : shapes_.end();
    return it == shapes_.end() ? std::string() : it->second;
  }

  std::size_t allocate(Pc pc, const Instruction& i) {
    PlannedStorage s;
    s.id = int(plan_.storages.size());
    s.allocated = pc;
    s.reg = i.dst;
    s.size = shape_in(i, 1);
    if (i.args.size() > 2 && i.arg(2).kind() == bytecode::ArgKind::Immediate) s.device = i.arg(2).value();
    plan_.storages.push_back(std::move(s));
    return plan_.storages.size() - 1;
  }
  void tensor(Pc pc, const Instruction& i) {
    const auto from =
        i.args.empty() || i.arg(0).kind() != ArgKind::Register ? storage_of_.end() : storage_of_.find(i.arg(0).reg());
    if (from == storage_of_.end()) return clear(i.dst, pc);
    const std::size_t storage = from->second;
    Tenant t;
    t.reg = i.dst;
    t.made = pc;
    t.offset = i.args.size() > 1 && i.arg(1).kind() == ArgKind::Immediate ? i.arg(1).value() : -1;
    if (const std::string dims = shape_in(i, 2); !dims.empty()) t.shape = "(" + dims + ")";
    clear(i.dst, pc);
    plan_.storages[storage].tenants.push_back(std::move(t));
    tenants_of_[i.dst] = {storage, plan_.storages[storage].tenants.size() - 1};
  }

  void use(RegName reg, Pc pc) {
    const auto it = tenants_of_.find(reg);
    if (it == tenants_of_.end()) return;
    Tenant& t = plan_.storages[it->second.storage].tenants[it->second.tenant];
    if (t.written < 0) t.written = pc;
    t.last_use = pc;
  }
  // The register gets another value, or none.
  void clear(RegName reg, Pc pc) {
    shapes_.erase(reg);
    if (const auto it = storage_of_.find(reg); it != storage_of_.end()) {
      dropped_[it->second] = pc;
      plan_.storages[it->second].dropped = pc;
      storage_of_.erase(it);
    }
    const auto it = tenants_of_.find(reg);
    if (it == tenants_of_.end()) return;
    const Place place = it->second;
    tenants_of_.erase(it);
    const bool viewed = std::any_of(tenants_of_.begin(), tenants_of_.end(), [&](const auto& other) {
      return other.second.storage == place.storage && other.second.tenant == place.tenant;
    });
    if (!viewed) plan_.storages[place.storage].tenants[place.tenant].cleared = pc;
  }
  void release(PlannedStorage& s) {
    const auto own = dropped_.find(std::size_t(s.id));
    if (own == dropped_.end()) return;
    Pc last = own->second;
    for (const Tenant& t : s.tenants) {
      if (t.cleared < 0) return;
      last = std::max(last, t.cleared);
    }
    s.released = last;
  }

  const Executable& exe_;
  FunctionIndex function_;
  StoragePlan plan_;
  std::unordered_map<RegName, std::size_t> storage_of_;  // registers that hold a storage
  std::unordered_map<RegName, Place> tenants_of_;        // a tensor in one
  std::unordered_map<RegName, std::string> shapes_;      // a shape
  std::map<std::size_t, Pc> dropped_;                    // storages whose register was cleared
};

}  // namespace

std::optional<StoragePlan> plan_of(const Executable& exe, FunctionIndex function) {
  if (function < 0 || std::size_t(function) >= exe.functions.size()) return std::nullopt;
  if (exe.functions[std::size_t(function)].kind != bytecode::FunctionKind::Bytecode) return std::nullopt;
  return Planner(exe, function).run();
}

namespace {

// Does the register hold it before the instruction at `now` is executed?
bool holds(Pc made, Pc cleared, Pc now) { return made >= 0 && made < now && (cleared < 0 || cleared >= now); }

}  // namespace

int planned_storage(const StoragePlan& plan, RegName reg, Pc pc) {
  for (const PlannedStorage& s : plan.storages) {
    if (s.reg == reg && holds(s.allocated, s.dropped, pc)) return s.id;
    for (const Tenant& t : s.tenants)
      if (t.reg == reg && holds(t.made, t.cleared, pc)) return s.id;
  }
  return -1;
}

namespace {

// A tensor that the register held at `then`.
bool is_lent_anew(const StoragePlan& plan, RegName reg, Pc then, Pc now) {
  for (const PlannedStorage& s : plan.storages)
    for (const Tenant& t : s.tenants) {
      if (t.reg != reg || !holds(t.made, t.cleared, then)) continue;
      return std::any_of(s.tenants.begin(), s.tenants.end(), [&](const Tenant& other) {
        const bool overlaps = t.offset < 0 || other.offset < 0 || t.offset == other.offset;
        return other.made > then && other.written >= 0 && other.written < now && overlaps;
      });
    }
  return false;
}

}  // namespace

bool is_lent(const CodeMap& map, FunctionIndex function, const UserVariable& v, Pc now) {
  if (v.range->begin < 1 || now <= v.range->begin) return false;
  const Instruction made = map.executable().instruction(v.range->begin - 1);
  const bool is_tuple =
      made.op == Opcode::Call && map.executable().functions[std::size_t(made.callee)].name == builtin::MakeTuple;
  const StoragePlan* plan = is_tuple ? map.tables(function).plan() : nullptr;
  for (std::size_t i = 0; plan && i < made.args.size(); ++i)
    if (made.arg(i).kind() == ArgKind::Register && is_lent_anew(*plan, made.arg(i).reg(), v.range->begin - 1, now))
      return true;
  return false;
}

support::Ref<runtime::Storage> memory_of(const PlannedStorage& storage, Pc pc, std::span<const Value> registers) {
  const auto in = [&](RegName reg) -> support::Ref<runtime::Storage> {
    if (reg < 0 || std::size_t(reg) >= registers.size()) return {};
    const Value& v = registers[std::size_t(reg)];
    if (v.is(ValueKind::Tensor)) return v.as_tensor().storage();
    return v.is(ValueKind::Storage) ? v.storage_ref() : support::Ref<runtime::Storage>();
  };
  if (holds(storage.allocated, storage.dropped, pc))
    if (auto own = in(storage.reg)) return own;
  for (const Tenant& t : storage.tenants)
    if (holds(t.made, t.cleared, pc))
      if (auto of_tensor = in(t.reg)) return of_tensor;
  return {};
}

std::string tenant_name(const CodeMap& map, FunctionIndex function, const Tenant& t) {
  const std::string& binding = map.position(t.written >= 0 ? t.written : t.made).binding;
  if (!binding.empty() && binding != "_") return binding;
  const auto* lowered = map.tables(function).variable_at(t.reg, t.made + 1);
  return lowered ? lowered->name : binding;
}

namespace {

// The code of the run, or what would run now; without kernels.
std::shared_ptr<const CodeMap> code_seen(const Debugger& debugger, session::Session& session) {
  source::Diagnostics ignored;  // the caller has built it before
  const auto build = debugger.build() ? debugger.build() : session.viewable(ignored);
  return build ? impl_of(debugger).code_of(build) : nullptr;
}

}  // namespace

std::optional<StoragePlan> storage_plan(const Debugger& debugger, session::Session& session,
                                        std::string_view function) {
  const auto map = code_seen(debugger, session);
  if (!map) return std::nullopt;
  const FunctionIndex index = map->executable().find_function(function);
  if (index < 0 || !map->tables(index).plan()) return std::nullopt;
  StoragePlan plan = *map->tables(index).plan();
  for (PlannedStorage& s : plan.storages)
    for (Tenant& t : s.tenants) t.binding = tenant_name(*map, index, t);
  return plan;
}

// ---- registers at a stop ----

std::string_view to_string(Liveness l) {
  switch (l) {
    case Liveness::NotYet:
      return "not yet";
    case Liveness::Live:
      return "live";
    case Liveness::Done:
      return "done";
    case Liveness::Freed:
      return "freed";
  }
  return "?";
}

namespace {

const runtime::Storage* storage_in(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().storage().get();
  return v.is(ValueKind::Storage) ? v.storage_ref().get() : nullptr;
}

Liveness liveness(const FunctionTables& tables, Pc pc, RegName reg, const Value& v) {
  bool before = false, after = false;
  for (const bytecode::VariableRange* range : tables.ranges_of(reg)) {
    if (pc >= range->begin && pc < range->end) return v.is_null() ? Liveness::NotYet : Liveness::Live;
    (range->end <= pc ? before : after) = true;
  }
  if (!v.is_null()) return before || after ? Liveness::Done : Liveness::Live;
  return before ? Liveness::Freed : Liveness::NotYet;
}

// A storage of the plan (`s`), or another one (`m`).
struct StorageName {
  char kind;
  int number;
  std::string text() const { return fmt::format("{}{}", kind, number); }
};
using StorageNames = std::unordered_map<const runtime::Storage*, StorageName>;

// Names of the storages behind the registers: those of the plan where one of its tenants is in its register, the others
// in register order.
StorageNames name_storages(const StoragePlan* plan, Pc pc, std::span<const Value> registers) {
  StorageNames names;
  if (plan)
    for (const PlannedStorage& s : plan->storages)
      for (const Tenant& t : s.tenants) {
        const bool here = t.made < pc && (t.cleared < 0 || t.cleared >= pc) && std::size_t(t.reg) < registers.size();
        if (!here) continue;
        if (const runtime::Storage* at = storage_in(registers[std::size_t(t.reg)]))
          names.try_emplace(at, StorageName{'s', s.id});
      }
  int others = 0;
  for (const Value& v : registers)
    if (const runtime::Storage* at = storage_in(v))
      if (!names.contains(at)) names.emplace(at, StorageName{'m', others++});
  return names;
}

// A frame of the machine of a stopped run, with the tables of its function.
struct SeenFrame {
  const vm::Machine& machine;
  const CodeMap& map;
  std::size_t index;
  const vm::Frame& frame() const { return machine.frames()[index]; }
  const FunctionTables& tables() const { return map.tables(frame().function); }
};
std::optional<SeenFrame> seen_frame(const Debugger& debugger, int frame) {
  const Run* run = impl_of(debugger).run.get();
  std::size_t index = 0;
  if (!run || !frame_index(run->machine(), debugger.machine_frame(frame), index)) return std::nullopt;
  return SeenFrame{run->machine(), run->code(), index};
}

}  // namespace

std::vector<RegisterInfo> registers_of(const Debugger& debugger, int frame) {
  const auto seen = seen_frame(debugger, frame);
  if (!seen) return {};
  const vm::Frame& f = seen->frame();
  const FunctionTables& tables = seen->tables();
  const auto registers = seen->machine.registers(seen->index);
  const StorageNames names = name_storages(tables.plan(), f.pc, registers);
  std::unordered_map<RegName, std::string> user_names;
  for (const LocalInfo& local : debugger.locals(frame))
    if (local.live) user_names.emplace(local.reg, local.name);
  std::unordered_map<const runtime::Storage*, std::vector<RegName>> over;
  for (std::size_t i = 0; i < registers.size(); ++i)
    if (const runtime::Storage* at = storage_in(registers[i])) over[at].push_back(RegName(i));
  std::vector<RegisterInfo> rows;
  for (std::size_t i = 0; i < registers.size(); ++i) {
    support::poll();
    RegisterInfo r;
    r.reg = RegName(i);
    r.value = registers[i];
    const auto* lowered = tables.variable_at(r.reg, f.pc);
    const auto user = user_names.find(r.reg);
    r.name = user != user_names.end() ? user->second : lowered ? lowered->name : std::string();
    r.state = liveness(tables, f.pc, r.reg, r.value);
    if (const runtime::Storage* at = storage_in(r.value)) {
      r.storage = names.at(at).text();
      if (r.value.is(ValueKind::Tensor)) r.offset = r.value.as_tensor().byte_offset();
      for (const RegName other : over[at])
        // A tensor lying in its own storage does not count as sharing.
        if (other != r.reg && registers[std::size_t(other)].is(ValueKind::Tensor)) r.shared.push_back(other);
    }
    rows.push_back(std::move(r));
  }
  return rows;
}

std::vector<std::string> storages_in(const Debugger& debugger, int frame, std::span<const RegName> wanted) {
  std::vector<std::string> list(wanted.size());
  const auto seen = seen_frame(debugger, frame);
  if (!seen) return list;
  const auto registers = seen->machine.registers(seen->index);
  const StorageNames names = name_storages(seen->tables().plan(), seen->frame().pc, registers);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0 || std::size_t(wanted[i]) >= registers.size()) continue;
    if (const runtime::Storage* at = storage_in(registers[std::size_t(wanted[i])])) list[i] = names.at(at).text();
  }
  return list;
}

OtherNames other_names(const Debugger& debugger, int frame) {
  const auto seen = seen_frame(debugger, frame);
  if (!seen) return {};
  const CodeMap& map = seen->map;
  const vm::Frame& f = seen->frame();
  const FunctionTables& tables = seen->tables();
  const int part_now = debugger.function_position(frame).part;
  // Variables that have begun have a row among the locals; another name is told once.
  std::vector<bool> told(tables.name_count(), false);
  for (const FunctionTables::Named& n : tables.named())
    if (n.is_variable && n.site.pc <= f.pc) told[std::size_t(n.name)] = true;
  OtherNames other;
  for (const FunctionTables::Named& n : tables.named()) {
    if (told[std::size_t(n.name)]) continue;
    const std::vector<int>& group = map.group_of(n.site.pc);
    const bool here = &group == &map.group_of(f.pc);
    const bool passed = !n.is_variable && !here && n.site.pc < f.pc;
    // A binding that does not share its code has a register too, once it has been executed.
    if (passed && (group.size() < 2 || !map.runs_before(n.site.pc, f.pc))) continue;
    const bool done = passed || (!n.is_variable && here && n.site.part < part_now);
    told[std::size_t(n.name)] = true;
    (done ? other.not_kept : other.ahead).emplace_back(tables.name(n.name));
  }
  return other;
}

std::vector<std::pair<std::string, Value>> arguments_of(const Debugger& debugger, int frame) {
  const vm::Machine* machine = debugger.machine();
  std::size_t index = 0;
  if (!machine || !frame_index(*machine, debugger.machine_frame(frame), index)) return {};
  const auto registers = machine->registers(index);
  const auto& names = machine->executable().functions[std::size_t(machine->frames()[index].function)].param_names;
  std::vector<std::pair<std::string, Value>> arguments;
  for (std::size_t i = 0; i < names.size() && i < registers.size(); ++i) arguments.emplace_back(names[i], registers[i]);
  return arguments;
}

std::vector<SlotUse> slot_uses(const Debugger& debugger, int frame) {
  const vm::Machine* machine = debugger.machine();
  std::size_t index = 0;
  if (!machine || !frame_index(*machine, debugger.machine_frame(frame), index)) return {};
  const vm::Frame& f = machine->frames()[index];
  const Executable& exe = machine->executable();
  const bytecode::FunctionDebug* debug = exe.debug.function(f.function);
  std::vector<SlotUse> uses(debug ? debug->slots.size() : 0);
  const bytecode::FunctionEntry& entry = exe.functions[std::size_t(f.function)];
  for (Pc pc = entry.start; pc < entry.end; ++pc) {
    const bytecode::InstructionDebug* at = exe.debug.instruction(pc);
    if (!at) continue;
    support::poll();
    for (const std::int32_t s : at->slots_written)
      if (s >= 0 && std::size_t(s) < uses.size()) uses[std::size_t(s)].written.push_back(pc);
    for (const std::int32_t s : at->slots_read)
      if (s >= 0 && std::size_t(s) < uses.size()) uses[std::size_t(s)].read.push_back(pc);
  }
  return uses;
}

}  // namespace rldb::debug
