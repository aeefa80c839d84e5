// Loads and stores: types in memory, addresses, vectors, masks, bounds checks.
#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include <bit>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/text.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

// ---- types ----

llvm::Type* Lowering::memory_type(DType t) {
  if (t.is_scalable()) refuse("scalable vectors have no code here");
  if (t.is_bool()) return b_.getInt8Ty();
  if (t.is_handle()) return b_.getPtrTy();
  if (t.is_integral() && t.bits > 0 && t.bits <= 64) {
    const unsigned bytes = t.bits <= 8 ? 1 : t.bits <= 16 ? 2 : t.bits <= 32 ? 4 : 8;
    if (t.bits > 8 && bytes * 8 != t.bits) refuse(fmt::format("there is no code for {}", runtime::to_string(t)));
    return b_.getIntNTy(bytes * 8);
  }
  if (t.code == runtime::TypeCode::Float) {
    if (t.bits == 64) return b_.getDoubleTy();
    if (t.bits == 32) return b_.getFloatTy();
    if (t.bits == 16) return b_.getHalfTy();
  }
  if (t.is_bfloat16()) return b_.getInt16Ty();
  if ((t.is_float8() || t.is_narrow_float()) && t.bits <= 8) return b_.getInt8Ty();
  refuse(fmt::format("there is no code for {}", runtime::to_string(t)));
}

llvm::Type* Lowering::value_type(DType t) {
  if (t.is_bool()) return b_.getInt1Ty();
  if (t.is_handle()) return b_.getPtrTy();
  if (t.is_integral()) {
    memory_type(t.element());
    return b_.getIntNTy(t.bits);
  }
  if (t.is_float()) {
    memory_type(t.element());
    return t.code == runtime::TypeCode::Float && t.bits == 64 ? b_.getDoubleTy() : b_.getFloatTy();
  }
  refuse(fmt::format("there is no code for values of dtype `{}`", runtime::to_string(t)));
}

// lanes 0: a scalar.
llvm::Type* Lowering::value_type(DType t, unsigned lanes) {
  llvm::Type* element = value_type(t);
  return lanes ? llvm::FixedVectorType::get(element, lanes) : element;
}

llvm::Align Lowering::alignment(DType t) {
  const std::uint64_t bytes = t.element().bytes();
  return llvm::Align(bytes == 0 ? 1 : std::min<std::uint64_t>(bytes, 8));
}

Lowering::Value* Lowering::from_memory(Value* v, DType t) {
  const unsigned vector = v->getType()->isVectorTy() ? lanes_of(v) : 0;
  if (t.is_bool()) return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  if (t.is_integral()) return b_.CreateTrunc(v, value_type(t, vector));
  if (t.is_bfloat16()) {
    llvm::Type* word = value_type(DType::Int(32), vector);
    Value* up = b_.CreateShl(b_.CreateZExt(v, word), llvm::ConstantInt::get(word, 16));
    return b_.CreateBitCast(up, value_type(t, vector));
  }
  if (t.code == runtime::TypeCode::Float && t.bits == 16) return b_.CreateFPExt(v, value_type(t, vector));
  if (t.is_float() && t.bits <= 8)
    return per_lane(v, [&](unsigned i) {
      return b_.CreateCall(helper("rldb_decode", b_.getFloatTy(), {b_.getInt8Ty(), b_.getInt32Ty()}, true),
                           {lane(v, i), b_.getInt32(unsigned(t.code) << 8 | t.bits)});
    });
  return v;
}

