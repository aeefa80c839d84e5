// If, Loop, Scan. A condition that is known chooses its branch, and a loop whose number of steps is known is unrolled,
// here; otherwise an `if`, and a local function that calls itself.
#include "onnx/ops/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/ops/chain.h"
#include "onnx/ops/repeat.h"
#include "onnx/tensor.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/type_relation.h"

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

// A branch whose result is a tuple.
ir::Result<const ir::SeqExpr*> tuple_branch(NodeContext& c, const std::function<ir::Result<Exprs>()>& make) {
  return branch(c, [&]() -> Made {
    RLDB_TRY(const Exprs made, make());
    return static_cast<const Expr*>(c.blocks.emit(c.ctx.tuple(made), "gv"));
  });
}

// An `if` over tuples. Variables bound in a branch are not visible after it.
template <class Then, class Else>
Made choice(NodeContext& c, const Expr* condition, Then&& consequence, Else&& alternative) {
  const std::uint32_t before = c.ctx.node_count();
  RLDB_TRY(const ir::SeqExpr* yes, tuple_branch(c, consequence));
  RLDB_TRY(const ir::SeqExpr* no, tuple_branch(c, alternative));
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
  if (!then_graph || !else_graph || c.inputs.empty()) return refuse("it does not have two branches and a condition");
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
    return refuse("its body does not have the values that it carries");
  loop.scanned = outputs - 1 - loop.carried;
  if (c.is_literal(0)) {
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

Made recursive_loop(NodeContext& c, const LoopOf& loop) {
  Repeat of;
  for (std::size_t i = 0; i < loop.carried; ++i) {
    RLDB_TRY(const Expr* e, c.in(2 + i));
    of.first.push_back(e);
  }
  of.stacked = loop.scanned;
  if (c.has(0)) {
    RLDB_TRY(const Expr* given, c.in(0));
    RLDB_TRY(const Expr* wide, c.cast(given, DType::Int(64)));
    RLDB_TRY(of.limit, scalar_of(c, wide));
  }
  if (c.has(1)) {
    RLDB_TRY(const Expr* given, c.in(1));
    RLDB_TRY(of.condition, scalar_of(c, given));
  }
  of.run = [&](const Repeat::Step& now) -> ir::Result<Exprs> {
    Values inputs{{nullptr, std::make_shared<const Known>(Known{DType::Int(64), 0, {now.at}})},
                  {now.condition, nullptr}};
    for (const Expr* e : now.carried) inputs.push_back({e, nullptr});
    RLDB_TRY(const Values made, c.run_graph(*loop.body, inputs));
    return tensors_of(c, made);
  };
  RLDB_TRY(const Exprs all, repeated(c, of));
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
    return refuse("its body does not have the values that it carries");
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

const Expr* flipped(Chain& m, const Expr* x, std::int64_t axis) {
  return m.op(op::Flip, {x}, {{op_attr::Axis, m.ctx.attr(axis)}});
}

// Where the sequence's length is known at run time only. The operands that are scanned: their axes are numbers.
ir::Result<Exprs> scanned_at_run_time(NodeContext& c, const ScanOf& s, const Exprs& operands, const Ints& axes) {
  Chain m(c);
  Exprs sequences;
  for (std::size_t i = 0; i < s.inputs; ++i) {
    const Expr* x = operands[s.states + i];
    sequences.push_back(s.in_backwards[i] != 0 ? flipped(m, x, axes[i]) : x);
  }
  const Dims dims = m.dims(operands[s.states]);
  RLDB_TRY_VOID(m.done(nullptr));
  const Expr* length = dims[std::size_t(axes[0])];
  // That all of them are as long is checked when the program runs.
  for (std::size_t i = 0; i < s.inputs; ++i) sequences[i] = c.with_dim(sequences[i], std::size_t(axes[i]), length);
  Repeat of;
  of.first.assign(operands.begin(), operands.begin() + std::ptrdiff_t(s.states));
  of.stacked = s.outputs;
  RLDB_TRY(of.limit, c.tensor_from({DType::Int(64), 0, {length}}));
  of.run = [&](const Repeat::Step& now) -> ir::Result<Exprs> {
    Values inputs;
    for (const Expr* e : now.carried) inputs.push_back({e, nullptr});
    for (std::size_t i = 0; i < s.inputs; ++i) {
      RLDB_TRY(const Expr* element, c.take_axis(sequences[i], now.step, std::size_t(axes[i])));
      inputs.push_back({element, nullptr});
    }
    RLDB_TRY(const Values values, c.run_graph(*s.body, inputs));
    RLDB_TRY(Exprs made, tensors_of(c, values));
    made.insert(made.begin(), nullptr);
    return made;
  };
  RLDB_TRY(Exprs made, repeated(c, of));
  for (std::size_t k = 0; k < s.outputs; ++k) {
    const Expr*& rows = made[s.states + k];
    rows = c.with_dim(rows, 0, length);
    const std::size_t rank = m.rank(rows);
    RLDB_TRY(const std::size_t axis, c.axis(s.out_axes[k], rank));
    if (s.out_backwards[k] != 0) rows = flipped(m, rows, 0);
    Ints order = iota(1, std::int64_t(rank));
    order.insert(order.begin() + std::ptrdiff_t(axis), 0);
    if (axis != 0) rows = m.permute(rows, order);
  }
  RLDB_TRY_VOID(m.done(nullptr));
  return made;
}

// The states after the last step, then what was scanned.
ir::Result<Exprs> scanned(NodeContext& c, const ScanOf& s, const Exprs& operands) {
  Chain m(c);
  Values state;
  for (std::size_t i = 0; i < s.states; ++i) state.push_back({operands[i], nullptr});
  std::int64_t steps = 0;
  bool known_steps = false;
  Ints axes;
  for (std::size_t i = 0; i < s.inputs; ++i) {
    const Expr* x = operands[s.states + i];
    axes.push_back(std::int64_t(m.axis(s.in_axes[i], x)));
    const Dims dims = m.dims(x);
    RLDB_TRY_VOID(m.done(nullptr));
    const auto n = int_of(dims[std::size_t(axes[i])]);
    if (n && known_steps && *n != steps) return refuse(fmt::format("its sequences have {} and {} steps", steps, *n));
    if (n) steps = *n;
    known_steps = known_steps || n;
  }
  if (!known_steps || steps < 1 || !fits_unrolled(*s.body, steps)) return scanned_at_run_time(c, s, operands, axes);
  // That the others are as long is checked when the program runs.
  Exprs sequences(operands.begin() + std::ptrdiff_t(s.states), operands.end());
  for (std::size_t k = 0; k < s.inputs; ++k)
    sequences[k] = c.with_dim(sequences[k], std::size_t(axes[k]), c.i64(steps));
  std::vector<Exprs> outputs(s.outputs);
  for (std::int64_t i = 0; i < steps; ++i) {
    Values inputs = state;
    for (std::size_t k = 0; k < s.inputs; ++k) {
      const std::int64_t at = s.in_backwards[k] != 0 ? steps - 1 - i : i;
      inputs.push_back({place_of_axis(m, sequences[k], std::size_t(axes[k]), at), nullptr});
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
ir::Result<Exprs> scanned_by_batch(NodeContext& c, const ScanOf& s, Exprs operands) {
  Chain m(c);
  const std::int64_t batch = m.size(operands[0], 0);
  RLDB_TRY_VOID(m.done(nullptr));
  std::vector<Exprs> all(s.states + s.outputs);
  if (batch < 1 || batch > kMostSteps) return refuse("its batch is empty, or too large");
  for (const Expr*& e : operands) {
    const Dims dims = m.dims(e);
    RLDB_TRY_VOID(m.done(nullptr));
    if (dims.empty() || int_of(dims[0]).value_or(batch) != batch) return refuse("its operands are not of one batch");
    e = c.with_dim(e, 0, c.i64(batch));
  }
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
