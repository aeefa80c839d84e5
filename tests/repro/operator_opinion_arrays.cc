// The third opinion on operators of whole arrays: reductions, orders, joins, indices, products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "repro/operator_opinion.h"

namespace rldb::repro_test {

namespace {

using Index = std::vector<std::int64_t>;
using Result = std::optional<std::vector<double>>;

std::int64_t positive(std::int64_t axis, std::size_t ndim) { return axis < 0 ? axis + std::int64_t(ndim) : axis; }

std::vector<bool> reduced(const KnownCall& c, std::string_view name, std::size_t ndim) {
  const auto axes = c.list(name);
  std::vector<bool> out(ndim, !axes);
  if (axes)
    for (const std::int64_t a : *axes) out[std::size_t(positive(a, ndim))] = true;
  return out;
}

// The elements that are reduced together, for each element of the result; in order.
std::vector<std::vector<double>> groups(const Array& x, const std::vector<bool>& over) {
  Index kept;
  for (std::size_t i = 0; i < over.size(); ++i)
    if (!over[i]) kept.push_back(x.shape[i]);
  std::vector<std::vector<double>> out(std::size_t(product(kept)));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const Index at = index_in(i, x.shape);
    Index to;
    for (std::size_t k = 0; k < over.size(); ++k)
      if (!over[k]) to.push_back(at[k]);
    out[std::size_t(flat_of(to, kept))].push_back(x.data[std::size_t(i)]);
  }
  return out;
}

using Reduce = double (*)(const std::vector<double>&);

double mean_of(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / double(v.size()); }
double variance_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += (x - mean_of(v)) * (x - mean_of(v));
  return sum / double(v.size());
}

const std::pair<const char*, Reduce> kReductions[] = {
    {"sum", [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }},
    {"prod",
     [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }},
    {"mean", mean_of},
    {"max", [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }},
    {"min", [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }},
    {"variance", variance_of},
    {"std", [](const std::vector<double>& v) { return std::sqrt(variance_of(v)); }},
    {"argmax", [](const std::vector<double>& v) { return double(std::max_element(v.begin(), v.end()) - v.begin()); }},
    {"argmin", [](const std::vector<double>& v) { return double(std::min_element(v.begin(), v.end()) - v.begin()); }},
};

Result reduce_by(const KnownCall& c, Reduce f) {
  const Array& x = c.args.at(0);
  if (x.size() == 0) return std::nullopt;  // reductions of nothing are no question here
  std::vector<double> out;
  for (const std::vector<double>& v : groups(x, reduced(c, "axis", x.shape.size()))) out.push_back(f(v));
  return out;
}

// Lines along an axis: each is replaced by what `f` makes of it.
Result along(const Array& x, std::int64_t axis, const std::function<std::vector<double>(std::vector<double>)>& f) {
  axis = positive(axis, x.shape.size());
  std::vector<double> out(x.data.size());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Index at = index_in(i, x.shape);
    if (at[std::size_t(axis)] != 0) continue;
    std::vector<double> line;
    const auto place = [&](std::int64_t k) {
      at[std::size_t(axis)] = k;
      return std::size_t(flat_of(at, x.shape));
    };
    for (std::int64_t k = 0; k < x.shape[std::size_t(axis)]; ++k) line.push_back(x.data[place(k)]);
    line = f(std::move(line));
    for (std::int64_t k = 0; k < x.shape[std::size_t(axis)]; ++k) out[place(k)] = line[std::size_t(k)];
  }
  return out;
}

Array flattened(const Array& x) { return {{x.size()}, x.data, x.dtype}; }

Result scan(const KnownCall& c, double first, double (*f)(double, double)) {
  const auto axis = c.integer("axis");
  const bool exclusive = c.flag("exclusive");
  return along(axis ? c.args.at(0) : flattened(c.args.at(0)), axis.value_or(0), [&](std::vector<double> v) {
    double total = first;
    for (double& x : v) {
      const double next = f(total, x);
      x = exclusive ? total : next;
      total = next;
    }
    return v;
  });
}

std::vector<double> softmax(std::vector<double> v, bool logarithm) {
  const double most = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (const double x : v) sum += std::exp(x - most);
  for (double& x : v) x = logarithm ? x - most - std::log(sum) : std::exp(x - most) / sum;
  return v;
}

Result sort(const KnownCall& c, bool indices) {
  const bool falling = c.flag("descending");
  return along(c.args.at(0), c.integer("axis").value_or(-1), [&](const std::vector<double>& v) {
    std::vector<std::size_t> order(v.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return falling ? v[a] > v[b] : v[a] < v[b]; });
    std::vector<double> out;
    for (const std::size_t i : order) out.push_back(indices ? double(i) : v[i]);
    return out;
  });
}

