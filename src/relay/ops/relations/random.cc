// Random numbers, which are drawn from a key of ten words and return the next key as well.
#include <fmt/format.h>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

constexpr std::int64_t kKeyWords = 10;
constexpr DType kWord = DType::UInt(64);

// The first operand is a key, or becomes one.
std::optional<Outcome> need_key(const Operands& o) {
  if (o.types.empty()) return Outcome::error("expected an operand");
  const Type* key = o.ctx.tensor(Dims{known(kKeyWords)}, kWord);
  if (o.solver.unify(o.types[0], key)) return std::nullopt;
  return Outcome::error("the first operand is a key: ten words of uint64");
}

Outcome key_and(const Operands& o, const Type* values) {
  const Type* key = o.ctx.tensor(Dims{known(kKeyWords)}, kWord);
  return Outcome::of(o.ctx.tuple_type(std::vector<const Type*>{key, values}));
}

Outcome drawn(const Operands& o, DType dtype) {
  if (auto wrong = need_key(o)) return *wrong;
  const auto shape = o.ints(relay::field::OutShape);
  if (!shape) return Outcome::error("the attribute `out_shape` is a list of integers");
  Dims dims;
  for (const std::int64_t d : *shape) dims.push_back(known(d));
  return key_and(o, o.ctx.tensor(dims, dtype));
}

}  // namespace

Outcome ThreefryGenerate(const Operands& o) { return drawn(o, kWord); }

Outcome ThreefrySplit(const Operands& o) {
  if (auto wrong = need_key(o)) return *wrong;
  return key_and(o, o.ctx.tensor(Dims{known(kKeyWords)}, kWord));
}

Outcome RandomReals(const Operands& o) {
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(DType::Float(32));
  if (dtype != DType::Float(32) && dtype != DType::Float(64)) return Outcome::error("the dtype is float32 or float64");
  for (std::size_t i = 1; i < o.types.size(); ++i)
    if (!o.solver.unify(o.types[i], o.ctx.scalar(dtype)))
      return Outcome::error(fmt::format("operand {} is a scalar of the result's dtype", i + 1));
  return drawn(o, dtype);
}

// Operands: the key, the likelihood of each index.
Outcome RandomMultinomial(const Operands& o) {
  if (auto wrong = need_key(o)) return *wrong;
  if (auto early = o.need_tensors(2)) return *early;
  Dims dims = dims_of(*o.tensor(1));
  if (dims.empty()) return Outcome::error("the probabilities have an axis");
  dims.back() = known(o.integer(relay::field::NumSamples).value_or(1));
  return key_and(o, o.ctx.tensor(dims, DType::Int(32)));
}

}  // namespace rldb::relay::relations
