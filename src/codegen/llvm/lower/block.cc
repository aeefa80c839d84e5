// Blocks: axes, predicates, reduction init, allocations, sub-regions.
#include <fmt/format.h>

#include "codegen/llvm/lower/lowering.h"
#include "codegen/llvm/schedule/schedule.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

namespace {

constexpr std::uint64_t kMaxStackAllocation = 4096;
constexpr std::uint64_t kMaxStack = 64 * 1024;

}  // namespace

// ---- allocations ----

// Constant and small: on the stack, once a call. Otherwise from the run's arena, which ends with the call.
// Unchecked code keeps memory that an access may miss away from the stack.
Memory Lowering::allocate(std::vector<Value*> extents, DType dtype, std::string_view name, bool on_stack) {
  memory_type(dtype.element());  // refuses formats that have no code
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
  auto callee = helper("rldb_alloc", b_.getPtrTy(), {b_.getInt64Ty()});
  if (auto* f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) f->addRetAttr(llvm::Attribute::NoAlias);
  Value* made = b_.CreateCall(callee, {size}, llvm::StringRef(name));
  fault_from_helper(b_.CreateIsNull(made));
  return {made, size};
}

// The product of these many elements holds a buffer: its shape, or what its offset and strides span (rows as long as
// the outermost stride, the last one too).
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
  if (hoisted_.contains(b)) return;
  const bool on_stack = options_.check_bounds || !facts_.unproved_data.contains(b->data);
  const Memory memory = allocate(storage_extents(b), b->dtype, b->name, on_stack);
  pointers_[b->data] = memory;
  declare_view(b, memory);
}

// A buffer over memory that is there.
void Lowering::declare_view(const ir::Buffer* b, const Memory& memory) {
  View v = make_view(b, memory);
  const ir::Expr* offset = b->elem_offset;
  if (offset && !(as<ir::Var>(offset) && !vars_.contains(as<ir::Var>(offset))) && !ir::is_const(offset, 0))
    v.offset = index(offset);
  views_[b] = std::move(v);
}

// Buffers whose size is known on entry are allocated there, once, also when they stand inside loops.
void Lowering::hoist_allocations(const ir::PrimFunc* f) {
  const auto known = [&](const ir::Buffer* b) {
    std::vector<const ir::Var*> vars;
    for (const auto* list : {&b->shape, &b->strides})
      for (const ir::Expr* e : *list) {
        bool simple = true;
        ir::walk(e,
                 [&](const ir::Node* n) { return simple = simple && !as<ir::BufferLoad>(n) && !as<ir::LetExpr>(n); });
        if (!simple) return false;
        ir::collect_vars(e, vars);
      }
    if (b->elem_offset && !as<ir::IntImm>(b->elem_offset)) return false;
    return std::all_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return vars_.contains(v); });
  };
  const auto hoist = [&](const ir::Buffer* b) {
    if (hoisted_.contains(b) || !known(b)) return;
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
               fmt::format("match_buffer of `{}`, dimension {}: {{}}:{{}} is not inside its {{}} element(s)",
                           m.source.buffer->name, i),
               {min, end, source.shape[i]});
    Value* moved = b_.CreateMul(min, source.strides[i], "", false, true);
    v.offset = v.offset ? b_.CreateAdd(v.offset, moved, "", false, true) : moved;
    extents.push_back(extent);
  }
  // Leading dimensions of extent 1 may be left out of the target.
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
  const bool skip_init = init_done_.contains(b);
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
      // An axis that is a loop by another name says nothing new in a fault.
      if (!as<ir::Var>(realize->iter_values[i])) scope_.push_back(axis.var);
      if (axis.kind != ir::IterKind::Reduce || !b->init || skip_init) continue;
      Value* at_start = b_.CreateICmpEQ(vars_[axis.var].wide, index(axis.dom.min));
      first = first ? b_.CreateAnd(first, at_start) : at_start;
    }
  }
  for (const ir::Buffer* buffer : b->alloc_buffers) allocate_buffer(buffer);
  for (const ir::MatchBufferRegion& m : b->match_buffers) match_region(m);
  block_body(b, first, skip_init);
  scope_.resize(scope);
  if (!end) return;
  if (!terminated()) b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

