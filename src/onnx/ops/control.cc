// If, Loop, Scan. A condition that is known chooses its branch, and a loop whose number of steps is known is unrolled,
// here; otherwise an `if`, and a local function that calls itself.
#include "onnx/ops/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/ops/chain.h"
#include "onnx/tensor.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"

namespace rldb::onnx::bodies {

namespace {

// Steps that are unrolled: as many as keep the result small.
constexpr std::int64_t kMostNodes = 20'000;
constexpr std::int64_t kMostSteps = 1'024;

bool fits_unrolled(const pb::GraphProto& body, std::int64_t steps) {
  return steps <= kMostSteps && steps * std::max<std::int64_t>(1, body.node_size()) <= kMostNodes;
}

ir::Result<Exprs> tensors_of(NodeContext& c, const Values& values) {
  Exprs made;
  for (const Value& v : values) {
    RLDB_TRY(const Expr* e, c.tensor_of_value(v));
    made.push_back(ir::is_leaf(e) ? e : c.bind(e));
  }
  return made;
}

// A value of rank 0.
Made scalar_of(NodeContext& c, const Expr* e) {
  RLDB_TRY(const Dims dims, c.dims_of(e));
  return dims.empty() ? Made(e) : c.reshape(e, {});
}

// The bindings that `make` emits, as a branch whose result is a tuple.
template <class Make>
ir::Result<const ir::SeqExpr*> branch(NodeContext& c, Make&& make) {
  c.blocks.begin_scope();
  const ir::Result<Exprs> made = make();
  const Expr* tuple = c.ctx.tuple(made.ok() ? *made : Exprs());
  const ir::Var* last = made.ok() ? c.blocks.emit(tuple, "gv") : nullptr;
  const ir::SeqExpr* seq = c.blocks.end_scope(last ? static_cast<const Expr*>(last) : tuple);
  if (!made.ok()) return support::Failure(made.error());
  return seq;
}

// Dims that are not known become variables.
const Expr* with_named_dims(NodeContext& c, const Expr* e) {
  const auto* t = ir::as<ir::TensorType>(e->type);
  if (!t || t->has_shape || t->ndim < 0 || t->dtype.is_void()) return e;
  Dims dims;
  for (int i = 0; i < t->ndim; ++i) dims.push_back(c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64()));
  return c.blocks.emit_match_cast(e, c.ctx.tensor(dims, t->dtype));
}

ir::Result<Exprs> named_fields(NodeContext& c, const Expr* tuple) {
  RLDB_TRY(Exprs fields, c.fields_of(tuple));
  for (const Expr*& f : fields) f = with_named_dims(c, f);
  return fields;
}

// An `if` over tuples. Variables bound in a branch are not visible after it.
template <class Then, class Else>
Made choice(NodeContext& c, const Expr* condition, Then&& consequence, Else&& alternative) {
  const std::uint32_t before = c.ctx.node_count();
  RLDB_TRY(const ir::SeqExpr* yes, branch(c, consequence));
  RLDB_TRY(const ir::SeqExpr* no, branch(c, alternative));
  const auto visible = [&](const ir::Var* v) { return v->id <= before; };
  const ir::Type* type =
      ir::join(c.ctx, ir::erase(c.ctx, yes->body->type, visible), ir::erase(c.ctx, no->body->type, visible));
  return static_cast<const Expr*>(c.blocks.emit(c.ctx.if_expr(condition, yes, no, type), "gv"));
}

void set_results(NodeContext& c, const Exprs& made) {
  c.results.clear();
  for (const Expr* e : made) c.results.push_back({e, nullptr});
}

std::optional<bool> known_truth(const NodeContext& c, const Value& v) {
  const auto k = NodeContext::known_of(c.ctx, v);
  if (!k || k->items.size() != 1) return std::nullopt;
  const auto i = int_of(k->items[0]);
  return i ? std::optional(*i != 0) : std::nullopt;
}

}  // namespace

