// Values for tests in one word, and their elements as text.
#pragma once

#include <string>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime::testing {

inline Value f32(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  auto t = Tensor::empty(std::move(shape), DType::Float(32)).value();
  for (std::int64_t i = 0; i < t->element_count(); ++i)
    store_double(t->data() + 4 * i, DType::Float(32), values[std::size_t(i) % values.size()]);
  return Value(t);
}
inline Value i64(std::int64_t v) {
  auto t = Tensor::empty({}, DType::Int(64)).value();
  *reinterpret_cast<std::int64_t*>(t->data()) = v;
  return Value(t);
}

// The elements without the line that gives the type.
inline std::string show(const Value& v) {
  std::string text = format_value(v);
  if (v.is(ValueKind::Tensor)) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace rldb::runtime::testing
