// A loop as a function that calls itself. Its body is translated for its types first, until the shapes of the carried
// values no longer change: dims that do are variables of the function.
#include "onnx/ops/repeat.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/ops/chain.h"
#include "onnx/ops/rows.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"

namespace rldb::onnx::bodies {

ir::Result<const ir::SeqExpr*> branch(NodeContext& c, const std::function<Made()>& make) {
  c.blocks.begin_scope();
  const Made made = make();
  const ir::SeqExpr* seq = c.blocks.end_scope(made.ok() ? *made : c.ctx.tuple({}));
  if (!made.ok()) return support::Failure(made.error());
  return seq;
}

Made scalar_of(NodeContext& c, const Expr* e) {
  RLDB_TRY(const Dims dims, c.dims_of(e));
  return dims.empty() ? Made(e) : c.reshape(e, {});
}

namespace {

const Expr* with_named_dims(NodeContext& c, const Expr* e) {
  const auto* t = ir::as<ir::TensorType>(e->type);
  if (!t || t->has_shape || t->ndim < 0 || t->dtype.is_void()) return e;
  Dims dims;
  for (int i = 0; i < t->ndim; ++i) dims.push_back(c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64()));
  return c.blocks.emit_match_cast(e, c.ctx.tensor(dims, t->dtype));
}

}  // namespace

ir::Result<Exprs> named_fields(NodeContext& c, const Expr* tuple) {
  RLDB_TRY(Exprs fields, c.fields_of(tuple));
  for (const Expr*& f : fields) f = with_named_dims(c, f);
  return fields;
}

namespace {

ir::Result<const ir::TensorType*> shaped_type(const Expr* e) { return NodeContext::tensor_of(e); }

// Dims that differ between a value and what becomes of it in a step. False: they have different ranks or dtypes.
bool mark_changes(NodeContext& c, const ir::TensorType* from, const Expr* to, std::vector<bool>& open) {
  const auto* t = ir::as<ir::TensorType>(to->type);
  if (!t || t->dtype != from->dtype || t->ndim != from->ndim) return false;
  for (std::size_t k = 0; k < from->shape.size(); ++k)
    if (!t->has_shape || !c.same_dim(from->shape[k], t->shape[k])) open[k] = true;
  return true;
}

// Of variables that are bound before the loop.
bool is_outside(const Expr* dim, std::uint32_t before) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(dim, vars);
  return std::all_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return v->id <= before; });
}

class Recursion {
 public:
  Recursion(NodeContext& c, const Repeat& of) : c_(c), of_(of), first_(of.first) {}

  ir::Result<Exprs> make() {
    for (const Expr*& e : first_) {
      RLDB_TRY(const ir::TensorType* t, shaped_type(e));
      e = ir::is_leaf(e) ? e : c_.bind(e);
      open_.emplace_back(t->shape.size(), false);
    }
    RLDB_TRY_VOID(settle_types());
    const std::uint32_t before = c_.ctx.node_count();
    make_params();
    const auto visible = [&](const ir::Var* v) { return v->id <= before; };
    std::vector<const ir::Type*> types, fields;
    for (const ir::Var* p : params_) types.push_back(p->type);
    for (std::size_t i = 2; i < params_.size(); ++i) fields.push_back(ir::erase(c_.ctx, params_[i]->type, visible));
    fields.push_back(params_[0]->type);
    result_ = c_.ctx.tuple_type(fields);
    self_ = c_.ctx.var(c_.blocks.unique_name("loop"), c_.ctx.func_type(types, result_, true));
    RLDB_TRY(const ir::SeqExpr* seq, branch(c_, [&] { return body(); }));
    c_.blocks.append(c_.ctx.binding(self_, c_.ctx.function(params_, seq, result_, true, {})));
    RLDB_TRY(const Expr* call, first_call());
    RLDB_TRY(Exprs all, c_.fields_of(call));
    const Expr* steps = all.back();
    all.pop_back();
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = c_.blocks.emit_match_cast(all[i],
                                         i < first_.size() ? carried_type(i) : stacked_type(rows_[i - first_.size()]));
    for (std::size_t i = first_.size(); i < all.size(); ++i) {
      RLDB_TRY(all[i], first_rows(c_, all[i], steps));
    }
    return all;
  }

 private:
  // ---- parameters: the step, the condition, the carried values, the rows so far and places for more ----
  // The results are the same without the condition, the number of steps last.

