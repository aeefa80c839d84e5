// Layouts as texts and as orders of axes, and the operators that convert between them.
#include "passes/layout/layout.h"

#include <algorithm>
#include <cctype>

#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMaxFactor = std::int64_t(1) << 30;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
char upper(char c) { return char(std::toupper(static_cast<unsigned char>(c))); }
char lower(char c) { return char(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

Layout Layout::initial(int ndim) {
  std::vector<Piece> pieces;
  for (int i = 0; i < ndim; ++i) pieces.push_back({i, 0});
  return Layout(std::move(pieces));
}

std::optional<Layout> Layout::parse(std::string_view text, std::string_view names) {
  std::vector<Piece> pieces;
  std::int64_t factor = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      factor = factor * 10 + (c - '0');
      if (factor > kMaxFactor) return std::nullopt;
      continue;
    }
    const std::size_t axis = names.find(upper(c));
    if (axis == std::string_view::npos || is_upper(c) != (factor == 0)) return std::nullopt;
    pieces.push_back({int(axis), factor});
    factor = 0;
  }
  // Each axis once, and at most one block of it.
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (pieces[i].axis == pieces[k].axis && (pieces[i].factor == 0) == (pieces[k].factor == 0)) return std::nullopt;
  const Layout made(std::move(pieces));
  return factor == 0 && made.ndim() == int(names.size()) ? std::optional(made) : std::nullopt;
}

std::string Layout::text(std::string_view names) const {
  std::string out;
  for (const Piece& p : pieces_) {
    const char c = names[std::size_t(p.axis)];
    out += p.factor == 0 ? std::string(1, c) : std::to_string(p.factor) + lower(c);
  }
  return out;
}

int Layout::ndim() const {
  return int(std::count_if(pieces_.begin(), pieces_.end(), [](const Piece& p) { return p.factor == 0; }));
}

bool Layout::is_split() const { return ndim() != int(pieces_.size()); }

std::int64_t Layout::place(std::int64_t axis) const {
  if (axis < 0) axis += ndim();
  const auto found = std::find(pieces_.begin(), pieces_.end(), Piece{int(axis), 0});
  return found - pieces_.begin();
}

bool Layout::splits(std::int64_t axis) const {
  if (axis < 0) axis += ndim();
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [axis](const Piece& p) { return p.axis == axis && p.factor != 0; });
}

bool Layout::divides(const Type* t) const {
  const auto* tensor = as<TensorType>(t);
  if (!tensor || !tensor->has_shape || tensor->ndim != ndim()) return false;
  return std::all_of(pieces_.begin(), pieces_.end(), [&](const Piece& p) {
    if (p.factor == 0) return true;
    const auto dim = const_int(tensor->shape[std::size_t(p.axis)]);
    return !dim || *dim % p.factor == 0;
  });
}

const Expr* convert_layout_of(Context& ctx, const Expr* e, const Layout& from, const Layout& to) {
  if (from == to) return e;
  if (!from.is_split() && !to.is_split()) {
    std::vector<std::int64_t> axes;
    for (const Layout::Piece& p : to.pieces()) axes.push_back(from.place(p.axis));
    return *ctx.call(op::PermuteDims, {e}, {ctx.named(op_attr::Axes, ctx.attr_ints(axes))});
  }
  std::vector<const Var*> indices;
  std::vector<const Expr*> whole(std::size_t(from.ndim()), nullptr);
  for (std::size_t i = 0; i < from.pieces().size(); ++i)
    indices.push_back(ctx.var("i" + std::to_string(i), ctx.int64()));
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    whole[axis] = indices[std::size_t(from.place(std::int64_t(axis)))];
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (const Layout::Piece& p = from.pieces()[i]; p.axis == int(axis) && p.factor != 0)
        whole[axis] = add(ctx, mul(ctx, whole[axis], ctx.i64(p.factor)), indices[i]);
  }
  std::vector<const Expr*> results;
  for (const Layout::Piece& p : to.pieces()) {
    const auto& all = to.pieces();
    const auto inner =
        std::find_if(all.begin(), all.end(), [&](const auto& q) { return q.axis == p.axis && q.factor != 0; });
    const Expr* value = whole[std::size_t(p.axis)];
    if (p.factor != 0)
      value = floor_mod(ctx, value, ctx.i64(p.factor));
    else if (inner != all.end())
      value = floor_div(ctx, value, ctx.i64(inner->factor));
    results.push_back(value);
  }
  const Attr* const map[] = {ctx.attr(static_cast<const Expr*>(ctx.lambda(indices, results)))};
  return *ctx.call(op::LayoutTransform, {e}, {ctx.named(op_attr::IndexMap, ctx.attr_opaque("T.index_map", map, {}))});
}

}  // namespace rldb::passes