Made decided(NodeContext& c, const Value& given, const pb::GraphProto& yes, const pb::GraphProto& no,
             const Values& operands) {
  if (const auto known = known_truth(c, given)) {
    RLDB_TRY(c.results, c.run_graph(*known ? yes : no, operands));
    return nullptr;
  }
  RLDB_TRY(const Expr* condition, c.tensor_of_value(given));
  RLDB_TRY(condition, scalar_of(c, condition));
  const auto run = [&](const pb::GraphProto& g) -> ir::Result<Exprs> {
    RLDB_TRY(const Values values, c.run_graph(g, operands));
    return tensors_of(c, values);
  };
  RLDB_TRY(const Expr* tuple, choice(
                                  c, condition, [&] { return run(yes); }, [&] { return run(no); }));
  RLDB_TRY(const Exprs fields, named_fields(c, tuple));
  set_results(c, fields);
  return nullptr;
}

Made if_else(NodeContext& c) {
  const auto *then_graph = c.graph(key::ThenBranch), *else_graph = c.graph(key::ElseBranch);
  if (!then_graph || !else_graph || c.inputs.empty()) return refuse("it has not two branches and a condition");
  return decided(c, c.inputs[0], *then_graph, *else_graph, {});
}

// ---- Loop ----

namespace {

struct LoopOf {
  const pb::GraphProto* body = nullptr;
  std::size_t carried = 0, scanned = 0;
  std::optional<std::int64_t> steps;  // that are known
};

// Whether the body leaves its condition as it is: it goes on if it began.
bool keeps_condition(const pb::GraphProto& body) {
  if (body.output_size() == 0 || body.input_size() < 2) return false;
  std::string name = body.output(0).name();
  for (int i = body.node_size() - 1; i >= 0; --i) {
    const auto& node = body.node(i);
    if (node.output_size() != 1 || node.output(0) != name) continue;
    if (node.input_size() == 0)
      return node.attribute_size() == 1 && node.attribute(0).has_t() &&
             (node.attribute(0).t().raw_data() == std::string(1, '\1') ||
              (node.attribute(0).t().int32_data_size() == 1 && node.attribute(0).t().int32_data(0) != 0));
    if (node.input_size() != 1 || node.attribute_size() != 0) return false;
    name = node.input(0);
  }
  return name == body.input(1).name();
}

ir::Result<LoopOf> loop_of(NodeContext& c) {
  LoopOf loop;
  loop.body = c.graph(key::Body);
  if (!loop.body || loop.body->input_size() < 2 || loop.body->output_size() < 1 || c.count() < 2)
    return refuse("it has no body with a step and a condition");
  loop.carried = c.count() - 2;
  const auto outputs = std::size_t(loop.body->output_size());
  if (std::size_t(loop.body->input_size()) != loop.carried + 2 || outputs < loop.carried + 1)
    return refuse("its body has not the values that it carries");
  loop.scanned = outputs - 1 - loop.carried;
  if (c.has(0) && c.known(0)) {
    RLDB_TRY(const double steps, c.real_in(0, 0));
    loop.steps = std::int64_t(steps);
  }
  return loop;
}

Made stacked_steps(NodeContext& c, const Exprs& steps) {
  Exprs parts;
  for (const Expr* e : steps) {
    RLDB_TRY(const Expr* row, c.expand(e, {0}));
    parts.push_back(row);
  }
  return c.joined(parts, 0);
}

// Nothing was scanned: a tensor without elements, of the declared type.
Made no_steps(NodeContext& c, const pb::ValueInfoProto& declared);

Made unrolled_loop(NodeContext& c, const LoopOf& loop) {
  Values state(c.inputs.begin() + 2, c.inputs.end());
  std::vector<Exprs> scans(loop.scanned);
  bool on = !c.has(1) || known_truth(c, c.inputs[1]).value_or(true);
  for (std::int64_t i = 0; on && i < *loop.steps; ++i) {
    const auto known = [&](DType t, const Expr* e) {
      return Value{nullptr, std::make_shared<const Known>(Known{t, 0, {e}})};
    };
    Values inputs{known(DType::Int(64), c.i64(i)), known(DType::Bool(), c.i64(1))};
    inputs.insert(inputs.end(), state.begin(), state.end());
    RLDB_TRY(const Values made, c.run_graph(*loop.body, inputs));
    state.assign(made.begin() + 1, made.begin() + 1 + std::ptrdiff_t(loop.carried));
    for (std::size_t k = 0; k < loop.scanned; ++k) {
      RLDB_TRY(const Expr* e, c.tensor_of_value(made[1 + loop.carried + k]));
      scans[k].push_back(e);
    }
  }
  c.results = state;
  for (std::size_t k = 0; k < loop.scanned; ++k) {
    RLDB_TRY(const Expr* all,
             scans[k].empty() ? no_steps(c, loop.body->output(int(1 + loop.carried + k))) : stacked_steps(c, scans[k]));
    c.results.push_back({all, nullptr});
  }
  return nullptr;
}

// ---- a loop as a function that calls itself ----

ir::Result<const ir::TensorType*> shaped_type(const Expr* e) { return NodeContext::tensor_of(e); }

// Dims that differ between a value and what becomes of it in a step. False: they have different ranks or dtypes.
bool mark_changes(NodeContext& c, const ir::TensorType* from, const Expr* to, std::vector<bool>& open) {
  const auto* t = ir::as<ir::TensorType>(to->type);
  if (!t || t->dtype != from->dtype || t->ndim != from->ndim) return false;
  for (std::size_t k = 0; k < from->shape.size(); ++k)
    if (!t->has_shape || !c.same_dim(from->shape[k], t->shape[k])) open[k] = true;
  return true;
}

struct Recursion {
  NodeContext& c;
  const LoopOf& loop;
  Exprs first;  // the carried values before the loop
  std::vector<std::vector<bool>> open;
  std::vector<const ir::TensorType*> scanned;

