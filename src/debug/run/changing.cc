// Changing a run: values, elements, slots; skipping the next instruction; returning early.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "debug/impl.h"
#include "debug/look/values.h"
#include "debug/watch/numeric.h"
#include "rldb/expression/array.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::RegName;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using vm::Machine;
using vm::Outcome;

namespace {

std::nullopt_t refuse(source::Diagnostics& out, std::string_view target, std::string_view why) {
  out.add({}, source::message(diag::NotChangeable, target, why));
  return std::nullopt;
}

std::string kind_text(const Value& v) { return runtime::describe(v); }

// A number or tensor converted to a tensor of a dtype. Numbers that were written have to fit it.
runtime::Result<support::Ref<Tensor>> converted(const Value& value, runtime::DType dtype) {
  RLDB_TRY(auto t, expression::as_tensor(value));
  RLDB_TRY(t, expression::plain_numbers_as(t, dtype));
  return expression::cast(*t, dtype);
}

// The value in the form that the register holds now: numbers and lists take its dtype, a single element becomes a
// one-element tensor if there is one there. A null value: it does not fit; an error: a number of it does not.
runtime::Result<Value> in_form_of(const Value& now, const Value& wanted) {
  if (now.is_null()) return wanted;
  if (now.is(ValueKind::Int) || now.is(ValueKind::Bool) || now.is(ValueKind::Float)) {
    auto number = expression::number_of(wanted);
    if (!number.ok()) return Value();
    if (number->kind() == now.kind()) return *number;
    return now.is(ValueKind::Int) && number->is(ValueKind::Bool) ? Value::of_int(number->as_int()) : Value();
  }
  if (!now.is(ValueKind::Tensor)) return now.kind() == wanted.kind() ? wanted : Value();
  const Tensor& t = now.as_tensor();
  if (wanted.is(ValueKind::Tensor) || wanted.is(ValueKind::Tuple)) {
    const auto given = expression::as_tensor(wanted);
    if (given.ok() && (*given)->shape() == t.shape()) {
      RLDB_TRY(auto fits, expression::plain_numbers_as(*given, t.dtype()));
      return fits->dtype() == t.dtype() ? Value(std::move(fits)) : Value();
    }
  }
  auto one = expression::number_of(wanted);
  if (t.element_count() != 1 || !one.ok()) return Value();
  RLDB_TRY(auto made, converted(*one, t.dtype()));
  RLDB_TRY(auto shaped, Tensor::view(made->storage(), made->byte_offset(), t.shape(), t.dtype()));
  return Value(std::move(shaped));
}

// Of elements, in ascending order; neighbours are one part.
std::vector<std::pair<std::int64_t, std::int64_t>> bytes_of(std::vector<std::int64_t> positions, std::size_t width) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  std::sort(positions.begin(), positions.end());
  for (const std::int64_t p : positions) {
    const std::int64_t begin = p * std::int64_t(width), end = begin + std::int64_t(width);
    if (!parts.empty() && parts.back().second >= begin)
      parts.back().second = end;
    else
      parts.emplace_back(begin, end);
  }
  return parts;
}

// Its memory is shared with a checkpoint, and there is none for a copy: the run ends with the change that was asked
// for.
Outcome out_of_memory() {
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault.emplace();
  o.fault->error = {runtime::ErrorKind::OutOfMemory, "there is no memory for the change", {}};
  return o;
}

}  // namespace

const UserVariable* Debugger::Impl::live_variable(std::string_view name, std::size_t frame) const {
  const vm::Frame& f = run->machine().frames()[frame];
  const UserVariable* best = nullptr;
  for (const UserVariable& v : run->code().variables(f.function))
    if (v.name == name && f.pc >= v.begin && f.pc < v.range->end && (!best || v.begin > best->begin)) best = &v;
  return best;
}

std::vector<std::string> Debugger::Impl::commands_on(std::string_view name, std::size_t frame) const {
  const vm::Frame& f = run->machine().frames()[frame];
  std::vector<std::string> texts;
  for (const Change& c : run->changes().list()) {
    if (!c.writes || c.writes->frame != frame || c.time < f.entered || c.time > run->time()) continue;
    const auto& all = run->code().variables(f.function);
    if (std::any_of(all.begin(), all.end(), [&](const UserVariable& v) {
          return v.name == name && v.range->reg == c.writes->reg && c.pc >= v.begin && c.pc < v.range->end;
        }))
      texts.push_back(fmt::format("`{}` at time {}", c.said.command, c.time));
  }
  return texts;
}