void Lowering::block_body(const ir::SBlock* b, Value* init_condition, bool skip_init) {
  const bool contract = contract_;
  if (b->init && !skip_init) {
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
  contract_ = contract_ || b->init != nullptr;
  stmt(b->body);
  contract_ = contract;
}

namespace {

// Iterations of the loops from `n` on; an extent that is not known is a loop that looks at the interrupt itself.
std::int64_t inner_of(const std::vector<const ir::ForStmt*>& loops, std::size_t n) {
  std::int64_t total = 1;
  for (; n < loops.size(); ++n)
    if (__builtin_mul_overflow(total, std::max<std::int64_t>(ir::const_int(loops[n]->extent).value_or(64), 1), &total))
      return INT64_MAX;
  return total;
}

}  // namespace

// Moves the init of a reduction before its outermost reduction loop, so that the hot loop has no test in it. Only where
// the effect is exactly the same: a perfect nest of loops, axes that are those loops, no predicate, and, when spatial
// loops lie inside, elements that are written once each and read nowhere else.
bool Lowering::hoist_init(const ir::ForStmt* loop) {
  std::vector<const ir::ForStmt*> nest;
  const ir::Stmt* at = loop;
  while (const auto* l = as<ir::ForStmt>(at)) {
    if (l->step || l->for_kind == ir::ForKind::ThreadBinding) return false;
    nest.push_back(l);
    at = l->body;
  }
  const auto* realize = as<ir::SBlockRealize>(at);
  if (!realize || !realize->block->init || !ir::is_const(realize->predicate, 1)) return false;
  const ir::SBlock* b = realize->block;
  if (init_done_.contains(b) || !b->alloc_buffers.empty() || !b->match_buffers.empty()) return false;

  std::unordered_set<const ir::Var*> reduce;
  for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
    const ir::IterVar& axis = b->iter_vars[i];
    if (axis.kind != ir::IterKind::Reduce) continue;
    const auto* v = as<ir::Var>(realize->iter_values[i]);
    if (!v || !reduce.insert(v).second) return false;
    const auto it = std::find_if(nest.begin(), nest.end(), [&](const ir::ForStmt* l) { return l->var == v; });
    if (it == nest.end() || !ir::expr_equal((*it)->min, axis.dom.min)) return false;
  }
  if (!reduce.contains(loop->var)) return false;

  std::vector<const ir::ForStmt*> spatial;
  for (std::size_t n = 0; n < nest.size(); ++n) {
    if (!reduce.contains(nest[n]->var)) spatial.push_back(nest[n]);
    // Bounds of loops inside may not move with the loops above them.
    for (std::size_t m = 0; m < n; ++m)
      if (mentions(nest[n]->min, nest[m]->var) || mentions(nest[n]->extent, nest[m]->var)) return false;
  }
  for (std::size_t i = 0; i < b->iter_vars.size(); ++i)
    if (b->iter_vars[i].kind != ir::IterKind::Reduce)
      for (const ir::Var* r : reduce)
        if (mentions(realize->iter_values[i], r)) return false;

  std::vector<const ir::BufferStore*> inits;
  bool simple = true;
  ir::walk(b->init, [&](const ir::Node* n) {
    if (const auto* s = as<ir::BufferStore>(n))
      inits.push_back(s);
    else if (as<ir::Stmt>(n) && !as<ir::SeqStmt>(n))
      simple = false;
    else if (as<ir::BufferLoad>(n))
      simple = false;
    return true;
  });
  if (!simple || inits.empty()) return false;
  if (!spatial.empty()) {
    for (const ir::ForStmt* s : spatial) {
      const ir::Var* axis = nullptr;
      for (std::size_t i = 0; i < b->iter_vars.size(); ++i)
        if (realize->iter_values[i] == s->var) axis = b->iter_vars[i].var;
      if (!axis) return false;
      for (const ir::BufferStore* st : inits)
        if (std::find(st->indices.begin(), st->indices.end(), axis) == st->indices.end()) return false;
    }
    const auto same_place = [&](const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices) {
      for (const ir::BufferStore* st : inits) {
        if (st->buffer->data != buffer->data) continue;
        if (st->buffer != buffer || st->indices.size() != indices.size()) return false;
        for (std::size_t i = 0; i < indices.size(); ++i)
          if (!ir::expr_equal(indices[i], st->indices[i])) return false;
      }
      return true;
    };
    ir::walk(b->body, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) simple = simple && same_place(l->buffer, l->indices);
      if (const auto* s = as<ir::BufferStore>(n)) simple = simple && same_place(s->buffer, s->indices);
      return simple;
    });
    if (!simple) return false;
  }

  // No iteration, no init.
  Value* some = b_.getTrue();
  for (const ir::ForStmt* l : nest)
    if (reduce.contains(l->var)) some = b_.CreateAnd(some, b_.CreateICmpSGT(index(l->extent), i64(0)));
  Block* init = new_block("init");
  Block* after = new_block("reduce");
  b_.CreateCondBr(some, init, after);
  b_.SetInsertPoint(init);
  const std::function<void(std::size_t)> emit = [&](std::size_t n) {
    if (n < spatial.size()) {
      Value* begin = index(spatial[n]->min);
      Value* end = b_.CreateAdd(begin, index(spatial[n]->extent), "", false, true);
      emit_loop(
          begin, end, i64(1), spatial[n]->var->name,
          [&](Value* iv) {
            vars_[spatial[n]->var] = {b_.CreateTrunc(iv, value_type(spatial[n]->var->dtype())), iv, nullptr,
                                      non_negative(spatial[n]->min)};
            scope_.push_back(spatial[n]->var);
            emit(n + 1);
            scope_.pop_back();
          },
          nullptr, chunk_of(ir::const_int(spatial[n]->extent), inner_of(spatial, n + 1)));
      return;
    }
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i)
      bind(b->iter_vars[i].var,
           b->iter_vars[i].kind == ir::IterKind::Reduce ? b->iter_vars[i].dom.min : realize->iter_values[i]);
    stmt(b->init);
  };
  emit(0);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  init_done_.insert(b);
  return true;
}

}  // namespace rldb::codegen
