// A run of the translated model, each value beside the expected one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "repro/expected/keep.h"
#include "rldb/onnx/model.h"
#include "rldb/repro/expected.h"
#include "rldb/runtime/tensor_file.h"

namespace rldb::repro {

namespace {

constexpr double kAtol = 1e-7, kRtol = 1e-3;  // of ONNX's tests

// Files have no bfloat16: its bits are an integer there.
runtime::Value in_dtype_of(const runtime::Value& expected, const runtime::Value& ours) {
  if (!expected.is(runtime::ValueKind::Tensor) || !ours.is(runtime::ValueKind::Tensor)) return expected;
  const runtime::DType have = expected.as_tensor().dtype(), want = ours.as_tensor().dtype();
  if (have == want || !have.is_uint() || !want.is_float() || have.bits != want.bits) return expected;
  auto made = runtime::reinterpret_as(expected, want);
  return made.ok() ? std::move(made).value() : expected;
}

std::vector<std::string> argument_texts(session::Session& session, const onnx::Translation& model,
                                        const ExpectedSet& set, ExpectedComparison& result) {
  std::vector<std::string> texts;
  std::string not_runnable;
  const auto params = session.program()->parameters(onnx::kEntry, not_runnable);
  for (std::size_t i = 0; params && i < model.inputs.size() && i < params->size(); ++i) {
    const auto given = std::find_if(set.inputs.begin(), set.inputs.end(),
                                    [&](const auto& named) { return named.first == model.inputs[i]; });
    if (given == set.inputs.end()) {
      result.made_up.push_back(model.inputs[i]);
      continue;
    }
    // A value of the session under a name that no text can have taken.
    const std::string name = fmt::format("expected_input_{}", i);
    session.set_value(name, given->second);
    texts.push_back(fmt::format("{}={}", (*params)[i].name, name));
  }
  return texts;
}

// Of a run, or known without one. Null: the translation computed it, as an expression of sizes.
const runtime::Value* value_of(const std::string& name, const onnx::Translation& model, const onnx::Tensors& kept) {
  if (const auto found = kept.find(name); found != kept.end()) return &found->second;
  const auto known = model.known.find(name);
  return known == model.known.end() ? nullptr : &known->second;
}

// The part of a tensor's largest number that sums of a few hundred products may be off by rounding.
double rounding_of(runtime::DType t) {
  constexpr double kSteps = 512, kMost = 0.03;
  // The step from 1 to the next number of the type.
  std::byte bytes[8];
  double step = 1;
  for (double half = 0.5;; half /= 2) {
    runtime::store_double(bytes, t, 1 + half);
    if (runtime::load_as_double(bytes, t) <= 1) break;
    step = half;
  }
  return std::min(kSteps * step, kMost);
}

// The least power of ten, at or above the largest difference, if that is of the size of rounding.
std::optional<double> enough_of(const TensorDifference& d, const runtime::Tensor& expected) {
  if (!d.kind.empty() || !d.dtype.is_float() || d.nan_a + d.nan_b + d.inf_a + d.inf_b > 0) return std::nullopt;
  double largest = 0;
  for (std::int64_t i = 0; i < expected.element_count(); ++i) {
    const double x = std::abs(expected.at(i));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  if (d.max_abs > rounding_of(d.dtype) * largest) return std::nullopt;
  return std::pow(10.0, std::ceil(std::log10(d.max_abs)));
}

void compare_values(const onnx::Translation& model, const ExpectedSet& set, const onnx::Tensors& kept,
                    const Tolerances& t, ExpectedComparison& result) {
  const std::unordered_map<std::string, runtime::Value> wanted(set.values.begin(), set.values.end());
  for (const onnx::Node& node : model.nodes)
    for (const std::string& output : node.outputs) {
      const auto expected = wanted.find(output);
      if (expected == wanted.end()) continue;
      const runtime::Value* ours = value_of(output, model, kept);
      if (!ours) {
        result.without_value.push_back(output);
        continue;
      }
      ++result.compared;
      const auto d = difference(in_dtype_of(expected->second, *ours), *ours, t);
      if (!d) continue;
      ++result.differ;
      if (result.first) continue;
      result.first = ExpectedDifference{node.label, node.op, output, {}, node.index, *d, {}};
      if (const auto v = model.values.find(output); v != model.values.end()) result.first->variable = v->second->name;
      if (ours->is(runtime::ValueKind::Tensor) && expected->second.is(runtime::ValueKind::Tensor))
        result.first->enough = enough_of(*d, in_dtype_of(expected->second, *ours).as_tensor());
    }
}

}  // namespace

Tolerances expected_tolerances(Tolerances given) {
  if (!given.atol) given.atol = kAtol;
  if (!given.rtol) given.rtol = kRtol;
  return given;
}

ExpectedComparison compare_expected(session::Session& session, const onnx::Translation& model, const ExpectedSet& set,
                                    Tolerances tolerances) {
  ExpectedComparison result;
  result.set = set.name;
  result.unknown = set.unknown;
  for (const std::string& name : onnx::input_names(*model.model))
    if (std::find(model.inputs.begin(), model.inputs.end(), name) == model.inputs.end())
      result.constants.push_back(name);
  tolerances = expected_tolerances(tolerances);
  source::Diagnostics found;
  const auto fails = [&](std::string why) {
    for (const source::Diagnostic& d : found.all())
      if (why.empty() && d.severity == source::Severity::Error) why = d.message;
    result.why = std::move(why);
    return result;
  };
  const auto args = session.arguments(onnx::kEntry, argument_texts(session, model, set, result), found);
  if (!args) return fails({});
  std::vector<runtime::Value> values;
  for (const session::Argument& a : *args) values.push_back(a.value);
  const auto [kept, run] = keep_values(session, model, values, found);
  compare_values(model, set, kept, tolerances, result);
  using Verdict = ExpectedComparison::Verdict;
  if (result.first) {
    result.verdict = Verdict::Differs;
  } else if (!run.ok) {
    return fails(run.fault ? run.fault->error.message : std::string());
  } else if (result.compared == 0) {
    return fails("no value of the program is among the expected ones");
  } else {
    result.verdict = Verdict::Agree;
  }
  return result;
}

}  // namespace rldb::repro
