#include "rldb/ui/prompt/value_history.h"

#include <charconv>

namespace rldb::ui {

std::size_t ValueHistory::add(runtime::Value value) {
  values_.push_back(std::move(value));
  if (values_.size() > kMost) values_.pop_front();
  return ++count_;
}

const runtime::Value* ValueHistory::find(std::string_view name) const {
  std::size_t number = 0;
  if (name == "$") {
    number = count_;
  } else if (name == "$$") {
    number = count_ > 0 ? count_ - 1 : 0;
  } else {
    const std::string_view digits = name.substr(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return nullptr;
  }
  const std::size_t oldest = count_ - values_.size();
  return number > oldest && number <= count_ ? &values_[number - oldest - 1] : nullptr;
}

}  // namespace rldb::ui
