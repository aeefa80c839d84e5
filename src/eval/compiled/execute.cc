// The instructions of a Program, one after another.
#include <cstring>

#include "eval/compiled/execution.h"
#include "eval/compiled/half.h"

namespace rldb::eval {

using runtime::Result;

namespace {

std::int64_t plus(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) + std::uint64_t(b)); }
std::int64_t minus(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) - std::uint64_t(b)); }
std::int64_t times(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) * std::uint64_t(b)); }
std::int64_t to_32(std::int64_t v) { return std::int32_t(std::uint32_t(v)); }
// A machine of doubles makes a signalling NaN quiet where it reads it, here that is where one is passed on.
float quiet(float v) { return v != v ? v * 1.0f : v; }

// Divisions of small numbers are several times faster in 32 bits.
bool is_small(std::int64_t a, std::int64_t b) { return ((std::uint64_t(a) | std::uint64_t(b)) >> 32) == 0; }
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return is_small(a, b) ? std::int64_t(std::uint32_t(a) / std::uint32_t(b)) : support::floor_div(a, b);
}
std::int64_t remainder(std::int64_t a, std::int64_t b) {
  return is_small(a, b) ? std::int64_t(std::uint32_t(a) % std::uint32_t(b)) : support::floor_mod(a, b);
}

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

Scalar TirMachine::Impl::Execution::operand(std::uint32_t reg, Kind kind) const {
  const Register& r = regs_[reg];
  switch (kind) {
    case Kind::Integer:
      return of_int(r.i);
    case Kind::Single:
      return of_float(double(r.s));
    case Kind::Double:
      return of_float(r.f);
  }
  RLDB_UNREACHABLE("every kind has its case");
}

void TirMachine::Impl::Execution::set(std::uint32_t reg, Scalar value, Kind kind) {
  Register& r = regs_[reg];
  switch (kind) {
    case Kind::Integer:
      r.i = value.i;
      break;
    case Kind::Single:
      r.s = float(value.f);
      break;
    case Kind::Double:
      r.f = value.f;
      break;
  }
}

// False: the machine has to do it.
bool TirMachine::Impl::Execution::enter(const Loop& loop) {
  const std::int64_t min = regs_[loop.min].i, extent = regs_[loop.extent].i, step = regs_[loop.step].i;
  if (step <= 0) return false;
  bool empty = extent <= 0;
  if (!(loop.is_root && inside_loop_))
    for (const std::uint32_t inner : loop.inner_extents) empty = empty || regs_[inner].i <= 0;
  std::int64_t end = min, beyond = 0;
  if (!empty && (__builtin_add_overflow(min, extent, &end) || __builtin_add_overflow(end, step, &beyond))) return false;
  // Values that do not fit the variable wrap.
  if (!empty && (wrap(min, loop.type) != min || wrap(end - 1, loop.type) != end - 1)) return false;
  regs_[loop.var].i = min;
  regs_[loop.end].i = end;
  return true;
}

// False: it has no value.
bool TirMachine::Impl::Execution::binary(const Instruction& i) {
  const Kind kind = kind_of(i.type);
  auto made = eval::binary(ir::BinaryKind(i.c), operand(i.a, kind), operand(i.b, kind), i.type);
  if (made.ok()) set(i.to, *made, kind);
  return made.ok();
}

void TirMachine::Impl::Execution::call(const Instruction& i) {
  const Function& f = p_.functions[i.c];
  Scalar args[3];
  for (std::size_t k = 0; k < f.operands.size(); ++k) args[k] = operand(p_.operands[i.b + k], f.operands[k]);
  set(i.to, f.body({args, f.operands.size()}, f.argument, f.result), kind_of(f.result));
}

#define RLDB_SET_I(value) \
  r[i.to].i = (value);    \
  break
#define RLDB_SET_F(value) \
  r[i.to].f = (value);    \
  break
#define RLDB_SET_S(value) \
  r[i.to].s = (value);    \
  break
#define RLDB_HAND_OVER() return steps_ = steps, hand_over(p_.place_of[std::size_t(now - code)])
#define RLDB_LOAD(field, type, value)               \
  {                                                 \
    const std::byte* at = element(i, sizeof(type)); \
    if (!at) RLDB_HAND_OVER();                      \
    const type x = read<type>(at);                  \
    r[i.to].field = (value);                        \
    break;                                          \
  }
