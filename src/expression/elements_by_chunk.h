// The elements of a tensor chunk by chunk, in the narrower of float and double that has all values of the dtype.
#pragma once

#include <algorithm>

#include "expression/slices.h"
#include "rldb/expression/array.h"

namespace rldb::expression {

// Whether every value of the dtype is a float.
inline bool fits_float(runtime::DType t) { return t.is_float() ? t.bits <= 32 : t.bits <= 16; }

// f(elements, count, position of the first): `elements` is a pointer to float or to double. Of the elements from
// `begin` to `end`; ends early when the work is cancelled.
template <class F>
void each_chunk(const runtime::Tensor& t, std::int64_t begin, std::int64_t end, F f) {
  double wide[kChunk];
  float narrow[kChunk];
  const bool as_float = fits_float(t.dtype());
  const bool in_place =
      t.dtype() == runtime::DType::Float(32) && reinterpret_cast<std::uintptr_t>(t.address()) % alignof(float) == 0;
  for (std::int64_t at = begin; at < end && !cancelled(); at += kChunk) {
    const std::int64_t n = std::min(kChunk, end - at);
    if (in_place) {
      f(reinterpret_cast<const float*>(t.peek()) + at, n, at);
      continue;
    }
    load(t, at, 1, n, wide);
    if (!as_float) {
      f(static_cast<const double*>(wide), n, at);
      continue;
    }
    std::copy(wide, wide + n, narrow);
    f(static_cast<const float*>(narrow), n, at);
  }
}

}  // namespace rldb::expression
