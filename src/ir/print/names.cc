#include "ir/print/names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rldb::ir::print_detail {
namespace {

// Words that Python would not take as a name.
constexpr std::array kKeywords = {
    std::string_view("False"),   std::string_view("None"),     std::string_view("True"),     std::string_view("and"),
    std::string_view("as"),      std::string_view("assert"),   std::string_view("async"),    std::string_view("await"),
    std::string_view("break"),   std::string_view("class"),    std::string_view("continue"), std::string_view("def"),
    std::string_view("del"),     std::string_view("elif"),     std::string_view("else"),     std::string_view("except"),
    std::string_view("finally"), std::string_view("for"),      std::string_view("from"),     std::string_view("global"),
    std::string_view("if"),      std::string_view("import"),   std::string_view("in"),       std::string_view("is"),
    std::string_view("lambda"),  std::string_view("nonlocal"), std::string_view("not"),      std::string_view("or"),
    std::string_view("pass"),    std::string_view("raise"),    std::string_view("return"),   std::string_view("try"),
    std::string_view("while"),   std::string_view("with"),     std::string_view("yield")};

bool is_keyword(std::string_view word) {
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

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
  if (!is_keyword(wanted) && taken_.emplace(wanted, 1).second) return {wanted, wanted, 0};
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
