// The attributes of an operator's call as values, with the defaults of the operator's row for those not given.
#pragma once

#include <optional>
#include <vector>

#include "rldb/relay/ir/expr.h"

namespace rldb::relay {

class Attributes {
 public:
  Attributes(const Call& call, const OpInfo& op) : call(call), op(op) {}

  const Call& call;
  const OpInfo& op;

  const AttrValue* attr(std::string_view name) const;                // null: omitted
  std::optional<std::int64_t> integer(std::string_view name) const;  // None: nullopt
  bool flag(std::string_view name) const;
  double real(std::string_view name) const;  // 0 if not a number
  std::string_view string(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;  // None: nullopt
  std::optional<DType> dtype(std::string_view name) const;                     // "": nullopt
};

}  // namespace rldb::relay
