// One thread of a launch on a GPU of NVIDIA, besides the code of a kernel: its place, barriers, exchanges with
// other threads of its warp, memory of its block.
#include "rldb/ir/threads.h"

#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;

namespace {

constexpr unsigned kShared = 3;  // the number of the address space
constexpr std::uint64_t kMostThreadMemory = std::uint64_t(1) << 20;

}  // namespace

// `kind`: tid, ctaid, ntid, nctaid.
Lowering::Value* Lowering::special_register(std::string_view kind, char dim) {
  struct Row {
    std::string_view kind;
    llvm::Intrinsic::ID of[3];
  };
  static constexpr Row kRows[] = {
      {"tid",
       {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
        llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z}},
      {"ctaid",
       {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
        llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z}},
      {"ntid",
       {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y,
        llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z}},
      {"nctaid",
       {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
        llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z}},
  };
  for (const Row& row : kRows)
    if (row.kind == kind && dim >= 'x' && dim <= 'z') return b_.CreateIntrinsic(row.of[dim - 'x'], {}, {});
  refuse(fmt::format("threads of kind `{}.{}`", kind, dim));
}

void Lowering::bind_thread(const ir::AttrStmt* s) {
  const std::string_view tag = ir::thread_tag(s);
  const std::size_t dot = tag.find('.');
  if (!s->thread_var || dot == std::string_view::npos) refuse(fmt::format("threads of kind `{}`", tag));
  if (!vars_.contains(s->thread_var)) {
    Value* number = special_register(tag.substr(0, dot) == "threadIdx" ? "tid" : "ctaid", tag.back());
    VarValue v;
    v.wide = b_.CreateZExt(number, b_.getInt64Ty(), llvm::StringRef(s->thread_var->name));
    v.value = b_.CreateIntCast(v.wide, value_type(s->thread_var->dtype()), false);
    v.non_negative = true;
    vars_[s->thread_var] = v;
    scope_.push_back(s->thread_var);
    stmt(s->body);
    scope_.pop_back();
    return;
  }
  stmt(s->body);
}

void Lowering::synchronise(const ir::Call* c) {
  const auto* scope = c->args.empty() ? nullptr : as<ir::StringImm>(c->args[0]);
  const std::string_view over = scope ? std::string_view(scope->value) : "?";
  if (over == "shared" || over == "shared.dyn") {
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  } else if (over == "warp") {
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b_.getInt32(~0u)});
  } else {
    refuse(fmt::format("a barrier over `{}`", over));
  }
}

// Exchanges within a warp: (mask, value, lane or distance, width, warp size).
Lowering::Value* Lowering::exchange(const ir::Call* c) {
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  if (row->id == ir::intrin::TvmWarpActivemask) {
    auto* asks =
        llvm::InlineAsm::get(llvm::FunctionType::get(b_.getInt32Ty(), false), "activemask.b32 $0;", "=r", true);
    llvm::CallInst* call = b_.CreateCall(asks);
    call->setConvergent();  // its value depends on the branch that it is in
    return call;
  }
  const bool up = row->id == ir::intrin::TvmWarpShuffleUp, down = row->id == ir::intrin::TvmWarpShuffleDown,
             across = row->id == ir::intrin::TvmWarpShuffleXor;
  const std::int64_t width = c->args.size() > 3 ? ir::const_int(c->args[3]).value_or(0) : 0;
  if (!(up || down || across || row->id == ir::intrin::TvmWarpShuffle) || width < 1 || width > 32)
    refuse("there is no code for " + where(c));
  const DType t = c->args[1]->dtype();
  Value* v = value(c->args[1]);
  llvm::Type* type = v->getType();
  if (type->isVectorTy() || type->getScalarSizeInBits() > 32) refuse("only 32 bits are exchanged: " + where(c));
  Value* bits = type->isFloatTy() ? b_.CreateBitCast(v, b_.getInt32Ty()) : b_.CreateZExt(v, b_.getInt32Ty());
  const llvm::Intrinsic::ID id = up       ? llvm::Intrinsic::nvvm_shfl_sync_up_i32
                                 : down   ? llvm::Intrinsic::nvvm_shfl_sync_down_i32
                                 : across ? llvm::Intrinsic::nvvm_shfl_sync_bfly_i32
                                          : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
  Value* from = b_.CreateIntCast(index(c->args[2]), b_.getInt32Ty(), false);
  Value* mask = b_.CreateIntCast(value(c->args[0]), b_.getInt32Ty(), false);
  const auto segment = std::uint32_t(32 - width) << 8 | (up ? 0u : 31u);
  Value* got = b_.CreateIntrinsic(id, {}, {mask, bits, from, b_.getInt32(segment)});
  return type->isFloatTy() ? b_.CreateBitCast(got, type) : b_.CreateTrunc(got, value_type(t));
}

// False: this is no device.
bool Lowering::allocate_on_device(const ir::Var* data, DType dtype, const std::vector<Value*>& extents,
                                  std::string_view name, std::string_view scope) {
  if (!options_.device) return false;
  const bool shared = scope == "shared" || scope == "shared.dyn";
  if (!shared && scope != "local" && scope != "global" && !scope.empty())
    refuse(fmt::format("memory of scope `{}` (`{}`)", scope, name));
  memory_type(dtype.element());  // refuses formats that cannot be compiled
  std::uint64_t bytes = dtype.bytes();
  for (const Value* e : extents) {
    const auto* n = llvm::dyn_cast<llvm::ConstantInt>(e);
    if (!n || n->isNegative() || __builtin_mul_overflow(bytes, n->getZExtValue(), &bytes))
      refuse(fmt::format("the size of `{}`, memory of threads, is not a constant", name));
  }
  bytes = std::max<std::uint64_t>(bytes, 1);
  if (bytes > kMostThreadMemory) refuse(fmt::format("`{}`, memory of threads, is too large", name));
  auto* type = llvm::ArrayType::get(b_.getInt8Ty(), bytes);
  if (shared) {
    auto* memory =
        new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                 llvm::StringRef(name), nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
    memory->setAlignment(llvm::Align(16));
    shared_bytes_ += bytes;
    pointers_[data] = {llvm::ConstantExpr::getAddrSpaceCast(memory, b_.getPtrTy()), i64(std::int64_t(bytes))};
    return true;
  }
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(&body_->getEntryBlock(), body_->getEntryBlock().begin());
  auto* made = b_.CreateAlloca(type, nullptr, llvm::StringRef(name));
  made->setAlignment(llvm::Align(16));
  b_.SetInsertPoint(made->getParent(), std::next(made->getIterator()));
  b_.CreateMemSet(made, b_.getInt8(0), bytes, llvm::Align(16));
  private_bytes_ += bytes;
  pointers_[data] = {made, i64(std::int64_t(bytes))};
  return true;
}

}  // namespace rldb::codegen
