// WhyMemory: from the bytes of an element to the call, the iteration and the elements behind them.
#include "debug/provenance/why_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "debug/look/element.h"
#include "rldb/debug/facts.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using bytecode::ArgKind;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

struct WhyMemory::Writer {
  CallMoment call;
  std::optional<vm::Machine> machine;  // before the call
  std::string callee;
  bool is_kernel = false;
  std::vector<Value> args;  // of a kernel, as it gets them
  KernelOrigin origin;
  std::string problem;
};

namespace {

std::string elements_text(const Tensor& t, const std::vector<std::int64_t>& positions) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < positions.size() && i < kShown; ++i)
    text += (i ? " " : "") + element_text(t, positions[i]);
  if (positions.size() == 1) return text;
  return fmt::format("[{}{}]", text, positions.size() > kShown ? " ..." : "");
}

bool stores_to(const ir::PrimFunc* f, const ir::Buffer* b) {
  bool stored = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* store = ir::as<ir::BufferStore>(n);
    stored = stored || (store && store->buffer->data == b->data);
    return !stored;
  });
  return stored;
}

bool covers(const Tensor& t, const MemoryPlace& p) {
  return t.storage().get() == p.memory && p.byte >= std::int64_t(t.byte_offset()) &&
         p.byte < std::int64_t(t.byte_offset() + t.byte_size());
}

// Elements read by a call: of one argument, in one role.
struct ReadGroup {
  int arg;
  ReadRole role;
  const ir::Expr* condition;
  std::vector<std::int64_t> positions;
};

std::vector<ReadGroup> group_reads(const KernelOrigin& origin, const std::vector<Value>& args) {
  std::vector<ReadGroup> groups;
  for (const KernelSource& s : origin.sources) {
    std::size_t arg = 0;
    while (arg < args.size() && !(args[arg].is(ValueKind::Tensor) && covers(args[arg].as_tensor(), s.place))) ++arg;
    if (arg == args.size()) continue;  // memory of the kernel that it read before it wrote it
    const Tensor& t = args[arg].as_tensor();
    const std::int64_t position = (s.place.byte - std::int64_t(t.byte_offset())) / std::int64_t(t.dtype().bytes());
    auto g = std::find_if(groups.begin(), groups.end(), [&](const ReadGroup& x) {
      return x.arg == int(arg) && x.role == s.role && x.condition == s.condition;
    });
    if (g == groups.end()) g = groups.insert(groups.end(), {int(arg), s.role, s.condition, {}});
    g->positions.push_back(position);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const ReadGroup& a, const ReadGroup& b) {
    return a.role != b.role ? a.role < b.role : a.arg < b.arg;
  });
  for (ReadGroup& g : groups) {
    std::sort(g.positions.begin(), g.positions.end());
    g.positions.erase(std::unique(g.positions.begin(), g.positions.end()), g.positions.end());
  }
  return groups;
}

std::string role_text(ReadRole role, const ir::Expr* condition) {
  if (role == ReadRole::Index) return "an index";
  return condition
             ? fmt::format("in the condition {}", support::one_line(ir::print_expr(condition, {.tensor_ir = true})))
             : std::string();
}

}  // namespace

CauseStep element_step(std::string_view name, const Tensor& t, const std::vector<std::int64_t>& positions,
                       std::size_t depth) {
  CauseStep step;
  step.depth = depth;
  step.name = std::string(name) + region_text(t.shape(), positions);
  step.value = elements_text(t, positions);
  return step;
}

std::optional<ValuePath> path_to(const vm::Machine& m, std::size_t frame, const runtime::Storage* storage) {
  std::optional<ValuePath> found;
  for (std::size_t f = 0; f < m.frames().size(); ++f) {
    if (found && f != frame) continue;
    const auto registers = m.registers(f);
    for (std::size_t r = 0; r < registers.size(); ++r) {
      const Value& v = registers[r];
      const bool here = (v.is(ValueKind::Tensor) && v.as_tensor().storage().get() == storage) ||
                        (v.is(ValueKind::Storage) && v.storage_ref().get() == storage);
      if (here) found = ValuePath{f, bytecode::RegName(r), {}};
      const auto held = v.is(ValueKind::Tuple) ? memory_in(v, 0) : std::vector<Touch>();
      if (!here && !found && std::any_of(held.begin(), held.end(), [&](const Touch& t) { return t.memory == storage; }))
        for (std::size_t i = 0; i < v.as_tuple().fields.size(); ++i)
          if (const Value& field = v.as_tuple().fields[i];
              field.is(ValueKind::Tensor) && field.as_tensor().storage().get() == storage)
            found = ValuePath{f, bytecode::RegName(r), {i}};
    }
  }
  return found;
}

