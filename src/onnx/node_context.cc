// Operands and attributes of a node.
#include "onnx/node_context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "onnx/tensor.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/source/diagnostic_onnx.h"

namespace rldb::onnx {

// ---- operands ----

Ints shape_of(const Known& known) {
  if (known.rank == 1) return {std::int64_t(known.items.size())};
  return known.shape;
}

bool is_literal(const Known& known) {
  return std::all_of(known.items.begin(), known.items.end(),
                     [](const Expr* e) { return ir::isa<ir::IntImm>(e) || ir::isa<ir::FloatImm>(e); });
}

ir::Result<runtime::Value> literal_value(const Known& known) {
  auto made = runtime::Tensor::empty(shape_of(known), known.dtype);
  if (!made.ok()) return refuse(made.error().message);
  for (std::size_t i = 0; i < known.items.size(); ++i) {
    std::byte* to = (*made)->data() + i * known.dtype.bytes();
    if (const auto* f = ir::as<ir::FloatImm>(known.items[i]))
      runtime::store_double(to, known.dtype, f->value);
    else
      runtime::store_int(to, known.dtype, *int_of(known.items[i]));
  }
  return runtime::Value(*made);
}

Made NodeContext::tensor_from(const Known& known) {
  if (onnx::is_literal(known)) {
    RLDB_TRY(const runtime::Value value, literal_value(known));
    return static_cast<const Expr*>(ctx.constant(value));
  }
  RLDB_TRY(const Expr* vector, emit(op::ShapeToTensor, {ctx.shape(known.items)}));
  if (known.rank != 1) {
    Dims dims;
    for (const std::int64_t n : shape_of(known)) dims.push_back(i64(n));
    RLDB_TRY(vector, reshape(vector, dims));
  }
  return cast(vector, known.dtype);
}

Made NodeContext::tensor_of_value(const Value& v) {
  if (v.expr) return v.expr;
  if (v.known) return tensor_from(*v.known);
  return refuse("an operand is missing");
}

Made NodeContext::in(std::size_t i) {
  if (!has(i)) return refuse(fmt::format("it has no operand {}", i));
  return tensor_of_value(inputs[i]);
}

ir::Result<Exprs> NodeContext::all() {
  Exprs made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RLDB_TRY(const Expr* x, in(i));
    made.push_back(x);
  }
  return made;
}

ir::Result<const ir::TensorType*> NodeContext::type(std::size_t i) {
  RLDB_TRY(const Expr* x, in(i));
  return tensor_of(x);
}

ir::Result<Dims> NodeContext::dims(std::size_t i) {
  RLDB_TRY(const Expr* x, in(i));
  return dims_of(x);
}

const runtime::Tensor* NodeContext::constant(std::size_t i) const {
  const auto* c = i < inputs.size() && inputs[i].expr ? ir::as<ir::Constant>(inputs[i].expr) : nullptr;
  return c ? &c->value->as_tensor() : nullptr;
}

std::shared_ptr<const Known> NodeContext::known_of(ir::Context& ctx, const Value& v) {
  if (v.known) return v.known;
  const auto* c = v.expr ? ir::as<ir::Constant>(v.expr) : nullptr;
  if (!c) return nullptr;
  const runtime::Tensor& t = c->value->as_tensor();
  if (t.ndim() > 1 || t.element_count() > kMostKnown || t.dtype().is_float8() || t.dtype().bits < 8) return nullptr;
  auto made = std::make_shared<Known>();
  made->dtype = t.dtype();
  made->rank = t.ndim();
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    const std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
    if (t.dtype().is_float())
      made->items.push_back(ctx.float_imm(DType::Float(64), runtime::load_as_double(at, t.dtype())));
    else
      made->items.push_back(ctx.i64(runtime::load_as_int(at, t.dtype())));
  }
  return made;
}

std::shared_ptr<const Known> NodeContext::known(std::size_t i) const {
  return i < inputs.size() ? known_of(ctx, inputs[i]) : nullptr;
}

std::shared_ptr<const Known> NodeContext::known_beside_sizes(std::size_t i) const {
  if (auto k = known(i)) return k;
  const bool sizes = std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.known != nullptr; });
  auto k = sizes ? readable(i) : nullptr;
  return k && k->dtype.is_int() ? k : nullptr;
}

void NodeContext::note_read(std::size_t i) const {
  if (read && i < inputs.size() && inputs[i].weight) read->insert(inputs[i].expr);
}

std::shared_ptr<const Known> NodeContext::readable(std::size_t i) const {
  if (i >= inputs.size()) return nullptr;
  const Value& v = inputs[i];
  return known_of(ctx, v.weight ? Value{v.weight} : v);
}

support::Failure<source::Message> NodeContext::must_be_known(std::size_t i) const {
  const std::string name = int(i) < node.input_size() ? node.input(int(i)) : "";
  support::Failure<source::Message> failure{source::message(diag::OnnxNotKnown, "", node.op_type(), i, name)};
  failure.error.argument = int(i);
  failure.error.attribute = name;
  return failure;
}