  std::vector<const ir::Var*> params;
  const Expr* limit = nullptr;

  // Types of the parameters, with a new variable for each open dim, and for the number of steps scanned.
  const ir::Type* carried_type(std::size_t i) {
    const auto* t = ir::as<ir::TensorType>(first[i]->type);
    Dims dims(t->shape.begin(), t->shape.end());
    for (std::size_t k = 0; k < dims.size(); ++k)
      if (open[i][k]) dims[k] = c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64());
    return c.ctx.tensor(dims, t->dtype);
  }
  const ir::Type* scanned_type(std::size_t i, const Expr* rows) {
    Dims dims(scanned[i]->shape.begin(), scanned[i]->shape.end());
    dims.insert(dims.begin(), rows);
    return c.ctx.tensor(dims, scanned[i]->dtype);
  }
  const ir::Var* param(std::string_view name, const ir::Type* type) {
    params.push_back(c.ctx.var(c.blocks.unique_name(name), type));
    return params.back();
  }
  void make_params() {
    params.clear();
    param("step", c.ctx.tensor(Dims(), DType::Int(64)));
    param("condition", c.ctx.tensor(Dims(), DType::Bool()));
    for (std::size_t i = 0; i < loop.carried; ++i) param("carried", carried_type(i));
    for (std::size_t i = 0; i < scanned.size(); ++i)
      param("scanned", scanned_type(i, c.ctx.var(c.blocks.unique_name("rows"), c.ctx.int64())));
  }
  // The outputs of the body for the parameters.
  ir::Result<Exprs> step() {
    // The step as a dim: bounds of slices that depend on it are known by name.
    RLDB_TRY(const Expr* one, c.reshape(params[0], {c.i64(1)}));
    RLDB_TRY(const Dims at, c.dims_of_values(one, 1));
    Values inputs{{nullptr, std::make_shared<const Known>(Known{DType::Int(64), 0, at})}};
    for (std::size_t i = 1; i < 2 + loop.carried; ++i) inputs.push_back({params[i], nullptr});
    RLDB_TRY(const Values made, c.run_graph(*loop.body, inputs));
    return tensors_of(c, made);
  }
};

// Of variables that are bound before the loop.
bool is_outside(const Expr* dim, std::uint32_t before) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(dim, vars);
  return std::all_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return v->id <= before; });
}