// Each element of the result is an element of the operand: at which index.
Result gather(const KnownCall& c, const std::function<Index(const Index&)>& from) {
  const Array& x = c.args.at(0);
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i)
    out.push_back(x.data[std::size_t(flat_of(from(index_in(i, c.shape)), x.shape))]);
  return out;
}

Result permute(const KnownCall& c) {
  const std::size_t ndim = c.shape.size();
  auto axes = c.list("axes");
  if (!axes)
    for (axes.emplace(); axes->size() < ndim;) axes->push_back(std::int64_t(ndim - 1 - axes->size()));
  return gather(c, [&](const Index& at) {
    Index from(ndim);
    for (std::size_t i = 0; i < ndim; ++i) from[std::size_t(positive((*axes)[i], ndim))] = at[i];
    return from;
  });
}

Result flip(const KnownCall& c) {
  const auto axis = std::size_t(positive(*c.integer("axis"), c.shape.size()));
  return gather(c, [&](Index at) {
    at[axis] = c.shape[axis] - 1 - at[axis];
    return at;
  });
}

Result repeat(const KnownCall& c) {
  const std::int64_t times = *c.integer("repeats");
  if (const auto axis = c.integer("axis"))
    return gather(c, [&](Index at) {
      at[std::size_t(positive(*axis, at.size()))] /= times;
      return at;
    });
  std::vector<double> out;
  for (const double x : c.args.at(0).data) out.insert(out.end(), std::size_t(times), x);
  return out;
}

Result tile(const KnownCall& c) {
  const Index& shape = c.args.at(0).shape;
  return gather(c, [&](const Index& at) {
    Index from(at.end() - std::ptrdiff_t(shape.size()), at.end());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] %= shape[i];
    return from;
  });
}

Result triangle(const KnownCall& c, bool lower) {
  const std::int64_t k = c.args.size() > 1 ? std::int64_t(c.args[1].data.at(0)) : 0;
  std::vector<double> out = c.args.at(0).data;
  for (std::int64_t i = 0; i < std::int64_t(out.size()); ++i) {
    const Index at = index_in(i, c.shape);
    const std::int64_t above = at[at.size() - 1] - at[at.size() - 2];
    if (lower ? above > k : above < k) out[std::size_t(i)] = 0;
  }
  return out;
}

// The tensors of a tuple, along an axis that exists (concat) or not (stack).
Result join(const KnownCall& c, bool fresh_axis) {
  const auto axis = std::size_t(positive(c.integer("axis").value_or(0), c.shape.size()));
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    Index at = index_in(i, c.shape);
    std::size_t part = 0;
    if (fresh_axis) {
      part = std::size_t(at[axis]);
      at.erase(at.begin() + std::ptrdiff_t(axis));
    } else {
      while (at[axis] >= c.args.at(part).shape[axis]) at[axis] -= c.args[part++].shape[axis];
    }
    out.push_back(c.args.at(part).data[std::size_t(flat_of(at, c.args[part].shape))]);
  }
  return out;
}

Result take(const KnownCall& c) {
  const auto axis = c.integer("axis");
  const Array x = axis ? c.args.at(0) : flattened(c.args.at(0));
  const Array& indices = c.args.at(1);
  const auto place = std::size_t(positive(axis.value_or(0), x.shape.size()));
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    const Index at = index_in(i, c.shape);
    const auto begin = at.begin() + std::ptrdiff_t(place), end = begin + std::ptrdiff_t(indices.shape.size());
    const double chosen = indices.data[std::size_t(flat_of(Index(begin, end), indices.shape))];
    if (chosen < 0 || chosen >= double(x.shape[place])) return std::nullopt;  // its mode decides
    Index from(at.begin(), begin);
    from.push_back(std::int64_t(chosen));
    from.insert(from.end(), end, at.end());
    out.push_back(x.data[std::size_t(flat_of(from, x.shape))]);
  }
  return out;
}

Result gather_elements(const KnownCall& c) {
  const Array& x = c.args.at(0);
  const auto axis = std::size_t(positive(c.integer("axis").value_or(0), x.shape.size()));
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    Index at = index_in(i, c.shape);
    const double chosen = c.args.at(1).data[std::size_t(i)];
    at[axis] = std::int64_t(chosen < 0 ? chosen + double(x.shape[axis]) : chosen);
    out.push_back(x.data[std::size_t(flat_of(at, x.shape))]);
  }
  return out;
}

