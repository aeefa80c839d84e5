// RNN, GRU, LSTM: one step after another, as long as the sequence is. A length that is not known, or is long, makes a
// function that calls itself.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "onnx/op_name.h"
#include "onnx/ops/chain.h"
#include "onnx/ops/repeat.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/support/text.h"

namespace rldb::onnx::bodies {

namespace {

// Longer sequences are not unrolled.
constexpr std::int64_t kMostTimeSteps = 2048;

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

// Activations that are no operators of their own.
constexpr std::string_view kAffine = "Affine", kScaledTanh = "ScaledTanh";

// The default parameters of the activations that have some.
struct ActivationDefaults {
  std::string_view name;
  double alpha;
  std::optional<double> beta;
};
constexpr ActivationDefaults kDefaults[] = {
    {op_name::LeakyRelu, 0.01, {}},   {op_name::Elu, 1, {}}, {op_name::ThresholdedRelu, 1, {}},
    {op_name::HardSigmoid, 0.2, 0.5}, {kAffine, 1, 0},       {kScaledTanh, 1, 1},
};

struct Layer {
  std::int64_t gates = 1;  // blocks of rows in the weights
  std::int64_t hidden = 1, directions = 1;
  std::optional<std::int64_t> steps;  // nullopt: as many as `length` says
  const Expr *batch = nullptr, *length = nullptr;
  bool batch_first = false, reverse = false;
  std::vector<Activation> activations;  // of each direction
  double clip = 0;
};

const Expr* activated(Chain& m, const Activation& f, const Expr* x) {
  if (f.name == op_name::Sigmoid) return m.unary(op::Sigmoid, x);
  if (f.name == op_name::Tanh) return m.unary(op::Tanh, x);
  if (f.name == op_name::Relu) return m.unary(op::NnRelu, x);
  if (f.name == kAffine) return m.add(m.mul(x, f.alpha), f.beta);
  if (f.name == kScaledTanh) return m.mul(m.unary(op::Tanh, m.mul(x, f.beta)), f.alpha);
  if (f.name == op_name::HardSigmoid) return m.clamp(m.add(m.mul(x, f.alpha), f.beta), m.lit(x, 0), m.lit(x, 1));
  if (f.name == op_name::Softsign) return m.div(x, m.add(m.unary(op::Abs, x), 1));
  if (f.name == op_name::Softplus) return m.unary(op::Log, m.add(m.exp(x), 1));
  const Expr* negative = m.each(op::Less, x, m.lit(x, 0));
  if (f.name == op_name::LeakyRelu) return m.where(negative, m.mul(x, f.alpha), x);
  if (f.name == op_name::Elu) return m.where(negative, m.mul(m.add(m.exp(x), -1), f.alpha), x);
  if (f.name == op_name::ThresholdedRelu) return m.where(m.each(op::Greater, x, m.lit(x, f.alpha)), x, m.lit(x, 0));
  return m.fail(fmt::format("there is no activation `{}`", f.name));
}

const ActivationDefaults* defaults_of(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kDefaults), std::end(kDefaults), [&](const auto& d) { return d.name == name; });
  return found == std::end(kDefaults) ? nullptr : found;
}

Activation with_defaults(std::string name) {
  const ActivationDefaults* d = defaults_of(name);
  return {std::move(name), d ? d->alpha : 0, d ? d->beta.value_or(0) : 0};
}

bool has_alpha(const Activation& f) { return defaults_of(f.name); }
bool has_beta(const Activation& f) {
  const ActivationDefaults* d = defaults_of(f.name);
  return d && d->beta;
}

// The numbers are for the activations that have such a parameter, in their order; some writers give one for each.
template <class Has>
void give(std::vector<Activation>& all, const std::vector<double>& numbers, double Activation::*parameter, Has&& has) {
  const bool one_for_each = numbers.size() == all.size();
  std::size_t next = 0;
  for (Activation& f : all) {
    if ((one_for_each || has(f)) && next < numbers.size()) f.*parameter = numbers[next++];
  }
}

