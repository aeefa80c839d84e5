// x.ndim, x.dtype.bits, x.strides[0] of a tensor: facts of its header that are known at run time are calls of the
// inspection operators, as in TVM's Python. A shape that is known is read off the type instead (access.cc).
#include "frontend/script/value/tensor_field.h"

#include "frontend/script/relax/relax.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "rldb/ir/op/inspect.h"

namespace rldb::frontend::script {

namespace {

struct FieldRow {
  std::string_view text;
  std::string_view op;
};

constexpr FieldRow kWhole[] = {{"ndim", op::InspectTensorNdim},
                               {"byte_offset", op::InspectTensorByteOffset},
                               {"elem_offset", op::InspectTensorElemOffset}};
constexpr FieldRow kOfDtype[] = {{"type_code", op::InspectTensorDtypeCode},
                                 {"bits", op::InspectTensorDtypeBits},
                                 {"lanes", op::InspectTensorDtypeLanes}};
constexpr FieldRow kOfAxis[] = {{"shape", op::InspectTensorShapeI}, {"strides", op::InspectTensorStrideI}};

std::string_view row_of(std::span<const FieldRow> rows, std::string_view text) {
  for (const FieldRow& row : rows)
    if (row.text == text) return row.op;
  return {};
}

// The tensor, or null for any other value.
const ir::Expr* tensor_in(const Val& v) {
  const ir::Expr* e = v.expr();
  return e && ir::as<ir::TensorType>(e->type) ? e : nullptr;
}

}  // namespace

std::optional<Val> tensor_field(Reader& r, const Val& object, std::string_view name, Node n) {
  const std::string_view op = row_of(kWhole, name);
  const ir::Expr* tensor = op.empty() ? nullptr : tensor_in(object);
  if (!tensor) return std::nullopt;
  const ir::Expr* leaf = as_leaf(r, tensor, n);
  return leaf ? emit_call(r, r.ctx.call(op, {leaf}), n) : Val();
}

bool may_be_dtype_field(Reader& r, Node n) {
  const Node dtype = n.child(Field::Object);
  return !row_of(kOfDtype, n.child(Field::Attribute).text()).empty() && dtype.is(Kind::Attribute) &&
         dtype.child(Field::Attribute).text() == "dtype" && !path_of(r, dtype);
}

std::optional<Val> tensor_dtype_field(Reader& r, const Val& owner, Node n) {
  const ir::Expr* tensor = tensor_in(owner);
  if (!tensor) return std::nullopt;
  const ir::Expr* leaf = as_leaf(r, tensor, n);
  const std::string_view op = row_of(kOfDtype, n.child(Field::Attribute).text());
  return leaf ? emit_call(r, r.ctx.call(op, {leaf}), n) : Val();
}

bool may_be_axis_field(Reader& r, Node n) {
  const Node field = n.child(Field::Object), index = n.child(Field::Index);
  return field.is(Kind::Attribute) && !row_of(kOfAxis, field.child(Field::Attribute).text()).empty() && index &&
         !index.is(Kind::Slice) && !path_of(r, field);
}

std::optional<Val> tensor_axis_field(Reader& r, const Val& owner, const Val& axis, Node n) {
  const ir::Expr* tensor = tensor_in(owner);
  if (!tensor) return std::nullopt;
  const std::string_view op = row_of(kOfAxis, n.child(Field::Object).child(Field::Attribute).text());
  if (op == op::InspectTensorShapeI && axis.is(ValKind::Int) && ir::as<ir::TensorType>(tensor->type)->has_shape)
    return std::nullopt;
  const ir::Expr* leaf = as_leaf(r, tensor, n);
  const ir::Expr* at = to_leaf(r, axis, n.child(Field::Index));
  return leaf && at ? emit_call(r, r.ctx.call(op, {leaf, at}), n) : Val();
}

}  // namespace rldb::frontend::script
