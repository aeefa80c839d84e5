// Described: an object that says itself what it is, for kinds of values that this room knows nothing of.
// `describe` and `format_value` ask it. Implemented by relay/vm (values of algebraic data types).
#pragma once

#include <string>

namespace rldb::runtime {

class Described {
 public:
  virtual ~Described() = default;
  // On one line, cut behind about `width` characters. Empty: there is nothing better than what its kind says.
  virtual std::string description(std::size_t width) const = 0;
};

}  // namespace rldb::runtime
