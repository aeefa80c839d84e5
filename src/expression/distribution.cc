// Order statistics by radix, and histograms.
#include "rldb/expression/distribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "expression/elements_by_chunk.h"

namespace rldb::expression {

using runtime::Tensor;

namespace {

constexpr int kDigitBits = 16;
constexpr std::size_t kDigits = std::size_t(1) << kDigitBits;

// Unsigned integers in the order of the floats: both zeros are equal, NaN is last.
std::uint32_t key_of(float v) {
  if (v != v) return ~std::uint32_t(0);
  const auto bits = std::bit_cast<std::uint32_t>(v + 0.0F);
  return bits ^ (bits >> 31 ? ~std::uint32_t(0) : std::uint32_t(1) << 31);
}
std::uint64_t key_of(double v) {
  if (v != v) return ~std::uint64_t(0);
  const auto bits = std::bit_cast<std::uint64_t>(v + 0.0);
  return bits ^ (bits >> 63 ? ~std::uint64_t(0) : std::uint64_t(1) << 63);
}
double value_of(std::uint32_t key) { return std::bit_cast<float>(key >> 31 ? key ^ (std::uint32_t(1) << 31) : ~key); }
double value_of(std::uint64_t key) { return std::bit_cast<double>(key >> 63 ? key ^ (std::uint64_t(1) << 63) : ~key); }

// The elements whose keys begin with these digits, counted by the next digit.
struct Group {
  std::uint64_t prefix = 0;
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(kDigits);
};

// Elements whose keys begin with these digits, counted by bins: those from each of these keys on are in another one.
struct CutGroup {
  std::uint64_t prefix = 0;
  std::vector<std::uint64_t> starts;  // ascending; the first is the least key of the group
  std::vector<std::int64_t> counts;   // from each start to the next
};

// A position that is looked for: among the elements that begin with the digits found so far.
struct Wanted {
  std::uint64_t prefix = 0;
  std::int64_t position = 0;
};

// Counts between edges, of values with their numbers.
class Bins {
 public:
  explicit Bins(std::span<const double> edges) : edges_(edges), counts_(edges.size() - 1) {}
  // -1: below all of them; their number: above, or no number.
  std::int64_t of(double v) const {
    if (v < edges_.front()) return -1;
    if (!(v <= edges_.back())) return bins();
    const auto above = std::upper_bound(edges_.begin(), edges_.end(), v) - edges_.begin();
    return std::min<std::int64_t>(bins() - 1, above - 1);
  }
  void add(double v, std::int64_t n) {
    const std::int64_t bin = of(v);
    if (bin >= 0 && bin < bins()) counts_[std::size_t(bin)] += n;
  }
  std::vector<std::int64_t> take() { return std::move(counts_); }

 private:
  std::int64_t bins() const { return std::int64_t(counts_.size()); }
  std::span<const double> edges_;
  std::vector<std::int64_t> counts_;
};

template <class Key>
class Select {
  static constexpr int kDigitCount = int(sizeof(Key)) * 8 / kDigitBits;

 public:
  explicit Select(const Tensor& t) : t_(t) {}

  // `bins`: counted on the way, which needs keys of two digits; null: none.
  std::vector<double> at(std::span<const std::int64_t> positions, Bins* bins = nullptr) {
    std::vector<Wanted> wanted;
    for (const std::int64_t p : positions) wanted.push_back({0, p});
    std::vector<std::uint64_t> cut;  // prefixes with elements in several bins
    for (int digit = 0; digit < kDigitCount; ++digit) {
      digit == 0 ? count_first() : count_next(wanted, digit);
      if (bins) digit == 0 ? count_whole(*bins, cut) : count_cut(*bins, cut);
      for (Wanted& w : wanted) find(w);
      if (bins && digit == 0) prepare_cuts(*bins, cut, wanted);
    }
    std::vector<double> out;
    for (const Wanted& w : wanted) out.push_back(value_of(Key(w.prefix)));
    return out;
  }

