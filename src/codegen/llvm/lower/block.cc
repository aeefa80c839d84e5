// Blocks: axes, predicates, reduction init, allocations, sub-regions.
#include <fmt/format.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/fresh_memory.h"
#include "rldb/schedule/schedule.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

namespace {

constexpr std::uint64_t kMaxStackAllocation = 4096;
constexpr std::uint64_t kMaxStack = 64 * 1024;

}  // namespace

// ---- allocations ----

// Constant and small: on the stack, once per call. Otherwise from the run's arena, which is freed after the call.
// Unchecked code keeps memory that an access may miss away from the stack.
Memory Lowering::allocate(std::vector<Value*> extents, DType dtype, std::string_view name, bool on_stack,
                          bool unwritten) {
  memory_type(dtype.element());  // refuses formats that cannot be compiled
  std::uint64_t bytes = dtype.bytes();
  bool constant = on_stack;
  for (const Value* e : extents) {
    const auto* n = llvm::dyn_cast<llvm::ConstantInt>(e);
    constant = constant && n && !n->isNegative() && !__builtin_mul_overflow(bytes, n->getZExtValue(), &bytes);
  }
  if (constant && bytes <= kMaxStackAllocation && stack_bytes_ + bytes <= kMaxStack) {
    stack_bytes_ += bytes;
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(&body_->getEntryBlock(), body_->getEntryBlock().begin());
    auto* made = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), std::max<std::uint64_t>(bytes, 1)), nullptr,
                                 llvm::StringRef(name));
    made->setAlignment(llvm::Align(64));
    if (unwritten) {
      b_.SetInsertPoint(made->getParent(), std::next(made->getIterator()));
      b_.CreateMemSet(made, b_.getInt8(options_.poisoned_memory ? runtime::kFreshByte : 0), bytes, llvm::Align(64));
    }
    return {made, i64(std::int64_t(bytes))};
  }
  Value* size = i64(std::int64_t(dtype.bytes()));
  for (Value* n : extents) {
    fault_if(b_.CreateICmpSLT(n, i64(0)), ErrorKind::OutOfMemory,
             fmt::format("cannot allocate buffer `{}`: its shape is negative", name), {});
    // Saturates: a product that overflows is refused by the helper.
    Value* both = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, size, n);
    size = b_.CreateSelect(b_.CreateExtractValue(both, 1), i64(-1), b_.CreateExtractValue(both, 0));
  }
  const char* name_of_helper = !unwritten                 ? "rldb_alloc_any"
                               : options_.poisoned_memory ? "rldb_alloc_fresh"
                                                          : "rldb_alloc";
  auto callee = helper(name_of_helper, b_.getPtrTy(), {b_.getInt64Ty()});
  if (auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) f->addRetAttr(llvm::Attribute::NoAlias);
  Value* made = b_.CreateCall(callee, {size}, llvm::StringRef(name));
  fault_from_helper(b_.CreateIsNull(made));
  return {made, size};
}

// The product of these is the number of elements in a buffer: its shape, or the span of its offset and strides (rows
// as long as the outermost stride, the last one too).
std::vector<Lowering::Value*> Lowering::storage_extents(const ir::Buffer* b) {
  std::vector<Value*> shape;
  for (const ir::Expr* d : b->shape) shape.push_back(index(d));
  const auto* free = as<ir::Var>(b->elem_offset);
  const bool moved = b->elem_offset && !(free && !vars_.contains(free)) && !ir::is_const(b->elem_offset, 0);
  if (b->strides.empty() && !moved) return shape;
  Value* last = i64(0);
  Value* rows = i64(0);
  Value* some = b_.getTrue();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    fault_if(b_.CreateICmpSLT(shape[i], i64(0)), ErrorKind::OutOfMemory,
             fmt::format("cannot allocate buffer `{}`: its shape is negative", b->name), {});
    Value* stride = i64(1);
    if (i < b->strides.size()) {
      stride = index(b->strides[i]);
    } else if (b->strides.empty()) {
      for (std::size_t n = i + 1; n < shape.size(); ++n) stride = b_.CreateMul(stride, shape[n]);
    }
    fault_if(b_.CreateICmpSLT(stride, i64(0)), ErrorKind::Unsupported,
             fmt::format("cannot allocate buffer `{}`: its stride {} is {{}}", b->name, i), {stride});
    last = b_.CreateAdd(last, b_.CreateMul(b_.CreateSub(shape[i], i64(1)), stride));
    if (i == 0) rows = b_.CreateMul(shape[i], stride);
    some = b_.CreateAnd(some, b_.CreateICmpSGT(shape[i], i64(0)));
  }
  Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateAdd(last, i64(1)), rows);
  count = b_.CreateSelect(some, count, i64(0));
  if (moved) {
    Value* offset = index(b->elem_offset);
    fault_if(b_.CreateICmpSLT(offset, i64(0)), ErrorKind::Unsupported,
             fmt::format("cannot allocate buffer `{}`: its offset is {{}}", b->name), {offset});
    count = b_.CreateAdd(count, offset);
  }
  return {count};
}

