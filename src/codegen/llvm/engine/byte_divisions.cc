#include "codegen/llvm/engine/byte_divisions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace rldb::codegen {

namespace {

constexpr unsigned kRegisterBytes = 16;

bool is_signed(unsigned opcode) { return opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem; }

bool is_short_division(const llvm::Instruction& i) {
  const unsigned opcode = i.getOpcode();
  const bool divides = is_signed(opcode) || opcode == llvm::Instruction::UDiv || opcode == llvm::Instruction::URem;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
  return divides && type && type->getElementType()->isIntegerTy(8) && type->getNumElements() < kRegisterBytes;
}

void widen(llvm::BinaryOperator* division) {
  llvm::IRBuilder<> builder(division);
  llvm::Type* narrow = division->getType();
  llvm::Type* wide = llvm::VectorType::getExtendedElementVectorType(llvm::cast<llvm::VectorType>(narrow));
  const auto extended = [&](llvm::Value* v) {
    return is_signed(division->getOpcode()) ? builder.CreateSExt(v, wide) : builder.CreateZExt(v, wide);
  };
  llvm::Value* made =
      builder.CreateBinOp(division->getOpcode(), extended(division->getOperand(0)), extended(division->getOperand(1)));
  division->replaceAllUsesWith(builder.CreateTrunc(made, narrow));
  division->eraseFromParent();
}

}  // namespace

void widen_byte_divisions(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f)))
      if (is_short_division(i)) widen(llvm::cast<llvm::BinaryOperator>(&i));
}

}  // namespace rldb::codegen