 private:
  // Counts of 32 bits stay in the second-level cache; they are added up before they can overflow.
  void count_first() {
    const std::size_t slices = slice_count(t_.element_count());
    std::vector<Group> parts(slices);
    on_threads(slices, [&](std::size_t part) {
      std::vector<std::uint32_t> few(kDigits);
      constexpr std::int64_t kMost = std::int64_t(1) << 31;
      std::int64_t counted = 0;
      const auto add_up = [&] {
        for (std::size_t k = 0; k < kDigits; ++k) parts[part].counts[k] += std::exchange(few[k], 0);
        counted = 0;
      };
      constexpr int shift = (kDigitCount - 1) * kDigitBits;
      const Slice s = slice_of(t_.element_count(), part, slices, kChunk);
      each_chunk(t_, s.begin, s.end, [&](const auto* v, std::int64_t n, std::int64_t) {
        if (counted > kMost) add_up();
        counted += n;
        std::uint16_t digits[kChunk];
        for (std::int64_t i = 0; i < n; ++i) digits[i] = std::uint16_t(Key(key_of(v[i])) >> shift);
        for (std::int64_t i = 0; i < n; ++i) ++few[digits[i]];
      });
      add_up();
    });
    groups_.assign(1, {});
    for (const Group& p : parts) add_to(groups_[0], p);
  }

  // The bins of elements by their first digit, where it decides.
  void count_whole(Bins& bins, std::vector<std::uint64_t>& cut) const {
    constexpr int shift = (kDigitCount - 1) * kDigitBits;
    for (std::size_t d = 0; d < kDigits; ++d) {
      const std::int64_t n = groups_[0].counts[d];
      const Key least = Key(d) << shift, most = Key(least | ((Key(1) << shift) - 1));
      if (n == 0) continue;
      if (bins.of(value_of(least)) == bins.of(value_of(most)))
        bins.add(value_of(least), n);
      else
        cut.push_back(d);
    }
  }
  void count_cut(Bins& bins, const std::vector<std::uint64_t>& cut) {
    for (const std::uint64_t prefix : cut)
      if (const Group* g = group(prefix))
        for (std::size_t k = 0; k < kDigits; ++k)
          if (g->counts[k] > 0) bins.add(value_of(Key(prefix << kDigitBits | k)), g->counts[k]);
    for (const CutGroup& c : cuts_)
      for (std::size_t i = 0; i < c.starts.size(); ++i) bins.add(value_of(Key(c.starts[i])), c.counts[i]);
  }
  // Where the bins of elements with two digits change.
  void prepare_cuts(const Bins& bins, const std::vector<std::uint64_t>& cut, const std::vector<Wanted>& wanted) {
    for (const std::uint64_t prefix : cut) {
      const auto here = [&](const Wanted& w) { return w.prefix == prefix; };
      if (std::any_of(wanted.begin(), wanted.end(), here)) continue;  // counted one by one
      CutGroup c{prefix, {}, {}};
      const std::uint64_t least = prefix << kDigitBits, end = least + kDigits;
      for (std::uint64_t key = least; key < end;) {
        c.starts.push_back(key);
        const std::int64_t bin = bins.of(value_of(Key(key)));
        std::uint64_t same = key,
                      other = end;  // the last key that is known to be in the bin, the first known not to be
        while (same + 1 < other) {
          const std::uint64_t middle = same + (other - same) / 2;
          (bins.of(value_of(Key(middle))) == bin ? same : other) = middle;
        }
        key = other;
      }
      c.counts.resize(c.starts.size());
      cuts_.push_back(std::move(c));
    }
  }

