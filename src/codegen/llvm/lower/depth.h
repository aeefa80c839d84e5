// Limit on how deep the lowering goes into a kernel: no deeper than the front end reads texts.
#pragma once

#include "codegen/llvm/lower/lowering.h"

namespace rldb::codegen {

inline constexpr int kMaxDepth = 1'500;

struct DepthGuard {
  DepthGuard(int& d, const char* too_deep) : depth(d) {
    if (++depth > kMaxDepth) refuse(too_deep);
  }
  ~DepthGuard() { --depth; }
  int& depth;
};

}  // namespace rldb::codegen
