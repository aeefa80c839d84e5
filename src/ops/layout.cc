#include "ops/layout.h"

namespace rldb::ops {

int Layout::index_of(char letter) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].letter == letter && axes[i].factor == 0) return int(i);
  return -1;
}
int Layout::inner_index_of(char letter) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].letter == letter && axes[i].factor != 0) return int(i);
  return -1;
}
std::int64_t Layout::factor_of(char letter) const {
  int i = inner_index_of(letter);
  return i < 0 ? 1 : axes[std::size_t(i)].factor;
}

std::optional<Layout> parse_layout(std::string_view text) {
  Layout out;
  std::int64_t number = 0;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      if (number > 4096) return std::nullopt;
    } else if (c >= 'A' && c <= 'Z') {
      if (number != 0 || out.index_of(c) >= 0) return std::nullopt;
      out.axes.push_back({c, 0});
    } else if (c >= 'a' && c <= 'z') {
      char letter = char(c - 'a' + 'A');
      if (number == 0 || out.inner_index_of(letter) >= 0) return std::nullopt;
      out.axes.push_back({letter, std::exchange(number, 0)});
    } else {
      return std::nullopt;
    }
  }
  for (const auto& a : out.axes)
    if (out.index_of(a.letter) < 0) return std::nullopt;
  return out;
}

const Expr* extent_of(ir::Context& ctx, const Layout& layout, std::span<const Expr* const> shape, char letter) {
  const Expr* e = shape[std::size_t(layout.index_of(letter))];
  if (int inner = layout.inner_index_of(letter); inner >= 0) e = ir::mul(ctx, e, shape[std::size_t(inner)]);
  return simplify(ctx, e);
}

Dims shape_in(ir::Context& ctx, const Layout& layout, const std::vector<std::pair<char, const Expr*>>& extents) {
  Dims out;
  for (const auto& a : layout.axes) {
    const Expr* whole = nullptr;
    for (const auto& [letter, e] : extents)
      if (letter == a.letter) whole = e;
    RLDB_CHECK(whole != nullptr, "layout letter without an extent");
    std::int64_t factor = layout.factor_of(a.letter);
    if (a.factor != 0)
      out.push_back(ctx.i64(a.factor));
    else
      out.push_back(factor == 1 ? whole : simplify(ctx, ir::floor_div(ctx, whole, ctx.i64(factor))));
  }
  return out;
}

Result<Layout> layout_of(const OpInfo& info, std::string_view text, std::string_view letters) {
  auto layout = parse_layout(text);
  bool good = layout.has_value();
  if (good) {
    std::size_t outer = 0;
    for (const auto& a : layout->axes)
      if (a.factor == 0) ++outer;
    good = outer == letters.size();
    for (char c : letters) good = good && layout->index_of(c) >= 0;
  }
  if (!good)
    return type_error(info, "requires the given layout to be convertible from " + std::string(letters) +
                                " layout, but the given layout " + std::string(text) + " is not convertible");
  return *layout;
}

Result<Layout> layout_of(const OpInfo& info, const ir::CallSpec& call, std::string_view attribute,
                         std::string_view letters) {
  auto layout = layout_of(info, attr_string(call, attribute), letters);
  if (!layout.ok()) layout.error().attribute = attribute;
  return layout;
}

bool coordinates_last(const TensorType* grid, std::size_t n) {
  const auto second = ir::const_int(grid->shape[1]);
  return second && *second != std::int64_t(n) && ir::is_const(grid->shape.back(), std::int64_t(n));
}

}  // namespace rldb::ops