std::vector<Activation> activations_of(NodeContext& c, const std::vector<std::string_view>& defaults,
                                       std::int64_t directions) {
  std::vector<std::string> names = c.texts(key::Activations);
  while (names.size() < defaults.size() * std::size_t(directions))
    names.insert(names.end(), defaults.begin(), defaults.end());
  std::vector<Activation> made;
  for (std::string& name : names) made.push_back(with_defaults(std::move(name)));
  give(made, c.reals(key::ActivationAlpha), &Activation::alpha, has_alpha);
  give(made, c.reals(key::ActivationBeta), &Activation::beta, has_beta);
  return made;
}

const Expr* clipped(Chain& m, const Layer& layer, const Expr* x) {
  if (layer.clip <= 0) return x;
  return m.clamp(x, m.lit(x, -layer.clip), m.lit(x, layer.clip));
}

// One direction of an operand, without that axis.
const Expr* direction_of(Chain& m, const Expr* x, std::size_t axis, std::int64_t d) {
  Dims dims = m.dims(x);
  if (m.good() && axis >= dims.size()) return m.fail("an operand does not have the rank that its definition asks for");
  if (!m.good()) return nullptr;
  dims.erase(dims.begin() + std::ptrdiff_t(axis));
  return m.reshape(m.slice(x, axis, d, d + 1), dims);
}

// Some of the blocks of rows.
const Expr* blocks_of(Chain& m, const Layer& layer, const Expr* x, std::int64_t from, std::int64_t to) {
  return m.slice(x, m.rank(x) - 1, from * layer.hidden, to * layer.hidden);
}

ir::Result<Layer> layer_of(NodeContext& c, std::int64_t gates, const std::vector<std::string_view>& defaults) {
  Chain m(c);
  const Expr *x = m.in(0), *r = m.in(2);
  Layer layer;
  layer.gates = gates;
  RLDB_TRY(const std::int64_t layout, c.choice(key::Layout, 0, {0, 1}));
  RLDB_TRY(const std::string way, c.word(key::Direction, "forward", {"forward", "reverse", "bidirectional"}));
  layer.batch_first = layout != 0;
  layer.reverse = way == "reverse";
  layer.directions = m.size(r, 0);
  layer.hidden = m.size(r, 2);
  const Dims dims = m.dims(x);
  RLDB_TRY_VOID(m.done(nullptr));
  if (dims.size() != 3) return refuse("its data is not of rank 3");
  layer.batch = dims[layer.batch_first ? 0 : 1];
  layer.length = dims[layer.batch_first ? 1 : 0];
  layer.steps = int_of(layer.length);
  if (layer.steps && *layer.steps > kMostTimeSteps) layer.steps.reset();
  if (const std::int64_t given = c.integer(key::HiddenSize, layer.hidden); given != layer.hidden)
    return refuse(fmt::format("its hidden size is {}, and that of its weights {}", given, layer.hidden));
  if (const std::int64_t directions = way == "bidirectional" ? 2 : 1; layer.directions != directions)
    return refuse(fmt::format("its direction is `{}`, and its weights are for {}", way,
                              support::counted(std::size_t(layer.directions), "direction")));
  layer.activations = activations_of(c, defaults, layer.directions);
  layer.clip = c.real(key::Clip, 0);
  return layer;
}

// The weights of one direction, as columns.
struct Weights {
  const Expr *input, *recurrent, *input_bias, *recurrent_bias;  // biases: null if there are none
};
Weights weights_of(Chain& m, const Layer& layer, std::int64_t d) {
  Weights w{m.permute(direction_of(m, m.in(1), 0, d), {1, 0}), m.permute(direction_of(m, m.in(2), 0, d), {1, 0}),
            nullptr, nullptr};
  if (!m.c.has(3)) return w;
  const Expr* bias = direction_of(m, m.in(3), 0, d);
  w.input_bias = blocks_of(m, layer, bias, 0, layer.gates);
  w.recurrent_bias = blocks_of(m, layer, bias, layer.gates, 2 * layer.gates);
  return w;
}

