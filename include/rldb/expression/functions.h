// The functions of the expression language: rows of function.def with their parameters and implementations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::expression {

// The arguments of one call, in the order of the row's parameters.
class Arguments {
 public:
  std::vector<runtime::Value> values;  // one per parameter; null where it was left out
  std::vector<runtime::Value> rest;    // taken by a parameter with `*`

  const runtime::Value& operator[](std::size_t i) const { return values[i]; }
  bool given(std::size_t i) const { return !values[i].is_null(); }
};

#define RLDB_FUNCTION(id, name, parameters, doc) runtime::Result<runtime::Value> function_##id(const Arguments& a);
#include "rldb/expression/function.def"

struct FunctionRow {
  std::string_view name;
  std::string_view parameters;
  std::string_view doc;
  runtime::Result<runtime::Value> (*run)(const Arguments&);
  struct Parameter {
    std::string_view name;
    bool optional = false;
    bool rest = false;  // takes all remaining ones
  };
  std::vector<Parameter> list;

  // Why a call with that many arguments does not fit; empty: it fits. `keywords` are those of the written arguments,
  // and the first of `count` is the object of a method.
  std::string misfit(std::size_t count, const std::vector<std::string>& keywords, bool method) const;
  // Is one argument enough?
  bool is_fact() const { return list.size() == 1 ? !list[0].optional : list[1].optional || list[1].rest; }
};

// Null: no such function.
const FunctionRow* find_function(std::string_view name);
const std::vector<FunctionRow>& functions();
// Requires that `arguments` fit the row.
runtime::Result<runtime::Value> call_function(const FunctionRow& row, std::vector<runtime::Value> arguments,
                                              const std::vector<std::string>& keywords);

// attribute.def, and functions of one argument.
runtime::Result<runtime::Value> attribute_of(const runtime::Value& v, std::string_view name);
struct AttributeRow {
  std::string_view name;
  std::string_view doc;
};
const std::vector<AttributeRow>& attributes();

}  // namespace rldb::expression
