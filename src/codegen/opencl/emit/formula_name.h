// Formulas that are asked for by name: those that are no function of intrinsic.def with the column Formula1 or
// Formula2, or part of another function. Room-private.
#pragma once

#include <string_view>

namespace rldb::codegen::formula_name {

inline constexpr std::string_view kSigmoid = "sigmoid", kPow = "pow";

}  // namespace rldb::codegen::formula_name