std::optional<std::string> Debugger::Impl::assign_register(std::string_view name, Value value, std::size_t frame,
                                                           const Change::Said& said, source::Diagnostics& out) {
  const UserVariable* v = live_variable(name, frame);
  const RegName reg = v->range->reg;
  const Value* now = run->machine().read_register(frame, reg);
  const auto formed = now ? in_form_of(*now, value) : Value();
  if (!formed.ok()) return refuse(out, name, formed.error().message);
  const Value& fits = *formed;
  if (fits.is_null())
    return refuse(out, name,
                  fmt::format("it is a {}, the value is a {}", kind_text(now ? *now : Value()), kind_text(value)));
  const auto kept = runtime::copy_of(fits);
  if (!kept.ok()) return refuse(out, name, kept.error().message);
  // Else its other elements, or what the device has, would come back over the new ones.
  if (auto there = runtime::read_back(*now); !there.ok()) return refuse(out, name, there.error().message);
  if (auto owned = runtime::own_all(*now); !owned.ok()) return refuse(out, name, owned.error().message);
  run->change(
      false,
      [frame, reg, kept = kept.value()](Machine& m) -> std::optional<Outcome> {
        // A tensor is written in place: aliases of its memory see it, as if the program had computed it.
        const Value* held = m.read_register(frame, reg);
        if (held && held->is(ValueKind::Tensor) && kept.is(ValueKind::Tensor)) {
          if (!runtime::own_all(*held).ok()) return out_of_memory();
          std::memcpy(held->as_tensor().data(), kept.as_tensor().peek(), kept.as_tensor().byte_size());
          return std::nullopt;
        }
        if (auto copy = runtime::copy_of(kept); copy.ok()) m.write_register(frame, reg, std::move(copy).value());
        return std::nullopt;
      },
      Change::Target{frame, reg}, said);
  return fmt::format("{} = {}", name, runtime::format_brief(fits));
}

std::optional<std::string> Debugger::Impl::assign_elements(std::string_view name, std::string_view subscript,
                                                           Value value, std::size_t frame, const Change::Said& said,
                                                           source::Diagnostics& out) {
  const UserVariable* v = live_variable(name, frame);
  const RegName reg = v->range->reg;
  const Value* now = run->machine().read_register(frame, reg);
  if (!now || !now->is(ValueKind::Tensor)) return refuse(out, name, "only a tensor has elements that can be set");
  auto chosen = expression::positions_of(now->as_tensor(), subscript);
  if (!chosen.ok()) return refuse(out, fmt::format("{}{}", name, subscript), chosen.error().message);
  const runtime::DType dtype = now->as_tensor().dtype();
  auto given = converted(value, dtype);
  if (!given.ok()) return refuse(out, fmt::format("{}{}", name, subscript), given.error().message);
  const bool fills = (*given)->element_count() == 1;
  if (!fills && (*given)->element_count() != std::int64_t(chosen->size()))
    return refuse(out, fmt::format("{}{}", name, subscript),
                  fmt::format("these are {} elements, the value is a {}", chosen->size(), kind_text(value)));
  auto kept = runtime::copy_of(Value(*given));
  if (!kept.ok()) return refuse(out, name, kept.error().message);
  // Else its other elements, or what the device has, would come back over the new ones.
  if (auto there = runtime::read_back(*now); !there.ok()) return refuse(out, name, there.error().message);
  if (auto owned = runtime::own_all(*now); !owned.ok()) return refuse(out, name, owned.error().message);
  run->change(
      false,
      [frame, reg, fills, kept = *kept, at = *chosen](Machine& m) -> std::optional<Outcome> {
        const Value* held = m.read_register(frame, reg);
        if (!held || !held->is(ValueKind::Tensor)) return std::nullopt;
        if (!runtime::own_all(*held).ok()) return out_of_memory();
        const Tensor& t = held->as_tensor();
        const std::size_t width = t.dtype().bytes();
        for (std::size_t i = 0; i < at.size() && at[i] < t.element_count(); ++i)
          std::memcpy(t.data() + std::size_t(at[i]) * width, kept.as_tensor().peek() + (fills ? 0 : i * width), width);
        return std::nullopt;
      },
      Change::Target{frame, reg, bytes_of(*chosen, dtype.bytes())}, said);
  return fmt::format("{}{}: {} set", name, subscript, support::counted(chosen->size(), "element"));
}

