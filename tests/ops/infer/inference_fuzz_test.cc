// Arguments that nobody would write: whatever an operator is given, it answers with a type or a message.
#include <doctest/doctest.h>

#include "ops/odd_arguments.h"
#include "rldb/ir/printer.h"

using namespace rldb;

TEST_CASE("ops: no arguments are too odd") {
  std::size_t typed = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    odd::Pool pool;
    pool.random.seed(unsigned(round) * 7919u + 13u);
    for (const ops::OpInfo& info : ops::all())
      for (int k = 0; k < 10; ++k) {
        const std::vector<ops::CallArg> args = pool.arguments(info);
        auto spec = ops::normalize_arguments(pool.ctx, info.short_name(), args);
        if (!spec.ok()) {
          CHECK_MESSAGE(!spec.error().text.empty(), info.name);
          ++refused;
          continue;
        }
        auto call = pool.ctx.call(*spec);
        if (call.ok())
          CHECK_MESSAGE(!ir::print_type((*call)->type).empty(), info.name);
        else
          CHECK_MESSAGE(!call.error().text.empty(), info.name);
        ++(call.ok() ? typed : refused);
      }
  }
  // Most are refused, but enough pass to exercise the rules.
  CHECK(typed > 2000);
  CHECK(refused > 2000);
}