Lowering::Value* Lowering::to_memory(Value* v, DType t) {
  const unsigned vector = v->getType()->isVectorTy() ? lanes_of(v) : 0;
  llvm::Type* type = memory_type(t.element());
  if (vector) type = llvm::FixedVectorType::get(type, vector);
  if (t.is_bool()) return b_.CreateZExt(v, type);
  if (t.is_integral()) {
    if (t.bits < 8) return b_.CreateZExt(v, type);  // the spare bits are zero
    return v;
  }
  if (t.is_bfloat16()) {
    llvm::Type* word = value_type(DType::Int(32), vector);
    Value* bits = b_.CreateBitCast(v, word);
    return b_.CreateTrunc(b_.CreateLShr(bits, llvm::ConstantInt::get(word, 16)), type);
  }
  if (t.code == runtime::TypeCode::Float && t.bits == 16) return b_.CreateFPTrunc(v, type);
  if (t.is_float() && t.bits <= 8)
    return per_lane(v, [&](unsigned i) {
      return b_.CreateCall(helper("rldb_encode", b_.getInt8Ty(), {b_.getFloatTy(), b_.getInt32Ty()}, true),
                           {lane(v, i), b_.getInt32(unsigned(t.code) << 8 | t.bits)});
    });
  return v;
}

// ---- addresses ----

const View& Lowering::view(const ir::Buffer* b) {
  const auto it = views_.find(b);
  if (it == views_.end()) refuse(fmt::format("buffer `{}` has no memory here", b->name));
  return it->second;
}

void Lowering::check_access(const void* node, const ir::Buffer* b, const View& v, ir::Span<const ir::Expr*> indices,
                            Value* mask) {
  for (std::size_t i = 0; i < indices.size() && i < v.shape.size(); ++i) {
    if (proved(node, i)) continue;
    Value* at = index(indices[i]);
    // One comparison: a negative index is a large unsigned number.
    Value* bad = b_.CreateICmpUGE(at, splat(v.shape[i], lanes_of(at)));
    if (mask) bad = masked(bad, at, mask);
    fault_in_lanes(bad, at,
                   fmt::format("access out of bounds: `{}`, index {} is {{}}, but the extent is {{}}", b->name, i),
                   {v.shape[i]});
  }
}

// `bad` where the mask is on. Elements of several lanes have one index: it is given to each lane.
Lowering::Value* Lowering::masked(Value* bad, Value*& at, Value* mask) {
  const unsigned n = lanes_of(bad), wanted = lanes_of(mask);
  if (n == 1 && wanted > 1) return b_.CreateAnd(bad, b_.CreateOrReduce(mask));
  if (wanted > n) {
    std::vector<int> pick;
    for (unsigned i = 0; i < wanted; ++i) pick.push_back(int(i / (wanted / n)));
    bad = b_.CreateShuffleVector(bad, pick);
    at = b_.CreateShuffleVector(at, pick);
  }
  return b_.CreateAnd(bad, splat(mask, lanes_of(bad)));
}

// A fault with the index of the first lane that is bad.
void Lowering::fault_in_lanes(Value* bad, Value* at, std::string text, std::vector<Value*> values) {
  Value* any = bad;
  if (bad->getType()->isVectorTy()) any = b_.CreateOrReduce(bad);
  Block* stop = new_block("fault");
  Block* go = new_block("ok");
  llvm::MDBuilder md(c_);
  b_.CreateCondBr(any, stop, go, md.createBranchWeights(1, 1u << 20));
  b_.SetInsertPoint(stop);
  if (bad->getType()->isVectorTy()) {
    Value* bits = b_.CreateBitCast(bad, b_.getIntNTy(lanes_of(bad)));
    Value* first =
        b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue()), b_.getInt64Ty());
    if (at->getType()->isVectorTy()) at = b_.CreateExtractElement(at, first);
  }
  values.insert(values.begin(), at);
  fault_always(ErrorKind::OutOfBounds, std::move(text), std::move(values));
  b_.SetInsertPoint(go);
}

