// Reductions whose outputs are neighbours: vectors of outputs stay in registers while the reduction loops run, so that
// each output still accumulates in the text's order (convolutions, sums over outer axes, products of odd shapes).
#include "codegen/llvm/lower/lowering.h"
#include "codegen/llvm/schedule/schedule.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

namespace {

constexpr std::size_t kMaxLoads = 6;

// Whether widening a loop pays: every load that moves with it does so by one element, or there is only one that does
// not (then its lanes are gathered, which still hides the latency of the chain of additions).
bool pays(const ReductionNest& nest, const ir::Var* axis) {
  std::size_t loads = 0, dense = 0, gathered = 0;
  bool simple = true;
  ir::walk(nest.update->value, [&](const ir::Node* n) {
    if (const auto* c = as<ir::Call>(n)) {
      const auto* op = as<ir::Op>(c->callee);
      const bool packed = !op || op->name.find("call") != std::string_view::npos;
      if (packed) simple = false;
    }
    if (as<ir::LetExpr>(n) || as<ir::Ramp>(n) || as<ir::Broadcast>(n) || as<ir::Shuffle>(n)) simple = false;
    const auto* l = as<ir::BufferLoad>(n);
    if (!l || l->buffer == nest.update->buffer) return simple;
    ++loads;
    if (l->buffer->dtype.lanes != 1) simple = false;
    for (std::size_t i = 0; i < l->indices.size(); ++i) {
      if (!mentions(l->indices[i], axis)) continue;
      // Dense: the axis plus something in the last index.
      const bool last = i + 1 == l->indices.size();
      const auto* sum = as<ir::BinaryExpr>(l->indices[i]);
      const bool plus =
          l->indices[i] == axis || (sum && sum->kind == ir::BinaryKind::Add && (sum->a == axis || sum->b == axis));
      ++(last && plus ? dense : gathered);
    }
    return simple;
  });
  return simple && loads <= kMaxLoads && (dense > 0 ? gathered == 0 : gathered == 1);
}

}  // namespace

