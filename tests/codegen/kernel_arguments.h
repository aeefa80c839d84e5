// Arguments made for the signature of a kernel: pseudo-random, the same each time. For tests that run a kernel on two
// engines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rldb/runtime/kernel.h"

namespace rldb::codegen::testing {

struct ArgumentChoice {
  const std::map<std::string, std::int64_t>&
      symbols;                        // values of symbolic dimensions and integer scalars; others are 7
  double low = -4, high = 4;          // of the elements
  std::int64_t opaque_elements = 16;  // float32 elements behind a pointer whose shape is not declared
};

// Nullopt: a dimension has no value, or a tensor is too large.
inline std::optional<std::vector<runtime::Value>> kernel_arguments(const runtime::KernelSignature& s,
                                                                   const ArgumentChoice& c) {
  using runtime::Value;
  std::vector<std::int64_t> variables;
  for (const std::string& name : s.variables) {
    const auto it = c.symbols.find(name);
    variables.push_back(it == c.symbols.end() ? 7 : it->second);
  }
  std::uint64_t seed = 0x9e3779b97f4a7c15u;
  const auto next = [&] {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return double(seed >> 11) / double(std::uint64_t(1) << 53);
  };
  std::vector<Value> args;
  for (const runtime::KernelParam& p : s.params) {
    if (!p.is_tensor) {
      if (p.opaque)
        args.push_back(Value(runtime::Tensor::empty({c.opaque_elements}, runtime::DType::Float(32)).value()));
      else if (p.dtype.is_float())
        args.push_back(Value::of_float(0.75));
      else
        args.push_back(Value::of_int(p.variable >= 0 ? variables[std::size_t(p.variable)] : 3));
      continue;
    }
    std::vector<std::int64_t> shape;
    for (const auto& d : p.shape) {
      const auto n = runtime::evaluate(d, variables);
      if (!n.ok()) return std::nullopt;
      shape.push_back(*n);
    }
    auto made = runtime::Tensor::empty(shape, p.dtype);
    if (!made.ok()) return std::nullopt;
    auto t = std::move(made).value();
    const std::size_t lanes = std::size_t(std::max<int>(1, p.dtype.lanes));
    const std::size_t width = p.dtype.element().bytes();
    for (std::size_t i = 0; i < std::size_t(t->element_count()) * lanes; ++i)
      runtime::store_double(t->data() + i * width, p.dtype.element(), c.low + (c.high - c.low) * next());
    args.push_back(Value(std::move(t)));
  }
  return args;
}

}  // namespace rldb::codegen::testing
