// The default schedule: PrimFunc -> PrimFunc, in named steps that are recorded.
//
// The result is ordinary TensorIR: it verifies, prints, reads back, runs on eval and can be stepped, and code
// generation follows its annotations (`T.vectorized`, `T.unroll`, local buffers, pragmas). Each step leaves every value
// unchanged, bit for bit: no reduction is reassociated. The result is marked `tirx.is_scheduled` and never scheduled
// again. Users: passes (DefaultSchedule), codegen_llvm, session (`:schedule`).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::schedule {

enum class StepId : std::uint8_t;  // step_id.h, for code that makes steps

struct StepInfo {
  StepId id;
  std::string_view name;
  std::string_view doc;
};
std::span<const StepInfo> step_table();
const StepInfo& info_of(StepId id);

struct Options {
  unsigned vector_bytes = 0;  // of the target machine's vectors; 0: this machine
  // Only nests whose accesses are all proved to be in bounds are changed, and the result's are proved too.
  bool require_proof = true;
  bool record = false;  // the steps, each with the function after it
};

struct Step {
  StepId id;
  std::string_view block;  // the block concerned, or the buffer that is written
  const ir::PrimFunc* after;
};

struct Result {
  const ir::PrimFunc* func;
  std::vector<Step> steps;  // empty unless recorded; the last one's function is `func`
};

// A function that is scheduled already is returned unchanged, without steps.
Result default_schedule(ir::Context& ctx, const ir::PrimFunc* f, const Options& options);

// Bytes of this machine's vectors: 64, 32 or 16.
unsigned host_vector_bytes();

// ---- attributes of functions and statements for schedules and code generation ----
// Rows IsScheduled, FpContract and Nontemporal of ir/attr_name/kernel.def.
bool has_flag(ir::Span<ir::NamedAttr> attrs, std::string_view name);
bool is_scheduled(const ir::PrimFunc* f);
// Buffers that are parameters do not overlap.
bool is_noalias(const ir::PrimFunc* f);

}  // namespace rldb::schedule
