// Scalar expressions of TensorIR: variables, loads, operators, intrinsics, lane by lane.
#include "eval/tir/expr_eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "eval/tir/intrinsic.h"
#include "eval/tir/parts.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/pointed_buffer.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/threads.h"

namespace rldb::eval {

using ir::BinaryKind;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

// Expressions nest no deeper than the front end reads (frontend::ParseOptions::max_depth).
constexpr int kMaxDepth = 1'200;

struct DepthGuard {
  explicit DepthGuard(int& d) : depth(d) { ++depth; }
  ~DepthGuard() { --depth; }
  int& depth;
};

Result<Scalar> scalar_of(const Value& v, DType t) {
  switch (v.kind()) {
    case ValueKind::Int:
    case ValueKind::Bool:
      return t.is_float() ? of_float(round_to(double(v.as_int()), t)) : of_int(wrap(v.as_int(), t));
    case ValueKind::Float:
      return convert(of_float(v.as_float()), DType::Float(64), t);
    case ValueKind::Tensor:
      if (v.as_tensor().element_count() == 1)
        return convert(load(v.as_tensor().peek(), v.as_tensor().dtype()), v.as_tensor().dtype(), t);
      break;
#define RLDB_VALUE_NUMBER(...)
#define RLDB_VALUE_PLAIN(Kind, ...) case ValueKind::Kind:
#include "rldb/runtime/value_kind.def"
    case ValueKind::Shape:
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return fail(ErrorKind::TypeMismatch, runtime::describe(v) + " is not a scalar");
}

}  // namespace

int lanes_of(const ir::Expr* e) {
  const int lanes = e->dtype().lanes;
  return lanes < 1 ? 1 : lanes;
}

bool BufferValue::holds(std::int64_t element) const {
  if (!storage || element < 0 || end < byte_offset) return false;
  return std::size_t(element) < (end - byte_offset) / dtype.bytes();
}

bool BufferValue::inside() const {
  std::int64_t low = offset, high = offset;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 0) return true;
    (strides[i] < 0 ? low : high) += (shape[i] - 1) * strides[i];
  }
  return holds(low) && holds(high);
}

void BufferValue::set_rows(const std::vector<std::int64_t>& dims) {
  shape = dims;
  strides.assign(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(dims[i], 1);
}

Value BufferValue::as_value() const {
  std::int64_t expected = 1;
  bool compact = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    compact = compact && (strides[i] == expected || shape[i] <= 1);
    expected *= shape[i];
  }
  const std::size_t width = dtype.bytes();
  const std::size_t begin = byte_offset + std::size_t(offset) * width;
  if (compact && storage && inside()) {
    auto view = runtime::Tensor::view(storage, begin, shape, dtype);
    if (view.ok()) return Value(std::move(view).value());
  }
  auto copy = runtime::Tensor::empty(shape, dtype);
  if (!copy.ok() || !storage) return copy.ok() ? Value(std::move(copy).value()) : Value();
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t flat = 0; flat < (*copy)->element_count(); ++flat) {
    std::int64_t at = 0;
    std::int64_t rest = flat;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) at += (rest % shape[i]) * strides[i];
    if (!holds(offset + at)) continue;
    std::memcpy((*copy)->data() + std::size_t(flat) * width, storage->data() + begin + std::size_t(at) * width, width);
  }
  return Value(std::move(copy).value());
}

Result<std::int64_t> ExprEval::integer(const ir::Expr* e) const {
  RLDB_TRY(const Scalar v, eval(e));
  return v.i;
}

Result<Scalar> ExprEval::variable(const ir::Var* v, int lane) const {
  if (const Scalar* found = env_.vars.find(v->id)) return *found;
  if (const auto it = env_.vectors.find(v); it != env_.vectors.end())
    return it->second[std::min(std::size_t(lane), it->second.size() - 1)];
  if (const auto it = env_.pointers.find(v); it != env_.pointers.end())
    return of_int(
        it->second.storage ? reinterpret_cast<std::int64_t>(it->second.storage->data() + it->second.byte_offset) : 0);
  if (outer_ && outer_->var) {
    if (auto value = outer_->var(v)) return scalar_of(*value, v->dtype().is_void() ? DType::Int(64) : v->dtype());
  }
  return fail(ErrorKind::Raised, fmt::format("`{}` has no value here", v->name));
}

Result<Scalar> ExprEval::let(const ir::LetExpr* e, int lane) const {
  RLDB_TRY(const Scalar value, eval(e->value, lane));
  // The binding is visible in the body only; names are unique, so leaving it set is harmless.
  const_cast<Environment&>(env_).vars.set(e->var->id, value);
  return eval(e->body, lane);
}

