// Amount: a count that may depend on symbolic dims: a sum of products, such as 2*n*m + 4096.
//
// Anything else is a symbol of its own, by its text (`n // 2`). Bounded: a sum of more than
// kMostTerms products becomes one symbol. Users: costs of kernels and bindings.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::debug {

class Amount {
 public:
  Amount() = default;
  Amount(double number);  // NOLINT: numbers are amounts
  static Amount symbol(std::string name);

  Amount& operator+=(const Amount& other);
  Amount operator*(const Amount& other) const;
  std::optional<double> number() const;  // nullopt: it depends on symbols
  std::string text() const;

 private:
  static constexpr std::size_t kMostTerms = 64;
  void bound();
  std::map<std::vector<std::string>, double> terms_;  // factors, sorted: coefficient, never 0
};

// Variables without an entry are symbols. Nullopt: it depends on memory.
using AmountOf = std::unordered_map<const ir::Var*, Amount>;
std::optional<Amount> amount_of(const ir::Expr* e, const AmountOf& vars);

}  // namespace rldb::debug