// A buffer that may extend beyond its memory: the element has to lie inside.
void Lowering::check_element(const ir::Buffer* b, const View& v, Value* flat, Value* mask) {
  if (!v.limit || !checked()) return;
  Value* bad = b_.CreateICmpUGE(flat, splat(v.limit, lanes_of(flat)));
  if (mask) bad = masked(bad, flat, mask);
  if (bad->getType()->isVectorTy()) bad = b_.CreateOrReduce(bad);
  fault_if(bad, ErrorKind::OutOfBounds, fmt::format("access out of bounds: `{}` reaches past its memory", b->name), {});
}

// All elements are used at once (a packed call).
void Lowering::check_whole(const ir::Buffer* b, const View& v) {
  if (!v.limit || !checked()) return;
  Value* low = v.offset ? v.offset : i64(0);
  Value* high = low;
  Value* some = b_.getTrue();
  for (std::size_t i = 0; i < v.shape.size(); ++i) {
    Value* reach = b_.CreateMul(b_.CreateSub(v.shape[i], i64(1)), v.strides[i]);
    Value* down = b_.CreateICmpSLT(v.strides[i], i64(0));
    low = b_.CreateAdd(low, b_.CreateSelect(down, reach, i64(0)));
    high = b_.CreateAdd(high, b_.CreateSelect(down, i64(0), reach));
    some = b_.CreateAnd(some, b_.CreateICmpSGT(v.shape[i], i64(0)));
  }
  Value* bad = b_.CreateOr(b_.CreateICmpSLT(low, i64(0)), b_.CreateICmpUGE(high, v.limit));
  fault_if(b_.CreateAnd(bad, some), ErrorKind::OutOfBounds,
           fmt::format("access out of bounds: `{}` reaches past its memory", b->name), {});
}

namespace {

// The position of which indices[first .. last] are the quotients and remainders by the dimensions: p // d2 // d1,
// p // d2 % d1, p % d2. Lowers `first` from `last`. Null: they are not.
const ir::Expr* position_in(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, std::size_t& first) {
  const auto part = [&](std::size_t i, ir::BinaryKind op, const ir::Expr* dim) -> const ir::Expr* {
    const auto* e = indices[i]->kind == op ? as<ir::BinaryExpr>(indices[i]) : nullptr;
    return e && ir::expr_equal(e->b, dim) ? e->a : nullptr;
  };
  std::size_t at = first;
  const ir::Expr* place = part(at, ir::BinaryKind::FloorMod, b->shape[at]);
  const ir::Expr* left = place;  // what the indices above have to be the quotient of
  while (left && at > 0) {
    const ir::Expr* dim = b->shape[at--];
    while (at > 0 && ir::is_const(b->shape[at], 1) && ir::is_const(indices[at], 0)) --at;
    first = at;
    if (const ir::Expr* whole = part(at, ir::BinaryKind::FloorDiv, dim))
      return ir::expr_equal(whole, left) ? place : nullptr;
    const ir::Expr* above = part(at, ir::BinaryKind::FloorMod, b->shape[at]);
    const auto* quotient = above && above->kind == ir::BinaryKind::FloorDiv ? as<ir::BinaryExpr>(above) : nullptr;
    if (!quotient || !ir::expr_equal(quotient->b, dim) || !ir::expr_equal(quotient->a, left)) return nullptr;
    left = above;
  }
  return nullptr;
}

}  // namespace

std::vector<Lowering::Term> Lowering::terms_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
  std::vector<Term> out;
  const auto known = views_.find(b);
  const bool compact = known != views_.end() && known->second.compact;
  for (std::size_t end = indices.size(); end > 0;) {
    std::size_t first = end - 1;
    const ir::Expr* place = compact ? position_in(b, indices, first) : nullptr;
    if (!place) first = end - 1;
    out.push_back({place ? place : indices[end - 1], first, end - 1});
    end = first;
  }
  return out;
}

std::optional<std::int64_t> Lowering::address_step(
    const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
    const std::function<std::optional<std::int64_t>(const ir::Expr*)>& step) {
  std::int64_t sum = 0;
  for (const Term& t : terms_of(b, indices)) {
    const auto by = step(t.index);
    if (!by) return std::nullopt;
    if (*by == 0) continue;
    const auto* stride = llvm::dyn_cast<llvm::ConstantInt>(view(b).strides[t.last]);
    if (!stride) return std::nullopt;
    sum += *by * stride->getSExtValue();
  }
  return sum;
}

