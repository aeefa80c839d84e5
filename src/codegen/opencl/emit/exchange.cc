// Exchanges between the threads of a warp. OpenCL 1.2 has none, and the warps of a device are as it likes: the values
// go through shared memory, and all threads of the block meet, so that exchanges in a branch are refused.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

// The same for all threads of a block.
bool Emitter::is_uniform(const ir::Expr* e) const {
  bool uniform = true;
  ir::walk(e, [&](const ir::Node* n) {
    const auto* v = as<ir::Var>(n);
    uniform = uniform && !as<ir::BufferLoad>(n) && !(v && varying_.contains(v));
    return uniform;
  });
  return uniform;
}

// The threads of a block; nullopt: known only when it runs.
std::optional<std::int64_t> Emitter::threads_of_block() const {
  std::int64_t threads = 1;
  for (const ThreadAxis& a : launch_->axes) {
    const auto n = ir::const_int(a.extent);
    if (!ir::is_thread_idx(a.tag)) continue;
    if (!n || *n < 1 || __builtin_mul_overflow(threads, *n, &threads)) return std::nullopt;
  }
  return threads;
}

std::string Emitter::exchange(const ir::Call* c) {
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  if (row->id == ir::intrin::TvmWarpActivemask) return "(-1)";
  const auto refused = [&](std::string_view why) {
    refuse(fmt::format("`T.{}` {}", row->name, why));
    return std::string("0");
  };
  if (ir::meeting_of(c) != ir::Meeting::Shuffle || c->args.size() != 5 || !c->dtype().is_scalar())
    return refused("has no form in OpenCL C");
  const auto width = ir::const_int(c->args[3]), warp = ir::const_int(c->args[4]);
  const auto threads = threads_of_block();
  if (!width || !warp || *warp < 1 || *width < 1 || *width > *warp || !std::has_single_bit(std::uint64_t(*width)))
    return refused("needs constants as width and as size of a warp");
  if (!threads || *threads > INT16_MAX) return refused("needs blocks of a constant size");
  if (divergent_ > 0) return refused("is in a branch or loop in which not all threads of a block stay together");
  if (some_left_) return refused("comes after a return of some threads of the block");
  const std::string_view type = value_type(c->args[1]->dtype());
  if (type.empty()) return refused("does not take " + to_string(c->args[1]->dtype()));
  const std::string given = bare(value(c->args[1])), operand = bare(value(c->args[2]));
  const std::string memory = fmt::format("rldb_exchange_{}", type);
  if (shared_.find(memory) == std::string::npos) {
    shared_ += fmt::format("  __local {} {}[{}];\n", type, memory, *threads);
    launch_->shared_bytes += std::size_t(*threads) * c->args[1]->dtype().bytes();
  }
  const std::string& me = helper("rldb_in_block", R"(inline int $() {
  return (int)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)));
})");
  const bool up = row->id == ir::intrin::TvmWarpShuffleUp, down = row->id == ir::intrin::TvmWarpShuffleDown,
             across = row->id == ir::intrin::TvmWarpShuffleXor;
  // Where the group of lanes ends, a lane gets its own value.
  const std::string& source = helper(fmt::format("rldb_{}", row->name),
                                     fmt::format(R"(inline int $(int me, int by, int width, int warp, int threads) {{
  const int lane = me % warp, begin = lane / width * width;
  const int from = {};
  const int at = from < {} || from >= begin + width ? me : me - lane + from;
  return at < threads ? at : me;
}})",
                                                 up       ? "lane - by"
                                                 : down   ? "lane + by"
                                                 : across ? "lane ^ by"
                                                          : "begin + (by & (width - 1))",
                                                 across ? "0" : "begin"));
  line(fmt::format("{}[{}()] = {};", memory, me, given));
  line("barrier(CLK_LOCAL_MEM_FENCE);");
  const std::string got = names_.fresh("exchanged");
  line(fmt::format("const {} {} = {}[{}({}(), {}, {}, {}, {})];", type, got, memory, source, me, operand, *width, *warp,
                   *threads));
  line("barrier(CLK_LOCAL_MEM_FENCE);");
  return got;
}

}  // namespace rldb::codegen