bool NodeContext::is_literal(std::size_t i) const {
  const auto k = known(i);
  return k && onnx::is_literal(*k);
}

bool NodeContext::decides(std::size_t i) const {
  const auto k = readable(i);
  return k && onnx::is_literal(*k);
}

ir::Result<Dims> NodeContext::shape_in(std::size_t i) {
  if (readable(i)) return dims_in(i);
  RLDB_TRY(const Expr* x, in(i));
  RLDB_TRY(const ir::TensorType* t, tensor_of(x));
  const auto count = t->ndim == 1 ? int_of(t->shape[0]) : std::nullopt;
  if (!count || *count > kMostKnown || t->dtype.is_float()) return must_be_known(i);
  return dims_of_values(x, std::size_t(*count));
}

ir::Result<Dims> NodeContext::dims_in(std::size_t i) {
  const auto k = readable(i);
  if (!k) return must_be_known(i);
  note_read(i);
  Dims made;
  for (const Expr* e : k->items) {
    const auto* f = ir::as<ir::FloatImm>(e);
    if (f && f->value != std::floor(f->value)) return refuse(fmt::format("its operand {} is not a whole number", i));
    made.push_back(f ? i64(std::int64_t(f->value)) : e);
  }
  return made;
}

ir::Result<Ints> NodeContext::ints_in(std::size_t i) {
  RLDB_TRY(const Dims items, dims_in(i));
  Ints made;
  for (const Expr* e : items) {
    const auto v = int_of(e);
    if (!v) return must_be_known(i);
    made.push_back(*v);
  }
  return made;
}

ir::Result<std::vector<double>> NodeContext::reals_in(std::size_t i) {
  const auto k = readable(i);
  if (!k) return must_be_known(i);
  note_read(i);
  std::vector<double> made;
  for (const Expr* e : k->items) {
    const auto* f = ir::as<ir::FloatImm>(e);
    const auto v = int_of(e);
    if (!f && !v) return must_be_known(i);
    made.push_back(f ? f->value : double(*v));
  }
  return made;
}

ir::Result<double> NodeContext::real_in(std::size_t i, double otherwise) {
  if (!has(i)) return otherwise;
  RLDB_TRY(const std::vector<double> all, reals_in(i));
  if (all.size() != 1) return refuse(fmt::format("its operand {} is not one number", i));
  return all[0];
}

// ---- attributes ----

const pb::AttributeProto* NodeContext::attr(std::string_view name) const {
  for (const auto& a : node.attribute()) {
    if (a.name() != name) continue;
    if (!a.has_ref_attr_name()) return &a;
    const auto found = outer ? outer->find(a.ref_attr_name()) : CallAttributes::const_iterator();
    return outer && found != outer->end() ? found->second : nullptr;
  }
  return nullptr;
}

namespace {

bool has_value(const pb::AttributeProto& a) {
  return a.has_f() || a.has_i() || a.has_s() || a.has_t() || a.has_g() || a.has_sparse_tensor() || a.has_tp() ||
         a.floats_size() + a.ints_size() + a.strings_size() + a.tensors_size() + a.graphs_size() > 0;
}

}  // namespace

// Some writers leave out values that are 0 or empty: the kind alone says that the attribute is given. Others, of the
// first version of the format, leave out the kind.
template <class Present>
const pb::AttributeProto* NodeContext::attr_of(std::string_view name, int kind, Present&& present) const {
  const auto* a = attr(name);
  if (!a) return nullptr;
  const bool has_kind = a->type() != pb::AttributeProto::UNDEFINED;
  const bool given = present(*a);
  const bool right = has_kind ? a->type() == kind && (given || !has_value(*a)) : given || !has_value(*a);
  if (!right) wrong_attribute = name;
  return right && (given || has_kind) ? a : nullptr;
}