Lowering::Access Lowering::access(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
                                  unsigned lanes, Value* mask) {
  const View v = view(b);
  // An index inside an index is computed in its own way.
  const auto inner = restore_later(wide_, false);
  const unsigned element_lanes = unsigned(v.dtype.lanes < 1 ? 1 : v.dtype.lanes);
  if (element_lanes > 1 && v.dtype.bits < 8) refuse("vectors of less than a byte a lane have no code here");
  if (indices.size() != v.shape.size())
    refuse(fmt::format("buffer `{}` has {}, indices given: {}", b->name, support::counted(v.shape.size(), "dimension"),
                       indices.size()));
  if (checked()) check_access(node, b, v, indices, mask);
  llvm::Type* memory = memory_type(v.dtype.element());
  Access out;
  out.lanes = lanes;

  const std::vector<Term> terms = terms_of(b, indices);
  const auto flat_of = [&](auto&& one_index) {
    Value* flat = v.offset;
    for (std::size_t i = terms.size(); i-- > 0;) {
      Value* at = one_index(terms[i]);
      Value* stride = v.strides[terms[i].last];
      unify(at, stride);
      // Tested values may have overflowed.
      const bool exact = v.limit == nullptr;
      Value* moved = b_.CreateMul(at, stride, "", false, exact);
      if (flat) {
        unify(flat, moved);
        flat = b_.CreateAdd(flat, moved, "", false, exact);
      } else {
        flat = moved;
      }
    }
    return flat ? flat : i64(0);
  };
  // Proved indices are computed in 64 bits, tested ones as written.
  const auto index_of = [&](const Term& t) {
    bool all_wide = true;
    for (std::size_t i = t.first; i <= t.last; ++i) all_wide = all_wide && wide(node, i);
    return all_wide ? wide_index(t.index) : index(t.index);
  };
  const auto element = [&](Value* flat) {
    check_element(b, v, flat, mask);
    if (element_lanes > 1) {
      Value* width = i64(element_lanes);
      unify(flat, width);
      flat = b_.CreateMul(flat, width, "", false, true);
    }
    return b_.CreateInBoundsGEP(memory, v.base, flat);
  };

  // In a vectorised loop: the distance from one lane to the next.
  if (widened_) {
    const auto known = address_step(b, indices, [&](const ir::Expr* e) { return lane_step(e); });
    if (known && element_lanes == 1) {
      const std::int64_t step = *known;
      const auto first_lane = restore_later(lane0_, true);
      Value* first = element(flat_of(index_of));
      out.first = first;
      out.step = step;
      out.uniform = step == 0;
      out.lanes = step == 0 ? 1 : widened_lanes_;
      if (step == 0 || step == 1) {
        out.pointer = first;
        return out;
      }
      std::vector<llvm::Constant*> offsets;
      for (unsigned i = 0; i < widened_lanes_; ++i) offsets.push_back(b_.getInt64(std::uint64_t(step) * i));
      out.pointers = b_.CreateInBoundsGEP(memory, first, llvm::ConstantVector::get(offsets));
      return out;
    }
    Value* flat = flat_of(index_of);
    if (!flat->getType()->isVectorTy()) {
      out.pointer = element(flat);
      out.uniform = true;
      out.lanes = 1;
      return out;
    }
    out.lanes = lanes_of(flat);
    out.pointers = element(flat);
    return out;
  }

  unsigned index_lanes = 1;
  for (const ir::Expr* e : indices) index_lanes = std::max(index_lanes, unsigned(lanes_of(e)));
  if (index_lanes == 1) {
    out.pointer = element(flat_of(index_of));
    return out;
  }
  // One ramp of stride 1 in a dense last dimension is one piece of memory.
  bool dense = v.last_stride == 1 && !indices.empty();
  for (std::size_t i = 0; i + 1 < indices.size(); ++i) dense = dense && lanes_of(indices[i]) == 1;
  const auto* ramp = indices.empty() ? nullptr : as<ir::Ramp>(indices.back());
  dense = dense && ramp && lanes_of(ramp->base) == 1 && ir::is_const(ramp->stride, 1);
  const auto ramp_base = [&](const Term& t) { return index_of({ramp->base, t.first, t.last}); };
  if (dense) {
    if (v.limit && checked()) {
      Value* each = flat_of(index_of);
      check_element(b, v, splat(each, index_lanes), mask);
    }
    out.pointer =
        element(flat_of([&](const Term& t) { return t.last + 1 == indices.size() ? ramp_base(t) : index_of(t); }));
    return out;
  }
  Value* flat = splat(flat_of(index_of), index_lanes);
  check_element(b, v, flat, mask);
  if (element_lanes > 1) {
    std::vector<int> pick;
    std::vector<llvm::Constant*> inside;
    for (unsigned i = 0; i < lanes; ++i) {
      pick.push_back(int(i / element_lanes));
      inside.push_back(b_.getInt64(i % element_lanes));
    }
    flat = b_.CreateMul(b_.CreateShuffleVector(flat, pick), splat(i64(element_lanes), lanes));
    flat = b_.CreateAdd(flat, llvm::ConstantVector::get(inside));
    out.pointers = b_.CreateInBoundsGEP(memory, v.base, flat);
  } else {
    out.pointers = b_.CreateInBoundsGEP(memory, v.base, flat);
  }
  return out;
}