const Expr* plus(Chain& m, const Expr* x, const Expr* bias) { return bias ? m.add(x, bias) : x; }

struct State {
  const Expr *hidden = nullptr, *cell = nullptr;
};

// The state of a direction that an operand gives, or zeros.
const Expr* first_state(Chain& m, const Layer& layer, std::size_t operand, std::int64_t d) {
  if (m.c.has(operand)) return direction_of(m, m.in(operand), layer.batch_first ? 1 : 0, d);
  return m.full({layer.batch, m.c.i64(layer.hidden)}, m.dtype(m.in(0)), 0);
}

const Expr* step_of(Chain& m, const Layer& layer, std::int64_t t) {
  return direction_of(m, m.in(0), layer.batch_first ? 1 : 0, t);
}

struct Direction {
  std::vector<const Expr*> outputs;  // of each step
  State last;
};

// The output of a step. Steps beyond the length of a sequence change nothing and give zeros; `lengths` is null if there
// are none.
const Expr* within_length(Chain& m, const Expr* lengths, const Expr* t, State& next, const State& before) {
  if (!lengths) return next.hidden;
  const Expr* inside = m.each(op::Greater, lengths, t);
  const Expr* output = m.where(inside, next.hidden, m.lit(next.hidden, 0));
  next.hidden = m.where(inside, next.hidden, before.hidden);
  if (next.cell) next.cell = m.where(inside, next.cell, before.cell);
  return output;
}

const Expr* lengths_of(Chain& m) { return m.c.has(4) ? m.expand(m.cast(m.in(4), DType::Int(64)), {1}) : nullptr; }

template <class Cell>
Direction run_direction(Chain& m, const Layer& layer, std::int64_t d, State state, bool backwards, Cell&& cell) {
  Direction made;
  made.outputs.resize(std::size_t(*layer.steps));
  const Expr* lengths = lengths_of(m);
  for (std::int64_t i = 0; i < *layer.steps && m.good(); ++i) {
    const std::int64_t t = backwards ? *layer.steps - 1 - i : i;
    State next = cell(step_of(m, layer, t), state, d);
    const Expr* output = within_length(m, lengths, m.lit(DType::Int(64), double(t)), next, state);
    state = next;
    made.outputs[std::size_t(t)] = output;
  }
  made.last = state;
  return made;
}

struct OpenDirection {
  const Expr* rows = nullptr;  // the outputs of all steps, by time
  State last;
};

// The same where the number of steps is not known.
template <class Cell>
ir::Result<OpenDirection> run_open_direction(Chain& m, const Layer& layer, std::int64_t d, State state, bool backwards,
                                             Cell&& cell) {
  NodeContext& c = m.c;
  const Expr *lengths = lengths_of(m), *x = m.in(0);
  Repeat of;
  of.first = {state.hidden};
  if (state.cell) of.first.push_back(state.cell);
  for (const Expr*& e : of.first) e = m.good() ? c.with_dim(e, 0, layer.batch) : nullptr;
  of.stacked = 1;
  RLDB_TRY_VOID(m.done(nullptr));
  RLDB_TRY(of.limit, c.tensor_from({DType::Int(64), 0, {layer.length}}));
  of.run = [&](const Repeat::Step& now) -> ir::Result<Exprs> {
    const Expr* t = backwards ? m.sub(m.add(of.limit, -1), now.step) : now.step;
    const State before{now.carried[0], state.cell ? now.carried[1] : nullptr};
    State next = cell(m.take_at(x, t, layer.batch_first ? 1 : 0), before, d);
    const Expr* output = within_length(m, lengths, t, next, before);
    RLDB_TRY_VOID(m.done(nullptr));
    Exprs made{nullptr, next.hidden};
    if (next.cell) made.push_back(next.cell);
    made.push_back(output);
    return made;
  };
  RLDB_TRY(const Exprs made, repeated(c, of));
  OpenDirection way{c.with_dim(made.back(), 0, layer.length), {made[0], state.cell ? made[1] : nullptr}};
  if (backwards) way.rows = m.op(op::Flip, {way.rows}, {{op_attr::Axis, c.ctx.attr(0)}});
  return way;
}

