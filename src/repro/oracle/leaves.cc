#include "repro/oracle/leaves.h"

#include <fmt/format.h>

#include <cmath>

#include "repro/values.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// NaN or infinite elements, over all leaves.
std::int64_t not_finite(const std::vector<Value>& leaves) {
  std::int64_t n = 0;
  for (const Value& v : leaves) {
    if (!v.is(ValueKind::Tensor) || !v.as_tensor().dtype().is_float() || v.as_tensor().dtype().lanes != 1) continue;
    for (std::int64_t i = 0; i < v.as_tensor().element_count(); ++i) n += !std::isfinite(v.as_tensor().at(i));
  }
  return n;
}

}  // namespace

std::optional<Symptom> symptom_of_leaves(const std::vector<Value>& leaves, const std::vector<Value>& reference,
                                         const Question& question) {
  if (question.kind == OracleKind::Nan) {
    if (not_finite(leaves) <= not_finite(reference)) return std::nullopt;
    return Symptom{SymptomKind::NotFinite, {}, {}, "the result is not finite"};
  }
  if (leaves.size() != reference.size())
    return Symptom{
        SymptomKind::Values, {}, "results", fmt::format("{} results, not {}", leaves.size(), reference.size())};
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!is_opaque(leaves[i]))
      if (const auto d = difference(reference[i], leaves[i], question.tolerances))
        return Symptom{SymptomKind::Values, {}, d->kind.empty() ? "" : "type", to_string(*d)};
  return std::nullopt;
}

}  // namespace rldb::repro
