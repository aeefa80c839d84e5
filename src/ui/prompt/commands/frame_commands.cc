// Frames, their variables and memory, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rldb/debug/objects.h"
#include "rldb/debug/storage.h"
#include "rldb/runtime/tensor_place.h"
#include "rldb/session/default_function.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/storage_plan.h"
#include "rldb/ui/render/table.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/prompt/commands/draw_options.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostRows = 50;
constexpr std::size_t kLocalWidth = 60;

// The position in the selected frame of the machine; in a kernel: its call.
debug::Position function_frame(Repl& repl) { return repl.debugger().function_position(repl.frame()); }

bool is_stopped(Repl& repl) { return repl.debugger().machine() && repl.debugger().machine()->running(); }
// At a stop, and of a run that has finished before it returned.
bool has_frames(Repl& repl) {
  if (repl.debugger().finished()) (void)repl.debugger().ask_at_end();
  return repl.debugger().machine() != nullptr;
}
// No wider than the terminal, if there is one.
std::string fitting(Repl& repl, const Table& table) {
  return repl.ask ? table.text(std::size_t(window_size().width)) : table.text();
}

void say_rest(Repl& repl, std::size_t count, std::string_view command) {
  if (count > kMostRows) repl.print("... {} more: `{} all` shows them\n", count - kMostRows, command);
}

// ---- frames ----

// A scalar is shown as its number.
std::string argument_text(const runtime::Value& v) {
  using runtime::ValueKind;
  if (v.is_null()) return "(freed)";
  const bool scalar = v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0 && v.as_tensor().dtype().is_scalar() &&
                      !v.as_tensor().dtype().is_handle();
  if (!scalar) return runtime::describe(v);
  const std::string text = runtime::format_value(v);
  return text.substr(text.find('\n') + 1);
}

std::string arguments_text(Repl& repl, int frame) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  for (const auto& [name, value] : debug::arguments_of(repl.debugger(), frame))
    add(fmt::format("{}={}", name, argument_text(value)));
  for (const debug::SlotInfo& s : repl.debugger().heap(frame))
    if (s.set && std::all_of(s.expression.begin(), s.expression.end(),
                             [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; }))
      add(fmt::format("{}={}", s.expression, s.value));
  return text;
}

void print_frame(Repl& repl, const debug::FrameInfo& f, bool full) {
  constexpr std::size_t kArguments = 100;
  if (f.in_kernel) {
    repl.print("{}#{} {}\n", f.number == repl.frame() ? "=> " : "   ", f.number,
               describe_kernel_frame(repl.debugger()));
    return;
  }
  const char* mark = f.number == repl.frame() ? "=> " : "   ";
  if (f.is_virtual != debug::VirtualFrame::None)
    return repl.print("{}#{} {}\n", mark, f.number, describe_frame(repl, f));
  repl.print("{}#{} {} ({})\n", mark, f.number, describe_position(repl, f.where),
             cut(arguments_text(repl, f.number), kArguments));
  if (!full) return;
  for (const debug::LocalInfo& local : repl.debugger().locals(f.number))
    repl.print("       {} = {}\n", local.name, local.live ? runtime::format_brief(local.value) : "(freed)");
}

}  // namespace

Status command_Bt(Repl& repl, std::string_view rest) {
  if (!has_frames(repl)) return repl.fail(source::message(diag::NotStopped));
  const bool full = rest == "full";
  const bool outermost = rest.starts_with('-');
  std::optional<std::uint64_t> given;
  if (!full && !rest.empty()) given = parse_count(outermost ? rest.substr(1) : rest);
  if (!full && !rest.empty() && (!given || *given == 0)) return Status::Usage;
  const std::vector<debug::FrameInfo> frames = repl.debugger().frames();
  if (repl.wants_json()) return repl.give(frames_json(repl, full));
  constexpr std::size_t kFirst = 20, kLast = 5;
  std::size_t first = frames.size(), last = 0;  // frames shown from either end
  const std::size_t count = std::min<std::size_t>(given.value_or(0), frames.size());
  if (given && outermost)
    first = 0, last = count;
  else if (given)
    first = count;
  else if (!full && frames.size() > kFirst + kLast)
    first = kFirst, last = kLast;
  for (std::size_t i = 0; i < first; ++i) print_frame(repl, frames[i], full);
  if (const std::size_t hidden = frames.size() - first - last; hidden > 0)
    repl.print("   ... {}: `bt N`, `bt -N`, `bt full`\n", support::counted(hidden, "frame"));
  for (std::size_t i = frames.size() - last; i < frames.size(); ++i) print_frame(repl, frames[i], full);
  if (const debug::StopReport* outer = repl.debugger().outer_stop())
    repl.print("   called from the prompt, stopped at {}\n", describe_position(repl, outer->where));
  return Status::Good;
}

