// The attributes of an operator's call as values, with the defaults of the operator's row where the call says nothing.
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

  const AttrValue* attr(std::string_view name) const;                // null: left out
  std::optional<std::int64_t> integer(std::string_view name) const;  // None: nothing
  bool flag(std::string_view name) const;
  double real(std::string_view name) const;  // 0 for what is no number
  std::string_view string(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;  // None: nothing
  std::optional<DType> dtype(std::string_view name) const;                     // "": nothing
};

}  // namespace rldb::relay
