// Copies that transpose: an unrolled loop around a vectorised one, `B[.., u, .., v] = A[.., v, .., u]`, whose loads are
// neighbours in the unrolled variable and whose stores in the vectorised one. Square pieces of it are loaded as
// vectors, transposed in registers and stored as vectors, instead of gathering every row.
#include <algorithm>
#include <utility>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;

namespace {

constexpr std::int64_t kMaxSide = 16;

bool is_side(std::optional<std::int64_t> n) { return n && *n >= 2 && *n <= kMaxSide && (*n & (*n - 1)) == 0; }

// The load behind the casts of a value.
const ir::BufferLoad* copied(const ir::Expr* value) {
  while (const auto* c = as<ir::CastExpr>(value)) value = c->value;
  return as<ir::BufferLoad>(value);
}

bool is_moved_whole(DType t) { return t.lanes == 1 && t.bits >= 8 && !t.is_bool() && !t.is_handle(); }

}  // namespace

// Neighbours along the variable are neighbours in memory.
bool Lowering::runs_along(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, const ir::Var* v) {
  return address_step(b, indices, [&](const ir::Expr* e) { return step_per(e, v); }) == 1;
}

bool Lowering::may_transpose(const ir::ForStmt* rows) {
  const auto* lanes = as<ir::ForStmt>(rows->body);
  if (widened_ || mask_ || stream_ || options_.events != 0) return false;
  if (rows->for_kind != ir::ForKind::Unrolled || rows->step || !rows->annotations.empty()) return false;
  if (!lanes || lanes->for_kind != ir::ForKind::Vectorized || lanes->step || !lanes->annotations.empty()) return false;
  if (!is_side(ir::const_int(rows->extent)) || !is_side(ir::const_int(lanes->extent))) return false;
  const auto* store = as<ir::BufferStore>(lanes->body);
  const ir::BufferLoad* load = store ? copied(store->value) : nullptr;
  if (!load || store->predicate || load->predicate || may_alias(load->buffer, store->buffer)) return false;
  if (!is_moved_whole(load->buffer->dtype) || !is_moved_whole(store->buffer->dtype)) return false;
  if (options_.check_bounds && !facts_.all_proved(rows->body)) return false;
  return runs_along(load->buffer, load->indices, rows->var) && runs_along(store->buffer, store->indices, lanes->var);
}

namespace {

constexpr std::size_t kPart = 128;  // bits of a vector that shuffles of one instruction stay in

// Which lanes of two vectors make one, in parts of `size` lanes each: {0, n, 1, n + 1} of 4, for each part.
std::vector<int> interleaved(std::size_t n, std::size_t size, bool upper_half) {
  std::vector<int> lanes;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t within = i % size, from = i - within + within / 2 + (upper_half ? size / 2 : 0);
    lanes.push_back(int(from + (within % 2 ? n : 0)));
  }
  return lanes;
}

// Parts of `size` lanes of the first vector, then the same ones of the second: every `step`-th from `first` on.
std::vector<int> parts_of_both(std::size_t n, std::size_t size, std::size_t first, std::size_t step) {
  std::vector<int> lanes;
  for (const std::size_t vector : {std::size_t(0), n})
    for (std::size_t part = first, taken = 0; taken < n / size / 2; part += step, ++taken)
      for (std::size_t i = 0; i < size; ++i) lanes.push_back(int(vector + part * size + i));
  return lanes;
}

}  // namespace

// Two vectors become two others. A fence costs nothing; without them LLVM's instruction selection tries for every
// shuffle to do it and those before it in one, which took half of the time of the selection and found nothing.
void Lowering::shuffle_pair(Value*& a, Value*& b, const std::vector<int>& low, const std::vector<int>& high) {
  const llvm::Type* element = a->getType()->getScalarType();
  const bool fences = !options_.device && (element->isFloatTy() || element->isDoubleTy());
  Value* made[2] = {b_.CreateShuffleVector(a, b, low), b_.CreateShuffleVector(a, b, high)};
  for (Value*& v : made)
    if (fences) v = b_.CreateArithmeticFence(v, v->getType());
  a = made[0], b = made[1];
}

// Squares of a part's lanes are transposed within the parts of the vectors: each round moves the first bit of the
// number of a vector to the end of the number of a lane. Then the parts change places. A shuffle within parts, or of
// whole parts, is one instruction; one that crosses parts is two or three with AVX2.
void Lowering::transpose_vectors(std::vector<Value*>& rows) {
  const std::size_t n = rows.size(), bits = rows[0]->getType()->getScalarSizeInBits();
  std::size_t size = std::min(n, std::max<std::size_t>(1, kPart / bits));
  if (n / size > 4) size = n;
  const std::vector<int> low = interleaved(n, size, false), high = interleaved(n, size, true);
  for (std::size_t from = 0; from < n; from += size)
    for (std::size_t round = 1; round < size; round *= 2) {
      std::vector<Value*> next;
      for (std::size_t i = from; i < from + size / 2; ++i) {
        Value *a = rows[i], *b = rows[i + size / 2];
        shuffle_pair(a, b, low, high);
        next.insert(next.end(), {a, b});
      }
      std::copy(next.begin(), next.end(), rows.begin() + std::ptrdiff_t(from));
    }
  const std::size_t parts = n / size;
  if (parts == 1) return;
  const std::vector<int> first = parts_of_both(n, size, 0, 1), second = parts_of_both(n, size, parts / 2, 1);
  const std::vector<int> even = parts_of_both(n, size, 0, 2), odd = parts_of_both(n, size, 1, 2);
  for (std::size_t c = 0; c < size; ++c) {
    const auto row = [&](std::size_t part) -> Value*& { return rows[part * size + c]; };
    for (std::size_t part = 0; part < parts; part += 2) shuffle_pair(row(part), row(part + 1), first, second);
    if (parts == 2) continue;
    // Of four: 0 and 2 have the first halves now, 1 and 3 the second ones.
    std::swap(row(1), row(2));
    shuffle_pair(row(0), row(1), even, odd);
    shuffle_pair(row(2), row(3), even, odd);
  }
}

