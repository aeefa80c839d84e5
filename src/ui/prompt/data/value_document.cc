// Slices of tensors.
#include "rldb/ui/prompt/value_document.h"

#include <algorithm>

#include "rldb/debug/facts.h"
#include "rldb/ui/prompt/data.h"

namespace rldb::ui {

namespace {

constexpr std::int64_t kMostCounted = std::int64_t(16) << 20;
constexpr std::int64_t kBins = 32;

Json facts_of(const runtime::Value& value) {
  const runtime::Tensor& t = value.as_tensor();
  if (t.element_count() > kMostCounted) return nullptr;
  const auto facts = debug::statistics_of(value, kBins);
  return facts.ok() ? statistics_json("", value, *facts) : Json();
}

Json slice_of(const runtime::Tensor& t, std::vector<std::int64_t> index, std::int64_t most) {
  std::vector<std::int64_t> shape = t.shape();
  while (shape.size() < 2) shape.insert(shape.begin(), 1);
  const std::int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  index.resize(shape.size() - 2);
  std::int64_t base = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = std::clamp<std::int64_t>(index[i], 0, std::max<std::int64_t>(shape[i] - 1, 0));
    base = base * shape[i] + index[i];
  }
  base *= rows * columns;
  const std::int64_t down = (rows + most - 1) / most, across = (columns + most - 1) / most;
  Json cells = Json::array();
  for (std::int64_t r = 0; r < rows; r += std::max<std::int64_t>(down, 1)) {
    Json row = Json::array();
    for (std::int64_t c = 0; c < columns; c += std::max<std::int64_t>(across, 1))
      row.push_back(number_json(t.at(base + r * columns + c)));
    cells.push_back(std::move(row));
  }
  return {{"index", index},    {"rows", rows},           {"columns", columns},
          {"every_row", down}, {"every_column", across}, {"cells", std::move(cells)}};
}

}  // namespace

Json value_document(const runtime::Value& value, std::vector<std::int64_t> index, std::int64_t most) {
  Json out{{"kind", "other"}, {"text", runtime::format_value(value)}};
  if (value.kind() != runtime::ValueKind::Tensor) return out;
  const runtime::Tensor& t = value.as_tensor();
  if (t.dtype().lanes != 1) return out;
  out["kind"] = "tensor";
  out["dtype"] = to_string(t.dtype());
  out["shape"] = t.shape();
  out["facts"] = facts_of(value);
  out["slice"] = t.element_count() > 0 ? slice_of(t, std::move(index), most) : Json();
  return out;
}

}  // namespace rldb::ui
