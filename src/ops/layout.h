// Tensor layouts as strings: NCHW, NHWC, OIHW, NCHW16c (a lower-case letter with a factor splits its axis).
#pragma once

#include "ops/infer/util.h"

namespace rldb::ops {

struct Layout {
  struct Axis {
    char letter;          // upper case: the axis
    std::int64_t factor;  // 0: the axis itself (or its outer part); else the inner part of this many
  };
  std::vector<Axis> axes;
  int index_of(char letter) const;  // of the outer part; -1 when absent
  int inner_index_of(char letter) const;
  std::int64_t factor_of(char letter) const;  // 1 if it is not split
  std::size_t size() const { return axes.size(); }
};
std::optional<Layout> parse_layout(std::string_view text);
// The whole extent of an axis of a shape in the layout.
const Expr* extent_of(ir::Context& ctx, const Layout& layout, std::span<const Expr* const> shape, char letter);
// A shape in the layout from whole extents given by letter.
Dims shape_in(ir::Context& ctx, const Layout& layout, const std::vector<std::pair<char, const Expr*>>& extents);
Result<Layout> layout_of(const OpInfo& info, std::string_view text, std::string_view letters);
// The same for an attribute, at which errors are reported.
Result<Layout> layout_of(const OpInfo& info, const ir::CallSpec& call, std::string_view attribute,
                         std::string_view letters);
// The axis of a grid of places that holds their coordinates, one for each of `n` axes of space: the second, as TVM's
// kernels read it, or else the last.
bool coordinates_last(const TensorType* grid, std::size_t n);

}  // namespace rldb::ops
