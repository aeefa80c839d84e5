// Signals: Fourier transforms as products with constant matrices, windows, filter banks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/ops/chain.h"
#include "onnx/tensor.h"

namespace rldb::onnx::bodies {

namespace {

constexpr std::int64_t kMostLength = 4096;

struct Transform {
  std::int64_t length = 1;  // of the signal
  std::int64_t parts = 1;   // 2: real and imaginary
  bool inverse = false, onesided = false;
  std::int64_t rows() const { return onesided ? length / 2 + 1 : length; }
};

// A row for each (position, part) of the signal, a column for each (frequency, part).
const Expr* transform_matrix(Chain& m, const Transform& f, DType t) {
  std::vector<double> values;
  const double scale = f.inverse ? 1 / double(f.length) : 1, sign = f.inverse ? 1 : -1;
  for (std::int64_t n = 0; n < f.length; ++n)
    for (std::int64_t part = 0; part < f.parts; ++part)
      for (std::int64_t k = 0; k < f.rows(); ++k) {
        const double angle = 2 * std::numbers::pi * double((n * k) % f.length) / double(f.length);
        const double real = std::cos(angle) * scale, imaginary = sign * std::sin(angle) * scale;
        values.push_back(part == 0 ? real : -imaginary);
        values.push_back(part == 0 ? imaginary : real);
      }
  return m.constant(values, {f.length * f.parts, f.rows() * 2}, t);
}

// x: (..., length, parts); the result (..., rows, 2).
const Expr* transformed(Chain& m, const Expr* x, const Transform& f) {
  const Dims dims = m.dims(x);
  if (!m.good()) return nullptr;
  Dims flat(dims.begin(), dims.end() - 2), made = flat;
  flat.push_back(m.c.i64(f.length * f.parts));
  made.insert(made.end(), {m.c.i64(f.rows()), m.c.i64(2)});
  return m.reshape(m.matmul(m.reshape(x, flat), transform_matrix(m, f, m.dtype(x))), made);
}

// The axis cut off, or with zeros at its end.
const Expr* of_length(Chain& m, const Expr* x, std::size_t axis, std::int64_t length) {
  const std::int64_t have = m.size(x, axis);
  if (!m.good() || have == length) return x;
  if (have > length) return m.slice(x, axis, 0, length);
  Dims rest = m.dims(x);
  rest[axis] = m.c.i64(length - have);
  return m.join({x, m.full(rest, m.dtype(x), 0)}, std::int64_t(axis));
}

ir::Result<std::int64_t> one_int(NodeContext& c, std::size_t i, std::int64_t otherwise) {
  if (!c.has(i)) return otherwise;
  RLDB_TRY(const Ints given, c.ints_in(i));
  if (given.size() != 1) return refuse(fmt::format("its operand {} is not one number", i));
  return given[0];
}

}  // namespace

// Operands: the signal, with real and imaginary parts along its last axis; its length; from opset 20 on the axis.
Made dft(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  RLDB_TRY(const std::int64_t given,
           c.opset < 20 ? ir::Result<std::int64_t>(c.integer(key::Axis, 1)) : one_int(c, 2, -2));
  const std::size_t axis = m.axis(given, x);
  if (!m.good() || rank < 2 || axis + 1 >= rank) return m.done(m.fail("its axis is not one of a signal"));
  Transform f{m.size(x, axis), m.size(x, rank - 1), c.integer(key::Inverse, 0) != 0, c.integer(key::Onesided, 0) != 0};
  RLDB_TRY(f.length, one_int(c, 1, f.length));
  if (f.length < 1 || f.length > kMostLength || f.parts < 1 || f.parts > 2)
    return refuse(fmt::format("its signal is empty, or longer than {}", kMostLength));
  if (f.inverse && f.onesided) return refuse("its spectrum has one side, and is transformed back");
  Ints order = iota(0, std::int64_t(rank));
  std::swap(order[axis], order[rank - 2]);
  const Expr* rows = m.permute(of_length(m, x, axis, f.length), order);
  return m.done(m.permute(transformed(m, rows, f), order));
}

// Operands: the signal (batch, length, parts), the step between frames, a window, the length of a frame.
Made stft(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  if (m.rank(x) == 2) x = m.expand(x, {2});
  const std::int64_t whole = m.size(x, 1), parts = m.size(x, 2);
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const std::int64_t step, one_int(c, 1, 1));
  const std::int64_t window = c.has(2) ? m.size(m.in(2), 0) : whole;
  RLDB_TRY(const std::int64_t frame, one_int(c, 3, window));
  if (!m.good() || step < 1 || frame < 1 || frame > whole || frame > kMostLength || parts < 1 || parts > 2)
    return m.done(m.fail("its frames do not fit into its signal"));
  const std::int64_t count = (whole - frame) / step + 1;
  Ints places;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < frame; ++k) places.push_back(i * step + k);
  const Dims dims = m.dims(x);
  const Expr* frames = m.reshape(m.take_at(x, m.ints(places), 1), {dims[0], c.i64(count), c.i64(frame), c.i64(parts)});
  if (c.has(2)) frames = m.mul(frames, m.expand(m.in(2), {1}));
  return m.done(transformed(m, frames, {frame, parts, false, c.integer(key::Onesided, 1) != 0}));
}

