// Recurrent layers: ONNX's, one for each layer, with the blocks of the weights in its order.
#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

namespace {

struct Recurrent {
  std::string_view op;
  std::vector<std::int64_t> blocks;  // ONNX's k-th block of rows is PyTorch's block of this number
  std::size_t states = 1;            // 2: hidden and cell
  std::string activation;            // empty: the operator's own
};

// The blocks in ONNX's order.
const Expr* reordered(Aten& m, const Recurrent& how, const Expr* x) {
  const std::int64_t rows = m.size(x, 0);
  if (!m.good() || how.blocks.size() == 1) return x;
  const std::int64_t hidden = rows / std::int64_t(how.blocks.size());
  Exprs parts;
  for (const std::int64_t b : how.blocks) parts.push_back(m.slice(x, 0, b * hidden, (b + 1) * hidden));
  return m.join(parts, 0);
}

const Expr* joined_directions(Aten& m, Exprs parts) {
  for (const Expr*& e : parts) e = m.expand(e, {0});
  return parts.size() == 1 ? parts[0] : m.join(parts, 0);
}

struct LayerWeights {
  Value input, recurrent, bias;
};

// `params`: of each direction weights of the input and of the state, then the two biases if there are any.
LayerWeights weights_of(Aten& m, const Recurrent& how, const Exprs& params, bool biased) {
  const std::size_t each = biased ? 4 : 2;
  Exprs input, recurrent, bias;
  for (std::size_t at = 0; at + each <= params.size(); at += each) {
    input.push_back(reordered(m, how, params[at]));
    recurrent.push_back(reordered(m, how, params[at + 1]));
    if (biased) bias.push_back(m.join({reordered(m, how, params[at + 2]), reordered(m, how, params[at + 3])}, 0));
  }
  return {Aten::of(joined_directions(m, input)), Aten::of(joined_directions(m, recurrent)),
          biased ? Aten::of(joined_directions(m, bias)) : Value()};
}

Exprs tensors_of(Aten& m, std::string_view name) {
  Exprs made;
  for (const Value& v : m.values(m.argument(name))) made.push_back(m.take(m.c.tensor_of_value(v)));
  return made;
}

// (steps, directions, batch, hidden) as (steps, batch, directions * hidden).
const Expr* side_by_side(Aten& m, const Expr* y) {
  const Dims dims = m.dims(y);
  if (!m.good()) return nullptr;
  return m.reshape(m.permute(y, {0, 2, 1, 3}), {dims[0], dims[2], ir::mul(m.ctx, dims[1], dims[3])});
}

Made recurrent(NodeContext& c, const Recurrent& how) {
  Aten m(c);
  const bool biased = m.truth("has_biases", true), both_ways = m.truth("bidirectional", false),
             batch_first = m.truth("batch_first", false);
  const std::int64_t layers = m.integer("num_layers", 1), ways = both_ways ? 2 : 1;
  if (m.truth("train", false) && m.real("dropout", 0) > 0)
    return refuse("it is in training mode: the elements that it drops are random");
  const Exprs params = tensors_of(m, "params"), states = tensors_of(m, "hx");
  const std::size_t of_layer = std::size_t(ways) * (biased ? 4 : 2);
  const Expr* x = m.tensor("input");
  if (m.good() && (layers < 1 || params.size() != std::size_t(layers) * of_layer || states.size() != how.states))
    return refuse("its weights or states are not those of its layers");
  if (m.good() && m.rank(x) != 3) return refuse("its input has no batch");
  if (batch_first) x = m.permute(x, {1, 0, 2});
  std::vector<Exprs> last(how.states);
  for (std::int64_t l = 0; l < layers && m.good(); ++l) {
    const auto begin = params.begin() + std::ptrdiff_t(of_layer) * l;
    const LayerWeights w = weights_of(m, how, {begin, begin + std::ptrdiff_t(of_layer)}, biased);
    Values operands{Aten::of(x), w.input, w.recurrent, w.bias, Value()};
    for (const Expr* s : states) operands.push_back(Aten::of(m.slice(s, 0, l * ways, (l + 1) * ways)));
    Attributes attributes{{key::Direction, std::string(both_ways ? "bidirectional" : "forward")},
                          {key::LinearBeforeReset, std::int64_t(1)}};
    if (!how.activation.empty()) attributes.push_back({key::Activations, Texts(std::size_t(ways), how.activation)});
    const Values made = m.onnx_all(how.op, operands, attributes, int(how.states) + 1);
    if (!m.good() || made.size() != how.states + 1) return m.done(m.fail("its layer has other results"));
    x = side_by_side(m, made[0].expr);
    for (std::size_t k = 0; k < how.states; ++k) last[k].push_back(made[k + 1].expr);
  }
  if (batch_first) x = m.permute(x, {1, 0, 2});
  Values results{Aten::of(x)};
  for (const Exprs& s : last) results.push_back(Aten::of(s.size() == 1 ? s[0] : m.join(s, 0)));
  return m.give(std::move(results));
}

}  // namespace

// PyTorch's gates are input, forget, cell, output; ONNX's input, output, forget, cell.
Made lstm(NodeContext& c) { return recurrent(c, {op_name::LSTM, {0, 3, 1, 2}, 2, {}}); }
// PyTorch's are reset, update, new; ONNX's update, reset, new.
Made gru(NodeContext& c) { return recurrent(c, {op_name::GRU, {1, 0, 2}, 1, {}}); }
Made rnn(NodeContext& c) { return recurrent(c, {op_name::RNN, {0}, 1, std::string(c.target)}); }

}  // namespace rldb::onnx::aten