bool Lowering::tiled_reduction(const ir::ForStmt* loop) {
  if (!noalias_ || widened_ || flat_index_) return false;
  const auto matched = match_reduction(loop);
  if (!matched) return false;
  const ReductionNest& nest = *matched;
  const ir::Buffer* out = nest.update->buffer;
  const DType type = out->dtype;
  const int j = nest.loop_of(nest.update->indices.back());
  if (j < 0 || view(out).last_stride != 1) return false;
  const ir::Var* axis = nest.axes[std::size_t(j)]->var;
  if (!pays(nest, axis)) return false;
  const unsigned lanes =
      std::max<unsigned>(options_.vector_bytes / unsigned(std::max<std::size_t>(4, type.bytes())), 2);
  const std::int64_t extent = ir::const_int(nest.loops[std::size_t(j)]->extent).value_or(1 << 20);
  if (extent < std::int64_t(lanes)) return false;
  const unsigned tiles = extent >= std::int64_t(lanes) * 4 ? 4 : extent >= std::int64_t(lanes) * 2 ? 2 : 1;

  // What the text computes for j in [begin, end), one at a time; used for what is left after the vectors.
  const auto bind_loop = [&](std::size_t n, Value* iv) {
    for (const ir::Var* v : {nest.loops[n]->var, nest.axes[n]->var})
      vars_[v] = {b_.CreateTrunc(iv, value_type(v->dtype())), iv, nullptr, true};
  };
  const auto extent_of = [&](std::size_t n) {
    return std::max<std::int64_t>(ir::const_int(nest.loops[n]->extent).value_or(64), 1);
  };
  llvm::Type* element = value_type(type);
  const auto on_stack = [&](llvm::Type* t) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(&body_->getEntryBlock(), body_->getEntryBlock().begin());
    return b_.CreateAlloca(t);
  };
  Value* some = b_.getTrue();  // no iteration, no init
  for (std::size_t n = 0; n < nest.loops.size(); ++n)
    if (nest.is_reduce(int(n))) some = b_.CreateAnd(some, b_.CreateICmpSGT(index(nest.loops[n]->extent), i64(0)));

  // One step: `count` outputs of `width` lanes from j0 on.
  const auto step = [&](Value* j0, unsigned width, unsigned count) {
    llvm::Type* vector = width > 1 ? llvm::FixedVectorType::get(element, width) : element;
    std::vector<Value*> registers;
    Value* start = convert(value(nest.init->value), nest.init->value->dtype(), type);
    for (unsigned u = 0; u < count; ++u) {
      registers.push_back(on_stack(vector));
      b_.CreateStore(splat(start, width), registers.back());
    }
    const auto set_j = [&](unsigned u) {
      Value* base = b_.CreateAdd(j0, i64(std::int64_t(u) * width), "", true, true);
      if (width == 1) {
        bind_loop(std::size_t(j), base);
        return;
      }
      std::vector<llvm::Constant*> steps;
      for (unsigned i = 0; i < width; ++i) steps.push_back(b_.getInt64(i));
      Value* wide = b_.CreateAdd(splat(base, width), llvm::ConstantVector::get(steps), "", true, true);
      for (const ir::Var* v : {nest.loops[std::size_t(j)]->var, nest.axes[std::size_t(j)]->var}) {
        VarValue made{b_.CreateTrunc(wide, value_type(v->dtype(), width)), wide, base, true};
        made.lane_step = 1;
        vars_[v] = made;
      }
    };
    widened_ = width > 1 ? axis : nullptr;
    widened_lanes_ = width;
    const std::function<void(std::size_t)> reduce = [&](std::size_t n) {
      while (n < nest.loops.size() && !nest.is_reduce(int(n))) ++n;
      if (n < nest.loops.size()) {
        std::int64_t inner = 1;
        for (std::size_t m = n + 1; m < nest.loops.size(); ++m)
          if (nest.is_reduce(int(m)))
            inner = std::min<std::int64_t>(inner * std::min<std::int64_t>(extent_of(m), 1 << 20), 1 << 20);
        const auto body = [&](Value* iv) {
          bind_loop(n, iv);
          reduce(n + 1);
        };
        emit_loop(i64(0), index(nest.loops[n]->extent), i64(1), nest.loops[n]->var->name, body, nullptr,
                  chunk_of(ir::const_int(nest.loops[n]->extent), inner));
        return;
      }
      const bool contract = std::exchange(contract_, true);
      accumulator_buffer_ = out;
      for (unsigned u = 0; u < count; ++u) {
        set_j(u);
        accumulator_ = b_.CreateLoad(vector, registers[u]);
        Value* next = splat(value(nest.update->value), width);
        b_.CreateStore(next, registers[u]);
      }
      accumulator_buffer_ = nullptr;
      contract_ = contract;
    };
    reduce(0);
    for (unsigned u = 0; u < count; ++u) {
      set_j(u);
      store_value(nest.update, out, nest.update->indices, b_.CreateLoad(vector, registers[u]), nullptr);
    }
    widened_ = nullptr;
  };

  Block* work = new_block("reduce");
  Block* done = new_block("reduced");
  b_.CreateCondBr(some, work, done);
  b_.SetInsertPoint(work);
  const std::function<void(std::size_t)> spatial = [&](std::size_t n) {
    while (n < nest.loops.size() && (nest.is_reduce(int(n)) || int(n) == j)) ++n;
    if (n < nest.loops.size()) {
      emit_loop(i64(0), index(nest.loops[n]->extent), i64(1), nest.loops[n]->var->name, [&](Value* iv) {
        bind_loop(n, iv);
        spatial(n + 1);
      });
      return;
    }
    Value* end = index(nest.loops[std::size_t(j)]->extent);
    Value* at = i64(0);
    for (const auto& tile : {std::pair(lanes, tiles), std::pair(lanes, 1u), std::pair(1u, 1u)}) {
      const unsigned width = tile.first, count = tile.second;
      if (width == lanes && count == 1 && tiles == 1 && at != i64(0)) continue;
      const std::int64_t size = std::int64_t(width) * count;
      Value* stop = b_.CreateSub(end, b_.CreateSRem(b_.CreateSub(end, at), i64(size)));
      emit_loop(at, stop, i64(size), nest.loops[std::size_t(j)]->var->name, [&](Value* iv) {
        poll();
        step(iv, width, count);
      });
      at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, stop, at);
    }
  };
  spatial(0);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  return true;
}

}  // namespace rldb::codegen
