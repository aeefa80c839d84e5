// Operators of PyTorch that make tensors of numbers which the program has.
#include <cmath>
#include <numbers>

#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

namespace {

constexpr std::int64_t kMostNumbers = std::int64_t(1) << 20;

// A vector of numbers, in the dtype that the program records.
template <class NumberAt>
Made vector_of(Aten& m, std::int64_t count, NumberAt&& number_at) {
  if (!m.good()) return m.done(nullptr);
  if (count < 0 || count > kMostNumbers) return refuse("its number of elements is negative, or more than 1,048,576");
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(number_at(double(i)));
  return m.done(m.constant(numbers, {count}, m.result_type(DType::Float(32))));
}

}  // namespace

Made linspace(NodeContext& c) {
  Aten m(c);
  const double start = m.real("start", 0), end = m.real("end", 0);
  const std::int64_t steps = m.integer("steps", 100);
  return vector_of(m, steps,
                   [&](double i) { return steps < 2 ? start : start + (end - start) * i / (double(steps) - 1); });
}

// Its numbers are 0.54 and 0.46, not 25/46 and 21/46 as ONNX's operator has.
Made hamming_window(NodeContext& c) {
  Aten m(c);
  const std::int64_t n = m.integer("window_length", 0);
  const double alpha = m.real("alpha", 0.54), beta = m.real("beta", 0.46);
  const double steps = double(m.truth("periodic", true) ? n : n - 1);
  return vector_of(m, n,
                   [&](double i) { return n == 1 ? 1 : alpha - beta * std::cos(2 * std::numbers::pi * i / steps); });
}

Made eye(NodeContext& c) {
  Aten m(c);
  const Dims rows = m.sizes("n"), columns = m.given("m") ? m.sizes("m") : rows;
  if (!m.good() || rows.size() != 1 || columns.size() != 1) return m.done(m.fail("its sizes are not numbers"));
  const DType t = m.result_type(DType::Float(32));
  return m.done(m.onnx(op_name::EyeLike, {Aten::of(m.full({rows[0], columns[0]}, t, 0))}));
}

Made one_hot(NodeContext& c) {
  Aten m(c);
  const std::int64_t classes = m.integer("num_classes", -1);
  if (m.good() && classes != -1 && classes < 1) return refuse("the number of its classes is not positive");
  if (m.good() && classes == -1) return refuse("the number of its classes depends on values that only a run knows");
  return m.done(m.onnx(op_name::OneHot, {m.self_value(), m.known(Ints{classes}), Aten::of(m.Chain::ints({0, 1}))}));
}

// One number, or the element of a tensor of rank 0.
Made scalar_tensor(NodeContext& c) {
  Aten m(c);
  return m.done(m.tensor_as("s", m.result_type(DType::Float(32))));
}

// Another tensor, in the shape and the dtype of the first one.
Made copy(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(x);
  return m.done(m.broadcast_to(m.tensor_as("src", m.dtype(x)), dims));
}

}  // namespace rldb::onnx::aten