  // With a new variable for each open dim.
  const ir::Type* carried_type(std::size_t i) {
    const auto* t = ir::as<ir::TensorType>(first_[i]->type);
    Dims dims(t->shape.begin(), t->shape.end());
    for (std::size_t k = 0; k < dims.size(); ++k)
      if (open_[i][k]) dims[k] = c_.ctx.var(c_.blocks.unique_name("n"), c_.ctx.int64());
    return c_.ctx.tensor(dims, t->dtype);
  }
  // A tensor that each step stacks. Dims that only a step knows are variables of the rows too.
  struct Row {
    const ir::TensorType* type = nullptr;
    std::vector<bool> open;  // such dims
    bool is_open() const { return std::find(open.begin(), open.end(), true) != open.end(); }
  };
  const ir::Type* stacked_type(const Row& row) {
    Dims dims(row.type->shape.begin(), row.type->shape.end());
    for (std::size_t k = 0; k < dims.size(); ++k)
      if (row.open[k]) dims[k] = c_.ctx.var(c_.blocks.unique_name("n"), c_.ctx.int64());
    dims.insert(dims.begin(), c_.ctx.var(c_.blocks.unique_name("rows"), c_.ctx.int64()));
    return c_.ctx.tensor(dims, row.type->dtype);
  }
  void param(std::string_view name, const ir::Type* type) {
    params_.push_back(c_.ctx.var(c_.blocks.unique_name(name), type));
  }
  void make_params() {
    params_.clear();
    param("step", c_.ctx.tensor(Dims(), DType::Int(64)));
    param("condition", c_.ctx.tensor(Dims(), DType::Bool()));
    for (std::size_t i = 0; i < first_.size(); ++i) param("carried", carried_type(i));
    for (const Row& row : rows_) param("scanned", stacked_type(row));
  }
  const ir::Var* carried(std::size_t i) const { return params_[2 + i]; }
  const ir::Var* stacked(std::size_t i) const { return params_[2 + first_.size() + i]; }

  // ---- steps ----

  ir::Result<Exprs> step() {
    // The step as a dim: bounds of slices that depend on it are known by name.
    RLDB_TRY(const Expr* one, c_.reshape(params_[0], {c_.i64(1)}));
    RLDB_TRY(const Dims at, c_.dims_of_values(one, 1));
    Repeat::Step now{params_[0], at[0], params_[1], {}};
    for (std::size_t i = 0; i < first_.size(); ++i) now.carried.push_back(carried(i));
    return of_.run(now);
  }

  // Runs the body for its types only, until the types of the carried values no longer change.
  ir::Result<support::Unit> settle_types() {
    for (int tries = 0;; ++tries) {
      rows_.clear();
      const std::uint32_t before_attempt = c_.ctx.node_count();
      make_params();
      c_.blocks.begin_scope();
      const ir::Result<Exprs> made = step();
      c_.blocks.end_scope(c_.ctx.tuple({}));
      if (!made.ok()) return support::Failure(made.error());
      const auto before = open_;
      for (std::size_t i = 0; i < first_.size(); ++i) {
        RLDB_TRY(const ir::TensorType* from, shaped_type(carried(i)));
        if (!mark_changes(c_, from, (*made)[1 + i], open_[i]))
          return refuse(fmt::format("the value {} that it carries changes its rank or dtype", i));
      }
      for (std::size_t k = 0; k < of_.stacked; ++k) {
        RLDB_TRY(const ir::TensorType* t, shaped_type((*made)[1 + first_.size() + k]));
        Row row{t, {}};
        for (const Expr* d : t->shape) row.open.push_back(!int_of(d) && !is_outside(d, before_attempt));
        rows_.push_back(std::move(row));
      }
      if (open_ == before) return support::Unit();
      if (tries > 16) return refuse("the shapes of the values that it carries do not settle");
    }
  }

  // ---- the function ----