Result<Scalar> ExprEval::eval(const ir::Expr* e, int lane) const {
  DepthGuard guard(depth_);
  if (depth_ > kMaxDepth) return fail(ErrorKind::StackOverflow, "the expression is nested too deeply to evaluate");
  if (const auto* v = ir::as<ir::Var>(e)) return variable(v, lane);
  if (const auto* i = ir::as<ir::IntImm>(e)) return of_int(i->value);
  if (const auto* f = ir::as<ir::FloatImm>(e)) return of_float(round_to(f->value, f->dtype().element()));
  if (const auto* b = ir::as<ir::BinaryExpr>(e)) {
    RLDB_TRY(const Scalar x, eval(b->a, lane));
    if (e->kind == BinaryKind::And && !x.i) return of_int(0);
    if (e->kind == BinaryKind::Or && x.i) return of_int(1);
    RLDB_TRY(const Scalar y, eval(b->b, lane));
    return binary(b->op(), x, y, b->a->dtype().element());
  }
  if (const auto* l = ir::as<ir::BufferLoad>(e)) {
    if (l->predicate) {
      RLDB_TRY(const Scalar on, eval(l->predicate, lane));
      if (!on.i) return Scalar{};
    }
    RLDB_TRY(const std::byte* at, address(l->buffer, l->indices, lane));
    if (watcher_) watcher_->loaded(l, at, l->buffer->dtype.element().bytes());
    return load(at, l->buffer->dtype.element());
  }
  if (const auto* n = ir::as<ir::NotExpr>(e)) {
    RLDB_TRY(const Scalar x, eval(n->a, lane));
    return of_int(!x.i);
  }
  if (const auto* c = ir::as<ir::CastExpr>(e)) {
    RLDB_TRY(const Scalar x, eval(c->value, lane));
    return convert(x, c->value->dtype().element(), c->dtype().element());
  }
  if (const auto* s = ir::as<ir::SelectExpr>(e)) {
    // Only the side that is needed: the other may load from outside its buffer (TVM: RewriteUnsafeSelect).
    RLDB_TRY(const Scalar c, eval(s->cond, lane));
    return eval(c.i ? s->true_value : s->false_value, lane);
  }
  if (const auto* r = ir::as<ir::Ramp>(e)) {
    const int inner = lanes_of(r->base);
    RLDB_TRY(const Scalar base, eval(r->base, lane % inner));
    RLDB_TRY(const Scalar stride, eval(r->stride, lane % inner));
    return of_int(wrap(base.i + stride.i * (lane / inner), e->dtype().element()));
  }
  if (const auto* b = ir::as<ir::Broadcast>(e)) return eval(b->value, lane % lanes_of(b->value));
  if (const auto* s = ir::as<ir::Shuffle>(e)) {
    RLDB_TRY(std::int64_t index, integer(s->indices[std::size_t(lane) % s->indices.size()]));
    for (const ir::Expr* v : s->vectors) {
      if (index < lanes_of(v)) return eval(v, int(index));
      index -= lanes_of(v);
    }
    return fail(ErrorKind::OutOfBounds, "a shuffle index is past the last lane");
  }
  if (const auto* l = ir::as<ir::LetExpr>(e)) return let(l, lane);
  if (const auto* c = ir::as<ir::Call>(e)) return call(c, lane);
  return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", ir::print_expr(e)));
}

Result<BufferValue> ExprEval::buffer(const ir::Buffer* b) const {
  const auto it = env_.buffers.find(b);
  if (it != env_.buffers.end()) return it->second;
  return fail(ErrorKind::Raised, fmt::format("buffer `{}` has no memory here", b->name));
}

Result<std::byte*> ExprEval::address(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, int lane) const {
  const auto it = env_.buffers.find(b);
  if (it == env_.buffers.end()) {
    if (outer_ && outer_->buffer) {
      if (auto value = outer_->buffer(b); value && value->is(ValueKind::Tensor)) {
        const runtime::Tensor& t = value->as_tensor();
        std::int64_t flat = 0;
        for (std::size_t i = 0; i < indices.size() && i < t.shape().size(); ++i) {
          RLDB_TRY(const Scalar index, eval(indices[i], lane % lanes_of(indices[i])));
          if (index.i < 0 || index.i >= t.shape()[i])
            return fail(ErrorKind::OutOfBounds, fmt::format("`{}`: index {} is out of range", b->name, index.i));
          flat = flat * t.shape()[i] + index.i;
        }
        return t.data() + std::size_t(flat) * t.dtype().bytes();
      }
    }
    return fail(ErrorKind::Raised, fmt::format("buffer `{}` has no memory here", b->name));
  }
  const BufferValue& value = it->second;
  // A vector buffer element holds its lanes side by side.
  const int element_lanes = value.dtype.lanes < 1 ? 1 : value.dtype.lanes;
  std::int64_t at = value.offset;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const int index_lanes = lanes_of(indices[i]);
    RLDB_TRY(const Scalar index, eval(indices[i], index_lanes > 1 ? lane / element_lanes : 0));
    if (index.i < 0 || index.i >= value.shape[i])
      return fail(ErrorKind::OutOfBounds,
                  fmt::format("access out of bounds: `{}`, index {} is {}, but the extent is {}", b->name, i, index.i,
                              value.shape[i]));
    at += index.i * value.strides[i];
  }
  const std::size_t lane_bytes =
      std::size_t(element_lanes > 1 ? lane % element_lanes : 0) * value.dtype.element().bytes();
  if (!value.holds(at))
    return fail(ErrorKind::OutOfBounds, fmt::format("access out of bounds: `{}` reaches past its memory", b->name));
  return value.storage->data() + value.byte_offset + std::size_t(at) * value.dtype.bytes() + lane_bytes;
}

