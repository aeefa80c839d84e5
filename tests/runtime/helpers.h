// Small builders for the tests of runtime.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime::testing {

inline Ref<Tensor> tensor(std::vector<std::int64_t> shape, DType dtype, const std::vector<double>& values) {
  auto t = Tensor::empty(std::move(shape), dtype);
  REQUIRE(t.ok());
  REQUIRE((*t)->element_count() == std::int64_t(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    store_double((*t)->data() + i * dtype.bytes(), dtype, values[i]);
  }
  return *t;
}

inline std::vector<double> elements(const Value& v) {
  REQUIRE(v.is(ValueKind::Tensor));
  std::vector<double> out;
  for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i) {
    out.push_back(v.as_tensor().at(i));
  }
  return out;
}

}  // namespace rldb::runtime::testing
