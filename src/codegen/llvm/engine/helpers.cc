// The functions that machine code calls: small floats, allocation, faults, packed functions.
#include "codegen/llvm/engine/helpers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "codegen/llvm/engine/accesses.h"
#include "codegen/llvm/engine/guard.h"
#include "codegen/llvm/engine/pieces.h"
#include "rldb/runtime/any_contents.h"
#include "rldb/runtime/fresh_memory.h"

namespace rldb::codegen {

using runtime::DType;
using runtime::Error;
using runtime::ErrorKind;
using runtime::TypeCode;
using runtime::Value;
using runtime::ValueKind;

Run*& current_run() {
  thread_local Run* run = nullptr;
  return run;
}

namespace {

DType unpack(std::uint32_t word) { return {TypeCode(word >> 8), std::uint8_t(word & 255), 1}; }

float round_to_format(double v, std::uint32_t format) {
  const DType t = unpack(format);
  alignas(8) std::byte bytes[8] = {};
  runtime::store_double(bytes, t, v);
  return float(runtime::load_as_double(bytes, t));
}
float decode(std::uint8_t bits, std::uint32_t format) { return float(runtime::load_as_double(&bits, unpack(format))); }
std::uint8_t encode(float v, std::uint32_t format) {
  std::uint8_t bits = 0;
  runtime::store_double(&bits, unpack(format), double(v));
  return bits;
}

// Conversions that LLVM calls where the CPU has no instruction.
std::uint16_t to_half(double v) {
  std::uint16_t bits = 0;
  runtime::store_double(&bits, DType::Float(16), v);
  return bits;
}
std::uint16_t float_to_half(float v) { return to_half(double(v)); }
float half_to_float(std::uint16_t bits) { return float(runtime::load_as_double(&bits, DType::Float(16))); }

// Memory of a run; it is freed with the run. Null leaves an error.
void* allocate(std::uint64_t bytes) {
  Run* run = current_run();
  auto made = runtime::Storage::allocate(bytes);
  if (!made.ok()) {
    run->error = std::move(made).error();
    return nullptr;
  }
  run->allocations.push_back(std::move(made).value());
  return run->allocations.back()->data();
}

void* allocate_any(std::uint64_t bytes) {
  const runtime::AnyContents any;
  return allocate(bytes);
}

void* allocate_fresh(std::uint64_t bytes) {
  void* made = allocate_any(bytes);
  if (made) std::memset(made, runtime::kFreshByte, bytes);
  return made;
}

// Scratch that a call requests again and again (a matrix product inside a loop): the same memory for the same size.
// Two panels of one product may have the same size, so they take turns.
void* panel(std::uint64_t bytes) {
  Run* run = current_run();
  run->panel_turn = !run->panel_turn;
  auto& mine = run->panels[run->panel_turn];
  if (!mine || mine->size() < bytes) {
    const runtime::AnyContents any;
    auto made = runtime::Storage::allocate(bytes);
    if (!made.ok()) {
      run->error = std::move(made).error();
      return nullptr;
    }
    mine = std::move(made).value();
  }
  return mine->data();
}

// The memory that a bare handle parameter points to.
std::int64_t bytes_of(std::int64_t param) {
  const Value& v = current_run()->args[std::size_t(param)];
  if (v.is(ValueKind::Tensor)) return std::int64_t(v.as_tensor().byte_size());
  return v.is(ValueKind::Storage) ? std::int64_t(v.storage_ref()->size()) : 0;
}

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

// A buffer as passed to a packed function: the memory itself if it is a compact piece of a known storage, else a
// copy that is written back after the call.
struct BufferArgument {
  std::byte* data = nullptr;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  runtime::Ref<runtime::Tensor> copy;

