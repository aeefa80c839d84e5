// Which line of the text an instruction belongs to. Included where statements are lowered.
#pragma once

#include "codegen/llvm/lower/lowering.h"

namespace rldb::codegen {

class Lowering::AtLine {
 public:
  AtLine(Lowering& lowering, const ir::Node* node) : b_(lowering.b_), before_(lowering.b_.getCurrentDebugLocation()) {
    if (!lowering.debug_) return;
    const auto it = lowering.options_.lines->lines.find(node);
    if (it != lowering.options_.lines->lines.end())
      b_.SetCurrentDebugLocation(llvm::DILocation::get(lowering.c_, unsigned(it->second), 0, lowering.subprogram_));
  }
  ~AtLine() { b_.SetCurrentDebugLocation(before_); }
  AtLine(const AtLine&) = delete;
  AtLine& operator=(const AtLine&) = delete;

 private:
  llvm::IRBuilder<>& b_;
  llvm::DebugLoc before_;
};

}  // namespace rldb::codegen
