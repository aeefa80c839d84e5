// Sets of elements as subscripts: slices where indices are regular, lists where they are few.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "debug/look/element.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kMostListed = 8;                    // indices of an axis that are written one by one
constexpr std::size_t kMostParts = 6;                     // subscripts; more are written as the box around them
constexpr std::size_t kMostExact = std::size_t(1) << 16;  // elements; of more only the box is looked for

using Index = std::vector<std::int64_t>;

Index index_of(std::int64_t position, const std::vector<std::int64_t>& shape) {
  Index index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
  return index;
}

std::string run_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::to_string(first) : fmt::format("{}:{}", first, last + 1);
}

// The indices of an axis, in ascending order: `3`, `0:4`, `0:8:2`, `[1, 4, 5]`; several runs, if they are many.
std::vector<std::string> axis_texts(const Index& at) {
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  bool regular = true;
  for (std::size_t i = 1; i < at.size(); ++i) regular = regular && at[i] - at[i - 1] == step;
  if (regular && step == 1) return {run_text(at.front(), at.back())};
  if (regular && at.size() > 2) return {fmt::format("{}:{}:{}", at.front(), at.back() + 1, step)};
  if (at.size() <= kMostListed) return {fmt::format("[{}]", fmt::join(at, ", "))};
  std::vector<std::string> runs;
  for (std::size_t i = 0, begin = 0; i < at.size(); ++i)
    if (i + 1 == at.size() || at[i + 1] != at[i] + 1) {
      runs.push_back(run_text(at[begin], at[i]));
      begin = i + 1;
    }
  return runs;
}

// `begin` to `end`: sorted indices that agree in the axes before `axis`. Rows with the same elements are one part.
std::vector<std::string> subscripts_of(const std::vector<Index>& all, std::size_t begin, std::size_t end,
                                       std::size_t axis) {
  std::map<std::vector<std::string>, Index> rows;  // by the subscripts of the axes behind
  for (std::size_t i = begin; i < end;) {
    std::size_t next = i;
    while (next < end && all[next][axis] == all[i][axis]) ++next;
    rows[axis + 1 == all[i].size() ? std::vector<std::string>{""} : subscripts_of(all, i, next, axis + 1)].push_back(
        all[i][axis]);
    i = next;
  }
  std::vector<std::pair<const std::vector<std::string>*, const Index*>> ordered;
  for (const auto& [behind, at] : rows) ordered.emplace_back(&behind, &at);
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.second->front() < b.second->front(); });
  std::vector<std::string> parts;
  const auto is_list = [](const std::string& text) { return text.find('[') != std::string::npos; };
  for (const auto& [behind, at] : ordered) {
    // Lists in two axes would be read as pairs, as in NumPy.
    std::vector<std::string> firsts = axis_texts(*at);
    if (is_list(firsts[0]) && std::any_of(behind->begin(), behind->end(), is_list)) {
      firsts.clear();
      for (const std::int64_t i : *at) firsts.push_back(fmt::to_string(i));
    }
    for (const std::string& first : firsts)
      for (const std::string& rest : *behind) parts.push_back(rest.empty() ? first : first + ", " + rest);
  }
  return parts;
}

std::string box_text(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& positions) {
  Index first = index_of(positions[0], shape), last = first;
  for (const std::int64_t p : positions) {
    const Index at = index_of(p, shape);
    for (std::size_t d = 0; d < at.size(); ++d) {
      first[d] = std::min(first[d], at[d]);
      last[d] = std::max(last[d], at[d]);
    }
  }
  std::size_t box = 1;
  std::vector<std::string> axes;
  for (std::size_t d = 0; d < first.size(); ++d) {
    box *= std::size_t(last[d] - first[d] + 1);
    axes.push_back(run_text(first[d], last[d]));
  }
  const std::string text = fmt::format("[{}]", fmt::join(axes, ", "));
  return box == positions.size() ? text : fmt::format("{}, {} of {} elements", text, positions.size(), box);
}

}  // namespace

std::string region_text(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& positions) {
  if (positions.empty() || shape.empty()) return "[]";
  if (positions.size() > kMostExact) return box_text(shape, positions);
  std::vector<Index> all;
  for (const std::int64_t p : positions) all.push_back(index_of(p, shape));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const std::vector<std::string> parts = subscripts_of(all, 0, all.size(), 0);
  return parts.size() > kMostParts ? box_text(shape, positions) : fmt::format("[{}]", fmt::join(parts, "], ["));
}

}  // namespace rldb::debug
