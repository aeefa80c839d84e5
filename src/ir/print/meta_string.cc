// References to strings of an absent metadata section.
#include "rldb/ir/meta_string.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rldb::ir {

namespace {

constexpr std::array<std::string_view, 2> kKeys = {"tirx.StringImm", "tir.StringImm"};

}  // namespace

bool is_meta_string_key(std::string_view key) { return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end(); }

std::string meta_string_reference(std::string_view key, std::int64_t index) {
  return "metadata[\"" + std::string(key) + "\"][" + std::to_string(index) + "]";
}

bool is_meta_string_reference(std::string_view text) {
  for (const std::string_view key : kKeys) {
    std::string head = meta_string_reference(key, 0);
    head.resize(head.size() - 2);  // up to the index
    if (!text.starts_with(head) || !text.ends_with(']')) continue;
    const std::string_view index = text.substr(head.size(), text.size() - head.size() - 1);
    if (index.empty() || index.size() > 9 || (index.size() > 1 && index[0] == '0')) continue;
    if (std::all_of(index.begin(), index.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) return true;
  }
  return false;
}

}  // namespace rldb::ir