namespace {

// The sum of cosines with these factors: of 0, 1 and 2 turns over the window.
Made cosine_window(NodeContext& c, double a, double b, double d) {
  RLDB_TRY(const std::int64_t size, one_int(c, 0, 1));
  const auto dtype = dtype_of(std::int32_t(c.integer(key::OutputDatatype, 1)));
  if (!dtype) return refuse("its dtype is not one of Relax's");
  if (size < 1 || size > INT32_MAX / 64) return refuse("its size is not positive, or too large");
  const double over = double(c.integer(key::Periodic, 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * double(i) / over;  // 0 / 0 of a symmetric window of one element
    values.push_back(a - b * std::cos(turn) + d * std::cos(2 * turn));
  }
  Chain m(c);
  return m.done(m.constant(values, {size}, *dtype));
}

}  // namespace

Made hann_window(NodeContext& c) { return cosine_window(c, 0.5, 0.5, 0); }
Made hamming_window(NodeContext& c) { return cosine_window(c, 25.0 / 46, 21.0 / 46, 0); }
Made blackman_window(NodeContext& c) { return cosine_window(c, 0.42, 0.5, 0.08); }

namespace {

// The bins of a spectrum that the filters begin, peak and end at.
std::vector<std::int64_t> mel_bins(std::int64_t filters, std::int64_t length, double rate, double low, double high) {
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double step = (mel(high) - mel(low)) / double(filters + 2);
  std::vector<std::int64_t> bins;
  for (std::int64_t i = 0; i < filters + 2; ++i) {
    const double f = 700 * (std::pow(10, (mel(low) + step * double(i)) / 2595) - 1);
    bins.push_back(std::int64_t(std::floor(double(length + 1) * f / rate)));
  }
  return bins;
}

}  // namespace

// Operands: the number of filters, the length of the transform, the rate of samples, the lowest and highest frequency.
Made mel_weight_matrix(NodeContext& c) {
  RLDB_TRY(const std::int64_t filters, one_int(c, 0, 1));
  RLDB_TRY(const std::int64_t length, one_int(c, 1, 1));
  RLDB_TRY(const double rate, c.real_in(2, 1));
  RLDB_TRY(const double low, c.real_in(3, 0));
  RLDB_TRY(const double high, c.real_in(4, 0));
  const auto dtype = dtype_of(std::int32_t(c.integer(key::OutputDatatype, 1)));
  if (!dtype || filters < 1 || filters > kMostLength || length < 1 || length > kMostLength * 64 || !(rate > 0) ||
      low < 0)
    return refuse("its filters are not known");
  const std::int64_t rows = length / 2 + 1;
  std::vector<double> values(std::size_t(rows * filters));
  const auto at = [&](std::int64_t row, std::int64_t filter) -> double* {
    return row >= 0 && row < rows ? &values[std::size_t(row * filters + filter)] : nullptr;
  };
  const auto bins = mel_bins(filters, length, rate, low, high);
  for (std::int64_t i = 0; i < filters; ++i) {
    const std::int64_t from = bins[std::size_t(i)], peak = bins[std::size_t(i) + 1], to = bins[std::size_t(i) + 2];
    for (std::int64_t row = std::max<std::int64_t>(0, from); row < std::min(rows, std::max(to, peak + 1)); ++row) {
      double* v = at(row, i);
      if (row <= peak) *v = peak == from ? 1 : double(row - from) / double(peak - from);
      if (row >= peak && to > peak) *v = double(to - row) / double(to - peak);
    }
  }
  Chain m(c);
  return m.done(m.constant(values, {rows, filters}, *dtype));
}

}  // namespace rldb::onnx::bodies
