// The third opinion on normalisations, convolutions and pools.
#include <algorithm>
#include <cmath>
#include <limits>

#include "repro/operator_opinion.h"

namespace rldb::repro_test {

namespace {

using Index = std::vector<std::int64_t>;
using Result = std::optional<std::vector<double>>;

// (x - mean) / sqrt(variance + epsilon) over the axes, times and plus operands with the shape of these axes, in the
// order in which the axes are given; without the mean for an RMS norm.
Result normalise(const KnownCall& c, bool centred) {
  const Array& x = c.args.at(0);
  const auto axes = c.list("axes");
  if (!axes) return std::nullopt;
  std::vector<std::size_t> over;
  for (const std::int64_t a : *axes) over.push_back(std::size_t(a < 0 ? a + std::int64_t(x.shape.size()) : a));
  if (!std::is_sorted(over.begin(), over.end())) return std::nullopt;  // nothing says how the operands lie then
  const bool scale = !centred || c.flag("scale"), shift = centred && c.flag("center");
  Index kept = x.shape, own;
  for (const std::size_t a : over) kept[a] = 1, own.push_back(x.shape[a]);
  std::vector<double> sum(std::size_t(product(kept))), squares(sum.size());
  const auto row = [&](Index at) {
    for (const std::size_t a : over) at[a] = 0;
    return std::size_t(flat_of(at, kept));
  };
  const double n = double(product(own));
  if (centred)
    for (std::int64_t i = 0; i < x.size(); ++i) sum[row(index_in(i, x.shape))] += x.data[std::size_t(i)] / n;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::size_t r = row(index_in(i, x.shape));
    squares[r] += (x.data[std::size_t(i)] - sum[r]) * (x.data[std::size_t(i)] - sum[r]) / n;
  }
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const Index at = index_in(i, x.shape);
    const std::size_t r = row(at);
    Index inner;
    for (const std::size_t a : over) inner.push_back(at[a]);
    const auto k = std::size_t(flat_of(inner, own));
    double y = (x.data[std::size_t(i)] - sum[r]) / std::sqrt(squares[r] + c.real("epsilon", 1e-5));
    if (scale) y *= c.args.at(1).data.at(k);
    if (shift) y += c.args.at(2).data.at(k);
    out.push_back(y);
  }
  return out;
}

// The attributes of a window over the dims behind batch and channels: a number for each dim, padding before all of them
// and then behind all of them.
struct Window {
  Index strides, dilation, before;
};

std::optional<Window> window_of(const KnownCall& c, std::size_t dims) {
  const auto all = [&](std::string_view name, std::int64_t usual) {
    Index v = c.list(name).value_or(Index{usual});
    if (v.size() == 1) v.assign(dims, v[0]);
    return v;
  };
  Window w{all("strides", 1), all("dilation", 1), all("padding", 0)};
  if (w.before.size() == 2 * dims) w.before.resize(dims);
  if (w.strides.size() != dims || w.dilation.size() != dims || w.before.size() != dims) return std::nullopt;
  return w;
}

// Calls `f` with the place in the data of each tap of the window at `at` (spatial indices), and the number of the tap;
// `inside`: it is not in the padding.
template <class F>
void for_each_tap(const Window& w, const Index& at, const Index& kernel, const Index& data, F&& f) {
  for (std::int64_t t = 0; t < product(kernel); ++t) {
    Index place = index_in(t, kernel);
    bool inside = true;
    for (std::size_t d = 0; d < kernel.size(); ++d) {
      place[d] = at[d] * w.strides[d] + place[d] * w.dilation[d] - w.before[d];
      inside = inside && place[d] >= 0 && place[d] < data[d];
    }
    f(place, t, inside);
  }
}

bool is_plain(const std::string& layout) {
  return layout.empty() || layout == "NCW" || layout == "NCHW" || layout == "NCDHW" || layout == "OIW" ||
         layout == "OIHW" || layout == "OIDHW";
}

Result convolve(const KnownCall& c) {
  const Array &x = c.args.at(0), &weight = c.args.at(1);
  const auto w = window_of(c, x.shape.size() - 2);
  if (!w || !is_plain(c.text("data_layout")) || !is_plain(c.text("kernel_layout")) || !is_plain(c.text("out_layout")))
    return std::nullopt;
  const std::int64_t groups = c.integer("groups").value_or(1);
  const std::int64_t in_group = weight.shape[1], out_group = weight.shape[0] / groups;
  const Index data(x.shape.begin() + 2, x.shape.end()), kernel(weight.shape.begin() + 2, weight.shape.end());
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    const Index at = index_in(i, c.shape);
    double sum = 0;
    for_each_tap(*w, Index(at.begin() + 2, at.end()), kernel, data,
                 [&](const Index& place, std::int64_t t, bool inside) {
                   for (std::int64_t k = 0; inside && k < in_group; ++k) {
                     Index from{at[0], at[1] / out_group * in_group + k};
                     from.insert(from.end(), place.begin(), place.end());
                     const std::int64_t tap = (at[1] * in_group + k) * product(kernel) + t;
                     sum += x.data[std::size_t(flat_of(from, x.shape))] * weight.data[std::size_t(tap)];
                   }
                 });
    out.push_back(sum);
  }
  return out;
}

Result pool(const KnownCall& c, bool mean) {
  const Array& x = c.args.at(0);
  const auto w = window_of(c, x.shape.size() - 2);
  if (!w || !is_plain(c.text("layout")) || !is_plain(c.text("out_layout")) || c.flag("ceil_mode")) return std::nullopt;
  const Index data(x.shape.begin() + 2, x.shape.end());
  Index size = c.list("pool_size").value_or(Index{1});
  if (size.size() == 1) size.assign(data.size(), size[0]);
  const bool all = c.flag("count_include_pad");
  std::vector<double> out;
  for (std::int64_t i = 0; i < product(c.shape); ++i) {
    const Index at = index_in(i, c.shape);
    double sum = 0, most = -std::numeric_limits<double>::infinity(), n = 0;
    for_each_tap(*w, Index(at.begin() + 2, at.end()), size, data, [&](const Index& place, std::int64_t, bool inside) {
      n += inside || all;
      if (!inside) return;
      Index from{at[0], at[1]};
      from.insert(from.end(), place.begin(), place.end());
      const double v = x.data[std::size_t(flat_of(from, x.shape))];
      sum += v;
      most = std::max(most, v);
    });
    if (n == 0 || std::isinf(most)) return std::nullopt;  // a window that lies in the padding
    out.push_back(mean ? sum / n : most);
  }
  return out;
}

}  // namespace

void add_windows(std::map<std::string_view, Definition>& to) {
  to["nn.layer_norm"] = [](const KnownCall& c) { return normalise(c, true); };
  to["nn.rms_norm"] = [](const KnownCall& c) { return normalise(c, false); };
  for (const char* name : {"nn.conv1d", "nn.conv2d", "nn.conv3d"}) to[name] = convolve;
  for (const char* name : {"nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"})
    to[name] = [](const KnownCall& c) { return pool(c, false); };
  for (const char* name : {"nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"})
    to[name] = [](const KnownCall& c) { return pool(c, true); };
}

}  // namespace rldb::repro_test