#define RLDB_STORE(type, value)               \
  {                                           \
    std::byte* at = element(i, sizeof(type)); \
    if (!at) RLDB_HAND_OVER();                \
    write<type>(at, type(value));             \
    break;                                    \
  }
#define RLDB_COUNT(number)                                                          \
  steps += (number);                                                                \
  if (steps > stop_) {                                                              \
    steps_ = steps;                                                                 \
    if (const auto left = poll(p_.place_of[std::size_t(now - code)])) return *left; \
  }

Result<TirMachine::Impl::Execution::Outcome> TirMachine::Impl::Execution::execute() {
  Register* const r = regs_.data();
  const Instruction* const code = p_.code.data();
  const Dimension* const dimensions = dimensions_.data();
  std::uint64_t steps = stop_ = steps_;
  const auto along = [&](const Instruction& i) -> std::int64_t {
    const Dimension& d = dimensions[i.c];
    return std::uint64_t(r[i.b].i) < d.extent ? plus(r[i.a].i, times(r[i.b].i, d.stride)) : kOutside;
  };
  const auto element = [&](const Instruction& i, std::size_t width) -> std::byte* {
    const Dimension& d = dimensions[i.c];
    const std::int64_t at = along(i);
    return std::uint64_t(at) < d.count ? d.data + std::size_t(at) * width : nullptr;
  };
  for (const Instruction* now = code;; ++now) {
    const Instruction& i = *now;
    const Op op = i.op;
    if (op > Op::End) __builtin_unreachable();  // saves a test before each instruction
    switch (op) {
      case Op::AddI:
        RLDB_SET_I(plus(r[i.a].i, r[i.b].i));
      case Op::SubI:
        RLDB_SET_I(minus(r[i.a].i, r[i.b].i));
      case Op::MulI:
        RLDB_SET_I(times(r[i.a].i, r[i.b].i));
      case Op::AddI32:
        RLDB_SET_I(to_32(plus(r[i.a].i, r[i.b].i)));
      case Op::SubI32:
        RLDB_SET_I(to_32(minus(r[i.a].i, r[i.b].i)));
      case Op::MulI32:
        RLDB_SET_I(to_32(times(r[i.a].i, r[i.b].i)));
      case Op::MinI:
        RLDB_SET_I(r[i.a].i < r[i.b].i ? r[i.a].i : r[i.b].i);
      case Op::MaxI:
        RLDB_SET_I(r[i.a].i < r[i.b].i ? r[i.b].i : r[i.a].i);
      case Op::MinU:
        RLDB_SET_I(std::uint64_t(r[i.a].i) < std::uint64_t(r[i.b].i) ? r[i.a].i : r[i.b].i);
      case Op::MaxU:
        RLDB_SET_I(std::uint64_t(r[i.a].i) < std::uint64_t(r[i.b].i) ? r[i.b].i : r[i.a].i);
      case Op::EqI:
        RLDB_SET_I(r[i.a].i == r[i.b].i);
      case Op::NeI:
        RLDB_SET_I(r[i.a].i != r[i.b].i);
      case Op::LtI:
        RLDB_SET_I(r[i.a].i < r[i.b].i);
      case Op::LeI:
        RLDB_SET_I(r[i.a].i <= r[i.b].i);
      case Op::LtU:
        RLDB_SET_I(std::uint64_t(r[i.a].i) < std::uint64_t(r[i.b].i));
      case Op::LeU:
        RLDB_SET_I(std::uint64_t(r[i.a].i) <= std::uint64_t(r[i.b].i));
      case Op::AndI:
        RLDB_SET_I(r[i.a].i != 0 && r[i.b].i != 0);
      case Op::OrI:
        RLDB_SET_I(r[i.a].i != 0 || r[i.b].i != 0);
      case Op::FloorDivBy:
        RLDB_SET_I(quotient(r[i.a].i, r[i.b].i));
      case Op::FloorModBy:
        RLDB_SET_I(remainder(r[i.a].i, r[i.b].i));
      case Op::FloorDiv:
        if (r[i.b].i == 0) RLDB_HAND_OVER();
        RLDB_SET_I(quotient(r[i.a].i, r[i.b].i));
      case Op::FloorMod:
        if (r[i.b].i == 0) RLDB_HAND_OVER();
        RLDB_SET_I(remainder(r[i.a].i, r[i.b].i));
      case Op::AddF:
        RLDB_SET_F(r[i.a].f + r[i.b].f);
      case Op::SubF:
        RLDB_SET_F(r[i.a].f - r[i.b].f);
      case Op::MulF:
        RLDB_SET_F(r[i.a].f * r[i.b].f);
      case Op::DivF:
        RLDB_SET_F(r[i.a].f / r[i.b].f);
      case Op::AddF32:
        RLDB_SET_S(r[i.a].s + r[i.b].s);
      case Op::SubF32:
        RLDB_SET_S(r[i.a].s - r[i.b].s);
      case Op::MulF32:
        RLDB_SET_S(r[i.a].s * r[i.b].s);
      case Op::DivF32:
        RLDB_SET_S(r[i.a].s / r[i.b].s);
      case Op::MinF:
        RLDB_SET_F(r[i.a].f < r[i.b].f ? r[i.a].f : r[i.b].f);
      case Op::MaxF:
        RLDB_SET_F(r[i.a].f > r[i.b].f ? r[i.a].f : r[i.b].f);
      case Op::MinF32:
        RLDB_SET_S(r[i.a].s < r[i.b].s ? r[i.a].s : r[i.b].s);
      case Op::MaxF32:
        RLDB_SET_S(r[i.a].s > r[i.b].s ? r[i.a].s : r[i.b].s);
      case Op::EqF32:
        RLDB_SET_I(r[i.a].s == r[i.b].s);
      case Op::NeF32:
        RLDB_SET_I(r[i.a].s != r[i.b].s);
      case Op::LtF32:
        RLDB_SET_I(r[i.a].s < r[i.b].s);
      case Op::LeF32:
        RLDB_SET_I(r[i.a].s <= r[i.b].s);
      case Op::MulAddF32:
        r[i.d].s = r[i.a].s * r[i.b].s;
        RLDB_SET_S(r[i.c].s + r[i.d].s);
      case Op::MulAddLastF32:
        r[i.d].s = r[i.a].s * r[i.b].s;
        RLDB_SET_S(r[i.d].s + r[i.c].s);
      case Op::Origin:
        RLDB_SET_I(dimensions[i.c].offset);
      case Op::Along:
        RLDB_SET_I(along(i));
      case Op::EqF:
        RLDB_SET_I(r[i.a].f == r[i.b].f);
      case Op::NeF:
        RLDB_SET_I(r[i.a].f != r[i.b].f);
      case Op::LtF:
        RLDB_SET_I(r[i.a].f < r[i.b].f);
      case Op::LeF:
        RLDB_SET_I(r[i.a].f <= r[i.b].f);
      case Op::Binary:
        if (!binary(i)) RLDB_HAND_OVER();
        break;
      case Op::NotI:
        RLDB_SET_I(!r[i.a].i);
      case Op::Wrap:
        RLDB_SET_I(wrap(r[i.a].i, i.type));
      case Op::RoundHalf:
        RLDB_SET_F(round_half(r[i.a].f, i.type));
      case Op::Round:
        RLDB_SET_F(round_to(r[i.a].f, i.type));
      case Op::ToF32:
        RLDB_SET_S(float(r[i.a].f));
      case Op::FromF32:
        RLDB_SET_F(double(r[i.a].s));
      case Op::IntToF:
        RLDB_SET_F(double(r[i.a].i));
      case Op::UIntToF:
        RLDB_SET_F(double(std::uint64_t(r[i.a].i)));
      case Op::Convert:
        RLDB_SET_I(convert(of_float(r[i.a].f), i.type, p_.types[i.c]).i);
      case Op::Reinterpret: {
        alignas(8) std::byte bytes[8] = {};
        store(bytes, i.type, operand(i.a, kind_of(i.type)));
        set(i.to, load(bytes, p_.types[i.c]), kind_of(p_.types[i.c]));
        break;
      }
      case Op::Select:
        r[i.to] = r[i.a].i ? r[i.b] : r[i.c];
        break;
      case Op::Move:
        r[i.to] = r[i.a];
        break;
      case Op::Call:
        call(i);
        break;
      case Op::ReadVariable: {
        const Scalar* value = m_.env.vars.find(p_.variables[i.a]->id);
        RLDB_CHECK(value, "a variable that the machine defines has no value");
        set(i.to, *value, kind_of(i.type));
        break;
      }
      case Op::LoadF32:
        RLDB_LOAD(s, float, x)
      case Op::LoadF64:
        RLDB_LOAD(f, double, x)
      case Op::LoadI64:
        RLDB_LOAD(i, std::int64_t, x)
      case Op::LoadI32:
        RLDB_LOAD(i, std::int32_t, x)
      case Op::LoadI8:
        RLDB_LOAD(i, std::int8_t, x)
      case Op::LoadU8:
        RLDB_LOAD(i, std::uint8_t, x)
      case Op::LoadBool:
        RLDB_LOAD(i, std::uint8_t, x != 0)
      case Op::LoadHalf: {
        const std::byte* at = element(i, 2);
        if (!at) RLDB_HAND_OVER();
        RLDB_SET_F(load_half(at, i.type));
      }
      case Op::LoadAny: {
        const std::byte* at = element(i, i.type.bytes());
        if (!at) RLDB_HAND_OVER();
        set(i.to, load(at, i.type), kind_of(i.type));
        break;
      }
      case Op::StoreF32:
        RLDB_STORE(float, quiet(r[i.to].s))
      case Op::StoreF64:
        RLDB_STORE(double, r[i.to].f)
      case Op::StoreI64:
        RLDB_STORE(std::int64_t, r[i.to].i)
      case Op::StoreI32:
        RLDB_STORE(std::int32_t, r[i.to].i)
      case Op::StoreI8:
        RLDB_STORE(std::int8_t, r[i.to].i)
      case Op::StoreHalf: {
        std::byte* at = element(i, 2);
        if (!at) RLDB_HAND_OVER();
        store_half(at, i.type, r[i.to].f);
        break;
      }
      case Op::StoreAny: {
        std::byte* at = element(i, i.type.bytes());
        if (!at) RLDB_HAND_OVER();
        store(at, i.type, operand(i.to, kind_of(i.type)));
        break;
      }
      case Op::Check:
        if (!element(i, 1)) RLDB_HAND_OVER();
        break;
      case Op::Label:
        break;
      case Op::Jump:
        now = code + i.to - 1;
        break;
      case Op::JumpIfZero:
        if (!r[i.a].i) now = code + i.to - 1;
        break;
      case Op::Count:
        RLDB_COUNT(i.a)
        break;
      case Op::Uncount:
        steps -= p_.places[p_.place_of[std::size_t(now - code)]].undo;
        break;
      case Op::Enter: {
        const Loop& loop = p_.loops[i.c];
        if (!enter(loop)) RLDB_HAND_OVER();
        if (r[loop.var].i >= r[loop.end].i) now = code + i.to - 1;
        break;
      }
      case Op::Next:
        if (++r[i.a].i >= r[i.b].i) break;
        RLDB_COUNT(i.d)
        now = code + i.to - 1;
        break;
      case Op::NextBy:
        if ((r[i.a].i += r[i.c].i) >= r[i.b].i) break;
        RLDB_COUNT(i.d)
        now = code + i.to - 1;
        break;
      case Op::Walk: {
        steps_ = steps;
        RLDB_TRY(const bool one, walk(p_.place_of[std::size_t(now - code)]));
        if (!one) return Outcome::HandedOver;
        break;
      }
      case Op::OpenBuffers:
        if (!open_buffers(p_.blocks[i.a], i.b)) RLDB_HAND_OVER();
        break;
      case Op::FindBuffer:
        find(i.a);
        break;
      case Op::HandOver:
        RLDB_HAND_OVER();
      case Op::End:
        m_.steps = steps;
        return Outcome::Done;
    }
  }
}

#undef RLDB_SET_I
#undef RLDB_SET_F
#undef RLDB_SET_S
#undef RLDB_HAND_OVER
#undef RLDB_LOAD
#undef RLDB_STORE
#undef RLDB_COUNT

}  // namespace rldb::eval
