// Searches the outputs of calls for NaN, infinity and denormal numbers.
#include "debug/watch/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "debug/kernel/written.h"
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
constexpr EventName kNumericEvents[] = {{NumericEvent::NaN, "nan", "NaN"},
                                        {NumericEvent::Inf, "inf", "infinity"},
                                        {NumericEvent::Denormal, "denormal", "a denormal number"}};

bool is_float(const Tensor& t) { return t.dtype().is_float() || t.dtype().code == runtime::TypeCode::BFloat; }

// Lanes compared at once. Every output of every call is searched, so this loop is the cost of a catchpoint.
template <class T>
struct Lanes {
  using Vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias)) = T;
  static constexpr std::int64_t kCount = 16 / sizeof(T);
};

template <class T, class Test>
std::int64_t first_of(const Tensor& t, Test test) {
  using Vector = typename Lanes<T>::Vector;
  const T* data = reinterpret_cast<const T*>(t.peek());
  const std::int64_t count = t.element_count();
  constexpr std::int64_t kBlock = 4096;
  std::int64_t begin = 0;
  for (; begin + kBlock <= count; begin += kBlock) {
    support::poll();
    auto any = test(*reinterpret_cast<const Vector*>(data + begin));
    for (std::int64_t i = begin + Lanes<T>::kCount; i < begin + kBlock; i += Lanes<T>::kCount)
      any |= test(*reinterpret_cast<const Vector*>(data + i));
    bool found = false;
    for (std::int64_t lane = 0; lane < Lanes<T>::kCount; ++lane) found |= any[lane] != 0;
    if (found) break;
  }
  for (std::int64_t i = begin; i < count; ++i)
    if (test(data[i])) return i;
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

template <class T>
auto is_subnormal = [](auto v) {
  constexpr T kLeast = std::numeric_limits<T>::min();
  return (v != T(0)) & (v < kLeast) & (v > -kLeast);
};

std::int64_t first_subnormal(const Tensor& t) {
  if (t.dtype() == runtime::DType::Float(32)) return first_of<float>(t, is_subnormal<float>);
  if (t.dtype() == runtime::DType::Float(64)) return first_of<double>(t, is_subnormal<double>);
  const double least = runtime::smallest_normal(t.dtype());
  return first_of_any(t, [least](double v) { return v != 0 && std::abs(v) < least; });
}

std::int64_t find(const Tensor& t, NumericEvent event) {
  if (!is_float(t) || t.dtype().lanes != 1) return -1;
  switch (event) {
    case NumericEvent::NaN:
      return search(t, [](auto v) { return v != v; });
    case NumericEvent::Inf: {
      // Infinity minus infinity is not a number.
      return search(t, [](auto v) { return (v == v) & (v - v != v - v); });
    }
    case NumericEvent::Denormal: {
      return first_subnormal(t);
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
  const std::vector<bool> writes = kernel ? written_parameters(kernel) : std::vector<bool>();
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

// The first input with an element of that kind, and where. NaN also comes of infinities: inf - inf, 0 * inf.
std::optional<std::string> first_input_with(const std::vector<Operand>& all, NumericEvent event) {
  for (const Operand& input : all)
    if (const std::int64_t there = input.is_output ? -1 : find(*input.tensor, event); there >= 0)
      return fmt::format("its input {} has one at {}", input.name, place_of(*input.tensor, there));
  return std::nullopt;
}
// `at`: the element of the output that has it.
std::string origin_in_inputs(const std::vector<Operand>& all, const Tensor& output, std::int64_t at,
                             NumericEvent event) {
  if (auto found = first_input_with(all, event)) return *std::move(found);
  std::string none = "no input has one";
  if (event != NumericEvent::NaN) return none;
  std::string elsewhere;  // in an input of the same shape: it may have nothing to do with this element
  for (const Operand& input : all) {
    const std::int64_t there = input.is_output ? -1 : find(*input.tensor, NumericEvent::Inf);
    if (there < 0) continue;
    const bool same_shape = input.tensor->shape() == output.shape();
    if (!same_shape || std::isinf(input.tensor->at(at)))
      return fmt::format("{}, but {} is infinite at {}", none, input.name,
                         place_of(*input.tensor, same_shape ? at : there));
    if (elsewhere.empty())
      elsewhere = fmt::format("; {} is infinite elsewhere, at {}", input.name, place_of(*input.tensor, there));
  }
  return none + elsewhere;
}

}  // namespace

std::optional<NumericEvent> numeric_event(std::string_view spec) {
  for (const EventName& e : kNumericEvents)
    if (e.spec == spec) return e.event;
  return std::nullopt;
}

std::optional<NumericHit> numeric_hit(const Run& run, const CodeMap& map, const vm::Machine& m, std::size_t frame,
                                      Pc pc, NumericEvent event) {
  const auto target = run.machine().program().target_kind(map.executable().instruction(pc).callee);
  if (frame >= m.frames().size() || (target != vm::TargetKind::Packed && !run.is_kernel_call(pc))) return std::nullopt;
  const runtime::KernelTable* kernels = m.program_ptr()->environment().kernels;
  const runtime::Kernel* kernel = kernels && run.is_kernel_call(pc) ? kernels->find(run.kernel_called(pc)) : nullptr;
  if (kernel && !kernel->may_have_written().value_or(true)) return std::nullopt;
  const std::vector<Operand> all = operands(run, map, m, frame, pc);
  const std::string_view text = kNumericEvents[std::size_t(event)].text;
  for (const Operand& o : all) {
    const std::int64_t at = o.is_output ? find(*o.tensor, event) : -1;
    if (at < 0) continue;
    const std::string place = place_of(*o.tensor, at);
    const bool named = !o.name.starts_with('%');
    const bool scalar = o.tensor->ndim() == 0;
    const std::string where = scalar ? "" : " at " + place;
    return NumericHit{fmt::format("{} in {}{}; {}", text, o.name, where, origin_in_inputs(all, *o.tensor, at, event)),
                      named ? o.name + (scalar ? "" : place) : std::string()};
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
