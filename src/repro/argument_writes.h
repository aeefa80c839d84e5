// Effects of a run on the tensors that its caller gave it, which the result need not show. Room-private.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/repro/trace.h"

namespace rldb::repro {

// The tensors in the arguments of a call that has ended. `parameters`: the names of the function's; `given`: the
// contents before the call; `used`: the copies with which it was made. The last `outputs` are for results.
std::vector<GivenTensor> given_tensors(std::span<const std::string> parameters,
                                       const std::vector<runtime::Value>& given,
                                       const std::vector<runtime::Value>& used, std::size_t outputs);
// Of a function of a module.
std::vector<GivenTensor> given_tensors(const ir::Module* module, std::string_view function,
                                       const std::vector<runtime::Value>& given,
                                       const std::vector<runtime::Value>& used, std::size_t outputs);

// An argument that one side leaves with other contents than the other side.
struct ArgumentDifference {
  const GivenTensor* a = nullptr;
  const GivenTensor* b = nullptr;
  TensorDifference difference;
  bool both_write() const { return !a->after.is_null() && !b->after.is_null(); }
};

// Of tensors that both sides are given with one type. Nullopt: none differs, or the parameters do not correspond.
std::optional<ArgumentDifference> difference_of_arguments(const std::vector<GivenTensor>& a,
                                                          const std::vector<GivenTensor>& b,
                                                          const Tolerances& tolerances);

// `it overwrites its argument `x`: [0]: 1 vs 3; ...`
std::string to_string(const ArgumentDifference& d);
// The same without the values.
std::string what_differs(const ArgumentDifference& d);

}  // namespace rldb::repro