  explicit BufferArgument(const std::int64_t* about) {
    data = reinterpret_cast<std::byte*>(about[0]);
    dtype = {TypeCode(about[1] & 255), std::uint8_t(about[1] >> 8 & 255), std::int16_t(about[1] >> 16)};
    const auto rank = std::size_t(about[2]);
    shape.assign(about + 3, about + 3 + rank);
    strides.assign(about + 3 + rank, about + 3 + 2 * rank);
  }
  bool compact() const {
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i-- > 0; expected *= shape[i])
      if (strides[i] != expected && shape[i] > 1) return false;
    return true;
  }
  runtime::Result<Value> make(const Run& run) {
    const std::size_t bytes = std::size_t(product(shape)) * dtype.bytes();
    const auto inside = [&](const runtime::Ref<runtime::Storage>& s) {
      return s && data >= s->address() && data + bytes <= s->address() + s->size();
    };
    if (compact()) {
      for (const Value& v : run.args)
        if (v.is(ValueKind::Tensor) && inside(v.as_tensor().storage())) {
          const auto& storage = v.as_tensor().storage();
          RLDB_TRY(auto view, runtime::Tensor::view(storage, std::size_t(data - storage->data()), shape, dtype));
          return Value(std::move(view));
        }
      for (const auto& storage : run.allocations)
        if (inside(storage)) {
          RLDB_TRY(auto view, runtime::Tensor::view(storage, std::size_t(data - storage->data()), shape, dtype));
          return Value(std::move(view));
        }
    }
    RLDB_TRY(copy, runtime::Tensor::empty(shape, dtype));
    move(false);
    return Value(copy);
  }
  void move(bool back) const {
    if (!copy) return;
    const std::size_t width = dtype.bytes();
    for (std::int64_t flat = 0, n = product(shape); flat < n; ++flat) {
      std::int64_t at = 0, rest = flat;
      for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) at += (rest % shape[i]) * strides[i];
      std::byte* mine = data + std::size_t(at) * width;
      std::byte* theirs = copy->data() + std::size_t(flat) * width;
      std::memcpy(back ? mine : theirs, back ? theirs : mine, width);
    }
  }
};

std::int32_t stop(Run* run, Error error) {
  run->error = std::move(error);
  return 1;
}

std::int32_t call_packed(const char* name, const std::int64_t* rows, std::int64_t count, std::int64_t* result) {
  GuardPause pause;
  Run* run = current_run();
  const runtime::PackedInfo* f = run->registry ? run->registry->find(name) : nullptr;
  if (!f)
    return stop(run, {ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", name), {}});
  std::vector<Value> args;
  std::vector<BufferArgument> buffers;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t payload = rows[2 * i + 1];
    switch (static_cast<PackedArgument>(rows[2 * i])) {
      case PackedArgument::Int:
        args.push_back(Value::of_int(payload));
        break;
      case PackedArgument::Bool:
        args.push_back(Value::of_bool(payload != 0));
        break;
      case PackedArgument::Float: {
        double v = 0;
        std::memcpy(&v, &payload, sizeof v);
        args.push_back(Value::of_float(v));
        break;
      }
      case PackedArgument::String:
        args.push_back(Value::of_string(reinterpret_cast<const char*>(payload)));
        break;
      case PackedArgument::Buffer: {
        buffers.emplace_back(reinterpret_cast<const std::int64_t*>(payload));
        auto made = buffers.back().make(*run);
        if (!made.ok()) return stop(run, std::move(made).error());
        args.push_back(std::move(made).value());
        break;
      }
    }
  }
  auto done = f->function->native(args);
  if (!done.ok()) return stop(run, std::move(done).error());
  for (const BufferArgument& b : buffers) b.move(true);
  if (!result) return 0;
  const Value& v = done.value();
  double wide = 0;
  result[0] = 0;
  if (v.is(ValueKind::Int) || v.is(ValueKind::Bool)) {
    result[0] = v.as_int();
    wide = double(v.as_int());
  } else if (v.is(ValueKind::Float)) {
    wide = v.as_float();
    result[0] = std::isfinite(wide) && std::fabs(wide) < 0x1p63 ? std::int64_t(wide) : 0;
  } else if (v.is(ValueKind::Tensor) && v.as_tensor().element_count() == 1) {
    wide = runtime::load_as_double(v.as_tensor().peek(), v.as_tensor().dtype());
    result[0] = runtime::load_as_int(v.as_tensor().peek(), v.as_tensor().dtype());
  } else if (!v.is_null()) {
    return stop(run, {ErrorKind::TypeMismatch, runtime::describe(v) + " is not a scalar", {}});
  }
  std::memcpy(&result[1], &wide, sizeof wide);
  return 0;
}

template <class F>
void* address(F* f) {
  return reinterpret_cast<void*>(f);
}

using F1 = float(float);
using F2 = float(float, float);
using D1 = double(double);
using D2 = double(double, double);

}  // namespace