  void count_next(const std::vector<Wanted>& wanted, int digit) {
    groups_.clear();
    for (const Wanted& w : wanted)
      if (!group(w.prefix)) groups_.push_back({w.prefix});
    // By the first digit: 0, an element can belong to no group; else one more than the group's number, which is
    // certain after one digit. Groups cut by bins come behind the others.
    const int above = digit * kDigitBits, shift = (kDigitCount - digit) * kDigitBits;
    std::vector<std::uint16_t> possible(kDigits);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      possible[std::size_t(groups_[g].prefix >> (above - kDigitBits))] = std::uint16_t(g + 1);
    for (std::size_t c = 0; c < cuts_.size(); ++c)
      possible[std::size_t(cuts_[c].prefix)] = std::uint16_t(groups_.size() + c + 1);
    std::vector<std::uint8_t> looked_at(kDigits);  // in the first-level cache, or nearly
    for (std::size_t k = 0; k < kDigits; ++k) looked_at[k] = possible[k] != 0;
    const bool certain = digit == 1;
    constexpr int first = (kDigitCount - 1) * kDigitBits;
    struct Part {
      std::vector<Group> groups;
      std::vector<CutGroup> cuts;
    };
    // One for each thread: their tables are large.
    const std::size_t slices =
        std::min(slice_count(t_.element_count()), std::max<std::size_t>(1, runtime::thread_count()));
    std::vector<Part> parts(slices);
    on_threads(slices, [&](std::size_t part) {
      Part& own = parts[part];
      own = {groups_, cuts_};
      Key keys[kChunk], kept[kChunk];
      const Slice s = slice_of(t_.element_count(), part, slices, kChunk);
      each_chunk(t_, s.begin, s.end, [&](const auto* v, std::int64_t n, std::int64_t) {
        for (std::int64_t i = 0; i < n; ++i) keys[i] = Key(key_of(v[i]));
        // Few are kept, at no regular distance: a branch would be mispredicted at each.
        std::size_t count = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          kept[count] = keys[i];
          count += looked_at[std::size_t(keys[i] >> first)];
        }
        for (std::size_t i = 0; i < count; ++i) {
          const Key key = kept[i];
          const std::size_t at = possible[std::size_t(key >> first)] - 1U;
          if (at >= own.groups.size()) {
            CutGroup& c = own.cuts[at - own.groups.size()];
            std::size_t bin = c.starts.size() - 1;
            while (key < c.starts[bin]) --bin;
            ++c.counts[bin];
          } else if (Group* g = certain ? &own.groups[at] : group_in(own.groups, std::uint64_t(key) >> shift)) {
            ++g->counts[(key >> (shift - kDigitBits)) & (kDigits - 1)];
          }
        }
      });
    });
    for (const Part& p : parts) {
      for (std::size_t g = 0; g < groups_.size(); ++g) add_to(groups_[g], p.groups[g]);
      for (std::size_t c = 0; c < cuts_.size(); ++c)
        for (std::size_t i = 0; i < cuts_[c].counts.size(); ++i) cuts_[c].counts[i] += p.cuts[c].counts[i];
    }
  }

  static void add_to(Group& sum, const Group& part) {
    for (std::size_t k = 0; k < kDigits; ++k) sum.counts[k] += part.counts[k];
  }
  Group* group(std::uint64_t prefix) { return group_in(groups_, prefix); }
  static Group* group_in(std::vector<Group>& groups, std::uint64_t prefix) {
    for (Group& g : groups)
      if (g.prefix == prefix) return &g;
    return nullptr;
  }

  void find(Wanted& w) {
    const std::vector<std::int64_t>& counts = group(w.prefix)->counts;
    std::size_t k = 0;
    for (; k + 1 < kDigits && w.position >= counts[k]; ++k) w.position -= counts[k];
    w.prefix = w.prefix << kDigitBits | k;
  }

  const Tensor& t_;
  std::vector<Group> groups_;
  std::vector<CutGroup> cuts_;
};

// Each position may need a table of counts; for many of them sorting is cheaper.
constexpr std::size_t kMostSelected = 64;

std::vector<double> sorted_at(const Tensor& t, std::span<const std::int64_t> positions) {
  std::vector<double> all(std::size_t(t.element_count()));
  load(t, 0, 1, t.element_count(), all.data());
  std::sort(all.begin(), all.end(), [](double a, double b) {
    support::poll();
    return std::isnan(b) ? !std::isnan(a) : a < b;
  });
  std::vector<double> out;
  for (const std::int64_t p : positions) out.push_back(all[std::size_t(p)]);
  return out;
}

}  // namespace

std::vector<double> values_at(const Tensor& t, std::span<const std::int64_t> positions) {
  if (positions.size() > kMostSelected) return sorted_at(t, positions);
  return fits_float(t.dtype()) ? Select<std::uint32_t>(t).at(positions) : Select<std::uint64_t>(t).at(positions);
}

namespace {

// Of the two elements that each quantile lies between.
std::vector<std::int64_t> neighbours_of(std::span<const double> parts, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions;
  for (const double q : parts) {
    const auto low = std::int64_t(q * double(count - 1));
    positions.push_back(first + low);
    positions.push_back(first + std::min(low + 1, count - 1));
  }
  return positions;
}

std::vector<double> between(std::span<const double> parts, std::span<const double> values, std::int64_t count) {
  std::vector<double> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double place = parts[i] * double(count - 1);
    const double part = place - std::floor(place), low = values[2 * i], high = values[2 * i + 1];
    out.push_back(part == 0 ? low : low + part * (high - low));
  }
  return out;
}

}  // namespace

std::vector<double> quantiles_of(const Tensor& t, std::span<const double> parts, std::int64_t first,
                                 std::int64_t count) {
  return between(parts, values_at(t, neighbours_of(parts, first, count)), count);
}

