// Sets of elements as subscripts: exactly these elements, in the shortest of a few forms.
#include <doctest/doctest.h>

#include "debug/look/element.h"

using rldb::debug::region_text;

TEST_CASE("regions are written as subscripts") {
  CHECK(region_text({}, {0}) == "[]");
  CHECK(region_text({6}, {3}) == "[3]");
  CHECK(region_text({6}, {1, 2, 3}) == "[1:4]");
  CHECK(region_text({6}, {0, 2, 4}) == "[0:5:2]");
  CHECK(region_text({6}, {1, 4, 5}) == "[[1, 4, 5]]");
  CHECK(region_text({6}, {5, 1, 4}) == "[[1, 4, 5]]");
  CHECK(region_text({6}, {0, 5}) == "[[0, 5]]");
  CHECK(region_text({2, 3}, {0, 1, 2, 3, 4, 5}) == "[0:2, 0:3]");
  CHECK(region_text({2, 3}, {1, 4}) == "[0:2, 1]");
  CHECK(region_text({2, 3}, {0, 1, 2, 3}) == "[0, 0:3], [1, 0]");
  CHECK(region_text({3, 3}, {0, 4, 8}) == "[0, 0], [1, 1], [2, 2]");
  // Two lists would be read as pairs.
  CHECK(region_text({3, 4}, {0, 3, 8, 11}) == "[0, [0, 3]], [2, [0, 3]]");
  CHECK(region_text({2, 2, 4}, {0, 2, 4, 6, 8, 10, 12, 14}) == "[0:2, 0:2, [0, 2]]");
  // Too many parts: the box around them.
  CHECK(region_text({8, 8}, {0, 9, 18, 27, 36, 45, 54, 63}) == "[0:8, 0:8], 8 of 64 elements");
  std::vector<std::int64_t> runs;
  for (std::int64_t i = 0; i < 20; ++i)
    if (i != 7 && i != 13) runs.push_back(i);
  CHECK(region_text({20}, runs) == "[0:7], [8:13], [14:20]");
}
