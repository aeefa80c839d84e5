#include <charconv>
#include <optional>

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

namespace {

// `[3, -4]`: one element by plain numbers. Nullopt: another subscript, or one that is wrong.
std::optional<std::int64_t> one_position(const Tensor& t, std::string_view subscript) {
  if (!subscript.starts_with('[') || !subscript.ends_with(']')) return std::nullopt;
  const char* at = subscript.data() + 1;
  const char* const end = subscript.data() + subscript.size() - 1;
  const auto skip = [&] {
    while (at != end && *at == ' ') ++at;
  };
  std::int64_t position = 0;
  for (std::size_t d = 0; d < t.shape().size(); ++d) {
    std::int64_t i = 0;
    skip();
    const auto [rest, problem] = std::from_chars(at, end, i);
    if (problem != std::errc() || i < -t.shape()[d] || i >= t.shape()[d]) return std::nullopt;
    at = rest;
    skip();
    if (d + 1 < t.shape().size() && (at == end || *at++ != ',')) return std::nullopt;
    position = position * t.shape()[d] + (i < 0 ? i + t.shape()[d] : i);
  }
  return at == end && !t.shape().empty() ? std::optional(position) : std::nullopt;
}

}  // namespace

// The subscript, applied to a tensor of positions.
Result<std::vector<std::int64_t>> positions_of(const Tensor& t, std::string_view subscript) {
  if (const auto one = one_position(t, subscript)) return std::vector{*one};
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