// ---- loads and stores ----

// Elements 0, 2, 4 and so on, from two vectors that overlap in one element: nothing behind the last one is read.
Lowering::Value* Lowering::every_other(const Access& at, DType t) {
  llvm::Type* memory = memory_type(t);
  llvm::Type* type = llvm::FixedVectorType::get(memory, at.lanes);
  const auto half = [&](std::int64_t from) {
    return b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(memory, at.first, i64(from)), alignment(t));
  };
  std::vector<int> pick;
  for (unsigned i = 0; i < at.lanes; ++i) {
    const unsigned place = 2 * i;  // in the second vector, element `lanes - 1` is the first
    pick.push_back(int(place < at.lanes ? place : place + 1));
  }
  return b_.CreateShuffleVector(half(0), half(std::int64_t(at.lanes) - 1), pick);
}

// In parts of as many lanes as a power of two: LLVM 19 fills others up with lanes whose addresses are undefined, and
// may put these into the register of the result, an instruction that processors refuse.
Lowering::Value* Lowering::gathered(const Access& at, DType t, Value* mask) {
  llvm::Type* memory = memory_type(t);
  const auto gather = [&](Value* pointers, Value* on, unsigned lanes) -> Value* {
    llvm::Type* type = llvm::FixedVectorType::get(memory, lanes);
    if (!on) on = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
    return b_.CreateMaskedGather(type, pointers, alignment(t), on, llvm::Constant::getNullValue(type));
  };
  if (std::has_single_bit(at.lanes)) return gather(at.pointers, mask, at.lanes);
  Value* all = llvm::Constant::getNullValue(llvm::FixedVectorType::get(memory, at.lanes));
  for (unsigned first = 0, lanes = 0; first < at.lanes; first += lanes) {
    lanes = std::bit_floor(at.lanes - first);
    std::vector<int> pick;
    for (unsigned i = 0; i < lanes; ++i) pick.push_back(int(first + i));
    Value* part =
        gather(b_.CreateShuffleVector(at.pointers, pick), mask ? b_.CreateShuffleVector(mask, pick) : nullptr, lanes);
    for (unsigned i = 0; i < lanes; ++i)
      all = b_.CreateInsertElement(all, b_.CreateExtractElement(part, std::uint64_t(i)), std::uint64_t(first + i));
  }
  return all;
}