void Lowering::allocate_buffer(const ir::Buffer* b) {
  if (hoisted_.contains(b) || private_.contains(b)) return;
  if (options_.device) {
    if (pointers_.contains(b->data)) return;  // each thread, or block, has it once
    allocate_on_device(b->data, b->dtype, storage_extents(b), b->name, b->scope);
    return declare_view(b, pointers_[b->data]);
  }
  const bool on_stack = options_.check_bounds || !facts_.unproved_data.contains(b->data);
  const Memory memory = allocate(storage_extents(b), b->dtype, b->name, on_stack, unwritten_.contains(b));
  pointers_[b->data] = memory;
  declare_view(b, memory);
}

// A buffer over existing memory.
void Lowering::declare_view(const ir::Buffer* b, const Memory& memory) {
  View v = make_view(b, memory);
  const ir::Expr* offset = b->elem_offset;
  if (offset && !(as<ir::Var>(offset) && !vars_.contains(as<ir::Var>(offset))) && !ir::is_const(offset, 0))
    v.offset = index(offset);
  views_[b] = std::move(v);
}

bool Lowering::size_is_known(const ir::Buffer* b) const {
  std::vector<const ir::Var*> vars;
  for (const auto* list : {&b->shape, &b->strides})
    for (const ir::Expr* e : *list) {
      bool simple = true;
      ir::walk(e, [&](const ir::Node* n) { return simple = simple && !as<ir::BufferLoad>(n) && !as<ir::LetExpr>(n); });
      if (!simple) return false;
      ir::collect_vars(e, vars);
    }
  if (b->elem_offset && !as<ir::IntImm>(b->elem_offset)) return false;
  return std::all_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return vars_.contains(v); });
}

// Buffers whose size is known on entry are allocated there, once, also when they are inside loops.
void Lowering::hoist_allocations(const ir::PrimFunc* f) {
  const auto hoist = [&](const ir::Buffer* b) {
    if (hoisted_.contains(b) || private_.contains(b) || !size_is_known(b)) return;
    allocate_buffer(b);
    hoisted_.insert(b);
  };
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* b = as<ir::SBlock>(n))
      for (const ir::Buffer* buffer : b->alloc_buffers) hoist(buffer);
    if (const auto* a = as<ir::AllocBuffer>(n)) hoist(a->buffer);
    return as<ir::Stmt>(n) != nullptr;
  });
}

// The results of reductions over no elements (rldb/eval/empty_reduction.h), which the loops do not write.
void Lowering::begin_empty_reductions(const ir::PrimFunc* f) {
  if (options_.device) return;
  for (const eval::EmptyReduction& r : eval::empty_reductions(f)) {
    const auto memory = pointers_.find(r.buffer->data);
    if (memory == pointers_.end() || !memory->second.bytes) continue;
    Value* empty = b_.getFalse();
    for (const ir::Expr* extent : r.extents) empty = b_.CreateOr(empty, b_.CreateICmpSLE(index(extent), i64(0)));
    fill_if(empty, memory->second, r);
  }
}

void Lowering::fill_if(Value* condition, const Memory& memory, const eval::EmptyReduction& r) {
  const DType t = r.buffer->dtype;
  Value* one = to_memory(value(r.value), t);
  Value* count = b_.CreateUDiv(memory.bytes, i64(std::int64_t(t.bytes())));
  Block *fill = new_block("fill"), *end = new_block("filled"), *before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateAnd(condition, b_.CreateICmpNE(count, i64(0))), fill, end);
  b_.SetInsertPoint(fill);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(i64(0), before);
  b_.CreateAlignedStore(one, b_.CreateInBoundsGEP(one->getType(), memory.base, i), alignment(t));
  Value* next = b_.CreateAdd(i, i64(1));
  i->addIncoming(next, fill);
  b_.CreateCondBr(b_.CreateICmpULT(next, count), fill, end);
  b_.SetInsertPoint(end);
}

void Lowering::decl_buffer(const ir::DeclBuffer* s) {
  const auto* data = s->data ? as<ir::Var>(s->data) : s->buffer->data;
  const auto it = data ? pointers_.find(data) : pointers_.end();
  if (it == pointers_.end()) {
    if (s->data) refuse(fmt::format("it cannot follow the pointer behind `{}`", s->buffer->name));
    allocate_buffer(s->buffer);
    return;
  }
  const Memory memory = it->second;
  pointers_[s->buffer->data] = memory;
  declare_view(s->buffer, memory);
  if (!ir::spans_memory(s) || !memory.bytes) return;
  View& v = views_[s->buffer];
  Value* count = b_.CreateUDiv(memory.bytes, i64(std::int64_t(s->buffer->dtype.bytes())));
  v.shape[0] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, v.shape[0], count);
}

