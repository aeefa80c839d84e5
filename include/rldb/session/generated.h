// Lines that tell which arguments were generated: a model has hundreds of weights, of which the first are named.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::session {

// `generated x = Tensor[(3, 4), "float32"]`, without line breaks; none if every value was given.
std::vector<std::string> generated_lines(std::span<const Argument> arguments);

}  // namespace rldb::session