// The casts around a load, applied to what is in memory of it; the result is what is stored.
Lowering::Value* Lowering::cast_in_memory(const ir::Expr* value, Value* loaded) {
  std::vector<const ir::CastExpr*> casts;
  while (const auto* c = as<ir::CastExpr>(value)) {
    casts.push_back(c);
    value = c->value;
  }
  if (casts.empty()) return loaded;
  DType t = value->dtype();
  Value* v = from_memory(loaded, t);
  for (std::size_t i = casts.size(); i-- > 0;) {
    v = convert(v, t, casts[i]->dtype());
    t = casts[i]->dtype();
  }
  return to_memory(v, t);
}

// Rows that follow each other in memory are stored as one vector: the loaded ones, interleaved.
bool Lowering::interleaved_copy(const ir::ForStmt* rows) {
  const auto* lanes = as<ir::ForStmt>(rows->body);
  const auto* store = as<ir::BufferStore>(lanes->body);
  const ir::BufferLoad* load = copied(store->value);
  const std::int64_t height = *ir::const_int(rows->extent), width = *ir::const_int(lanes->extent);
  const auto step = [&](const ir::Expr* e) { return step_per(e, rows->var); };
  const bool joined = address_step(store->buffer, store->indices, step) == width;
  if (!joined || height * width > std::int64_t(options_.vector_bytes)) return false;
  const DType from = load->buffer->dtype, to = store->buffer->dtype;
  llvm::Type* piece = llvm::FixedVectorType::get(memory_type(from), unsigned(height));
  Value* first_lane = index(lanes->min);
  bind_loop(rows, index(rows->min));
  std::vector<Value*> all;
  for (std::int64_t i = 0; i < width; ++i) {
    bind_loop(lanes, b_.CreateAdd(first_lane, i64(i), "", false, true));
    Value* place = access(load, load->buffer, load->indices, 1, nullptr).pointer;
    all.push_back(cast_in_memory(store->value, b_.CreateAlignedLoad(piece, place, alignment(from))));
  }
  // Each round makes half as many vectors of twice as many elements.
  for (std::size_t n = all.size() / 2, size = std::size_t(height); n > 0; n /= 2, size *= 2) {
    std::vector<int> pick;
    for (std::size_t i = 0; i < size; ++i) pick.insert(pick.end(), {int(i), int(i + size)});
    for (std::size_t i = 0; i < n; ++i) all[i] = b_.CreateShuffleVector(all[i], all[i + n], pick);
  }
  bind_loop(lanes, first_lane);
  Value* place = access(store, store->buffer, store->indices, 1, nullptr).pointer;
  b_.CreateAlignedStore(all[0], place, alignment(to));
  as_written_ = true;
  return true;
}

bool Lowering::transposed_copy(const ir::ForStmt* rows) {
  if (!may_transpose(rows)) return false;
  if (interleaved_copy(rows)) return true;
  const auto* lanes = as<ir::ForStmt>(rows->body);
  const auto* store = as<ir::BufferStore>(lanes->body);
  const ir::BufferLoad* load = copied(store->value);
  const std::int64_t height = *ir::const_int(rows->extent), width = *ir::const_int(lanes->extent);
  const std::int64_t side = std::min(height, width);
  Value *first_row = index(rows->min), *first_lane = index(lanes->min);
  const auto at = [&](std::int64_t row, std::int64_t lane) {
    bind_loop(rows, b_.CreateAdd(first_row, i64(row), "", false, true));
    bind_loop(lanes, b_.CreateAdd(first_lane, i64(lane), "", false, true));
  };
  const DType from = load->buffer->dtype, to = store->buffer->dtype;
  llvm::Type* piece = llvm::FixedVectorType::get(memory_type(from), unsigned(side));
  for (std::int64_t row = 0; row < height; row += side)
    for (std::int64_t lane = 0; lane < width; lane += side) {
      std::vector<Value*> all;
      for (std::int64_t i = 0; i < side; ++i) {
        at(row, lane + i);
        Value* place = access(load, load->buffer, load->indices, 1, nullptr).pointer;
        all.push_back(cast_in_memory(store->value, b_.CreateAlignedLoad(piece, place, alignment(from))));
      }
      transpose_vectors(all);
      for (std::int64_t i = 0; i < side; ++i) {
        at(row + i, lane);
        Value* place = access(store, store->buffer, store->indices, 1, nullptr).pointer;
        b_.CreateAlignedStore(all[std::size_t(i)], place, alignment(to));
      }
    }
  as_written_ = true;
  return true;
}

}  // namespace rldb::codegen