const Expr* stacked(Chain& m, Exprs parts, std::int64_t axis) {
  for (const Expr*& e : parts) e = m.expand(e, {axis});
  return m.join(parts, axis);
}

// (Y, the last hidden states, the last cells)
Made with_last_states(Chain& m, const Layer& layer, const Expr* outputs, const std::vector<State>& last) {
  const std::int64_t axis = layer.batch_first ? 1 : 0;
  Exprs hidden, cells;
  for (const State& s : last) hidden.push_back(s.hidden);
  for (const State& s : last) cells.push_back(s.cell);
  Exprs results{outputs, stacked(m, hidden, axis)};
  if (cells[0]) results.push_back(stacked(m, cells, axis));
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(m.c.ctx.tuple(results));
}

// The outputs of all steps: (time, directions, batch, hidden), or (batch, time, directions, hidden).
template <class Cell>
Made unrolled(Chain& m, const Layer& layer, bool has_cell, Cell&& cell) {
  std::vector<Direction> all;
  std::vector<State> last;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    const State first{first_state(m, layer, 5, d), has_cell ? first_state(m, layer, 6, d) : nullptr};
    all.push_back(run_direction(m, layer, d, first, layer.reverse || d == 1, cell(m, d)));
    if (!m.good()) return m.done(nullptr);
    last.push_back(all.back().last);
  }
  const std::int64_t axis = layer.batch_first ? 1 : 0;
  Exprs steps;
  for (std::int64_t t = 0; t < *layer.steps; ++t) {
    Exprs of_step;
    for (const Direction& d : all) of_step.push_back(d.outputs[std::size_t(t)]);
    steps.push_back(stacked(m, of_step, axis));  // (directions, batch, hidden), or batch first
  }
  return with_last_states(m, layer, *layer.steps ? stacked(m, steps, axis) : m.fail("its sequence is empty"), last);
}

template <class Cell>
Made repeated_steps(Chain& m, const Layer& layer, bool has_cell, Cell&& cell) {
  Exprs outputs;
  std::vector<State> last;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    const State first{first_state(m, layer, 5, d), has_cell ? first_state(m, layer, 6, d) : nullptr};
    RLDB_TRY_VOID(m.done(nullptr));
    RLDB_TRY(const OpenDirection way, run_open_direction(m, layer, d, first, layer.reverse || d == 1, cell(m, d)));
    outputs.push_back(layer.batch_first ? m.permute(way.rows, {1, 0, 2}) : way.rows);
    last.push_back(way.last);
  }
  return with_last_states(m, layer, stacked(m, outputs, layer.batch_first ? 2 : 1), last);
}

template <class Cell>
Made recurrent(NodeContext& c, const Layer& layer, bool has_cell, Cell&& cell) {
  Chain m(c);
  return layer.steps ? unrolled(m, layer, has_cell, cell) : repeated_steps(m, layer, has_cell, cell);
}

}  // namespace

Made rnn(NodeContext& c) {
  RLDB_TRY(const Layer layer, layer_of(c, 1, {op_name::Tanh}));
  return recurrent(c, layer, false, [&](Chain& m, std::int64_t d) {
    const Weights w = weights_of(m, layer, d);
    return [&m, &layer, w](const Expr* x, State s, std::int64_t way) -> State {
      const Expr* sum = m.add(plus(m, m.matmul(x, w.input), w.input_bias),
                              plus(m, m.matmul(s.hidden, w.recurrent), w.recurrent_bias));
      return {activated(m, layer.activations[std::size_t(way)], clipped(m, layer, sum)), nullptr};
    };
  });
}