// ---- variables ----

namespace {

std::string place_text(const debug::RegisterInfo& r) {
  if (r.storage.empty()) return "";
  const std::string place = runtime::place_of(r.value);
  const std::string on = place == "cpu" ? "" : " on " + place;
  return r.value.is(runtime::ValueKind::Tensor) ? fmt::format("{}+{}{}", r.storage, r.offset, on) : r.storage + on;
}

std::string register_name(const std::vector<debug::RegisterInfo>& all, bytecode::RegName reg) {
  const std::string& name = all[std::size_t(reg)].name;
  return name.empty() ? fmt::format("%{}", reg) : name;
}

std::string sharers_text(const std::vector<debug::RegisterInfo>& all, const debug::RegisterInfo& r) {
  std::string text;
  for (const bytecode::RegName other : r.shared) text += (text.empty() ? "= " : ", ") + register_name(all, other);
  return text;
}

void print_names(Repl& repl, std::string_view label, const std::vector<std::string>& names, bool all) {
  constexpr std::size_t kMostNames = 20;
  const auto end = names.begin() + std::ptrdiff_t(all ? names.size() : std::min(names.size(), kMostNames));
  if (!names.empty())
    repl.print("{}: {}{}\n", label, fmt::join(names.begin(), end, ", "),
               end == names.end() ? "" : fmt::format(" and {} more", names.end() - end));
}

// Of many variables, those that were computed last: a model has more weights than there are rows.
struct RowsOfLocals {
  std::vector<bool> shown;
  std::size_t arguments_left = 0, locals_left = 0;
};

RowsOfLocals rows_of_locals(Repl& repl, const std::vector<debug::LocalInfo>& locals, bool all) {
  constexpr std::size_t kFirstArguments = 8;
  RowsOfLocals rows{std::vector<bool>(locals.size(), true), 0, 0};
  if (all || locals.size() <= kMostRows) return rows;
  std::set<std::string> arguments;
  for (const auto& [name, value] : debug::arguments_of(repl.debugger(), repl.frame())) arguments.insert(name);
  const auto is_argument = [&](const debug::LocalInfo& local) { return arguments.contains(local.name); };
  const auto count = std::size_t(std::count_if(locals.begin(), locals.end(), is_argument));
  const std::size_t own = locals.size() - count;
  const std::size_t named = std::min(count, std::max(kFirstArguments, kMostRows - std::min(own, kMostRows)));
  rows.arguments_left = count - named;
  rows.locals_left = own - std::min(own, kMostRows - named);
  std::size_t argument = 0, local = 0;
  for (std::size_t i = 0; i < locals.size(); ++i)
    rows.shown[i] = is_argument(locals[i]) ? argument++ < named : local++ >= rows.locals_left;
  return rows;
}

}  // namespace