  // The rows so far, with the dims of this one. That those of a step are as those before is checked when it runs.
  Made rows_so_far(std::size_t k, const Expr* row) {
    if (!rows_[k].is_open()) return static_cast<const Expr*>(stacked(k));
    RLDB_TRY(const ir::TensorType* t, shaped_type(row));
    Dims dims(t->shape.begin(), t->shape.end());
    dims.insert(dims.begin(), c_.i64(0));
    bodies::Chain m(c_);
    const Expr* is_first = m.each(op::Less, params_[0], m.lit(DType::Int(64), 1));
    RLDB_TRY_VOID(m.done(nullptr));
    RLDB_TRY(const ir::SeqExpr* none, branch(c_, [&] {
               bodies::Chain inside(c_);
               return inside.done(inside.full(dims, t->dtype, 0));
             }));
    RLDB_TRY(const ir::SeqExpr* some, branch(c_, [&] { return Made(c_.blocks.emit(stacked(k), "gv")); }));
    const ir::Type* open = c_.ctx.tensor_ndim(int(dims.size()), t->dtype);
    const Expr* chosen = c_.blocks.emit(c_.ctx.if_expr(is_first, none, some, open), "gv");
    dims[0] = c_.ctx.var(c_.blocks.unique_name("rows"), c_.ctx.int64());
    return static_cast<const Expr*>(c_.blocks.emit_match_cast(chosen, c_.ctx.tensor(dims, t->dtype)));
  }

  // One more step, then the function again: the call is in tail position, so that its frame is that of its caller.
  Made next_call() {
    RLDB_TRY(const Exprs made, step());
    bodies::Chain m(c_);
    Exprs args{m.add(params_[0], 1), made[0] ? m.take(scalar_of(c_, made[0])) : m.lit(DType::Bool(), 1)};
    args.insert(args.end(), made.begin() + 1, made.begin() + 1 + std::ptrdiff_t(first_.size()));
    RLDB_TRY_VOID(m.done(nullptr));
    for (std::size_t k = 0; k < of_.stacked; ++k) {
      const Expr* row = made[1 + first_.size() + k];
      RLDB_TRY(const Expr* rows, rows_so_far(k, row));
      RLDB_TRY(rows, with_place(c_, rows, params_[0]));
      RLDB_TRY(rows, with_row(c_, rows, row, params_[0]));
      args.push_back(rows);
    }
    return static_cast<const Expr*>(c_.blocks.emit(c_.ctx.call_typed(self_, args, result_, {}, {}), "gv"));
  }

  Made body() {
    const Expr* go = params_[1];
    if (of_.limit) {
      RLDB_TRY(const Expr* inside, c_.emit(op::Less, {params_[0], of_.limit}));
      RLDB_TRY(go, c_.emit(op::LogicalAnd, {inside, go}));
    }
    RLDB_TRY(const ir::SeqExpr* again, branch(c_, [&] { return next_call(); }));
    RLDB_TRY(const ir::SeqExpr* stop, branch(c_, [&]() -> Made {
               Exprs values(params_.begin() + 2, params_.end());
               values.push_back(params_[0]);
               return static_cast<const Expr*>(c_.blocks.emit(c_.ctx.tuple(values), "gv"));
             }));
    return static_cast<const Expr*>(c_.blocks.emit(c_.ctx.if_expr(go, again, stop, result_), "gv"));
  }

  Made first_call() {
    bodies::Chain m(c_);
    Exprs args{m.lit(DType::Int(64), 0), of_.condition ? of_.condition : m.lit(DType::Bool(), 1)};
    args.insert(args.end(), first_.begin(), first_.end());
    for (const Row& row : rows_) {
      Dims dims(row.type->shape.begin(), row.type->shape.end());
      for (std::size_t k = 0; k < dims.size(); ++k)
        if (row.open[k]) dims[k] = c_.i64(0);
      dims.insert(dims.begin(), c_.i64(0));
      args.push_back(m.full(dims, row.type->dtype, 0));
    }
    RLDB_TRY_VOID(m.done(nullptr));
    for (const Expr*& a : args) a = ir::is_leaf(a) ? a : c_.bind(a);
    return static_cast<const Expr*>(c_.blocks.emit(c_.ctx.call_typed(self_, args, result_, {}, {}), "gv"));
  }

  NodeContext& c_;
  const Repeat& of_;
  Exprs first_;
  std::vector<std::vector<bool>> open_;
  std::vector<Row> rows_;
  std::vector<const ir::Var*> params_;
  const ir::Type* result_ = nullptr;
  const ir::Var* self_ = nullptr;
};

}  // namespace

ir::Result<Exprs> repeated(NodeContext& c, const Repeat& of) { return Recursion(c, of).make(); }

}  // namespace rldb::onnx::bodies
