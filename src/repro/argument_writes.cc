// Effects of a run on the tensors that its caller gave it.
#include "repro/argument_writes.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/values.h"
#include "rldb/ir/module.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// Passes keep the names of parameters, or their number.
const GivenTensor* counterpart(const std::vector<GivenTensor>& a, std::size_t i, const std::vector<GivenTensor>& b) {
  const auto same = [&](const GivenTensor& g) { return g.parameter == a[i].parameter && g.field == a[i].field; };
  const auto it = std::find_if(b.begin(), b.end(), same);
  if (it != b.end()) return &*it;
  return a.size() == b.size() ? &b[i] : nullptr;
}

const Value& contents(const GivenTensor& g) { return g.after.is_null() ? g.before : g.after; }

}  // namespace

std::vector<GivenTensor> given_tensors(const ir::Module* module, std::string_view function,
                                       const std::vector<Value>& given, const std::vector<Value>& used,
                                       std::size_t outputs) {
  std::vector<std::string> parameters;
  if (const auto* f = module ? ir::as<ir::Function>(module->find(function)) : nullptr)
    for (const ir::Var* p : f->params) parameters.emplace_back(p->name);
  return given_tensors(parameters, given, used, outputs);
}

std::vector<GivenTensor> given_tensors(std::span<const std::string> parameters, const std::vector<Value>& given,
                                       const std::vector<Value>& used, std::size_t outputs) {
  std::vector<GivenTensor> out;
  for (std::size_t i = 0; i + outputs < given.size() && i < used.size(); ++i) {
    std::vector<Value> before, after;
    flatten(given[i], before);
    flatten(used[i], after);
    for (std::size_t k = 0; k < before.size() && k < after.size(); ++k) {
      if (!before[k].is(ValueKind::Tensor) || !after[k].is(ValueKind::Tensor)) continue;
      GivenTensor g{i < parameters.size() ? parameters[i] : fmt::format("#{}", i + 1), k, before[k], {}};
      if (!same_bits(before[k].as_tensor(), after[k].as_tensor())) g.after = after[k];
      out.push_back(std::move(g));
    }
  }
  return out;
}

std::optional<ArgumentDifference> difference_of_arguments(const std::vector<GivenTensor>& a,
                                                          const std::vector<GivenTensor>& b,
                                                          const Tolerances& tolerances) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const GivenTensor* other = counterpart(a, i, b);
    if (!other || (a[i].after.is_null() && other->after.is_null())) continue;
    if (!same_bits(a[i].before.as_tensor(), other->before.as_tensor())) continue;
    if (auto d = difference(contents(a[i]), contents(*other), tolerances)) return {{&a[i], other, *d}};
  }
  return std::nullopt;
}

std::string what_differs(const ArgumentDifference& d) {
  const std::string name = d.b->parameter;
  if (d.a->after.is_null()) return fmt::format("it overwrites its argument `{}`, which the first side does not", name);
  if (d.b->after.is_null()) return fmt::format("it does not write to its argument `{}`, as the first side does", name);
  return fmt::format("it writes other values to its argument `{}` than the first side", name);
}

std::string to_string(const ArgumentDifference& d) { return what_differs(d) + ": " + to_string(d.difference); }

}  // namespace rldb::repro
