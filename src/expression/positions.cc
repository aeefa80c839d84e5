#include "rldb/expression/array.h"

namespace rldb::expression {

using runtime::Result;
using runtime::Tensor;
using runtime::Value;

std::pair<std::string_view, std::string_view> split_target(std::string_view target) {
  const auto bracket = target.find('[');
  if (bracket == std::string_view::npos) return {target, {}};
  std::string_view name = target.substr(0, bracket);
  while (name.ends_with(' ')) name.remove_suffix(1);
  return {name, target.substr(bracket)};
}

// The subscript, applied to a tensor of positions.
Result<std::vector<std::int64_t>> positions_of(const Tensor& t, std::string_view subscript) {
  RLDB_TRY(auto all, Tensor::empty(t.shape(), runtime::DType::Int(64)));
  auto* data = reinterpret_cast<std::int64_t*>(all->data());
  for (std::int64_t i = 0; i < all->element_count(); ++i) data[i] = i;
  const Value whole(std::move(all));
  RLDB_TRY(const Value chosen, evaluate_text("elements" + std::string(subscript),
                                             [&](std::string_view) -> Result<Value> { return whole; }));
  RLDB_TRY(auto list, as_tensor(chosen));
  RLDB_TRY(list, cast(*list, runtime::DType::Int(64)));
  const auto* first = reinterpret_cast<const std::int64_t*>(list->data());
  return std::vector<std::int64_t>(first, first + list->element_count());
}

}  // namespace rldb::expression
