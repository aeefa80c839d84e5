// Lines that tell which arguments were generated: a model has hundreds of weights, of which the first are named.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::session {

// `generated x = Tensor[(3, 4), "float32"]`, without line breaks; none if every value was given.
std::vector<std::string> generated_lines(std::span<const Argument> arguments);

bool any_generated(std::span<const Argument> arguments);

// A result with a NaN or an infinite number says more of generated inputs than of the program. Looks at the first ten
// million elements of a tensor.
bool lacks_numbers(const runtime::Value& result);
inline constexpr std::string_view kLacksNumbers = "the result has NaN or infinite numbers, and inputs were generated";

}  // namespace rldb::session