// Runs the body for its types only, until the types of the carried values no longer change.
ir::Result<support::Unit> settle_types(Recursion& r) {
  for (int tries = 0;; ++tries) {
    r.scanned.clear();
    const std::uint32_t before_attempt = r.c.ctx.node_count();
    r.make_params();
    r.c.blocks.begin_scope();
    const ir::Result<Exprs> made = r.step();
    r.c.blocks.end_scope(r.c.ctx.tuple({}));
    if (!made.ok()) return support::Failure(made.error());
    const auto before = r.open;
    for (std::size_t i = 0; i < r.loop.carried; ++i) {
      RLDB_TRY(const ir::TensorType* from, shaped_type(r.params[2 + i]));
      if (!mark_changes(r.c, from, (*made)[1 + i], r.open[i]))
        return refuse(fmt::format("the value {} that it carries changes its rank or dtype", i));
    }
    for (std::size_t k = 0; k < r.loop.scanned; ++k) {
      RLDB_TRY(const ir::TensorType* t, shaped_type((*made)[1 + r.loop.carried + k]));
      for (const Expr* d : t->shape)
        if (!int_of(d) && !is_outside(d, before_attempt))
          return refuse(fmt::format("the shape of its result {} is known in a step only", r.loop.carried + k));
      r.scanned.push_back(t);
    }
    if (r.open == before) return support::Unit();
    if (tries > 16) return refuse("the shapes of the values that it carries do not settle");
  }
}

Made recursive_loop(NodeContext& c, const LoopOf& loop) {
  Recursion r{c, loop, {}, {}, {}, {}, nullptr};
  for (std::size_t i = 0; i < loop.carried; ++i) {
    RLDB_TRY(const Expr* e, c.in(2 + i));
    RLDB_TRY(const ir::TensorType* t, shaped_type(e));
    r.first.push_back(ir::is_leaf(e) ? e : c.bind(e));
    r.open.emplace_back(t->shape.size(), false);
  }
  if (c.has(0)) {
    RLDB_TRY(const Expr* given, c.in(0));
    RLDB_TRY(const Expr* wide, c.cast(given, DType::Int(64)));
    RLDB_TRY(r.limit, scalar_of(c, wide));
  }
  RLDB_TRY_VOID(settle_types(r));
  const std::uint32_t before = c.ctx.node_count();
  r.make_params();
  const auto visible = [&](const ir::Var* v) { return v->id <= before; };
  std::vector<const ir::Type*> types, fields;
  for (const ir::Var* p : r.params) types.push_back(p->type);
  for (std::size_t i = 2; i < r.params.size(); ++i) fields.push_back(ir::erase(c.ctx, r.params[i]->type, visible));
  const ir::Type* result = c.ctx.tuple_type(fields);
  const ir::Var* self = c.ctx.var(c.blocks.unique_name("loop"), c.ctx.func_type(types, result, true));

  c.blocks.begin_scope();
  const auto body = [&]() -> Made {
    const Expr* go = r.params[1];
    if (r.limit) {
      RLDB_TRY(const Expr* inside, c.emit(op::Less, {r.params[0], r.limit}));
      RLDB_TRY(go, c.emit(op::LogicalAnd, {inside, go}));
    }
    const auto again = [&]() -> ir::Result<Exprs> {
      RLDB_TRY(const Exprs made, r.step());
      Chain m(c);
      Exprs args{m.add(r.params[0], 1), m.good() ? m.take(scalar_of(c, made[0])) : nullptr};
      args.insert(args.end(), made.begin() + 1, made.begin() + 1 + std::ptrdiff_t(loop.carried));
      for (std::size_t k = 0; k < loop.scanned; ++k)
        args.push_back(m.join({r.params[2 + loop.carried + k], m.expand(made[1 + loop.carried + k], {0})}, 0));
      RLDB_TRY_VOID(m.done(nullptr));
      const ir::Var* call = c.blocks.emit(c.ctx.call_typed(self, args, result, {}, {}), "gv");
      return c.fields_of(call);
    };
    const auto stop = [&]() -> ir::Result<Exprs> { return Exprs(r.params.begin() + 2, r.params.end()); };
    return choice(c, go, again, stop);
  };
  const Made made = body();
  const ir::SeqExpr* seq = c.blocks.end_scope(made.ok() ? *made : c.ctx.tuple({}));
  RLDB_TRY_VOID(made);
  c.blocks.append(c.ctx.binding(self, c.ctx.function(r.params, seq, result, true, {})));

  Chain m(c);
  Exprs args{m.lit(DType::Int(64), 0), c.has(1) ? m.in(1) : m.lit(DType::Bool(), 1)};
  args[1] = m.good() ? m.take(scalar_of(c, args[1])) : nullptr;
  args.insert(args.end(), r.first.begin(), r.first.end());
  for (const ir::TensorType* t : r.scanned) {
    Dims dims(t->shape.begin(), t->shape.end());
    dims.insert(dims.begin(), c.i64(0));
    args.push_back(m.full(dims, t->dtype, 0));
  }
  RLDB_TRY_VOID(m.done(nullptr));
  for (const Expr*& a : args) a = ir::is_leaf(a) ? a : c.bind(a);
  const ir::Var* call = c.blocks.emit(c.ctx.call_typed(self, args, result, {}, {}), "gv");
  RLDB_TRY(const Exprs all, named_fields(c, call));
  set_results(c, all);
  return nullptr;
}

