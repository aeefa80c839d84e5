// Values as texts that `:input` reads back: small ones in full, big tensors by their names in a file.
#pragma once

#include <optional>
#include <string>

#include "rldb/runtime/tensor_file.h"

namespace rldb::ui {

class ValueTexts {
 public:
  // Collects the tensors of the value that are too big for text. `name`: the prefix of their names.
  void collect(const runtime::Value& v, const std::string& name);
  const runtime::NamedTensors& big() const { return big_; }

  // The text of a value collected under that name. `file`: where the big ones will be found. Empty: part of it cannot
  // be written (a function, an object).
  static std::optional<std::string> text(const runtime::Value& v, const std::string& name, const std::string& file);

 private:
  runtime::NamedTensors big_;
};

}  // namespace rldb::ui
