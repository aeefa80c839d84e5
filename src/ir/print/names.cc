#include "ir/print/names.h"

#include <algorithm>
#include <cctype>

#include "rldb/support/python_keyword.h"

namespace rldb::ir::print_detail {
namespace {

bool is_identifier(std::string_view text) {
  if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) != 0)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0;
  });
}

std::string to_identifier(std::string_view text) {
  std::string out;
  if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) != 0)) out = "v";
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

}  // namespace

std::string_view Names::keep(std::string text) {
  made_.push_back(std::move(text));
  return made_.back();
}

Names::Taken Names::take(std::string_view wanted) {
  if (!is_identifier(wanted)) wanted = keep(to_identifier(wanted));
  if (!support::is_python_keyword(wanted) && taken_.emplace(wanted, 1).second) return {wanted, wanted, 0};
  int& next = next_number_.try_emplace(wanted, 1).first->second;
  for (;; ++next) {
    std::string candidate = std::string(wanted) + "_" + std::to_string(next);
    if (taken_.count(candidate) != 0) continue;
    std::string_view name = keep(std::move(candidate));
    taken_.emplace(name, 1);
    return {name, wanted, next++};
  }
}

std::string_view Names::find(const Node* n) const {
  auto it = names_.find(n->id);
  return it == names_.end() ? std::string_view{} : it->second;
}

std::string_view Names::define_at(std::size_t depth, const Node* n, std::string_view wanted) {
  if (auto it = names_.find(n->id); it != names_.end()) return it->second;
  Taken t = take(wanted);
  names_.emplace(n->id, t.name);
  frames_[depth - 1].push_back({n->id, t.name, t.wanted, t.number});
  return t.name;
}

void Names::alias_at(std::size_t depth, const Node* n, std::string text) {
  if (names_.count(n->id) != 0) return;
  names_.emplace(n->id, keep(std::move(text)));
  frames_[depth - 1].push_back({n->id, {}, {}, 0});
}

void Names::reserve(std::string_view name) {
  if (taken_.emplace(name, 1).second) frames_.back().push_back({0, name, name, 0});
}

void Names::pop() {
  for (const Entry& e : frames_.back()) {
    if (e.node != 0) names_.erase(e.node);
    if (e.name.empty()) continue;
    taken_.erase(e.name);
    if (e.number == 0) continue;
    auto it = next_number_.find(e.wanted);
    if (it != next_number_.end()) it->second = std::min(it->second, e.number);
  }
  frames_.pop_back();
}

}  // namespace rldb::ir::print_detail