Made gru(NodeContext& c) {
  RLDB_TRY(const Layer layer, layer_of(c, 3, {op_name::Sigmoid, op_name::Tanh}));
  const bool before = c.integer(key::LinearBeforeReset, 0) != 0;
  return recurrent(c, layer, false, [&](Chain& m, std::int64_t d) {
    const Weights w = weights_of(m, layer, d);
    const Activation *f = &layer.activations[std::size_t(2 * d)], *g = f + 1;
    const auto part = [&m, &layer](const Expr* e, std::int64_t from, std::int64_t to) {
      return e ? blocks_of(m, layer, e, from, to) : nullptr;
    };
    return [&m, &layer, w, f, g, part, before](const Expr* x, State s, std::int64_t) -> State {
      const Expr* from_x = plus(m, m.matmul(x, w.input), w.input_bias);
      const Expr* from_h = plus(m, m.matmul(s.hidden, part(w.recurrent, 0, 2)), part(w.recurrent_bias, 0, 2));
      const auto gate = [&](std::int64_t k) {
        return activated(m, *f, clipped(m, layer, m.add(part(from_x, k, k + 1), part(from_h, k, k + 1))));
      };
      const Expr *z = gate(0), *r = gate(1);
      const Expr *rh = part(w.recurrent, 2, 3), *bias = part(w.recurrent_bias, 2, 3);
      const Expr* reset =
          before ? m.mul(r, plus(m, m.matmul(s.hidden, rh), bias)) : plus(m, m.matmul(m.mul(r, s.hidden), rh), bias);
      const Expr* h = activated(m, *g, clipped(m, layer, m.add(part(from_x, 2, 3), reset)));
      return {m.add(m.mul(m.sub(m.lit(z, 1), z), h), m.mul(z, s.hidden)), nullptr};
    };
  });
}

Made lstm(NodeContext& c) {
  RLDB_TRY(const Layer layer, layer_of(c, 4, {op_name::Sigmoid, op_name::Tanh, op_name::Tanh}));
  const bool coupled = c.integer(key::InputForget, 0) != 0;
  return recurrent(c, layer, true, [&](Chain& m, std::int64_t d) {
    const Weights w = weights_of(m, layer, d);
    const Activation* f = &layer.activations[std::size_t(3 * d)];
    const Expr* peep = c.has(7) ? direction_of(m, m.in(7), 0, d) : nullptr;
    return [&m, &layer, w, f, peep, coupled](const Expr* x, State s, std::int64_t) -> State {
      const Expr* sum = m.add(plus(m, m.matmul(x, w.input), w.input_bias),
                              plus(m, m.matmul(s.hidden, w.recurrent), w.recurrent_bias));
      // Input, output, forget, cell; the peephole's blocks are those of the first three.
      const auto gate = [&](std::int64_t k, const Expr* cell) {
        const Expr* e = blocks_of(m, layer, sum, k, k + 1);
        if (peep && cell) e = m.add(e, m.mul(blocks_of(m, layer, peep, k, k + 1), cell));
        return clipped(m, layer, e);
      };
      const Expr* i = activated(m, f[0], gate(0, s.cell));
      const Expr* forget = coupled ? m.sub(m.lit(i, 1), i) : activated(m, f[0], gate(2, s.cell));
      const Expr* cell = m.add(m.mul(forget, s.cell), m.mul(i, activated(m, f[1], gate(3, nullptr))));
      const Expr* o = activated(m, f[0], gate(1, cell));
      return {m.mul(o, activated(m, f[2], cell)), cell};
    };
  });
}

}  // namespace rldb::onnx::bodies
