#include "rldb/support/progress.h"

#include <doctest/doctest.h>

#include <memory>

using namespace rldb::support;

TEST_CASE("the innermost work is told, whatever order it ends in") {
  CHECK(doing_now().empty());
  auto outer = std::make_unique<Doing>("outer");
  auto inner = std::make_unique<Doing>("inner");
  CHECK(doing_now() == "inner");
  outer.reset();
  CHECK(doing_now() == "inner");
  inner.reset();
  CHECK(doing_now().empty());
}