bool WhyMemory::tell(std::string_view name, const ValuePath& path, const Tensor& t, std::int64_t position, int depth) {
  if (t.dtype().bytes() == 0 || t.dtype().bits % 8 != 0) return false;
  auto range = history_.now(path, t);
  if (!range) return false;
  const std::int64_t width = std::int64_t(t.dtype().bytes());
  range->begin += position * width;
  range->end = range->begin + width;
  answer({std::string(name), t, position, *range, time_}, depth, 0);
  return true;
}

void WhyMemory::answer(const Question& q, int left, std::size_t depth) {
  support::poll_cause();
  CauseStep step = element_step(q.name, q.tensor, {q.position}, depth);
  step.role = role_text(q.role, q.condition);
  if (left < 0) return steps_.push_back(std::move(step));
  Writer writer;
  std::optional<CallMoment> quiet;  // a call that may have written what was there already
  MemoryRange range = q.range;
  MemoryRange quiet_range;
  const auto end = history_.before(range, q.time, [&](const CallMoment& call, const MemoryRange& r) {
    Writer w;
    if (wrote(call, r, w)) {
      writer = std::move(w);
      return true;
    }
    if (!w.is_kernel && w.machine) quiet = call, quiet_range = r;
    return false;
  });
  if (end == WriteHistory::End::Created && quiet) {
    writer.call = *quiet;
    writer.machine = run_.machine_at(quiet->time);
    writer.callee = map_.executable().functions[std::size_t(map_.executable().instruction(quiet->pc).callee)].name;
    range = quiet_range;
  } else if (end != WriteHistory::End::Chosen) {
    if (end == WriteHistory::End::Created) step.problem = "nothing has written it since its memory was made";
    if (end == WriteHistory::End::Lost) step.problem = "the run has no history of this memory";
    return steps_.push_back(std::move(step));
  }
  if (run_.is_changed() && !still_holds(writer, range, q)) {
    step.problem = "it was changed by a command since a call wrote it";
    return steps_.push_back(std::move(step));
  }
  describe(writer, step);
  steps_.push_back(std::move(step));
  causes(writer, range, left, depth);
}

// Whether the bytes after the call are those that were asked about: `set` writes too, without a call.
bool WhyMemory::still_holds(const Writer& w, const MemoryRange& range, const Question& q) const {
  const auto after = run_.machine_at(w.call.time + 1);
  if (!after || after->frames().size() <= w.call.frame) return true;
  const auto touch = std::find_if(w.call.args.begin(), w.call.args.end(), [&](const Touch& t) {
    return t.memory == range.memory && t.begin < range.end && range.begin < t.end;
  });
  const Value* v = touch == w.call.args.end() ? nullptr : argument(*after, w.call, touch->arg);
  if (!v || !v->is(ValueKind::Tensor)) return true;
  const std::size_t width = std::size_t(range.end - range.begin);
  return std::memcmp(v->as_tensor().storage()->data() + range.begin, q.tensor.data() + std::size_t(q.position) * width,
                     width) == 0;
}

bool WhyMemory::wrote(const CallMoment& call, const MemoryRange& range, Writer& w) const {
  w.call = call;
  w.is_kernel = run_.is_kernel_call(call.pc);
  const bytecode::Executable& exe = map_.executable();
  w.callee = w.is_kernel ? std::string(run_.kernel_called(call.pc))
                         : exe.functions[std::size_t(exe.instruction(call.pc).callee)].name;
  return w.is_kernel ? kernel_wrote(call, range, w) : other_wrote(call, range, w);
}

bool WhyMemory::kernel_wrote(const CallMoment& call, const MemoryRange& range, Writer& w) const {
  w.machine = run_.machine_at(call.time);
  if (!w.machine) return false;
  const ir::PrimFunc* f = run_.kernel_function(*w.machine, call.pc);
  const auto args = run_.kernel_arguments(*w.machine);
  if (!f || !args) return other_wrote(call, range, w);
  w.args = *args;
  const int shift = run_.is_direct_kernel_call(call.pc) ? 0 : 1;
  for (const Touch& t : call.args) {
    const int arg = t.arg - shift;
    if (t.memory != range.memory || t.begin >= range.end || range.begin >= t.end) continue;
    if (arg < 0 || std::size_t(arg) >= w.args.size() || !w.args[std::size_t(arg)].is(ValueKind::Tensor)) continue;
    const ir::Buffer* b = std::size_t(arg) < f->params.size() ? f->params[std::size_t(arg)].buffer : nullptr;
    if (!b || !stores_to(f, b)) continue;
    auto origin = kernel_origin(f, w.args, {w.args[std::size_t(arg)].as_tensor().storage().get(), range.begin});
    if (!origin.ok()) {
      w.problem = origin.error().message;
      return true;
    }
    if (!origin->written) continue;
    w.origin = *std::move(origin);
    return true;
  }
  return false;
}