std::optional<std::string> Debugger::Impl::assign_slot(std::int64_t slot, const Value& value, std::size_t frame,
                                                       const Change::Said& said, source::Diagnostics& out) {
  const std::vector<SlotInfo> slots = heap(run->machine(), run->code(), frame);
  if (slot < 0 || std::size_t(slot) >= slots.size())
    return refuse(out, fmt::format("slot {}", slot), "the frame has no such slot");
  auto number = expression::number_of(value);
  if (!number.ok() || number->is(ValueKind::Float))
    return refuse(out, fmt::format("slot {}", slot),
                  fmt::format("it holds an integer, the value is a {}", kind_text(value)));
  const std::int64_t integer = number->as_int();
  run->change(
      false,
      [frame, slot, integer](Machine& m) -> std::optional<Outcome> {
        m.write_slot(frame, std::size_t(slot), integer);
        return std::nullopt;
      },
      {}, said);
  const SlotInfo& s = slots[std::size_t(slot)];
  // Values already computed from it are not recomputed.
  std::vector<std::string> derived;
  for (const SlotInfo& other : slots)
    if (other.slot != slot && other.set && mentions(other.expression, s.expression))
      derived.push_back(other.expression);
  return fmt::format("slot {} ({}) = {}{}", slot, s.expression, integer,
                     derived.empty() ? "" : fmt::format("; {} keep their values", fmt::join(derived, ", ")));
}

