#include "rldb/ui/prompt/value_history.h"

#include <charconv>
#include <map>
#include <vector>

namespace rldb::ui {

namespace {

constexpr std::size_t kMostBytes = std::size_t(256) << 20;  // of memory that these values hold, each storage once

// Adds or takes away a value's storages; the sum of those that are held by any value.
class HeldMemory {
 public:
  void add(const runtime::Value& v) { count(v, 1); }
  void remove(const runtime::Value& v) { count(v, -1); }
  std::size_t bytes() const { return bytes_; }

 private:
  void count(const runtime::Value& v, int change) {
    if (v.is(runtime::ValueKind::Tuple))
      for (const runtime::Value& field : v.as_tuple().fields) count(field, change);
    if (v.is(runtime::ValueKind::Tensor)) count(*v.as_tensor().storage(), change);
    if (v.is(runtime::ValueKind::Storage)) count(*v.storage_ref(), change);
  }
  void count(const runtime::Storage& storage, int change) {
    int& holders = holders_[&storage];
    if (holders == 0) bytes_ += storage.size();
    holders += change;
    if (holders == 0) bytes_ -= storage.size();
  }
  std::map<const runtime::Storage*, int> holders_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::size_t ValueHistory::add(runtime::Value value) {
  values_.push_back(std::move(value));
  if (values_.size() > kMost) values_.pop_front();
  HeldMemory held;
  for (const runtime::Value& v : values_) held.add(v);
  for (; values_.size() > 1 && held.bytes() > kMostBytes; values_.pop_front()) held.remove(values_.front());
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
