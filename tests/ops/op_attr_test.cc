#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "rldb/ops/op_info.h"

using namespace rldb;

TEST_CASE("each row of the table of attributes names one of an operator") {
  constexpr std::string_view kRows[] = {
#define RLDB_OP_ATTR(id, name) name,
#include "rldb/ir/op_attr/op_attr.def"
  };
  for (const std::string_view row : kRows) {
    INFO(std::string(row));
    CHECK(std::any_of(ops::all().begin(), ops::all().end(), [&](const ops::OpInfo& op) {
      return std::any_of(op.attrs.begin(), op.attrs.end(), [&](const ops::AttrInfo& a) { return a.name == row; });
    }));
  }
}
