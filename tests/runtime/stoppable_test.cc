// Long loops in functions that a program calls end when the work is cancelled.
#include "rldb/runtime/stoppable.h"

#include <doctest/doctest.h>

#include "rldb/runtime/contrib.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;
using runtime::Value;

namespace {

Value vector_of(std::int64_t n) {
  auto made = runtime::random_tensor({n}, runtime::DType::Float(32), 1);
  REQUIRE(made.ok());
  return std::move(made).value();
}

struct Cancelled {
  Cancelled() { support::request_cancel(support::CancelCause::Interrupt); }
  ~Cancelled() { support::clear_cancel(); }
};

}  // namespace

TEST_CASE("sort: cancelled work ends it with an error, and without it all is put in order") {
  const std::vector<Value> args{vector_of(100'000), vector_of(100'000), Value::of_int(0), Value::of_int(1)};
  {
    const Cancelled cancelled;
    const auto stopped = runtime::contrib_sort(args);
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.error().kind == runtime::ErrorKind::Interrupted);
    CHECK(stopped.error().message == "interrupted in the ordering of elements");
  }
  REQUIRE(runtime::contrib_sort(args).ok());
  const runtime::Tensor& sorted = args[1].as_tensor();
  bool ordered = true;
  for (std::int64_t i = 1; i < sorted.element_count(); ++i) ordered = ordered && sorted.at(i - 1) <= sorted.at(i);
  CHECK(ordered);
}
