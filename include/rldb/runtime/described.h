// Described: an object that describes itself, for kinds of values unknown to this room.
// Used by `describe` and `format_value`. Implemented by relay/vm (values of algebraic data types).
#pragma once

#include <string>

namespace rldb::runtime {

class Described {
 public:
  virtual ~Described() = default;
  // On one line, cut after about `width` characters. Empty: nothing more specific than the name of its kind.
  virtual std::string description(std::size_t width) const = 0;
};

}  // namespace rldb::runtime