Status command_Locals(Repl& repl, std::string_view rest) {
  const bool all = rest == "all";
  if (!rest.empty() && !all) return Status::Usage;
  if (!has_frames(repl)) return repl.fail(source::message(diag::NotStopped));
  const auto kernel = repl.frame() == 0 ? repl.debugger().kernel_position() : std::nullopt;
  if (repl.wants_json())
    return repl.give(kernel ? kernel_json(*kernel, repl.print_format.max_elements) : locals_json(repl, repl.frame()));
  if (kernel) {
    show_kernel_locals(repl);
    return Status::Good;
  }
  const std::vector<debug::LocalInfo> locals = repl.debugger().locals(repl.frame());
  const std::vector<debug::RegisterInfo> registers = debug::registers_of(repl.debugger(), repl.frame());
  const RowsOfLocals rows = rows_of_locals(repl, locals, all);
  Table table({"name", "type", "reg", "storage", "shared", "state", "value"});
  for (std::size_t i = 0; i < locals.size(); ++i) {
    if (!rows.shown[i]) continue;
    const debug::LocalInfo& local = locals[i];
    const bool held = local.live && local.reg >= 0 && std::size_t(local.reg) < registers.size();
    const debug::RegisterInfo r = held ? registers[std::size_t(local.reg)] : debug::RegisterInfo{};
    table.add({local.name, local.type, local.reg >= 0 ? fmt::format("%{}", local.reg) : "", place_text(r),
               held ? sharers_text(registers, r) : "", local.live ? "live" : "freed",
               local.live ? cut(runtime::format_brief(local.value), kLocalWidth) : ""});
  }
  if (table.empty())
    repl.print("no locals\n");
  else
    repl.print("{}", fitting(repl, table));
  if (rows.arguments_left > 0)
    repl.print("... {}: `info args` shows them\n", support::counted(rows.arguments_left, "more argument"));
  if (rows.locals_left > 0)
    repl.print("... {}: `locals all` shows them\n", support::counted(rows.locals_left, "earlier local"));
  const debug::OtherNames other = debug::other_names(repl.debugger(), repl.frame());
  print_names(repl, "not kept", other.not_kept, all);
  print_names(repl, "not yet", other.ahead, all);
  return Status::Good;
}

Status command_Registers(Repl& repl, std::string_view rest) {
  const bool all = rest == "all";
  if (!rest.empty() && !all) return Status::Usage;
  if (!has_frames(repl) || !is_stopped(repl)) return repl.fail(source::message(diag::NotStopped));
  if (repl.wants_json()) return repl.give(registers_json(repl));
  const std::vector<debug::RegisterInfo> registers = debug::registers_of(repl.debugger(), repl.frame());
  Table table({"reg", "name", "value", "storage", "shared", "state"});
  for (std::size_t i = 0; i < registers.size() && (all || i < kMostRows); ++i) {
    const debug::RegisterInfo& r = registers[i];
    table.add({fmt::format("%{}", r.reg), r.name, runtime::describe(r.value), place_text(r), sharers_text(registers, r),
               std::string(debug::to_string(r.state))});
  }
  repl.print("{}", fitting(repl, table));
  if (!all) say_rest(repl, registers.size(), "registers");
  return Status::Good;
}

namespace {

constexpr std::size_t kMostObjects = 200;

Status show_objects(Repl& repl) {
  const debug::HeapObjects found = debug::objects_of(repl.debugger(), kMostObjects);
  if (found.list.empty()) {
    repl.print("no objects in the frames\n");
    return Status::Good;
  }
  Table table({"id", "value", "fields", "held by"});
  for (const debug::HeapObject& o : found.list)
    table.add({fmt::format("o{}", o.id), cut(o.text, kLocalWidth),
               cut(fmt::format("{}", fmt::join(o.fields, ", ")), kLocalWidth),
               cut(fmt::format("{}", fmt::join(o.held_by, ", ")), kLocalWidth)});
  repl.print("{}", fitting(repl, table));
  if (!found.complete) repl.print("... and more\n");
  return Status::Good;
}

}  // namespace

Status command_Heap(Repl& repl, std::string_view rest) {
  const bool objects = rest == "objects";
  if (!rest.empty() && !objects) return Status::Usage;
  if (!has_frames(repl)) return repl.fail(source::message(diag::NotStopped));
  if (objects) return repl.wants_json() ? repl.give(objects_json(repl, kMostObjects)) : show_objects(repl);
  if (repl.wants_json()) return repl.give(heap_json(repl));
  const std::vector<debug::SlotInfo> slots = repl.debugger().heap(repl.frame());
  if (slots.empty()) {
    repl.print("no shape heap in this frame\n");
    return debug::objects_of(repl.debugger(), 1).list.empty() ? Status::Good : show_objects(repl);
  }
  const std::vector<debug::SlotUse> uses = debug::slot_uses(repl.debugger(), repl.frame());
  const auto pcs = [](const std::vector<bytecode::Pc>& list) {
    constexpr std::size_t kMost = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(list.size(), kMost); ++i) text += fmt::format("{}*{}", i ? " " : "", list[i]);
    return list.size() > kMost ? text + fmt::format(" and {} more", list.size() - kMost) : text;
  };
  Table table({"slot", "expression", "value", "bound by", "written", "read"});
  for (const debug::SlotInfo& s : slots) {
    const std::size_t i = std::size_t(s.slot);
    table.add({fmt::format("slot {}", s.slot), s.expression, s.set ? fmt::format("= {}", s.value) : "unset", s.bound_by,
               i < uses.size() ? pcs(uses[i].written) : "", i < uses.size() ? pcs(uses[i].read) : ""});
  }
  repl.print("{}", fitting(repl, table));
  return Status::Good;
}