const Value* WhyMemory::argument(const vm::Machine& m, const CallMoment& call, int arg) const {
  const bytecode::Instruction i = map_.executable().instruction(call.pc);
  const bytecode::RegName reg = arg < 0 ? i.dst : i.arg(std::size_t(arg)).reg();
  return m.read_register(call.frame, reg);
}

// A builtin, a packed function or a kernel without its TensorIR: what it changed, and what it made.
bool WhyMemory::other_wrote(const CallMoment& call, const MemoryRange& range, Writer& w) const {
  const auto is_range = [&](const Touch& t) {
    return t.memory == range.memory && t.begin < range.end && range.begin < t.end;
  };
  const auto given = std::find_if(call.args.begin(), call.args.end(), is_range);
  const bool known =
      std::any_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return t.memory == range.memory; });
  const bool returned = std::any_of(call.results.begin(), call.results.end(), is_range);
  if (returned && !known) {
    w.machine = run_.machine_at(call.time);
    return w.machine.has_value();
  }
  if (given == call.args.end() || returned) return false;  // a view
  w.machine = run_.machine_at(call.time);
  const auto after = run_.machine_at(call.time + 1);
  const Value* old = w.machine ? argument(*w.machine, call, given->arg) : nullptr;
  const Value* now = after && after->frames().size() > call.frame ? argument(*after, call, given->arg) : nullptr;
  if (!old || !now || !old->is(ValueKind::Tensor) || !now->is(ValueKind::Tensor)) return false;
  const auto* before_bytes = old->as_tensor().storage()->data() + range.begin;
  const auto* after_bytes = now->as_tensor().storage()->data() + range.begin;
  return std::memcmp(before_bytes, after_bytes, std::size_t(range.end - range.begin)) != 0;
}

void WhyMemory::describe(const Writer& w, CauseStep& step) const {
  step.kernels = {w.callee};
  step.problem = w.problem;
  step.time = w.call.time;
  for (const auto& [v, at] : w.origin.last.loops)
    step.iteration += fmt::format("{}{} = {}", step.iteration.empty() ? "" : ", ", v->name, at);
  step.writes = w.origin.writes;
  const std::vector<int>& group = map_.group_of(w.call.pc);
  if (group.empty()) return;
  const UserBinding& u = map_.binding(group.back());
  step.line = u.line;
  if (u.line) step.file = u.file;
}

std::string WhyMemory::name_at(const CallMoment& call, int arg) const {
  const bytecode::Arg a = map_.executable().instruction(call.pc).arg(std::size_t(arg));
  if (a.kind() != ArgKind::Register) return "constant";
  const FunctionIndex function = map_.function_of(call.pc);
  const UserVariable* best = nullptr;
  for (const UserVariable& v : map_.variables(function))
    if (v.range->reg == a.reg() && v.begin <= call.pc && call.pc < v.range->end && (!best || v.begin > best->begin))
      best = &v;
  if (best) return best->name;
  const auto* lowered = map_.executable().debug.variable_at(function, a.reg(), call.pc);
  return lowered ? lowered->name : fmt::format("%{}", a.reg());
}

void WhyMemory::causes(const Writer& w, const MemoryRange& range, int left, std::size_t depth) {
  if (!w.problem.empty() || !w.machine) return;
  if (!w.is_kernel || w.args.empty()) {
    for (const Touch& t : w.call.args) {
      if (t.begin >= t.end) continue;
      const Value* v = argument(*w.machine, w.call, t.arg);
      if (!v || !v->is(ValueKind::Tensor) || (t.memory == range.memory && t.begin == range.begin)) continue;
      CauseStep step;
      step.depth = depth + 1;
      step.name = name_at(w.call, t.arg);
      step.value = runtime::format_brief(*v);
      steps_.push_back(std::move(step));
    }
    return;
  }
  const int shift = run_.is_direct_kernel_call(w.call.pc) ? 0 : 1;
  for (const ReadGroup& g : group_reads(w.origin, w.args)) {
    const Tensor& t = w.args[std::size_t(g.arg)].as_tensor();
    const std::string name = name_at(w.call, g.arg + shift);
    const auto touch =
        std::find_if(w.call.args.begin(), w.call.args.end(), [&](const Touch& x) { return x.arg == g.arg + shift; });
    if (g.positions.size() != 1 || touch == w.call.args.end()) {
      CauseStep step = element_step(name, t, g.positions, depth + 1);
      step.role = role_text(g.role, g.condition);
      steps_.push_back(std::move(step));
      continue;
    }
    const std::int64_t width = std::int64_t(t.dtype().bytes());
    const std::int64_t at = std::int64_t(t.byte_offset()) + g.positions[0] * width;
    answer({name, t, g.positions[0], {range.interval, touch->memory, at, at + width}, w.call.time, g.role, g.condition},
           left - 1, depth + 1);
  }
}

}  // namespace rldb::debug
