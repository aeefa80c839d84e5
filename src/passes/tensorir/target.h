// Targets as attributes: T.target("cuda", host="llvm"), kept by constructor and arguments as the text has them.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/ir/context.h"

namespace rldb::passes {

inline constexpr std::string_view kTargetAttr = "target";
inline constexpr std::string_view kCallingConv = "calling_conv";  // TVM's CallingConv: a number
inline constexpr std::string_view kDefaultHost = "llvm";

// Of an option's text: `T.target("cuda", host="llvm")`, `"cuda"` or `{"kind": "cuda"}`. Null when it is none.
const ir::Attr* parse_target(ir::Context& ctx, std::string_view text);
// `what` is a kind or a dictionary.
const ir::Attr* make_target(ir::Context& ctx, const ir::Attr* what);
const ir::Attr* host_of(ir::Context& ctx, const ir::Attr* target);  // a target; null: has none
const ir::Attr* without_host(ir::Context& ctx, const ir::Attr* target);
const ir::Attr* with_host(ir::Context& ctx, const ir::Attr* target, const ir::Attr* host);
// "cuda", and an integer that its dictionary says.
std::string_view target_kind(const ir::Attr* target);
std::optional<std::int64_t> target_number(const ir::Attr* target, std::string_view name);
// Its code runs in threads of a device.
bool is_gpu(const ir::Attr* target);

}  // namespace rldb::passes