void Lowering::allocate_const(const ir::AllocateConstStmt* s) {
  const runtime::Tensor& t = s->value->as_tensor();
  llvm::Constant* bytes = llvm::ConstantDataArray::getRaw(
      llvm::StringRef(reinterpret_cast<const char*>(t.data()), t.byte_size()), t.byte_size(), b_.getInt8Ty());
  auto* global = new llvm::GlobalVariable(*module_, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes,
                                          llvm::StringRef(s->var->name));
  global->setAlignment(llvm::Align(64));
  pointers_[s->var] = {global, i64(std::int64_t(t.byte_size()))};
}

// A sub-region under another name: T.match_buffer(A[0:4, j], ...).
void Lowering::match_region(const ir::MatchBufferRegion& m) {
  const View source = view(m.source.buffer);
  View v;
  v.base = source.base;
  v.dtype = m.buffer->dtype;
  v.offset = source.offset;
  v.limit = source.limit;
  std::vector<Value*> extents;
  for (std::size_t i = 0; i < m.source.region.size(); ++i) {
    Value* min = index(m.source.region[i].min);
    Value* extent = index(m.source.region[i].extent);
    Value* end = b_.CreateAdd(min, extent);
    Value* bad = b_.CreateOr(b_.CreateICmpSLT(min, i64(0)), b_.CreateICmpSLT(extent, i64(0)));
    bad = b_.CreateOr(bad, b_.CreateICmpSGT(end, source.shape[i]));
    if (checked() && !proved(&m, i))
      fault_if(bad, ErrorKind::OutOfBounds,
               fmt::format("match_buffer of `{}`, dimension {}: {{}}:{{}} is not within its extent {{}}",
                           m.source.buffer->name, i),
               {min, end, source.shape[i]});
    Value* moved = b_.CreateMul(min, source.strides[i], "", false, true);
    v.offset = v.offset ? b_.CreateAdd(v.offset, moved, "", false, true) : moved;
    extents.push_back(extent);
  }
  // Leading dimensions of extent 1 may be omitted in the target.
  const std::size_t skipped = extents.size() - std::min(extents.size(), m.buffer->shape.size());
  for (std::size_t i = 0; i < m.buffer->shape.size() && skipped + i < extents.size(); ++i) {
    bind_dim(m.buffer->shape[i], extents[skipped + i], m.buffer->name, i);
    v.shape.push_back(extents[skipped + i]);
    v.strides.push_back(source.strides[skipped + i]);
    if (i < m.buffer->strides.size()) bind_dim(m.buffer->strides[i], source.strides[skipped + i], m.buffer->name, i);
  }
  if (const auto* offset = as<ir::Var>(m.buffer->elem_offset)) {
    Value* at = v.offset ? v.offset : i64(0);
    vars_[offset] = {b_.CreateIntCast(at, value_type(offset->dtype()), true), at, nullptr, true};
  }
  if (!v.strides.empty())
    if (const auto* last = llvm::dyn_cast<llvm::ConstantInt>(v.strides.back())) v.last_stride = last->getSExtValue();
  const auto memory = pointers_.find(m.source.buffer->data);
  if (memory != pointers_.end()) pointers_[m.buffer->data] = Memory(memory->second);
  views_[m.buffer] = std::move(v);
}

// ---- blocks ----

void Lowering::block(const ir::SBlock* b, const ir::SBlockRealize* realize) {
  Block* end = nullptr;
  Value* first = nullptr;  // every reduction axis is at its start; null: known to be
  const std::size_t scope = scope_.size();
  if (realize) {
    if (!ir::is_const(realize->predicate, 1)) {
      Value* on = condition(realize->predicate);
      Block* body = new_block("on");
      end = new_block("off");
      b_.CreateCondBr(on, body, end);
      b_.SetInsertPoint(body);
    }
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
      const ir::IterVar& axis = b->iter_vars[i];
      bind(axis.var, realize->iter_values[i]);
      // An axis that is just a loop by another name adds nothing to a fault.
      if (!as<ir::Var>(realize->iter_values[i])) scope_.push_back(axis.var);
      if (axis.kind != ir::IterKind::Reduce || !b->init) continue;
      Value* at_start = b_.CreateICmpEQ(vars_[axis.var].wide, index(axis.dom.min));
      first = first ? b_.CreateAnd(first, at_start) : at_start;
    }
  }
  for (const ir::Buffer* buffer : b->alloc_buffers) allocate_buffer(buffer);
  for (const ir::MatchBufferRegion& m : b->match_buffers) match_region(m);
  block_body(b, first);
  scope_.resize(scope);
  if (!end) return;
  if (!terminated()) b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

void Lowering::block_body(const ir::SBlock* b, Value* init_condition) {
  const bool contract = contract_;
  if (b->init) {
    Block* go = nullptr;
    if (init_condition) {
      Block* init = new_block("init");
      go = new_block("update");
      b_.CreateCondBr(init_condition, init, go);
      b_.SetInsertPoint(init);
    }
    stmt(b->init);
    if (go) {
      if (!terminated()) b_.CreateBr(go);
      b_.SetInsertPoint(go);
    }
  }
  contract_ = contract_ || b->init != nullptr || schedule::has_flag(b->annotations, attr_name::FpContract);
  stmt(b->body);
  contract_ = contract;
}

}  // namespace rldb::codegen
