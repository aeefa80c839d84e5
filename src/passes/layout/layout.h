// Layouts: in which order the axes of a tensor are stored, and which are split into blocks: NHWC and NCHW4c of NCHW.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

class Layout {
 public:
  // One axis of the stored tensor. `factor`: the inner part of an axis that is split into blocks of that many; 0: the
  // axis, or what is left of it.
  struct Piece {
    int axis;
    std::int64_t factor = 0;
    bool operator==(const Piece&) const = default;
  };

  Layout() = default;
  explicit Layout(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}
  static Layout initial(int ndim);
  // `text` (NHWC4c) of a tensor whose axes are called as in `names` (NCHW); nullopt when it is none.
  static std::optional<Layout> parse(std::string_view text, std::string_view names);
  std::string text(std::string_view names) const;

  const std::vector<Piece>& pieces() const { return pieces_; }
  int ndim() const;  // of the tensor
  bool is_split() const;
  bool is_initial() const { return *this == initial(ndim()); }
  // Where an axis, or what is left of it, is stored. Negative axes count from the end.
  std::int64_t place(std::int64_t axis) const;
  // The tensor's dims are known to come out even.
  bool divides(const ir::Type* t) const;
  bool operator==(const Layout&) const = default;

 private:
  std::vector<Piece> pieces_;
};

// The call that stores `e` otherwise; `e` itself when there is nothing to do.
const ir::Expr* convert_layout_of(ir::Context& ctx, const ir::Expr* e, const Layout& from, const Layout& to);

}  // namespace rldb::passes
