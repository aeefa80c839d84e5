// Compares results with tolerances that allow for two compilers' orders of summing.
#include "repro/partner/symptom.h"

#include <fmt/format.h>

#include "repro/oracle/leaves.h"
#include "rldb/runtime/tensor_file.h"

namespace rldb::repro {

using Kind = PartnerAnswer::Kind;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr double kDouble = 1e-6, kSingle = 1e-2, kHalf = 5e-2, kNarrow = 0.25;

// In a chain of operations each rounds: wider than for one operation. Integers have to be equal.
Tolerances tolerances_for(const Value& v, const Tolerances& given) {
  Tolerances t = given;
  if (given.exact || !v.is(ValueKind::Tensor) || !v.as_tensor().dtype().is_float()) return t;
  const runtime::DType dtype = v.as_tensor().dtype();
  const int bits = int(dtype.bits);
  const bool is_half = bits == 16 && runtime::to_string(dtype).starts_with("float16");
  const double error = bits >= 64 ? kDouble : bits == 32 ? kSingle : is_half ? kHalf : kNarrow;
  if (!t.rtol) t.rtol = error;
  if (!t.atol) t.atol = error / 10;
  return t;
}

// An .npz has no narrow floats: they come as the integers with their bits.
Value as_expected(const Value& found, const Value& expected) {
  if (!found.is(ValueKind::Tensor) || !expected.is(ValueKind::Tensor)) return found;
  auto narrow = runtime::reinterpret_as(found, expected.as_tensor().dtype());
  return narrow.ok() ? std::move(narrow).value() : found;
}

std::optional<Symptom> of_results(const std::vector<Value>& results, const std::vector<Value>& reference,
                                  const Tolerances& tolerances, std::string& unseen) {
  if (results.size() != reference.size())
    return Symptom{
        SymptomKind::Values, {}, "results", fmt::format("{} results, not {}", results.size(), reference.size()), {}};
  std::size_t compared = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!reference[i].is(ValueKind::Tensor)) continue;
    ++compared;
    const auto d =
        difference(reference[i], as_expected(results[i], reference[i]), tolerances_for(reference[i], tolerances));
    if (!d) continue;
    std::string text = results.size() > 1 ? fmt::format("result {}: {}", i, to_string(*d)) : to_string(*d);
    return Symptom{SymptomKind::Values, {}, d->kind.empty() ? "" : "type", std::move(text), {}};
  }
  if (compared == 0) unseen = "no part of the result is a tensor";
  return std::nullopt;
}

}  // namespace

std::optional<Symptom> symptom_of_answer(const PartnerAnswer& a, const std::vector<Value>& reference,
                                         const Tolerances& tolerances, std::string& unseen) {
  switch (a.kind) {
    case Kind::Results:
      if (!reference.empty()) return of_results(a.results, reference, tolerances, unseen);
      unseen = "rldb has no result of its own";
      return std::nullopt;
    case Kind::Verdict:
      if (!a.fault) return std::nullopt;
      return Symptom{
          SymptomKind::Command, a.pass, {}, a.text.empty() ? "the partner says so" : a.text, form_of_line(a.text)};
    case Kind::Failed:
      return Symptom{SymptomKind::Fails, a.pass, "partner", a.text, form_of_line(a.text)};
    case Kind::Ended:
      return Symptom{a.signal != 0 ? SymptomKind::Signal : SymptomKind::Fails,
                     {},
                     std::to_string(a.signal),
                     "the partner ends with " + a.text,
                     form_of_line(a.text)};
    case Kind::TooLong:
      return Symptom{SymptomKind::Fails, {}, "too long", "the partner gives " + a.text, {}};
    case Kind::Refused:
      unseen = "the partner refuses it: " + a.text;
      return std::nullopt;
    case Kind::Useless:
      unseen = "the partner cannot be used: " + a.text;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rldb::repro
