// Catchpoints as rows of the table of points.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "debug/impl.h"
#include "debug/watch/numeric.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/debug/catch_event.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::debug {

using bytecode::Instruction;
using bytecode::Opcode;

namespace {

struct Event {
  std::string_view word, operand;
};
Event split(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return {text, {}};
  std::string_view operand = text.substr(blank);
  while (operand.starts_with(' ')) operand.remove_prefix(1);
  return {text.substr(0, blank), operand};
}

bool calls(const bytecode::Executable& exe, Pc pc, std::initializer_list<std::string_view> names) {
  const Instruction i = exe.instruction(pc);
  if (i.op != Opcode::Call) return false;
  const std::string& callee = exe.functions[std::size_t(i.callee)].name;
  return std::find(names.begin(), names.end(), callee) != names.end();
}

// The code of a Relay program calls its instructions.
bool allocates(const CodeMap& map, Pc pc) {
  const bytecode::Executable& exe = map.executable();
  const Instruction i = exe.instruction(pc);
  if (i.op != Opcode::Call) return false;
  const vm::InstructionSet* other = map.build()->program ? vm::instructions_of(*map.build()->program) : nullptr;
  return other ? other->allocates(exe.functions[std::size_t(i.callee)].name)
               : calls(exe, pc, {builtin::AllocStorage, builtin::AllocTensor, builtin::AllocShaped});
}

// The slot of a symbolic variable or expression in a function, or the slot with a number.
bool is_slot(const bytecode::FunctionDebug& debug, std::int32_t slot, std::string_view said, bool by_number) {
  if (by_number) return fmt::format("{}", slot) == said;
  return slot >= 0 && std::size_t(slot) < debug.slots.size() && debug.slots[std::size_t(slot)].text == said;
}

std::vector<Site> slot_sites(const bytecode::Executable& exe, const CodeMap& map, std::string_view said,
                             bool by_number) {
  std::vector<Site> sites;
  for (Pc pc = 0; pc + 1 < exe.end(); ++pc) {
    const bytecode::InstructionDebug* at = exe.debug.instruction(pc);
    const bytecode::FunctionDebug* f = exe.debug.function(map.function_of(pc));
    if (!at || !f) continue;
    for (const std::int32_t slot : at->slots_written)
      if (is_slot(*f, slot, said, by_number) && (sites.empty() || sites.back().pc != pc + 1)) sites.push_back({pc + 1});
  }
  return sites;
}

}  // namespace

// Where the event has just happened, or (free, call) is about to happen.
Debugger::Impl::Resolved Debugger::Impl::resolve_catch(std::string_view event, const CodeMap& map) const {
  const auto [word, operand] = split(event);
  const bytecode::Executable& exe = map.executable();
  Resolved r;
  if (word == "call") return resolve_name(operand, map);
  if (word == "alloc" || word == "free") {
    for (Pc pc = 0; pc + 1 < exe.end(); ++pc) {
      if (word == "alloc" && allocates(map, pc)) r.sites.push_back({pc + 1});
      const bool kills = calls(exe, pc, {builtin::NullValue}) && !bytecode::is_special(exe.instruction(pc).dst);
      if (word == "free" && kills) r.sites.push_back({pc});
    }
    return r;
  }
  r.sites = slot_sites(exe, map, operand, word == "slot");
  if (r.sites.empty())
    r.problem =
        source::message(diag::NoSuchThing, word == "slot" ? "slot that is written" : "symbolic variable", operand);
  return r;
}

const Breakpoint* Debugger::add_catchpoint(std::string_view text, source::Diagnostics& out) {
  Impl& d = *impl_;
  const auto [word, operand] = split(text);
  const bool takes_operand = word == "call" || word == "shape" || word == "slot";
  const bool has_sites = takes_operand || word == "alloc" || word == "free";
  const bool known = has_sites || word == kCatchError || numeric_event(word);
  if (!known || takes_operand == operand.empty()) {
    out.add({}, source::message(diag::NoSuchThing, "event to catch", text)
                    .with_hint(fmt::format("events: {}", fmt::join(kCatchEvents, " "))));
    return nullptr;
  }
  Breakpoint b;
  b.kind = PointKind::Catch;
  b.spec = operand.empty() ? std::string(word) : fmt::format("{} {}", word, operand);
  const auto map = d.current_code();
  Impl::Resolved r = d.resolve_point(b, map.get());
  if (r.problem && map && !r.pending) {
    out.add({}, *std::move(r.problem));
    return nullptr;
  }
  b.number = d.next_number++;
  b.sites = std::move(r.sites);
  return &(d.breakpoints[b.number] = std::move(b));
}

Debugger::Impl::Resolved Debugger::Impl::resolve_point(const Breakpoint& b, const CodeMap* map) const {
  switch (b.kind) {
    case PointKind::Break:
      return resolve(b.spec, map);
    case PointKind::Watch:
      return {};
    case PointKind::Catch:
      if (split(b.spec).word == kCatchError || numeric_event(b.spec)) return {};
      return map ? resolve_catch(b.spec, *map) : Resolved{{}, true, {}};
  }
  RLDB_UNREACHABLE("point kind");
}

}  // namespace rldb::debug