Result one_hot(const KnownCall& c) {
  if (c.args.size() < 3) return std::nullopt;
  const auto axis = std::size_t(positive(c.integer("axis").value_or(-1), c.shape.size()));
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    Index at = index_in(i, c.shape);
    const double here = double(at[axis]);
    at.erase(at.begin() + std::ptrdiff_t(axis));
    const bool on = c.args[0].data[std::size_t(flat_of(at, c.args[0].shape))] == here;
    out.push_back(c.args[on ? 1 : 2].data.at(0));
  }
  return out;
}

// As NumPy's matmul: vectors are rows or columns, other dims are broadcast.
Result matmul(const KnownCall& c) {
  Array a = c.args.at(0), b = c.args.at(1);
  Index shape = c.shape;
  if (b.shape.size() == 1) b.shape.push_back(1), shape.push_back(1);
  if (a.shape.size() == 1) a.shape.insert(a.shape.begin(), 1), shape.insert(shape.end() - 1, 1);
  const std::int64_t inner = a.shape.back();
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(shape); ++i) {
    Index left = index_in(i, shape), right = left;
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      left.back() = k;
      right[right.size() - 2] = k;
      // The inner dim of 1 is an index of 0 anyway.
      sum += broadcast_at(a, left) * broadcast_at(b, right);
    }
    out.push_back(sum);
  }
  return out;
}

Result filled(const KnownCall& c, double value) { return std::vector<double>(std::size_t(product(c.shape)), value); }

}  // namespace

void add_arrays(std::map<std::string_view, Definition>& to) {
  for (const auto& [name, f] : kReductions) to[name] = [f = f](const KnownCall& c) { return reduce_by(c, f); };
  to["cumsum"] = [](const KnownCall& c) { return scan(c, 0, [](double a, double b) { return a + b; }); };
  to["cumprod"] = [](const KnownCall& c) { return scan(c, 1, [](double a, double b) { return a * b; }); };
  for (const bool logarithm : {false, true})
    to[logarithm ? "nn.log_softmax" : "nn.softmax"] = [logarithm](const KnownCall& c) {
      return along(c.args.at(0), c.integer("axis").value_or(-1),
                   [&](std::vector<double> v) { return softmax(std::move(v), logarithm); });
    };
  to["sort"] = [](const KnownCall& c) { return sort(c, false); };
  to["argsort"] = [](const KnownCall& c) { return sort(c, true); };
  to["permute_dims"] = permute;
  to["flip"] = flip;
  to["repeat"] = repeat;
  to["tile"] = tile;
  to["tril"] = [](const KnownCall& c) { return triangle(c, true); };
  to["triu"] = [](const KnownCall& c) { return triangle(c, false); };
  to["concat"] = [](const KnownCall& c) { return join(c, false); };
  to["stack"] = [](const KnownCall& c) { return join(c, true); };
  to["take"] = take;
  to["gather_elements"] = gather_elements;
  to["one_hot"] = one_hot;
  to["matmul"] = matmul;
  to["outer"] = [](const KnownCall& c) {
    Result v = gather(c, [](const Index& at) { return Index{at[0]}; });
    for (std::size_t i = 0; i < v->size(); ++i) (*v)[i] *= c.args.at(1).data[i % c.args.at(1).data.size()];
    return v;
  };
  to["broadcast_to"] = [](const KnownCall& c) -> Result {
    std::vector<double> out;
    for (std::int64_t i = 0; i < product(c.shape); ++i) out.push_back(broadcast_at(c.args.at(0), index_in(i, c.shape)));
    return out;
  };
  for (const char* name : {"ones", "ones_like"}) to[name] = [](const KnownCall& c) { return filled(c, 1); };
  for (const char* name : {"zeros", "zeros_like"}) to[name] = [](const KnownCall& c) { return filled(c, 0); };
  for (const char* name : {"full", "full_like"})
    to[name] = [](const KnownCall& c) { return filled(c, c.args.back().data.at(0)); };
  to["arange"] = [](const KnownCall& c) -> Result {
    if (c.args.size() != 3) return std::nullopt;
    std::vector<double> out;
    for (std::int64_t i = 0; i < product(c.shape); ++i)
      out.push_back(c.args[0].data[0] + double(i) * c.args[2].data[0]);
    return out;
  };
}

const std::map<std::string_view, Definition>& definitions() {
  static const std::map<std::string_view, Definition> table = [] {
    std::map<std::string_view, Definition> made;
    add_elementwise(made);
    add_arrays(made);
    add_windows(made);
    return made;
  }();
  return table;
}

}  // namespace rldb::repro_test
