// Values that plugins take besides numbers and tensors, as text.
#include <doctest/doctest.h>

#include "rldb/runtime/object_value.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb::runtime;

TEST_CASE("literals: devices and dtypes read back as they are written") {
  for (const char* text : {"device(\"cuda:1\")", "device(\"cpu\")", "dtype(\"float16\")", "dtype(\"bool\")"}) {
    const auto v = parse_value_literal(text);
    REQUIRE_MESSAGE(v.ok(), text);
    CHECK(describe(*v) == text);
  }
  CHECK(describe(*parse_value_literal("device(sim:2)")) == "device(\"sim:2\")");
  for (const char* bad : {"device()", "device(toaster)", "dtype(x)", "device(cuda:)", "device", "dtype(\")"})
    CHECK_FALSE(parse_value_literal(bad).ok());
}
