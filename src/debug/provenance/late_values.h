// Values that an answer shows, of memory that the run has used for other things since: they are read at the end, all of
// them in one execution forward, however many steps the answer has. User: WhyMemory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debug/provenance/write_history.h"
#include "rldb/debug/story.h"

namespace rldb::debug {

// The argument of a call before it.
struct LateValue {
  CallMoment call;
  Touch touch;
  std::vector<std::int64_t> positions;  // empty: the whole value, abbreviated
};

class LateValues {
 public:
  explicit LateValues(const Run& run) : run_(run) {}

  // The value of `steps[step]`, once it is read.
  void add(std::size_t step, LateValue value) { open_.push_back({step, std::move(value)}); }
  // Reads them. A step whose moment cannot be reached again says so.
  void read(std::vector<CauseStep>& steps);

 private:
  struct Open {
    std::size_t step;
    LateValue value;
  };
  const Run& run_;
  std::vector<Open> open_;
};

// `2.0`, `[1.0 2.0 ...]`: elements of a tensor.
std::string elements_text(const runtime::Tensor& t, const std::vector<std::int64_t>& positions);

}  // namespace rldb::debug
