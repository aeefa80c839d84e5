// Indices of an executable's tables as distinct types: a register cannot be passed where a constant is expected.
//
// Each is a signed 64-bit number, as in TVM's files; negative values mean "none". A literal converts by itself; any
// other number is converted explicitly, `Pc(n)`, and back, `std::size_t(pc)`. Distances (`pc - pc`) and counts are
// plain integers.
#pragma once

#include <fmt/core.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rldb::bytecode {

template <class Table>
class IndexOf {
 public:
  constexpr IndexOf() = default;
  template <std::integral T>
  consteval IndexOf(T literal) : value_(literal) {}
  // The second constraint makes it the better match where both would do.
  template <std::integral T>
  requires(sizeof(T) <= sizeof(std::int64_t)) explicit constexpr IndexOf(T value) : value_(std::int64_t(value)) {}

  constexpr std::int64_t value() const { return value_; }
  template <std::integral T>
  explicit constexpr operator T() const {
    return T(value_);
  }

  friend constexpr bool operator==(IndexOf, IndexOf) = default;
  friend constexpr auto operator<=>(IndexOf, IndexOf) = default;
  // With a literal, even through a reference, as in a test's CHECK.
  friend constexpr bool operator==(IndexOf a, const std::same_as<int> auto& b) { return a.value_ == b; }
  friend constexpr auto operator<=>(IndexOf a, const std::same_as<int> auto& b) { return a.value_ <=> b; }
  constexpr IndexOf& operator++() { return ++value_, *this; }
  constexpr IndexOf operator++(int) { return IndexOf(value_++); }
  friend constexpr IndexOf operator+(IndexOf a, std::int64_t distance) { return IndexOf(a.value_ + distance); }
  friend constexpr IndexOf operator-(IndexOf a, std::int64_t distance) { return IndexOf(a.value_ - distance); }
  friend constexpr std::int64_t operator-(IndexOf a, IndexOf b) { return a.value_ - b.value_; }
  constexpr IndexOf& operator+=(std::int64_t distance) { return value_ += distance, *this; }

  template <class Stream>
  friend Stream& operator<<(Stream& out, IndexOf i) {
    return out << i.value_;
  }

 private:
  std::int64_t value_ = 0;
};

using FunctionIndex = IndexOf<struct FunctionTable>;  // into Executable::functions
using ConstantIndex = IndexOf<struct ConstantTable>;  // into Executable::constants
using Pc = IndexOf<struct InstructionTable>;          // into Executable::instr_offset
using RegName = IndexOf<struct RegisterFile>;         // of a frame

}  // namespace rldb::bytecode

template <class Table>
struct std::hash<rldb::bytecode::IndexOf<Table>> {
  std::size_t operator()(rldb::bytecode::IndexOf<Table> i) const { return std::hash<std::int64_t>{}(i.value()); }
};

template <class Table>
struct fmt::formatter<rldb::bytecode::IndexOf<Table>> : fmt::formatter<std::int64_t> {
  template <class Context>
  auto format(rldb::bytecode::IndexOf<Table> i, Context& ctx) const {
    return fmt::formatter<std::int64_t>::format(i.value(), ctx);
  }
};
