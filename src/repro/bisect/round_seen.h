// The report of a rank on a round of the comparison of stages, as bytes for the one that asked. Room-private.
#pragma once

#include <string>
#include <vector>

namespace rldb::repro {

// Seen by another rank in a round of one function, from the beginning.
struct Seen {
  bool tried = false;    // it was no repetition, and there was time
  bool differs = false;  // or something else that this process has to see for itself
  bool compared = false;
  bool numbers = false;  // some comparison had no part that is NaN on both sides
  std::string why;
  std::size_t runs = 0;
  std::vector<std::size_t> stages;  // that ran
  std::vector<std::string> notes;
};

std::string wire_of(const Seen& seen);
// Of bytes that are no report: nothing was tried.
Seen seen_from(const std::string& bytes);

}  // namespace rldb::repro
