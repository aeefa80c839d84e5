// Makers of scalar expressions and buffers. Types follow TVM: operands of one dtype, comparisons give bool.
#include <cmath>

#include "ir/arith/scalar_fold.h"
#include "ir/build/context_tables.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/scalar.h"

namespace rldb::ir {

namespace {

DType scalar_dtype(const Expr* e) {
  RLDB_CHECK(e != nullptr, "operand is missing");
  if (e->type->kind == TypeKind::Pointer) return DType::Handle();
  RLDB_CHECK(e->type->kind == TypeKind::Prim, "operand is not a scalar");
  return e->dtype();
}

bool is_vscale(const Expr* e) { return is_call_of(e, intrin::Vscale); }

// Lanes of a vector of `lanes` copies: a literal, or a multiple of vscale (negative in DType).
int vector_lanes(const Expr* lanes) {
  if (const auto n = const_int(lanes)) return int(*n);
  if (const auto n = vscale_factor(lanes)) return -int(*n);
  RLDB_UNREACHABLE("vector lanes are neither a literal nor a multiple of vscale");
}

bool gives_bool(BinaryKind kind) { return is_comparison(kind) || is_logic(kind); }

}  // namespace

std::optional<std::int64_t> vscale_factor(const Expr* e) {
  if (is_vscale(e)) return 1;
  const auto* m = as<BinaryExpr>(e);
  if (!m || m->kind != BinaryKind::Mul) return std::nullopt;
  if (is_vscale(m->a)) return const_int(m->b);
  if (is_vscale(m->b)) return const_int(m->a);
  return std::nullopt;
}

const IntImm* Context::int_imm(DType dtype, std::int64_t value) {
  RLDB_CHECK(dtype.is_integral() && dtype.is_scalar(), "an integer literal has a scalar integer dtype");
  return make_expr<IntImm>(NodeKind::IntImm, prim(dtype), wrap_to(dtype, value));
}
const FloatImm* Context::float_imm(DType dtype, double value) {
  RLDB_CHECK(dtype.is_float() && dtype.is_scalar(), "a float literal has a scalar float dtype");
  return make_expr<FloatImm>(NodeKind::FloatImm, prim(dtype), value);
}

const Expr* Context::literal(DType dtype, double value) {
  if (!dtype.is_scalar()) {
    const Expr* lanes = dtype.lanes > 0
                            ? static_cast<const Expr*>(i32(dtype.lanes))
                            : binary(BinaryKind::Mul, intrin(DType::Int(32), intrin::Vscale, {}), i32(-dtype.lanes));
    return broadcast(literal(dtype.element(), value), lanes);
  }
  if (dtype.is_float()) return float_imm(dtype, value);
  RLDB_CHECK(dtype.is_integral(), "a literal has a number's dtype");
  if (dtype.is_bool()) return bool_imm(value != 0);
  // Beyond the range of the conversion it would be undefined; 2^64 covers what uint64 can hold.
  if (!(value > -9.3e18 && value < 1.85e19)) return int_imm(dtype, 0);
  if (value >= 9223372036854775808.0)
    return int_imm(dtype, value < 18446744073709551616.0 ? std::int64_t(std::uint64_t(value)) : -1);
  if (value < -9223372036854775808.0) return int_imm(dtype, INT64_MIN);
  return int_imm(dtype, std::int64_t(value));
}

const BinaryExpr* Context::binary(BinaryKind kind, const Expr* a, const Expr* b) {
  const DType t = scalar_dtype(a);
  RLDB_CHECK(t == scalar_dtype(b), "operands of " + std::string(to_string(kind)) + " differ in dtype: " +
                                       runtime::to_string(t) + ", " + runtime::to_string(scalar_dtype(b)));
  const Type* type = gives_bool(kind) ? prim(DType::Bool(t.lanes)) : a->type;
  return make_expr<BinaryExpr>(node_kind(kind), type, a, b);
}
const NotExpr* Context::not_(const Expr* a) {
  return make_expr<NotExpr>(NodeKind::Not, prim(DType::Bool(scalar_dtype(a).lanes)), a);
}
const CastExpr* Context::cast(DType dtype, const Expr* value) {
  RLDB_CHECK(value != nullptr, "cast of nothing");
  return make_expr<CastExpr>(NodeKind::Cast, prim(dtype), value);
}
const SelectExpr* Context::select(const Expr* cond, const Expr* t, const Expr* f) {
  RLDB_CHECK(cond && t && f && t->type == f->type, "branches of a select have one type");
  return make_expr<SelectExpr>(NodeKind::Select, t->type, cond, t, f);
}

const BufferLoad* Context::load(const Buffer* buffer, std::span<const Expr* const> indices, const Expr* predicate) {
  RLDB_CHECK(buffer != nullptr, "load of no buffer");
  DType t = buffer->dtype;
  if (!indices.empty()) {
    const DType index = indices.back()->dtype();
    if (!index.is_void() && index.lanes != 1) t = t.with_lanes(t.lanes * index.lanes);
  }
  return make_expr<BufferLoad>(NodeKind::BufferLoad, prim(t), buffer, list(indices), predicate);
}
const ProducerLoad* Context::producer_load(const void* tensor, DType dtype, std::span<const Expr* const> indices) {
  return make_expr<ProducerLoad>(NodeKind::ProducerLoad, prim(dtype), tensor, list(indices));
}

const Ramp* Context::ramp(const Expr* base, const Expr* stride, const Expr* lanes) {
  const DType t = scalar_dtype(base);
  RLDB_CHECK(t == scalar_dtype(stride), "base and stride of a ramp have one dtype");
  return make_expr<Ramp>(NodeKind::Ramp, prim(t.with_lanes(t.lanes * vector_lanes(lanes))), base, stride, lanes);
}
const Broadcast* Context::broadcast(const Expr* value, const Expr* lanes) {
  const DType t = scalar_dtype(value);
  return make_expr<Broadcast>(NodeKind::Broadcast, prim(t.with_lanes(vector_lanes(lanes))), value, lanes);
}
const Shuffle* Context::shuffle(std::span<const Expr* const> vectors, std::span<const Expr* const> indices) {
  RLDB_CHECK(!vectors.empty() && !indices.empty(), "a shuffle needs vectors and indices");
  const DType t = scalar_dtype(vectors[0]).with_lanes(int(indices.size()));
  return make_expr<Shuffle>(NodeKind::Shuffle, prim(t), list(vectors), list(indices));
}
const LetExpr* Context::let(const Var* var, const Expr* value, const Expr* body) {
  RLDB_CHECK(var && value && body, "a let needs a variable, a value and a body");
  return make_expr<LetExpr>(NodeKind::Let, body->type, var, value, body);
}
const CommReducer* Context::comm_reducer(std::span<const Var* const> lhs, std::span<const Var* const> rhs,
                                         std::span<const Expr* const> results,
                                         std::span<const Expr* const> identities) {
  RLDB_CHECK(lhs.size() == rhs.size() && lhs.size() == results.size() && lhs.size() == identities.size(),
             "a reducer has as many operands, results and identities");
  return make_expr<CommReducer>(NodeKind::CommReducer, any_, list(lhs), list(rhs), list(results), list(identities));
}
const Lambda* Context::lambda(std::span<const Var* const> params, std::span<const Expr* const> results) {
  return make_expr<Lambda>(NodeKind::Lambda, any_, list(params), list(results));
}

const Call* Context::intrin(DType dtype, Intrinsic id, std::initializer_list<const Expr*> args) {
  return call_typed(op(info(id).op), std::span<const Expr* const>(args.begin(), args.size()), prim(dtype));
}

const Buffer* Context::buffer(const Buffer& fields) {
  RLDB_CHECK(fields.data != nullptr, "a buffer needs its data variable");
  Buffer b = fields;
  b.kind = NodeKind::Buffer;
  b.id = next_id_++;
  b.name = str(b.name);
  b.shape = list(b.shape);
  b.strides = list(b.strides);
  b.scope = str(b.scope.empty() ? std::string_view("global") : b.scope);
  b.axis_separators = list(b.axis_separators);
  return arena_.make<Buffer>(b);
}

const Buffer* Context::buffer(std::string_view name, std::span<const Expr* const> shape, DType dtype,
                              std::string_view scope) {
  Buffer b{};
  b.name = name;
  b.data = var(name, pointer(dtype, scope));
  b.dtype = dtype;
  b.shape = shape;
  b.scope = scope;
  b.data_alignment = 64;
  return buffer(b);
}

}  // namespace rldb::ir
