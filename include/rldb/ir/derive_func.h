// Functions that TVM registers to derive the result type of a call: `R.Callable(derive_func="...")` names one. Those
// listed here are known; a call with any other has the type that the text gives it. Users: ops, passes.
#pragma once

#include <string_view>

namespace rldb::ir::derive_func {

inline constexpr std::string_view kInferView = "tvm.relax.type.infer_view_ty";               // R.memory.view
inline constexpr std::string_view kInferViewOld = "tvm.relax.struct_info.infer_view_sinfo";  // until TVM 0.22

}  // namespace rldb::ir::derive_func