std::int64_t NodeContext::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* a = attr_of(name, pb::AttributeProto::INT, [](const auto& p) { return p.has_i(); });
  return a ? a->i() : otherwise;
}
double NodeContext::real(std::string_view name, double otherwise) const {
  if (const auto exact = exact_reals.find(name); exact != exact_reals.end()) return exact->second;
  const auto* a = attr_of(name, pb::AttributeProto::FLOAT, [](const auto& p) { return p.has_f(); });
  return a ? double(a->f()) : otherwise;
}
std::string NodeContext::text(std::string_view name, std::string_view otherwise) const {
  const auto* a = attr_of(name, pb::AttributeProto::STRING, [](const auto& p) { return p.has_s(); });
  return a ? a->s() : std::string(otherwise);
}
ir::Result<std::string> NodeContext::word(std::string_view name, std::string_view otherwise,
                                          std::initializer_list<std::string_view> allowed) const {
  std::string given = text(name, otherwise);
  for (const std::string_view one : allowed)
    if (given == one) return given;
  return refuse(
      fmt::format("its attribute `{}` is `{}`, and not one of `{}`", name, given, fmt::join(allowed, "`, `")));
}
ir::Result<std::int64_t> NodeContext::choice(std::string_view name, std::int64_t otherwise, const Ints& allowed) const {
  const std::int64_t given = integer(name, otherwise);
  for (const std::int64_t one : allowed)
    if (given == one) return given;
  return refuse(fmt::format("its attribute `{}` is {}, and not one of {}", name, given, fmt::join(allowed, ", ")));
}
std::optional<Ints> NodeContext::ints(std::string_view name) const {
  const auto* a = attr_of(name, pb::AttributeProto::INTS, [](const auto& p) { return p.ints_size() > 0; });
  if (!a) return std::nullopt;
  return Ints(a->ints().begin(), a->ints().end());
}
Ints NodeContext::ints(std::string_view name, std::size_t count, std::int64_t otherwise) const {
  Ints made = ints(name).value_or(Ints());
  if (made.empty()) made.assign(count, otherwise);
  return made;
}
std::vector<double> NodeContext::reals(std::string_view name) const {
  const auto* a = attr_of(name, pb::AttributeProto::FLOATS, [](const auto& p) { return p.floats_size() > 0; });
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::vector<double>();
}
std::vector<std::string> NodeContext::texts(std::string_view name) const {
  const auto* a = attr_of(name, pb::AttributeProto::STRINGS, [](const auto& p) { return p.strings_size() > 0; });
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
}
const pb::GraphProto* NodeContext::graph(std::string_view name) const {
  const auto* a = attr_of(name, pb::AttributeProto::GRAPH, [](const auto& p) { return p.has_g(); });
  return a && a->has_g() ? &a->g() : nullptr;
}
const pb::TensorProto* NodeContext::tensor(std::string_view name) const {
  const auto* a = attr_of(name, pb::AttributeProto::TENSOR, [](const auto& p) { return p.has_t(); });
  return a && a->has_t() ? &a->t() : nullptr;
}

ir::Result<std::optional<Ints>> NodeContext::ints_of(std::string_view name, std::size_t operand) {
  if (has(operand)) {
    RLDB_TRY(Ints given, ints_in(operand));
    return std::optional(std::move(given));
  }
  return ints(name);
}

// ---- makers ----

const Expr* NodeContext::know(Known value) {
  result = std::make_shared<const Known>(std::move(value));
  return nullptr;
}

Made NodeContext::broadcast_emit(std::string_view relax_op, const Exprs& operands) {
  RLDB_TRY(const Expr* made, broadcast(relax_op, operands));
  return bind(made);
}

Made NodeContext::with_scalar(std::string_view relax_op, const Expr* a, double b) {
  RLDB_TRY(const ir::TensorType* t, tensor_of(a));
  return emit(relax_op, {a, scalar(t->dtype, b)});
}

Made NodeContext::reduced(std::string_view relax_op, const Expr* x, const Ints& axes, bool keepdims) {
  return emit(relax_op, {x}, {{op_attr::Axis, ints_attr(axes)}, {op_attr::Keepdims, ctx.attr(keepdims)}});
}

Made NodeContext::take_axis(const Expr* x, const Expr* indices, std::size_t axis) {
  return emit(op::Take, {x, indices}, {{op_attr::Axis, ctx.attr(std::int64_t(axis))}});
}

Made NodeContext::sliced(const Expr* x, std::size_t axis, const Expr* begin, const Expr* end) {
  const Expr *axes[] = {ctx.i64(std::int64_t(axis))}, *begins[] = {begin}, *ends[] = {end};
  return emit(op::StridedSlice, {x, ctx.tuple(axes), ctx.tuple(begins), ctx.tuple(ends)});
}

Made NodeContext::joined(const Exprs& tensors, std::int64_t axis) {
  return emit(op::Concat, {ctx.tuple(tensors)}, {{op_attr::Axis, ctx.attr(axis)}});
}

ir::Result<Exprs> NodeContext::fields_of(const Expr* tuple) {
  if (const auto* t = ir::as<ir::Tuple>(tuple)) return Exprs(t->items.begin(), t->items.end());
  const auto* type = ir::as<ir::TupleType>(tuple->type);
  if (!type) return refuse("a value is not known to be a tuple");
  Exprs items;
  for (std::size_t f = 0; f < type->fields.size(); ++f) {
    RLDB_TRY(const ir::TupleGetItem* item, ctx.tuple_get(tuple, std::int64_t(f)));
    items.push_back(blocks.emit(item));
  }
  return items;
}

ir::Result<Exprs> NodeContext::pieces(const Expr* x, const Ints& ends, std::int64_t axis) {
  if (ends.empty()) return Exprs{x};
  RLDB_TRY(const Expr* made,
           emit(op::Split, {x}, {{op_attr::IndicesOrSections, ints_attr(ends)}, {op_attr::Axis, ctx.attr(axis)}}));
  return fields_of(made);
}

}  // namespace rldb::onnx
