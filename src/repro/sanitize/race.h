// Races of GPU threads: two threads access one element between two barriers, and one of them writes. Each kernel with
// `T.launch_thread` is stepped through on copies of its arguments before it runs. Room-private.
//
// Threads of a block are ordered by their barriers, threads of different blocks by nothing. Kernels whose threads are
// loops are not looked at: their barriers are only placed when they are lowered.
#pragma once

#include "repro/sanitize/uninit.h"

namespace rldb::repro {

class RaceRecorder : public UninitRecorder {
 public:
  RaceRecorder(std::size_t max_bytes, const Sanitizers& which, const runtime::PackedRegistry& registry)
      : UninitRecorder(max_bytes, which, registry), races_(which.race) {}
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  // Kernels with threads whose accesses could not be followed to their end.
  const std::set<std::string>& not_raced() const { return not_raced_; }

 private:
  void look_for_races(std::string_view name, const ir::PrimFunc* f, runtime::PackedArgs args);

  bool races_;
  std::set<std::string> not_raced_;
};

}  // namespace rldb::repro
