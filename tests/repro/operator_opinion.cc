// Attributes and arrays of the third opinion, and operators of one element.
#include "repro/operator_opinion.h"

#include <cmath>
#include <numbers>

#include "rldb/ir/attr.h"

namespace rldb::repro_test {

namespace {

const ir::Attr* attribute(const KnownCall& c, std::string_view name) {
  const ir::Attr* a = ir::find_attr(c.attrs, name);
  return a && !a->is(ir::AttrKind::None) ? a : nullptr;
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sign_of(double x) { return double(x > 0) - double(x < 0); }
double half_to_even(double x) {
  const double below = std::floor(x), rest = x - below;
  if (rest != 0.5) return std::floor(x + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}
double floor_mod(double x, double y) { return x - std::floor(x / y) * y; }
// Of integers.
template <class F>
double bits(double x, double y, F&& f) {
  return double(f(std::int64_t(x), std::int64_t(y)));
}

const std::map<std::string_view, Unary>& unary() {
  static const std::map<std::string_view, Unary> table{
      {"abs", [](double x) { return std::fabs(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"isfinite", [](double x) { return double(std::isfinite(x)); }},
      {"isinf", [](double x) { return double(std::isinf(x)); }},
      {"isnan", [](double x) { return double(std::isnan(x)); }},
      {"log", [](double x) { return std::log(x); }},
      {"logical_not", [](double x) { return double(x == 0); }},
      {"negative", [](double x) { return -x; }},
      {"nn.gelu", [](double x) { return x * (1 + std::erf(x / std::numbers::sqrt2)) / 2; }},
      {"nn.gelu_tanh",
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
      {"nn.relu", [](double x) { return std::max(x, 0.0); }},
      {"nn.relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"nn.selu", [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1)); }},
      {"nn.silu", [](double x) { return x * sigmoid(x); }},
      {"round", half_to_even},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sigmoid", sigmoid},
      {"sign", sign_of},
      {"sin", [](double x) { return std::sin(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"square", [](double x) { return x * x; }},
      {"tan", [](double x) { return std::tan(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
  };
  return table;
}

const std::map<std::string_view, Binary>& binary() {
  static const std::map<std::string_view, Binary> table{
      {"add", [](double x, double y) { return x + y; }},
      {"atan2", [](double x, double y) { return std::atan2(x, y); }},
      {"bitwise_and", [](double x, double y) { return bits(x, y, [](auto a, auto b) { return a & b; }); }},
      {"bitwise_or", [](double x, double y) { return bits(x, y, [](auto a, auto b) { return a | b; }); }},
      {"bitwise_xor", [](double x, double y) { return bits(x, y, [](auto a, auto b) { return a ^ b; }); }},
      {"equal", [](double x, double y) { return double(x == y); }},
      {"floor_divide", [](double x, double y) { return std::floor(x / y); }},
      {"floor_mod", floor_mod},
      {"greater", [](double x, double y) { return double(x > y); }},
      {"greater_equal", [](double x, double y) { return double(x >= y); }},
      {"left_shift", [](double x, double y) { return std::ldexp(x, int(y)); }},
      {"less", [](double x, double y) { return double(x < y); }},
      {"less_equal", [](double x, double y) { return double(x <= y); }},
      {"log_add_exp", [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }},
      {"logical_and", [](double x, double y) { return double(x != 0 && y != 0); }},
      {"logical_or", [](double x, double y) { return double(x != 0 || y != 0); }},
      {"logical_xor", [](double x, double y) { return double((x != 0) != (y != 0)); }},
      {"maximum", [](double x, double y) { return std::max(x, y); }},
      {"minimum", [](double x, double y) { return std::min(x, y); }},
      {"multiply", [](double x, double y) { return x * y; }},
      {"not_equal", [](double x, double y) { return double(x != y); }},
      {"power", [](double x, double y) { return std::pow(x, y); }},
      {"right_shift", [](double x, double y) { return std::floor(std::ldexp(x, -int(y))); }},
      {"subtract", [](double x, double y) { return x - y; }},
  };
  return table;
}

// Each element of the result from the elements of all operands in its place, broadcast.
Definition of_elements(std::size_t operands, std::function<double(const std::vector<double>&)> f) {
  return [operands, f = std::move(f)](const KnownCall& c) -> std::optional<std::vector<double>> {
    if (c.args.size() != operands) return std::nullopt;
    std::vector<double> out, at(operands);
    for (std::int64_t i = 0; i < product(c.shape); ++i) {
      const auto index = index_in(i, c.shape);
      for (std::size_t k = 0; k < operands; ++k) at[k] = broadcast_at(c.args[k], index);
      out.push_back(f(at));
    }
    return out;
  };
}

std::optional<std::vector<double>> each(const KnownCall& c, const std::function<double(double)>& f) {
  std::vector<double> out;
  for (const double x : c.args.at(0).data) out.push_back(f(x));
  return out;
}

}  // namespace

std::optional<std::int64_t> KnownCall::integer(std::string_view name) const {
  const ir::Attr* a = attribute(*this, name);
  return a && a->is(ir::AttrKind::Int) ? std::optional(a->integer) : std::nullopt;
}

double KnownCall::real(std::string_view name, double fallback) const {
  const ir::Attr* a = attribute(*this, name);
  if (!a) return fallback;
  return a->is(ir::AttrKind::Float) ? a->floating : double(a->integer);
}

bool KnownCall::flag(std::string_view name) const {
  const ir::Attr* a = attribute(*this, name);
  return a && a->integer != 0;
}

std::string KnownCall::text(std::string_view name) const {
  const ir::Attr* a = attribute(*this, name);
  return a && a->is(ir::AttrKind::String) ? std::string(a->string) : std::string();
}

std::optional<std::vector<std::int64_t>> KnownCall::list(std::string_view name) const {
  const ir::Attr* a = attribute(*this, name);
  if (!a) return std::nullopt;
  if (a->is(ir::AttrKind::Int)) return std::vector{a->integer};
  std::vector<std::int64_t> out;
  for (const ir::Attr* item : a->items) out.push_back(item->integer);
  return out;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

std::vector<std::int64_t> index_in(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) index[i] = flat % shape[i];
  return index;
}

std::int64_t flat_of(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& shape) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

double broadcast_at(const Array& a, const std::vector<std::int64_t>& index) {
  std::vector<std::int64_t> own(a.shape.size());
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = a.shape[i] == 1 ? 0 : index[index.size() - own.size() + i];
  return a.data[std::size_t(flat_of(own, a.shape))];
}

void add_elementwise(std::map<std::string_view, Definition>& to) {
  for (const auto& [name, f] : unary())
    to[name] = of_elements(1, [f = f](const std::vector<double>& x) { return f(x[0]); });
  for (const auto& [name, f] : binary())
    to[name] = of_elements(2, [f = f](const std::vector<double>& x) { return f(x[0], x[1]); });
  to["ewise_fma"] = of_elements(3, [](const std::vector<double>& x) { return x[0] * x[1] + x[2]; });
  to["where"] = of_elements(3, [](const std::vector<double>& x) { return x[0] != 0 ? x[1] : x[2]; });
  to["clip"] = of_elements(3, [](const std::vector<double>& x) { return std::min(std::max(x[0], x[1]), x[2]); });
  to["divide"] = [](const KnownCall& c) -> std::optional<std::vector<double>> {
    if (!c.dtype.is_float()) return std::nullopt;  // the documentation does not say how quotients of integers round
    return of_elements(2, [](const std::vector<double>& x) { return x[0] / x[1]; })(c);
  };
  to["nn.leakyrelu"] = [](const KnownCall& c) {
    return each(c, [&](double x) { return x > 0 ? x : x * c.real("alpha", 0.01); });
  };
  to["nn.softplus"] = [](const KnownCall& c) {
    const double beta = c.real("beta", 1), threshold = c.real("threshold", 20);
    return each(c, [&](double x) { return x * beta > threshold ? x : std::log1p(std::exp(beta * x)) / beta; });
  };
  to["astype"] = [](const KnownCall& c) {
    const bool to_integer = !c.dtype.is_float() && !c.dtype.is_bool();
    return each(c, [&](double x) { return c.dtype.is_bool() ? double(x != 0) : to_integer ? std::trunc(x) : x; });
  };
  for (const char* same : {"reshape", "flatten", "expand_dims", "squeeze", "nn.batch_flatten", "wrap_param",
                           "grad.start_checkpoint", "grad.end_checkpoint", "grad.no_grad"})
    to[same] = [](const KnownCall& c) { return each(c, [](double x) { return x; }); };
}

}  // namespace rldb::repro_test