std::string callee_text(const ir::Call* c) {
  if (!ir::is_tir_op(c->callee)) return ir::print_expr(c);
  std::string text = "T." + std::string(ir::as<ir::Op>(c->callee)->name.substr(ir::kTirPrefix.size()));
  if (const std::string_view name = ir::function_name(c); !name.empty()) text += fmt::format("(\"{}\")", name);
  return text;
}

bool is_packed_call(const ir::Expr* e) {
  return is_call_of<ir::intrin::TvmCallPacked>(e) || is_call_of<ir::intrin::TvmCallCpacked>(e);
}

// The lanes of a vector stand side by side, the first one at the lowest address.
Result<Scalar> ExprEval::reinterpret(const ir::Call* c, int lane) const {
  const DType from = c->args[0]->dtype().element(), to = c->dtype().element();
  const int given = lanes_of(c->args[0]), wanted = lanes_of(c);
  const bool by_lane = from.bits == to.bits && given == wanted;
  const bool by_byte = from.bits % 8 == 0 && to.bits % 8 == 0 && from.bits * given == to.bits * wanted;
  if (!by_lane && !by_byte)
    return fail(ErrorKind::Unsupported,
                fmt::format("T.reinterpret from {} to {} changes the size", runtime::to_string(c->args[0]->dtype()),
                            runtime::to_string(c->dtype())));
  const int begin = by_lane ? 0 : lane * int(to.bytes());
  const int first = by_lane ? lane : begin / int(from.bytes());
  const int last = by_lane ? lane : (begin + int(to.bytes()) - 1) / int(from.bytes());
  alignas(8) std::byte bytes[16] = {};
  for (int i = first; i <= last; ++i) {
    RLDB_TRY(const Scalar v, eval(c->args[0], i));
    store(bytes + std::size_t(i - first) * from.bytes(), from, v);
  }
  return load(bytes + (by_lane ? 0 : begin - first * int(from.bytes())), to);
}

Result<Scalar> ExprEval::call(const ir::Call* c, int lane) const {
  const DType result = c->dtype().element();
  if (is_call_of<ir::intrin::IfThenElse>(c)) {
    RLDB_TRY(const Scalar cond, eval(c->args[0], lane % lanes_of(c->args[0])));
    return eval(c->args[cond.i ? 1 : 2], lane);
  }
  if (is_call_of<ir::intrin::Reinterpret>(c)) return reinterpret(c, lane);
  const bool is_ret = is_call_of<ir::intrin::Ret>(c) && c->args.size() == 1;
  if (is_ret || is_call_of<ir::intrin::Likely>(c)) return eval(c->args[0], lane);
  if (is_packed_call(c)) {
    RLDB_TRY(const Value v, call_packed(c));
    if (v.is_null()) return Scalar{};
    return scalar_of(v, result.is_void() ? DType::Int(64) : result);
  }
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  if (row && ir::meeting_of(row->id) != ir::Meeting::None) return exchanged(c);
  if (is_call_of<ir::intrin::Isnullptr>(c) && c->args.size() == 1) return is_null(c->args[0]);
  // The workspace is the evaluator's own memory, which is freed when nothing refers to it.
  if (is_call_of<ir::intrin::TVMBackendFreeWorkspace>(c)) return of_int(0);
  if (ir::is_multiply_add(c)) return multiply_add(c, lane);
  if (auto done = lane_call(c, lane)) return *std::move(done);
  std::size_t first = 0;  // operand
  if (const ir::IntrinsicInfo* named = ir::named_intrinsic(c)) {
    row = named;
    first = ir::first_operand(c);
  }
  const IntrinsicFn body = row && std::size_t(row->arity) <= c->args.size() ? body_of(*row) : nullptr;
  if (!body) return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", callee_text(c)));
  Scalar args[3];
  for (int i = 0; i < row->arity; ++i) {
    const ir::Expr* operand = c->args[first + std::size_t(i)];
    const DType t = operand->dtype();
    const OperandKind kind = operand_kind(*row, i);
    if (kind == OperandKind::Float && !t.is_float())
      return fail(ErrorKind::Unsupported,
                  fmt::format("`{}` is a function of floats: its operand is {}", callee_text(c), to_string(t)));
    if (kind == OperandKind::Integer && t.is_float())
      return fail(ErrorKind::Unsupported,
                  fmt::format("operand {} of `{}` must be an integer: it is {}", i + 1, callee_text(c), to_string(t)));
    RLDB_TRY(args[i], eval(operand, lane));
  }
  return body({args, std::size_t(row->arity)}, c->args[first]->dtype().element(), result);
}