// ---- memory over time ----

namespace {

// Memory and traffic of devices with memory of their own.
void show_devices(Repl& repl) {
  const auto uses = runtime::device_uses();
  if (uses.empty()) return;
  Table table({"device", "storages", "bytes", "most", "copied in", "copied out"});
  const auto traffic = [](std::size_t copies, std::size_t bytes) {
    return copies == 0 ? std::string("0") : fmt::format("{} ({} bytes)", copies, bytes);
  };
  for (const runtime::DeviceUse& u : uses)
    table.add({to_string(u.device), fmt::format("{}", u.storages), fmt::format("{}", u.bytes),
               fmt::format("{}", u.peak), traffic(u.copies_in, u.bytes_in), traffic(u.copies_out, u.bytes_out)});
  repl.print("{}", fitting(repl, table));
}

std::string pc_text(bytecode::Pc pc) { return pc < 0 ? "" : fmt::format("*{}", pc); }

// `devices`: of the program; without any, sizes are of the host.
Table plan_table(const debug::StoragePlan& plan, const runtime::DeviceList& devices) {
  Table table({"id", "bytes", "tensor", "shape", "offset", "made", "written", "last use", "cleared"});
  for (const debug::PlannedStorage& s : plan.storages) {
    std::string id = fmt::format("s{}", s.id), size = s.size;
    if (!devices.empty()) size += " on " + to_string(runtime::device_at(devices, s.device));
    if (s.tenants.empty()) table.add({id, size});
    for (const debug::Tenant& t : s.tenants) {
      table.add({id, size, t.binding.empty() ? fmt::format("%{}", t.reg) : t.binding, t.shape,
                 t.offset < 0 ? "computed" : fmt::format("{}", t.offset), pc_text(t.made), pc_text(t.written),
                 pc_text(t.last_use), t.cleared < 0 ? "end" : pc_text(t.cleared)});
      id.clear(), size.clear();
    }
  }
  return table;
}

}  // namespace

Status command_Storage(Repl& repl, std::string_view rest) {
  DrawOptions options;
  if (const std::string wrong = take_draw_options(rest, options); !wrong.empty())
    return repl.fail(source::message(diag::BadDrawOption, wrong));
  const bool stopped = is_stopped(repl);
  std::string function(rest);
  bytecode::Pc now = -1;
  if (stopped) {
    const debug::Position where = function_frame(repl);
    if (function.empty()) function = where.function;
    if (function == where.function) now = where.pc;
  } else {
    if (function.empty()) function = session::default_function(repl.session());
    source::Diagnostics diagnostics;
    const auto build = repl.session().viewable(diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !build) return Status::Failed;
  }
  const auto plan = debug::storage_plan(repl.debugger(), repl.session(), function);
  if (!plan) return repl.fail(source::message(diag::NoSuchThing, "bytecode function", function));
  if (!options.file.empty()) return write_drawing(repl, options.file, storage_svg(*plan, now));
  const runtime::DeviceList devices = repl.session().devices_of(repl.session().module());
  if (repl.wants_json()) return repl.give(storage_json(*plan, devices));
  std::size_t tensors = 0;
  for (const debug::PlannedStorage& s : plan->storages) tensors += s.tenants.size();
  repl.print("{}: {}, {}, instructions *{} to *{}\n", function, support::counted(plan->storages.size(), "storage"),
             support::counted(tensors, "tensor"), plan->begin, plan->end - 1);
  show_devices(repl);
  if (plan->storages.empty()) return Status::Good;
  repl.print("{}", fitting(repl, plan_table(*plan, devices)));
  repl.show(storage_text(*plan, now, draws_ascii(repl, options)),
            {OutputKind::Picture, storage_svg(*plan, now), {}, {}, {}});
  return Status::Good;
}

}  // namespace rldb::ui
