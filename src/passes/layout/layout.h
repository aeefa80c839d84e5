// Layouts: the order in which a tensor's axes are stored, and which are split into blocks: NHWC and NCHW4c of NCHW.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

class Layout {
 public:
  // One axis of the stored tensor. `factor`: the block size, for the inner part of a split axis; 0: a whole axis, or
  // the outer part of a split one.
  struct Piece {
    int axis;
    std::int64_t factor = 0;
    bool operator==(const Piece&) const = default;
  };

  Layout() = default;
  explicit Layout(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}
  static Layout initial(int ndim);
  // `text` (NHWC4c) for a tensor whose axes are named by `names` (NCHW); nullopt when it is not a layout.
  static std::optional<Layout> parse(std::string_view text, std::string_view names);
  std::string text(std::string_view names) const;

  const std::vector<Piece>& pieces() const { return pieces_; }
  int ndim() const;  // of the tensor
  bool is_split() const;
  bool is_initial() const { return *this == initial(ndim()); }
  // Where an axis, or its outer part, is stored. Negative axes count from the end.
  std::int64_t place(std::int64_t axis) const;
  bool splits(std::int64_t axis) const;
  // Whether the tensor has a shape whose known dims divide evenly. As in TVM, symbolic dims are trusted to.
  bool divides(const ir::Type* t) const;
  bool operator==(const Layout&) const = default;

 private:
  std::vector<Piece> pieces_;
};

// The call that converts `e` to the layout `to`; `e` itself when there is nothing to do.
const ir::Expr* convert_layout_of(ir::Context& ctx, const ir::Expr* e, const Layout& from, const Layout& to);

}  // namespace rldb::passes
