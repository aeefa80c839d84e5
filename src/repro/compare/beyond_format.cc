// The tensor with which an overflow begins, in a program that was converted to a lower precision.
#include "repro/compare/beyond_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "repro/bisect/numbers.h"
#include "repro/compare/lower_precision.h"
#include "rldb/ir/scalar.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

bool is_finite(const Trace& trace, const Reading& r) {
  return r.event == kNoEvent || not_finite(trace.events[r.event].value) == 0;
}

// Tensors of a program that are not finite, by the names of their variables.
std::set<std::string> not_finite_names(const Trace& trace) {
  std::set<std::string> names;
  for (const Event& e : trace.events) {
    support::poll();
    if (e.value.is(runtime::ValueKind::Tensor) && not_finite(e.value) > 0) names.insert(e.names.begin(), e.names.end());
  }
  return names;
}

// In that format, computed from finite tensors, and finite in the first program: a mask is infinite in both. Null:
// there is none.
const Event* first_overflow(const Trace& first, const Trace& second, runtime::DType format) {
  const std::set<std::string> meant = not_finite_names(first);
  for (const Event& e : second.events) {
    support::poll();
    if (e.is_parameter() || !e.value.is(runtime::ValueKind::Tensor)) continue;
    if (e.value.as_tensor().dtype() != format || not_finite(e.value) == 0) continue;
    if (std::any_of(e.names.begin(), e.names.end(), [&](const std::string& n) { return meant.contains(n); })) continue;
    if (std::all_of(e.inputs.begin(), e.inputs.end(), [&](const Reading& r) { return is_finite(second, r); }))
      return &e;
  }
  return nullptr;
}

}  // namespace

std::string beyond_format(session::Session& session, const Program& a, const Program& b, const Trace& first,
                          const Trace& second, const TensorDifference& result) {
  if (result.nan_b + result.inf_b == 0 || !a.module || !b.module) return {};
  const runtime::DType format = lower_format(a.module, b.module);
  if (format.is_void()) return {};
  const double largest = ir::cast<ir::FloatImm>(ir::max_value(session.context(), format))->value;
  const std::string limit = fmt::format("the largest number of {} is {:g}", runtime::to_string(format), largest);
  const Event* e = first_overflow(first, second, format);
  if (!e) return fmt::format("the second side computes in {0}: {1}", runtime::to_string(format), limit);
  const std::string by = e->callee.empty() ? std::string() : fmt::format(", computed by `{}`,", e->callee);
  return fmt::format("overflow: `{}` in `{}`{} is the first tensor that is not finite: {}", e->names.back(),
                     e->function, by, limit);
}

}  // namespace rldb::repro
