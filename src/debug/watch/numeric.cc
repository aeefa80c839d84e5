// The search for NaN, infinity and denormal numbers in what calls wrote.
#include "debug/watch/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::Instruction;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

struct EventName {
  NumericEvent event;
  std::string_view spec, text;
};
constexpr EventName kEvents[] = {{NumericEvent::NaN, "nan", "NaN"},
                                 {NumericEvent::Inf, "inf", "infinity"},
                                 {NumericEvent::Denormal, "denormal", "a denormal number"}};

bool is_float(const Tensor& t) { return t.dtype().is_float() || t.dtype().code == runtime::TypeCode::BFloat; }

double smallest_normal(const Tensor& t) {
  const bool narrow_exponent = t.dtype().is_float() && t.dtype().bits == 16;
  if (narrow_exponent) return std::ldexp(1.0, -14);
  return t.dtype().bits == 64 ? std::numeric_limits<double>::min() : double(std::numeric_limits<float>::min());
}

template <class T, class Test>
std::int64_t first_of(const Tensor& t, Test test) {
  const T* data = reinterpret_cast<const T*>(t.data());
  const std::int64_t count = t.element_count();
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    support::poll();
    const std::int64_t end = std::min(count, begin + kBlock);
    bool any = false;
    for (std::int64_t i = begin; i < end; ++i) any |= test(data[i]);  // without a branch: vectorised
    for (std::int64_t i = begin; any && i < end; ++i)
      if (test(data[i])) return i;
  }
  return -1;
}

template <class Test>
std::int64_t first_of_any(const Tensor& t, Test test) {
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    if (test(t.at(i))) return i;
  return -1;
}

template <class Test>
std::int64_t search(const Tensor& t, Test test) {
  if (t.dtype() == runtime::DType::Float(32)) return first_of<float>(t, test);
  if (t.dtype() == runtime::DType::Float(64)) return first_of<double>(t, test);
  return first_of_any(t, test);
}

std::int64_t find(const Tensor& t, NumericEvent event) {
  if (!is_float(t) || t.dtype().lanes != 1) return -1;
  switch (event) {
    case NumericEvent::NaN:
      return search(t, [](auto v) { return v != v; });
    case NumericEvent::Inf: {
      return search(t, [](auto v) { return std::abs(v) == std::numeric_limits<decltype(v)>::infinity(); });
    }
    case NumericEvent::Denormal: {
      const double least = smallest_normal(t);
      return search(t, [least](auto v) { return v != 0 && std::abs(v) < decltype(v)(least); });
    }
  }
  RLDB_UNREACHABLE("numeric event");
}

std::string place_of(const Tensor& t, std::int64_t flat) {
  std::vector<std::int64_t> index(std::size_t(t.ndim()));
  for (std::size_t d = index.size(); d-- > 0;) {
    index[d] = flat % t.shape()[d];
    flat /= t.shape()[d];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

// Which parameters a kernel writes, itself or through match_buffer.
std::vector<bool> written(const ir::PrimFunc* f) {
  std::vector<const ir::Var*> stored;
  std::unordered_map<const ir::Var*, const ir::Var*> matched;  // data of a part -> data of the whole
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* store = ir::as<ir::BufferStore>(n)) stored.push_back(store->buffer->data);
    if (const auto* block = ir::as<ir::SBlock>(n))
      for (const ir::MatchBufferRegion& part : block->match_buffers)
        matched[part.buffer->data] = part.source.buffer->data;
    return true;
  });
  for (const ir::Var*& data : stored)
    for (auto it = matched.find(data); it != matched.end(); it = matched.find(data)) data = it->second;
  std::vector<bool> list(f->params.size(), false);
  for (std::size_t i = 0; i < f->params.size(); ++i)
    if (f->params[i].buffer)
      list[i] = std::find(stored.begin(), stored.end(), f->params[i].buffer->data) != stored.end();
  return list;
}

struct Operand {
  std::string name;
  const Tensor* tensor;
  bool is_output;
};

std::string name_in(const CodeMap& map, FunctionIndex function, bytecode::RegName reg, Pc pc) {
  for (const UserVariable& v : map.variables(function))
    if (v.range->reg == reg && (v.begin - 1 == pc || (v.begin <= pc && pc < v.range->end))) return v.name;
  const auto* known = map.executable().debug.variable_at(function, reg, pc);
  return known ? known->name : fmt::format("%{}", reg);
}

std::vector<Operand> operands(const Run& run, const CodeMap& map, const vm::Machine& m, std::size_t frame, Pc pc) {
  const Instruction i = map.executable().instruction(pc);
  const FunctionIndex function = m.frames()[frame].function;
  const ir::PrimFunc* kernel = run.kernel_function(m, pc);
  const std::vector<bool> writes = kernel ? written(kernel) : std::vector<bool>();
  const std::size_t skipped = kernel && !run.is_direct_kernel_call(pc) ? 1 : 0;  // call_tir_dyn's first is the kernel
  std::vector<Operand> list;
  const auto add = [&](bytecode::RegName reg, bool output) {
    const Value* v = bytecode::is_special(reg) ? nullptr : m.read_register(frame, reg);
    if (v && v->is(ValueKind::Tensor)) list.push_back({name_in(map, function, reg, pc), &v->as_tensor(), output});
  };
  for (std::size_t a = skipped; a < i.args.size(); ++a)
    if (i.arg(a).kind() == ArgKind::Register)
      add(bytecode::RegName(i.arg(a).value()), kernel ? a - skipped < writes.size() && writes[a - skipped]
                                                      : a + 1 == i.args.size() && bytecode::is_special(i.dst));
  if (!kernel) add(i.dst, true);
  return list;
}

}  // namespace

std::optional<NumericEvent> numeric_event(std::string_view spec) {
  for (const EventName& e : kEvents)
    if (e.spec == spec) return e.event;
  return std::nullopt;
}

std::optional<std::string> numeric_hit(const Run& run, const CodeMap& map, const vm::Machine& m, std::size_t frame,
                                       Pc pc, NumericEvent event) {
  const auto target = run.machine().program().target_kind(map.executable().instruction(pc).callee);
  if (frame >= m.frames().size() || (target != vm::TargetKind::Packed && !run.is_kernel_call(pc))) return std::nullopt;
  const std::vector<Operand> all = operands(run, map, m, frame, pc);
  const std::string_view text = kEvents[std::size_t(event)].text;
  for (const Operand& o : all) {
    const std::int64_t at = o.is_output ? find(*o.tensor, event) : -1;
    if (at < 0) continue;
    std::string from;
    for (const Operand& input : all)
      if (const std::int64_t there = input.is_output ? -1 : find(*input.tensor, event); there >= 0 && from.empty())
        from = fmt::format("; its input {} has one at {}", input.name, place_of(*input.tensor, there));
    if (from.empty()) from = "; its inputs have none";
    return fmt::format("{} in {} at {}{}", text, o.name, place_of(*o.tensor, at), from);
  }
  return std::nullopt;
}

bool mentions(std::string_view text, std::string_view name) {
  const auto is_byte = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); };
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const auto end = at + name.size();
    if ((at == 0 || !is_byte(text[at - 1])) && (end == text.size() || !is_byte(text[end]))) return true;
  }
  return false;
}

std::optional<std::string_view> storage_operand(std::string_view expression) {
  constexpr std::string_view kHead = "storage(";
  if (!expression.starts_with(kHead) || !expression.ends_with(')')) return std::nullopt;
  return expression.substr(kHead.size(), expression.size() - kHead.size() - 1);
}

}  // namespace rldb::debug
