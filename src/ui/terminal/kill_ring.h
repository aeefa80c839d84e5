// KillRing: texts that were cut, the latest first. Consecutive cuts form one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

class KillRing {
 public:
  enum class Join : std::uint8_t { New, After, Before };
  void kill(std::string_view text, Join join) {
    if (text.empty()) return;
    at_ = 0;
    if (join == Join::New || texts_.empty()) {
      texts_.insert(texts_.begin(), std::string(text));
      if (texts_.size() > kMost) texts_.pop_back();
    } else if (join == Join::After) {
      texts_.front() += text;
    } else {
      texts_.front().insert(0, text);
    }
  }
  // The text that ^Y inserts; empty when nothing was cut.
  std::string_view current() const { return texts_.empty() ? std::string_view() : std::string_view(texts_[at_]); }
  void newest() { at_ = 0; }
  void rotate() {
    if (!texts_.empty()) at_ = (at_ + 1) % texts_.size();
  }

 private:
  static constexpr std::size_t kMost = 30;
  std::vector<std::string> texts_;
  std::size_t at_ = 0;
};

}  // namespace rldb::ui
