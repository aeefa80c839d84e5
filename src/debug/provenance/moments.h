// The machine before a call, for questions about it: skimmed where that will do, else executed whole.
#pragma once

#include <memory>

#include "debug/run/skim.h"

namespace rldb::debug {

class Moments {
 public:
  explicit Moments(const Run& run) : run_(run) {}
  using Machine = std::shared_ptr<const Skimmed>;
  // Null: the run has no history. `whole`: all contents must be those of the run.
  Machine at(std::uint64_t time, bool whole);

 private:
  const Run& run_;
  std::uint64_t no_skim_from_ = Run::kForever;  // the first time that could not be skimmed to; earlier ones may be
  std::uint64_t skimmed_at_ = 0, whole_at_ = 0;
  Machine skimmed_, whole_;  // the last ones
};

}  // namespace rldb::debug