Lowering::Value* Lowering::load(const ir::BufferLoad* l) {
  const DType element = l->buffer->dtype.element();
  Value* mask = l->predicate ? condition(l->predicate) : mask_;
  Access at = access(l, l->buffer, l->indices, unsigned(lanes_of(l)), mask);
  llvm::Type* memory = memory_type(element);
  if (at.pointers && at.step == 2 && !mask) return from_memory(every_other(at, element), element);
  if (at.pointers) return from_memory(gathered(at, element, mask ? splat(mask, at.lanes) : nullptr), element);
  if (at.lanes > 1) {
    llvm::Type* type = llvm::FixedVectorType::get(memory, at.lanes);
    if (!mask) return from_memory(b_.CreateAlignedLoad(type, at.pointer, alignment(element)), element);
    return from_memory(b_.CreateMaskedLoad(type, at.pointer, alignment(element), splat(mask, at.lanes),
                                           llvm::Constant::getNullValue(type)),
                       element);
  }
  if (!mask) return from_memory(b_.CreateAlignedLoad(memory, at.pointer, alignment(element)), element);
  // A scalar under a mask: read when any lane is on.
  Value* on = mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask;
  Block* yes = new_block("on");
  Block* end = new_block("loaded");
  Block* before = b_.GetInsertBlock();
  b_.CreateCondBr(on, yes, end);
  b_.SetInsertPoint(yes);
  Value* v = b_.CreateAlignedLoad(memory, at.pointer, alignment(element));
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  llvm::PHINode* phi = b_.CreatePHI(memory, 2);
  phi->addIncoming(llvm::Constant::getNullValue(memory), before);
  phi->addIncoming(v, yes);
  return from_memory(phi, element);
}

bool Lowering::on_vector(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, unsigned lanes) {
  const View& v = view(b);
  return indices.size() == 1 && v.last_stride == 1 && !v.offset &&
         b->dtype.element().bytes() * lanes == options_.vector_bytes && multiple_of(indices[0], lanes);
}

void Lowering::store(const ir::BufferStore* s) {
  Value* v = value(s->value);
  Value* mask = s->predicate ? condition(s->predicate) : mask_;
  store_value(s, s->buffer, s->indices, v, mask);
}

void Lowering::store_value(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices, Value* v,
                           Value* mask) {
  const DType element = b->dtype.element();
  const unsigned lanes = lanes_of(v);
  Access at = access(node, b, indices, lanes, mask);
  note_number(b, v, mask);
  if (at.pointers) {
    Value* all = splat(to_memory(v, element), at.lanes);
    b_.CreateMaskedScatter(all, at.pointers, alignment(element), mask ? splat(mask, at.lanes) : nullptr);
    return;
  }
  if (at.lanes > 1) {
    Value* all = splat(to_memory(v, element), at.lanes);
    if (mask)
      b_.CreateMaskedStore(all, at.pointer, alignment(element), splat(mask, at.lanes));
    else if (stream_ && on_vector(b, indices, at.lanes))
      b_.CreateAlignedStore(all, at.pointer, llvm::Align(options_.vector_bytes))
          ->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(c_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    else
      b_.CreateAlignedStore(all, at.pointer, alignment(element));
    return;
  }
  if (lanes > 1) refuse(fmt::format("a vector is stored to one element of `{}`", b->name));
  Value* one = to_memory(v, element);
  if (!mask) {
    b_.CreateAlignedStore(one, at.pointer, alignment(element));
    return;
  }
  Block* yes = new_block("on");
  Block* end = new_block("stored");
  b_.CreateCondBr(mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask, yes, end);
  b_.SetInsertPoint(yes);
  b_.CreateAlignedStore(one, at.pointer, alignment(element));
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

}  // namespace rldb::codegen
