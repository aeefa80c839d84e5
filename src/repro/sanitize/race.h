// Races of GPU threads: two threads access one element between two barriers, and one of them writes. Each kernel with
// threads is stepped through on copies of its arguments before it runs. Room-private.
//
// Threads of a block are ordered by its barriers, those of a warp also by barriers of the warp, threads of different
// blocks by nothing. A kernel whose threads are loops is lowered to launches first, with the barriers that ThreadSync
// places. Memory of scope local and warp is not looked at.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "repro/sanitize/uninit.h"
#include "rldb/ir/context.h"

namespace rldb::repro {

class RaceRecorder : public UninitRecorder {
 public:
  RaceRecorder(ir::Context& ctx, std::size_t max_bytes, const Sanitizers& which,
               const runtime::PackedRegistry& registry, std::string only = {})
      : UninitRecorder(max_bytes, which, registry), ctx_(ctx), races_(which.race), only_(std::move(only)) {}
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  // Kernels with threads whose accesses could not be followed to their end, each with the reason.
  const std::map<std::string, std::string>& not_followed() const { return not_followed_; }

 private:
  void look_for_races(std::string_view name, const ir::PrimFunc* f, runtime::PackedArgs args);
  // With launches instead of loops over threads; null: it cannot be lowered.
  const ir::PrimFunc* launched(const ir::PrimFunc* f);

  ir::Context& ctx_;
  bool races_;
  std::string only_;  // the one kernel that is looked at, and behind which the run may end; empty: all
  std::uint64_t statements_ = 0;
  std::map<const ir::PrimFunc*, const ir::PrimFunc*> launched_;
  std::map<std::string, std::string> not_followed_;
};

bool has_gpu_threads(const ir::PrimFunc* f);

// The first race of a kernel's threads in a run of the program. The kernel's first two million statements are followed,
// a second or two: a question beside another one is not to take longer than that one.
struct RaceSearch {
  std::optional<Finding> race;
  std::string not_followed;  // why its accesses were not followed to their end; empty: they were
};
RaceSearch race_in_kernel(session::Session& session, const Program& program, const std::string& kernel);

}  // namespace rldb::repro