std::optional<std::string> Debugger::assign(std::string_view target, std::string_view expression, int frame,
                                            source::Diagnostics& out) {
  Impl& d = *impl_;
  if (d.is_foreign("`set`", out)) return std::nullopt;
  std::size_t index = 0;
  if (!d.run || d.last.kind == StopKind::Finished || !frame_index(d.run->machine(), machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return std::nullopt;
  }
  if (d.run->in_kernel())
    return refuse(out, target, "a kernel is being stepped; its call is made again when it is left");
  auto value = evaluate(expression, frame, out);
  if (!value) return std::nullopt;
  const Change::Said said{std::string(target), fmt::format("set {} = {}", target, expression)};
  constexpr std::string_view kSlot = "slot ";
  if (target.starts_with(kSlot)) {
    const auto slot = expression::evaluate_text(target.substr(kSlot.size()), nullptr);
    return d.assign_slot(slot.ok() && slot->is(ValueKind::Int) ? slot->as_int() : -1, *value, index, said, out);
  }
  const auto [name, subscript] = expression::split_target(target);
  if (d.live_variable(name, index)) {
    auto done = subscript.empty() ? d.assign_register(name, *std::move(value), index, said, out)
                                  : d.assign_elements(name, subscript, *std::move(value), index, said, out);
    if (done) d.report(d.last.kind);
    return done;
  }
  if (subscript.empty())
    for (const SlotInfo& s : d.heap(d.run->machine(), d.run->code(), index))
      if (s.expression == name) return d.assign_slot(s.slot, *value, index, said, out);
  source::Diagnostics unused;
  if (evaluate(name, frame, unused)) return refuse(out, target, "no register of the frame holds it");
  if (ValueFinder(d, d.run->machine(), d.run->code(), index, d.part, false).binding_of(name) >= 0)
    return refuse(out, target, "it is not computed yet");
  return refuse(out, target, "the frame has no such name");
}

StopReport Debugger::skip(source::Diagnostics& out) {
  Impl& d = *impl_;
  if (d.is_foreign("`skip`", out)) return d.last;
  if (!d.run || d.last.kind == StopKind::Finished || !d.run->machine().running()) return d.not_running();
  Run& run = *d.run;
  const auto refused = [&](std::string_view why) {
    out.add({}, source::message(diag::NotSkipped,
                                d.last.where.binding.empty() ? "the instruction" : d.last.where.binding, why));
    return d.last;
  };
  if (run.in_kernel()) return refused("a kernel is being stepped");
  const std::vector<int> group = run.code().group_of(run.pc());
  if (group.size() > 1) return refused("it is computed together with others");
  const auto skips = [](Machine& m) -> std::optional<Outcome> {
    m.skip();
    return std::nullopt;
  };
  const auto instruction = [&] { return run.code().executable().instruction(run.pc()); };
  const bool whole = run.code().starts().test(run.pc()) && !group.empty();
  const std::size_t depth = run.depth();
  if (!whole && instruction().op != Opcode::Call) return refused("it is not a call");
  const int part = std::exchange(d.part, 0);
  do {
    const Instruction i = instruction();
    const bool call = i.op == Opcode::Call &&
                      run.machine().program().target_kind(i.callee) != vm::TargetKind::Builtin &&
                      run.machine().program().target_kind(i.callee) != vm::TargetKind::Control;
    if (!whole || call || run.is_kernel_call(run.pc())) {
      run.change(true, skips, {}, {{}, "skip"});
      if (!whole) break;
      continue;
    }
    if (i.op != Opcode::Call) {
      d.part = part;
      return d.report(StopKind::Step);
    }
    Outcome o = run.advance(nullptr, run.time() + 1);
    if (!o.stopped() || o.reason != vm::StopReason::Stepped) return d.report_outcome(std::move(o));
  } while (run.depth() == depth && run.code().group_of(run.pc()) == group);
  if (auto r = d.breakpoint_here()) return *r;
  return d.report(StopKind::Step);
}

StopReport Debugger::return_from(int frame, std::string_view expression, source::Diagnostics& out) {
  Impl& d = *impl_;
  if (d.is_foreign("`return`", out)) return d.last;
  std::size_t index = 0;
  if (!d.run || d.last.kind == StopKind::Finished || !frame_index(d.run->machine(), machine_frame(frame), index))
    return d.not_running();
  Value value;
  if (!expression.empty()) {
    auto given = evaluate(expression, frame, out);
    if (!given) return d.last;
    auto copy = runtime::copy_of(*given);
    value = copy.ok() ? std::move(copy).value() : *std::move(given);
  }
  const std::string name = d.run->code().function_name(d.run->machine().frames()[index].pc);
  d.part = 0;
  std::optional<Outcome> ended;
  // The frames above it are left first.
  while (!ended && d.run->depth() > index) {
    const bool last = d.run->depth() == index + 1;
    ended = d.run->change(true,
                          [value, last](Machine& m) -> std::optional<Outcome> {
                            auto copy = runtime::copy_of(value);
                            return m.return_value(last && copy.ok() ? std::move(copy).value() : Value());
                          },
                          {}, {{}, expression.empty() ? "return" : fmt::format("return {}", expression)});
  }
  if (ended) return d.report_outcome(*std::move(ended));
  StopReport r = d.report(StopKind::Step);
  r.returned_from = name;
  r.returned = value;
  return d.last = r;
}

const ir::PrimFunc* Debugger::kernel_of_run(std::string_view kernel) const {
  const Impl& d = *impl_;
  const ir::Module* lowered = d.run ? d.lowered_of(d.run->code()) : nullptr;
  return lowered ? ir::as<ir::PrimFunc>(lowered->find(kernel)) : nullptr;
}

bool Debugger::replace_kernel(std::string_view kernel, const ir::PrimFunc* f, session::Engine engine,
                              source::Diagnostics& out) {
  Impl& d = *impl_;
  if (d.is_foreign("a new kernel", out)) return false;
  if (!d.run || d.last.kind == StopKind::Finished || !d.run->machine().running()) {
    out.add({}, source::message(diag::NotStopped));
    return false;
  }
  const session::Build* now = d.run->build_of(d.run->machine());
  auto build = now ? d.session.with_kernel(*now, kernel, f, engine, out) : nullptr;
  if (!build) return false;
  // One being stepped goes back to before its call.
  if (d.run->in_kernel()) d.run->give_kernel_up();
  // After a fault, the next instruction to execute is the call that failed.
  if (d.run->fault()) d.run->go_back(d.run->time());
  d.run->replace_build(std::move(build));
  resolve_breakpoints();
  d.report(d.last.kind);
  return true;
}

bool Debugger::revert_kernel(std::string_view kernel, source::Diagnostics& out) {
  const auto first = build();
  const auto* f = first && first->lowered ? ir::as<ir::PrimFunc>(first->lowered->find(kernel)) : nullptr;
  if (!f) {
    out.add({}, source::message(diag::NoSuchThing, "kernel of the run", kernel));
    return false;
  }
  return replace_kernel(kernel, f, impl_->session.options().engine, out);
}

StopReport Debugger::call_again(std::string_view kernel, source::Diagnostics& out) {
  Impl& d = *impl_;
  if (d.is_foreign("`call-again`", out)) return d.last;
  // A finished run can still go back.
  if (!d.run || (d.last.kind != StopKind::Finished && !d.run->machine().running())) return d.not_running();
  Run& run = *d.run;
  vm::StopSet calls = d.no_stops();
  for (Pc pc = 0; pc < calls.end(); ++pc) calls.set(pc, run.kernel_called(pc) == kernel);
  std::optional<std::uint64_t> last;
  if (run.fault() && calls.test(run.pc())) last = run.time();
  const Run::Seek seek = last ? Run::Seek::Done
                              : run.search(
                                    calls,
                                    [&](const vm::Machine& m) {
                                      if (calls.test(m.frame().pc)) last = m.instructions();
                                    },
                                    [&] { return last.has_value(); });
  if (seek == Run::Seek::Interrupted) return d.report(StopKind::Interrupted);
  if (!last) {
    out.add({}, source::message(diag::NotCalledYet, kernel));
    return d.last;
  }
  std::shared_ptr<const session::Build> build = run.replaced_build();
  if (run.go_back(*last) != Run::Seek::Done) return d.report(StopKind::HistoryEnd);
  if (build) run.replace_build(std::move(build));
  d.part = 0;
  Outcome o = run.advance(nullptr, run.time() + 1);
  if (!o.stopped() || o.reason != vm::StopReason::Stepped) return d.report_outcome(std::move(o));
  return d.report(StopKind::Step);
}

}  // namespace rldb::debug