std::span<const HelperSymbol> helper_symbols() {
#define RLDB_LIBM1(name) \
  {#name, address<D1>(&::name)}, { #name "f", address < F1>(&::name##f) }
#define RLDB_LIBM2(name) \
  {#name, address<D2>(&::name)}, { #name "f", address < F2>(&::name##f) }
  static const HelperSymbol symbols[] = {
      {"rldb_alloc", address(allocate)},
      {"rldb_alloc_any", address(allocate_any)},
      {"rldb_alloc_fresh", address(allocate_fresh)},
      {kAccessHelper, address(note_access)},
      {"rldb_bytes", address(bytes_of)},
      {"rldb_panel", address(panel)},
      {kPiecesHelper, address(run_pieces)},
      {"rldb_call_packed", address(call_packed)},
      {"rldb_round", address(round_to_format)},
      {"rldb_decode", address(decode)},
      {"rldb_encode", address(encode)},
      {"__truncdfhf2", address(to_half)},
      {"__truncsfhf2", address(float_to_half)},
      {"__gnu_f2h_ieee", address(float_to_half)},
      {"__extendhfsf2", address(half_to_float)},
      {"__gnu_h2f_ieee", address(half_to_float)},
      {"memcpy", address<void*(void*, const void*, std::size_t)>(&::memcpy)},
      {"memmove", address<void*(void*, const void*, std::size_t)>(&::memmove)},
      {"memset", address<void*(void*, int, std::size_t)>(&::memset)},
      {"memcmp", address<int(const void*, const void*, std::size_t)>(&::memcmp)},
      {"bcmp", address<int(const void*, const void*, std::size_t)>(&::memcmp)},
      {"ldexp", address<double(double, int)>(&::ldexp)},
      {"ldexpf", address<float(float, int)>(&::ldexpf)},
      RLDB_LIBM1(exp),
      RLDB_LIBM1(exp2),
      RLDB_LIBM1(log),
      RLDB_LIBM1(log2),
      RLDB_LIBM1(log10),
      RLDB_LIBM1(log1p),
      RLDB_LIBM1(tanh),
      RLDB_LIBM1(erf),
      RLDB_LIBM1(sin),
      RLDB_LIBM1(cos),
      RLDB_LIBM1(tan),
      RLDB_LIBM1(asin),
      RLDB_LIBM1(acos),
      RLDB_LIBM1(atan),
      RLDB_LIBM1(sinh),
      RLDB_LIBM1(cosh),
      RLDB_LIBM1(asinh),
      RLDB_LIBM1(acosh),
      RLDB_LIBM1(atanh),
      RLDB_LIBM1(sqrt),
      RLDB_LIBM1(floor),
      RLDB_LIBM1(ceil),
      RLDB_LIBM1(trunc),
      RLDB_LIBM1(nearbyint),
      RLDB_LIBM1(round),
      RLDB_LIBM1(fabs),
      RLDB_LIBM2(fmax),  // for float16, which is computed in float32
      RLDB_LIBM2(fmin),
      RLDB_LIBM2(pow),
      RLDB_LIBM2(fmod),
      RLDB_LIBM2(atan2),
      RLDB_LIBM2(hypot),
      RLDB_LIBM2(nextafter),
      RLDB_LIBM2(copysign),
      {"fma", address<double(double, double, double)>(&::fma)},
      {"fmaf", address<float(float, float, float)>(&::fmaf)},
  };
#undef RLDB_LIBM1
#undef RLDB_LIBM2
  return symbols;
}

}  // namespace rldb::codegen
