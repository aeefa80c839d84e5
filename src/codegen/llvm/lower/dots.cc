// Sums of four products of bytes in a vectorised loop, `c + a[.., 0] * b[.., 0] + .. + a[.., 3] * b[.., 3]` in 32 bits,
// where the four bytes of each operand are neighbours: one instruction, if one operand is signed and the other is not.
// `int32(b) + 128` of a signed byte is unsigned. The sum wraps, as the text's does in any order.
#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr std::int64_t kBytes = 4;

// One factor of a product.
struct ByteFactor {
  const ir::BufferLoad* load = nullptr;
  bool raised = false;  // by 128
};

std::optional<ByteFactor> byte_factor(const ir::Expr* e) {
  ByteFactor f;
  if (const auto* sum = as<ir::BinaryExpr>(e); sum && sum->kind == BinaryKind::Add && ir::is_const(sum->b, 128)) {
    f.raised = true;
    e = sum->a;
  }
  const auto* widened = as<ir::CastExpr>(e);
  f.load = widened ? as<ir::BufferLoad>(widened->value) : nullptr;
  if (!f.load || f.load->predicate || f.load->indices.empty()) return std::nullopt;
  const DType t = f.load->buffer->dtype;
  if (t.bits != 8 || t.lanes != 1 || !t.is_integral() || t.is_bool() || (f.raised && !t.is_int())) return std::nullopt;
  return f;
}

// The bytes of one operand, first to last, are neighbours.
bool are_neighbours(const std::array<ByteFactor, kBytes>& bytes) {
  const ir::BufferLoad* first = bytes[0].load;
  const auto from = ir::const_int(first->indices.back());
  if (!from) return false;
  for (std::int64_t q = 1; q < kBytes; ++q) {
    const ByteFactor& f = bytes[std::size_t(q)];
    if (f.load->buffer != first->buffer || f.raised != bytes[0].raised) return false;
    const auto at = ir::const_int(f.load->indices.back());
    if (!at || *at != *from + q) return false;
    for (std::size_t i = 0; i + 1 < first->indices.size(); ++i)
      if (!ir::expr_equal(first->indices[i], f.load->indices[i])) return false;
  }
  return true;
}

bool is_unsigned_byte(const ByteFactor& f) { return f.raised || !f.load->buffer->dtype.is_int(); }

struct ByteDot {
  const ir::Expr* start = nullptr;
  std::array<ByteFactor, kBytes> a, b;
};

std::optional<ByteDot> match_dot(const ir::BinaryExpr* sum) {
  ByteDot dot;
  const ir::Expr* left = sum;
  for (std::size_t q = kBytes; q-- > 0;) {
    const auto* add = as<ir::BinaryExpr>(left);
    const auto* product = add && add->kind == BinaryKind::Add ? as<ir::BinaryExpr>(add->b) : nullptr;
    if (!product || product->kind != BinaryKind::Mul) return std::nullopt;
    const auto a = byte_factor(product->a), b = byte_factor(product->b);
    if (!a || !b) return std::nullopt;
    dot.a[q] = *a;
    dot.b[q] = *b;
    left = add->a;
  }
  dot.start = left;
  const bool one_signed = is_unsigned_byte(dot.a[0]) != is_unsigned_byte(dot.b[0]);
  if (!one_signed || !are_neighbours(dot.a) || !are_neighbours(dot.b)) return std::nullopt;
  return dot;
}

llvm::Intrinsic::ID dot_of(unsigned lanes) {
  return lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
         : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                      : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
}

}  // namespace

// Null: it is not such a sum.
Lowering::Value* Lowering::dot_of_bytes(const ir::BinaryExpr* e) {
  if (!options_.byte_dots || mask_ || e->dtype() != DType::Int(32)) return nullptr;
  const unsigned lanes = widened_lanes_;
  if (lanes != 4 && lanes != 8 && lanes != 16) return nullptr;
  const auto dot = match_dot(e);
  if (!dot) return nullptr;
  const auto step = [&](const ir::BufferLoad* l) {
    return address_step(l->buffer, l->indices, [&](const ir::Expr* i) { return lane_step(i); });
  };
  const auto is_moved = [&](const ByteFactor& f, std::int64_t by) {
    return view(f.load->buffer).last_stride == 1 && step(f.load) == by;
  };
  for (const auto& f : {dot->a, dot->b})
    if (!is_moved(f[0], 0) && !is_moved(f[0], kBytes)) return nullptr;
  // Each test of an index belongs to a load of its own.
  if (checked() && !facts_.all_proved(e)) return nullptr;

  llvm::Type* word = b_.getInt32Ty();
  llvm::Type* words = llvm::FixedVectorType::get(word, lanes);
  const auto loaded = [&](const ByteFactor& f) {
    const Access at = access(f.load, f.load->buffer, f.load->indices, 1, nullptr);
    const bool uniform = at.step == 0;
    Value* v = b_.CreateAlignedLoad(uniform ? word : words, at.first, llvm::Align(1));
    if (f.raised) v = b_.CreateXor(v, llvm::ConstantInt::get(v->getType(), 0x80808080));
    return splat(v, lanes);
  };
  Value* start = splat(value(dot->start), lanes);
  Value* a = loaded(dot->a[0]);
  Value* b = loaded(dot->b[0]);
  if (!is_unsigned_byte(dot->a[0])) std::swap(a, b);
  return b_.CreateIntrinsic(dot_of(lanes), {}, {start, a, b});
}

}  // namespace rldb::codegen
