// Running sums and products, sorting.
#include "rldb/ir/op/order.h"

#include "relay/to_relax/translations.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/order_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

// The axis of topk and sorting, and the number of elements; below 1 means all.
struct Topk {
  std::int64_t axis = -1;
  std::int64_t k = 0;
  std::string_view ret_type;
  bool ascend = false;
  DType index;
};

Made topk_call(OpCall& o, const Topk& t) {
  RLDB_TRY(const ir::TensorType* x, o.tensor(0));
  RLDB_TRY(const std::size_t axis, o.axis(t.axis, std::size_t(x->ndim)));
  return o.call(op::Topk, {o.arg(0)},
                {{op_attr::K, o.ctx.attr(t.k < 1 ? std::int64_t(-1) : t.k)},
                 {op_attr::Axis, o.ctx.attr(std::int64_t(axis))},
                 {op_attr::RetType, o.ctx.attr(t.ret_type)},
                 {op_attr::Largest, o.ctx.attr(!t.ascend)},
                 {op_attr::Dtype, o.ctx.attr(t.index)}});
}

// The first `count` elements along an axis.
Made first_of(OpCall& o, const Expr* x, std::size_t axis, const Expr* count) {
  const Exprs from{o.i64(0)}, to{count}, step{o.i64(1)};
  return o.emit(op::StridedSlice,
                {x, o.prims({std::int64_t(axis)}), o.ctx.tuple(from), o.ctx.tuple(to), o.ctx.tuple(step)});
}

}  // namespace

// Without an axis the data is flattened.
Made scan(OpCall& o) {
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  RLDB_TRY(const Dims dims, o.dims(0));
  const Expr* x = o.arg(0);
  RLDB_TRY(const std::size_t axis, o.axis_or_flat(x, dims));
  return o.call(o.target, {o.bind(x)},
                {{op_attr::Axis, o.ctx.attr(std::int64_t(axis))},
                 {op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(type->dtype))},
                 {op_attr::Exclusive, o.ctx.attr(o.flag(relay::field::Exclusive))}});
}

Made sort(OpCall& o) {
  return o.call(op::Sort, {o.arg(0)},
                {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(-1))},
                 {op_attr::Descending, o.ctx.attr(!o.flag(relay::field::IsAscend))}});
}

Made argsort(OpCall& o) {
  return o.call(op::Argsort, {o.arg(0)},
                {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(-1))},
                 {op_attr::Descending, o.ctx.attr(!o.flag(relay::field::IsAscend))},
                 {op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(DType::Int(32)))}});
}

Made topk(OpCall& o) {
  return topk_call(o, {o.integer(relay::field::Axis).value_or(-1), o.integer(relay::field::K).value_or(-1),
                       o.string(relay::field::RetType), o.flag(relay::field::IsAscend),
                       o.dtype(relay::field::Dtype).value_or(DType::Int(32))});
}

// The number is a value: all elements are sorted, and the first ones taken.
Made dyn_topk(OpCall& o) {
  const relay::AttrValue *axis_given = o.attr(relay::field::Axis), *ascends = o.attr(relay::field::IsAscend),
                         *ret_type = o.attr(relay::field::RetType);
  Topk wanted{axis_given ? axis_given->integer : -1, 0, ret_type ? ret_type->text : "both",
              ascends && ascends->integer != 0, o.dtype(relay::field::Dtype).value_or(DType::Int(32))};
  if (const auto literal = o.constant_ints(1); literal && literal->size() == 1) {
    wanted.k = (*literal)[0];
    return topk_call(o, wanted);
  }
  RLDB_TRY(const ir::TensorType* x, o.tensor(0));
  RLDB_TRY(const std::size_t axis, o.axis(wanted.axis, std::size_t(x->ndim)));
  RLDB_TRY(const Expr* one, o.reshape(o.arg(1), {o.i64(1)}));
  RLDB_TRY(const Dims k, o.dims_of_values(one, 1));
  RLDB_TRY(const Expr* made, topk_call(o, wanted));
  const Expr* all = o.bind(made);
  if (wanted.ret_type != "both") return first_of(o, all, axis, k[0]);
  Exprs parts;
  for (std::int64_t i = 0; i < 2; ++i) {
    RLDB_TRY(const ir::TupleGetItem* part, o.ctx.tuple_get(all, i));
    RLDB_TRY(const Expr* first, first_of(o, o.bind(part), axis, k[0]));
    parts.push_back(first);
  }
  return static_cast<const Expr*>(o.ctx.tuple(parts));
}

}  // namespace rldb::to_relax::translations
