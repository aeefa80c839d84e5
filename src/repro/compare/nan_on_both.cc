// Elements of two results that are NaN in both: nothing is known about them.
#include <fmt/format.h>

#include <cmath>

#include "repro/bisect/numbers.h"
#include "repro/values.h"
#include "rldb/repro/tensor_difference.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

NanOnBoth nan_on_both(const Value& a, const Value& b) {
  NanOnBoth out;
  std::vector<Value> left, right;
  flatten(a, left);
  flatten(b, right);
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    if (!left[i].is(ValueKind::Tensor) || !right[i].is(ValueKind::Tensor)) continue;
    const runtime::Tensor &x = left[i].as_tensor(), &y = right[i].as_tensor();
    if (x.element_count() != y.element_count()) continue;
    out.total += x.element_count();
    if (!is_plain_float(x) || !is_plain_float(y)) continue;
    std::int64_t lost = 0;
    for (std::int64_t k = 0; k < x.element_count(); ++k) lost += std::isnan(x.at(k)) && std::isnan(y.at(k));
    out.elements += lost;
    out.whole_leaf = out.whole_leaf || (lost > 0 && lost == x.element_count());
  }
  return out;
}

std::string to_string(const NanOnBoth& n) {
  return fmt::format("its result is NaN on both sides ({} of {} elements)", n.elements, n.total);
}

}  // namespace rldb::repro