Distribution distribution_of(const Tensor& t, std::span<const double> parts, std::int64_t first, std::int64_t count,
                             std::span<const double> edges) {
  const std::vector<std::int64_t> positions = neighbours_of(parts, first, count);
  if (positions.size() > kMostSelected || !fits_float(t.dtype()) || edges.size() < 2 || edges.size() > kMostSelected)
    return {quantiles_of(t, parts, first, count), bin_counts(t, edges)};
  Bins bins(edges);
  std::vector<double> quantiles = between(parts, Select<std::uint32_t>(t).at(positions, &bins), count);
  return {std::move(quantiles), bins.take()};
}

std::vector<double> equal_edges(double low, double high, std::int64_t bins) {
  std::vector<double> edges;
  const double width = high / double(bins) - low / double(bins);
  for (std::int64_t i = 0; i <= bins; ++i) edges.push_back(i == bins ? high : low + double(i) * width);
  return edges;
}

namespace {

// The bins of elements by division, corrected by the edges: exact where the quotients are off by less than one.
class ByQuotient {
 public:
  explicit ByQuotient(std::span<const double> edges)
      : bins_(std::int64_t(edges.size()) - 1),
        low_(edges.front()),
        high_(edges.back()),
        per_(1 / (high_ / double(bins_) - low_ / double(bins_))),
        from_(edges.begin(), edges.end() - 1),
        to_(edges.begin() + 1, edges.end()) {
    // The first and the last bin take what rounding puts beyond them.
    from_.front() = -std::numeric_limits<double>::infinity();
    to_.back() = std::numeric_limits<double>::infinity();
  }
  bool precise() const { return per_ > 0 && std::fabs(low_ * per_) + double(bins_) < 0x1p40; }

  // `out`: one more than the number of bins for an element outside of them.
  template <class T>
  void find(const T* v, std::int64_t n, std::int32_t* out) const {
    const double per = per_, start = low_ * per_, top = double(bins_ - 1), low = low_, high = high_;
    const double *from = from_.data(), *to = to_.data();
    const auto outside = std::int32_t(bins_);
    for (std::int64_t i = 0; i < n; ++i) {
      double place = double(v[i]) * per - start;
      place = place > 0 ? place : 0;
      out[i] = std::int32_t(place < top ? place : top);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = v[i];
      const std::int32_t k = out[i];
      const std::int32_t bin = k - int(x < from[k]) + int(x >= to[k]);
      out[i] = int(x >= low) & int(x <= high) ? bin : outside;
    }
  }

 private:
  std::int64_t bins_;
  double low_, high_, per_;
  std::vector<double> from_, to_;
};

}  // namespace

std::vector<std::int64_t> bin_counts(const Tensor& t, std::span<const double> edges) {
  const auto bins = std::int64_t(edges.size()) - 1;
  const ByQuotient quotient(edges);
  const bool divide = quotient.precise();
  // Equal neighbours would wait for each other's count.
  constexpr std::size_t kTables = 4;
  const std::size_t table = std::size_t(bins) + 1;
  const std::size_t slices = slice_count(t.element_count());
  std::vector<std::int64_t> counts(slices * kTables * table);
  on_threads(slices, [&](std::size_t part) {
    std::int32_t bin[kChunk];
    std::int64_t* tables[kTables];
    for (std::size_t k = 0; k < kTables; ++k) tables[k] = counts.data() + (part * kTables + k) * table;
    const Slice s = slice_of(t.element_count(), part, slices, kChunk);
    each_chunk(t, s.begin, s.end, [&](const auto* v, std::int64_t n, std::int64_t) {
      if (divide) {
        quotient.find(v, n, bin);
      } else {
        for (std::int64_t i = 0; i < n; ++i) {
          const double x = v[i];
          const auto above = std::upper_bound(edges.begin(), edges.end(), x) - edges.begin();
          bin[i] = std::int32_t(x >= edges.front() && x <= edges.back() ? std::min(bins - 1, above - 1) : bins);
        }
      }
      std::int64_t i = 0;
      for (; i + std::int64_t(kTables) <= n; i += kTables)
        for (std::size_t k = 0; k < kTables; ++k) ++tables[k][bin[std::size_t(i) + k]];
      for (; i < n; ++i) ++tables[0][bin[i]];
    });
  });
  std::vector<std::int64_t> out(counts.begin(), counts.begin() + bins);
  for (std::size_t k = 1; k < slices * kTables; ++k)
    for (std::size_t b = 0; b < out.size(); ++b) out[b] += counts[k * table + b];
  return out;
}

}  // namespace rldb::expression