// Rounded after the product and after the sum, as the expression that it stands for.
Result<Scalar> ExprEval::multiply_add(const ir::Call* c, int lane) const {
  const DType t = c->dtype().element();
  const std::size_t first = ir::first_operand(c);
  RLDB_TRY(const Scalar a, eval(c->args[first], lane));
  RLDB_TRY(const Scalar b, eval(c->args[first + 1], lane));
  RLDB_TRY(const Scalar sum, eval(c->args[first + 2], lane));
  if (!t.is_float()) return fail(ErrorKind::Unsupported, fmt::format("`{}` is a function of floats", callee_text(c)));
  return of_float(round_to(round_to(a.f * b.f, t) + sum.f, t));
}

// Values from other threads: the machine has them before the statement is executed.
Result<Scalar> ExprEval::exchanged(const ir::Call* c) const {
  if (const auto it = env_.exchanged.find(c); it != env_.exchanged.end()) return it->second;
  return fail(ErrorKind::Unsupported,
              fmt::format("`{}` has a value where threads of a kernel meet in a statement: not outside of threads, and "
                          "not on a side of an expression that may be left out",
                          callee_text(c)));
}

Result<Scalar> ExprEval::is_null(const ir::Expr* pointer) const {
  const auto* v = ir::as<ir::Var>(pointer);
  if (!v)
    return fail(ErrorKind::Unsupported,
                fmt::format("the evaluator cannot follow the pointer `{}`", ir::print_expr(pointer)));
  const auto it = env_.pointers.find(v);
  return of_int(it == env_.pointers.end() || !it->second.storage);
}

Result<std::vector<std::int64_t>> ExprEval::integers(ir::Span<const ir::Expr*> values) const {
  std::vector<std::int64_t> out;
  for (const ir::Expr* e : values) {
    RLDB_TRY(const Scalar v, eval(e));
    out.push_back(v.i);
  }
  return out;
}

Result<Value> ExprEval::as_value(const ir::Expr* e) const {
  if (const auto* s = ir::as<ir::StringImm>(e)) return Value::of_string(std::string(s->value));
  ir::PointedBuffer memory(e);
  for (const auto& [buffer, value] : env_.buffers) memory.offer(buffer);
  if (const ir::Buffer* buffer = memory.found()) {
    BufferValue value = env_.buffers.at(buffer);
    if (memory.has_other_dims()) {
      RLDB_TRY(const std::vector<std::int64_t> dims, integers(memory.dims()));
      value.set_rows(dims);
    }
    if (value.inside()) return value.as_value();
    return fail(ErrorKind::OutOfBounds,
                fmt::format("access out of bounds: `{}` reaches past its memory", buffer->name));
  }
  RLDB_TRY(const Scalar v, eval(e));
  const DType t = e->dtype();
  if (t.is_float()) return Value::of_float(v.f);
  return t.is_bool() ? Value::of_bool(v.i != 0) : Value::of_int(v.i);
}

Result<Value> ExprEval::call_packed(const ir::Call* c) const {
  const auto* name = c->args.empty() ? nullptr : ir::as<ir::StringImm>(c->args[0]);
  if (!name) return fail(ErrorKind::Unsupported, "a packed call without a constant name");
  const runtime::PackedInfo* f = registry_ ? registry_->find(name->value) : nullptr;
  if (!f) return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", name->value));
  std::vector<Value> args;
  for (std::size_t i = 1; i < c->args.size(); ++i) {
    RLDB_TRY(Value v, as_value(c->args[i]));
    args.push_back(std::move(v));
  }
  RLDB_TRY(Value result, f->function->native(args));
  if (watcher_)
    for (const Value& v : args) watcher_->passed(v);
  return result;
}

Result<Value> eval_scalar(const ir::Expr* e, const ScalarEnv& env) {
  Environment none;
  ExprEval evaluator(none, nullptr);
  evaluator.set_outer(&env);
  RLDB_TRY(const Scalar v, evaluator.eval(e));
  const DType t = e->dtype();
  if (t.is_float()) return Value::of_float(v.f);
  if (t.is_bool()) return Value::of_bool(v.i != 0);
  return Value::of_int(v.i);
}

}  // namespace rldb::eval
