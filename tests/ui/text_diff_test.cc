#include "ui/text_diff.h"

#include <doctest/doctest.h>

using rldb::ui::unified_diff;

TEST_CASE("equal texts have no difference") { CHECK(unified_diff("a\nb\n", "a\nb\n", "x", "y").empty()); }

TEST_CASE("a changed line stands in its context") {
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y") ==
        "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("changes far apart are hunks of their own") {
  std::string before, after;
  for (int i = 0; i < 40; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 3 || i == 30 ? "x" : std::to_string(i)) + std::string("\n");
  }
  const std::string diff = unified_diff(before, after, "a", "b");
  CHECK(diff.find("@@ -1,7 +1,7 @@") != std::string::npos);
  CHECK(diff.find("@@ -28,7 +28,7 @@") != std::string::npos);
}

TEST_CASE("insertion and deletion at the ends") {
  CHECK(unified_diff("", "a\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  CHECK(unified_diff("a\nb\n", "b\n", "x", "y") == "--- x\n+++ y\n@@ -1,2 +1,1 @@\n-a\n b\n");
}
