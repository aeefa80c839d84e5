// Targets as attributes: T.target("cuda", host="llvm"), kept by constructor and arguments as the text has them.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/ir/context.h"
#include "rldb/pipeline/option.h"

namespace rldb::passes {

inline constexpr std::string_view kTargetAttr = "target";
inline constexpr std::string_view kDefaultHost = "llvm";

// From an option: `T.target("cuda", host="llvm")`, `"cuda"` or `{"kind": "cuda"}`. Null if it is not a target.
const ir::Attr* read_target(ir::Context& ctx, const pipeline::WrittenValue& written);
// `what` is a kind or a dictionary.
const ir::Attr* make_target(ir::Context& ctx, const ir::Attr* what);
const ir::Attr* host_of(ir::Context& ctx, const ir::Attr* target);  // a target; null if it has none
const ir::Attr* without_host(ir::Context& ctx, const ir::Attr* target);
const ir::Attr* with_host(ir::Context& ctx, const ir::Attr* target, const ir::Attr* host);
// "cuda", and an integer in its dictionary.
std::string_view target_kind(const ir::Attr* target);
std::optional<std::int64_t> target_number(const ir::Attr* target, std::string_view name);
// Whether its code runs in device threads.
bool is_gpu(const ir::Attr* target);
// The most threads that a block of the device may have; without a target those of CUDA.
std::int64_t threads_per_block(const ir::Attr* target);

}  // namespace rldb::passes