Made no_steps(NodeContext& c, const pb::ValueInfoProto& declared) {
  const auto dtype = dtype_of(declared.type().tensor_type().elem_type());
  if (!dtype) return refuse("it runs no step, and the type of a result is not declared");
  Dims dims{c.i64(0)};
  for (const auto& d : declared.type().tensor_type().shape().dim())
    dims.push_back(c.i64(d.has_dim_value() ? d.dim_value() : 1));
  Chain m(c);
  return m.done(m.full(dims, *dtype, 0));
}

}  // namespace

Made loop(NodeContext& c) {
  RLDB_TRY(const LoopOf of, loop_of(c));
  const bool begins = !c.has(1) || known_truth(c, c.inputs[1]).has_value();
  if (of.steps && *of.steps >= 0 && begins && keeps_condition(*of.body) && fits_unrolled(*of.body, *of.steps))
    return unrolled_loop(c, of);
  return recursive_loop(c, of);
}

// ---- Scan ----

namespace {

struct ScanOf {
  const pb::GraphProto* body = nullptr;
  std::size_t states = 0, inputs = 0, outputs = 0;
  Ints in_axes, out_axes, in_backwards, out_backwards;
};

ir::Result<ScanOf> scan_of(NodeContext& c, std::size_t operands) {
  ScanOf s;
  s.body = c.graph(key::Body);
  s.inputs = std::size_t(std::max<std::int64_t>(0, c.integer(key::NumScanInputs, 0)));
  if (!s.body || s.inputs == 0 || s.inputs > operands) return refuse("it has nothing to scan");
  s.states = operands - s.inputs;
  if (std::size_t(s.body->input_size()) != operands || std::size_t(s.body->output_size()) < s.states)
    return refuse("its body has not the values that it carries");
  s.outputs = std::size_t(s.body->output_size()) - s.states;
  s.in_axes = c.ints(key::ScanInputAxes, s.inputs, 0);
  s.out_axes = c.ints(key::ScanOutputAxes, s.outputs, 0);
  s.in_backwards = c.ints(c.opset < 9 ? key::Directions : key::ScanInputDirections, s.inputs, 0);
  s.out_backwards = c.ints(key::ScanOutputDirections, s.outputs, 0);
  if (s.in_axes.size() != s.inputs || s.out_axes.size() != s.outputs || s.in_backwards.size() != s.inputs ||
      s.out_backwards.size() != s.outputs)
    return refuse("its axes or directions are not those of its values");
  return s;
}

// One place of an axis, without it.
const Expr* place_of_axis(Chain& m, const Expr* x, std::size_t axis, std::int64_t i) {
  Dims dims = m.dims(x);
  if (!m.good()) return nullptr;
  dims.erase(dims.begin() + std::ptrdiff_t(axis));
  return m.reshape(m.slice(x, axis, i, i + 1), dims);
}

const Expr* joined_outputs(Chain& m, Exprs steps, std::int64_t axis, bool backwards) {
  if (backwards) std::reverse(steps.begin(), steps.end());
  const std::size_t rank = m.rank(steps[0]) + 1;
  const std::size_t at = m.good() ? m.take(m.c.axis(axis, rank)) : 0;
  for (const Expr*& e : steps) e = m.expand(e, {std::int64_t(at)});
  return m.join(steps, std::int64_t(at));
}

// The states after the last step, then what was scanned.
ir::Result<Exprs> scanned(NodeContext& c, const ScanOf& s, const Exprs& operands) {
  Chain m(c);
  Values state;
  for (std::size_t i = 0; i < s.states; ++i) state.push_back({operands[i], nullptr});
  std::int64_t steps = 0;
  Ints axes;
  for (std::size_t i = 0; i < s.inputs; ++i) {
    const Expr* x = operands[s.states + i];
    axes.push_back(std::int64_t(m.axis(s.in_axes[i], x)));
    steps = m.size(x, std::size_t(axes[i]));
  }
  RLDB_TRY_VOID(m.done(nullptr));
  if (steps < 1 || !fits_unrolled(*s.body, steps)) return refuse(fmt::format("it has {} steps", steps));
  std::vector<Exprs> outputs(s.outputs);
  for (std::int64_t i = 0; i < steps; ++i) {
    Values inputs = state;
    for (std::size_t k = 0; k < s.inputs; ++k) {
      const std::int64_t at = s.in_backwards[k] != 0 ? steps - 1 - i : i;
      inputs.push_back({place_of_axis(m, operands[s.states + k], std::size_t(axes[k]), at), nullptr});
    }
    RLDB_TRY_VOID(m.done(nullptr));
    RLDB_TRY(const Values made, c.run_graph(*s.body, inputs));
    state.assign(made.begin(), made.begin() + std::ptrdiff_t(s.states));
    RLDB_TRY(const Exprs tensors, tensors_of(c, Values(made.begin() + std::ptrdiff_t(s.states), made.end())));
    for (std::size_t k = 0; k < s.outputs; ++k) outputs[k].push_back(tensors[k]);
  }
  RLDB_TRY(Exprs made, tensors_of(c, state));
  for (std::size_t k = 0; k < s.outputs; ++k)
    made.push_back(joined_outputs(m, outputs[k], s.out_axes[k], s.out_backwards[k] != 0));
  RLDB_TRY_VOID(m.done(nullptr));
  return made;
}

// Opset 8 scans each member of a batch by itself.
ir::Result<Exprs> scanned_by_batch(NodeContext& c, const ScanOf& s, const Exprs& operands) {
  Chain m(c);
  const std::int64_t batch = m.size(operands[0], 0);
  RLDB_TRY_VOID(m.done(nullptr));
  std::vector<Exprs> all(s.states + s.outputs);
  if (batch < 1 || batch > kMostSteps) return refuse("its batch is empty, or too large");
  for (std::int64_t b = 0; b < batch; ++b) {
    Exprs of_member;
    for (const Expr* e : operands) of_member.push_back(place_of_axis(m, e, 0, b));
    RLDB_TRY_VOID(m.done(nullptr));
    RLDB_TRY(const Exprs made, scanned(c, s, of_member));
    for (std::size_t k = 0; k < all.size(); ++k) all[k].push_back(made[k]);
  }
  Exprs made;
  for (const Exprs& members : all) made.push_back(joined_outputs(m, members, 0, false));
  RLDB_TRY_VOID(m.done(nullptr));
  return made;
}

}  // namespace

Made scan(NodeContext& c) {
  const std::size_t skipped = c.opset < 9 ? 1 : 0;
  if (skipped && c.has(0)) return refuse("its sequences have different lengths");
  RLDB_TRY(const ScanOf s, scan_of(c, c.count() - std::min(c.count(), skipped)));
  Exprs operands;
  for (std::size_t i = skipped; i < c.count(); ++i) {
    RLDB_TRY(const Expr* e, c.in(i));
    operands.push_back(e);
  }
  RLDB_TRY(const Exprs made, skipped ? scanned_by_batch(c, s, operands) : scanned(c, s, operands));
  set_results(c, made);
  return nullptr;
}

}  // namespace rldb::onnx::bodies
