// Operators that rearrange elements.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "relay/to_relax/translations.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/layout.h"

namespace rldb::to_relax::translations {

namespace {

// The codes of `newshape` for the dims of the data: the symbolic counterpart of inference.
class ReshapeCodes {
 public:
  ReshapeCodes(OpCall& o, Dims in, Ints codes) : o_(o), in_(std::move(in)), codes_(std::move(codes)) {}

  Dims run() {
    const bool zero_is_zero = o_.flag(relay::field::Allowzero);
    for (std::size_t at = 0; at < codes_.size(); ++at) {
      const std::int64_t code = codes_[at];
      if (code > 0 || (code == 0 && zero_is_zero)) {
        out_.push_back(o_.i64(code));
        ++taken_;
      } else if (code == 0) {
        out_.push_back(take());
      } else if (code == -1) {
        inferred_ = out_.size();
        out_.push_back(nullptr);
        ++taken_;
      } else if (code == -2) {
        while (taken_ < in_.size()) out_.push_back(take());
      } else if (code == -3) {
        const Expr* first = take();
        out_.push_back(ir::mul(o_.ctx, first, take()));
      } else if (code == -4 && at + 2 < codes_.size()) {
        split(codes_[at + 1], codes_[at + 2]);
        at += 2;
      }
    }
    infer();
    return out_;
  }

 private:
  const Expr* take() { return taken_ < in_.size() ? in_[taken_++] : o_.i64(1); }
  void split(std::int64_t a, std::int64_t b) {
    const Expr* d = take();
    out_.push_back(a == -1 ? divided(d, o_.i64(b)) : o_.i64(a));
    out_.push_back(b == -1 ? divided(d, o_.i64(a)) : o_.i64(b));
  }
  void infer() {
    if (!inferred_) return;
    Dims others = out_;
    others.erase(others.begin() + std::ptrdiff_t(*inferred_));
    // Factors on both sides cancel.
    Dims total = in_;
    for (const Expr*& d : others) {
      const auto same = std::find_if(total.begin(), total.end(), [&](const Expr* t) { return o_.same_dim(t, d); });
      if (same == total.end()) continue;
      total.erase(same);
      d = o_.i64(1);
    }
    out_[*inferred_] = divided(ir::product(o_.ctx, total), ir::product(o_.ctx, others));
  }
  const Expr* divided(const Expr* a, const Expr* b) {
    return ir::Analyzer(o_.ctx).simplify(ir::floor_div(o_.ctx, a, b));
  }

  OpCall& o_;
  Dims in_;
  Ints codes_;
  Dims out_;
  std::size_t taken_ = 0;
  std::optional<std::size_t> inferred_;
};

}  // namespace

Made reshape_to(OpCall& o, Ints codes, bool from_right) {
  RLDB_TRY(Dims in, o.dims(0));
  if (from_right) {
    std::reverse(in.begin(), in.end());
    std::reverse(codes.begin(), codes.end());
  }
  Dims dims = ReshapeCodes(o, in, codes).run();
  if (from_right) std::reverse(dims.begin(), dims.end());
  return o.call(op::Reshape, {o.arg(0), o.ctx.shape(dims)});
}

Made reshape(OpCall& o) {
  const auto codes = o.ints(relay::field::Newshape);
  if (!codes) return refuse("its newshape is not a list of integers");
  return reshape_to(o, *codes, false);
}

Made reverse_reshape(OpCall& o) {
  const auto codes = o.ints(relay::field::Newshape);
  if (!codes) return refuse("its newshape is not a list of integers");
  return reshape_to(o, *codes, true);
}

// The axes lhs_begin .. lhs_end are replaced by those of the other tensor from rhs_begin to rhs_end.
Made reshape_like(OpCall& o) {
  RLDB_TRY(const Dims x, o.dims(0));
  RLDB_TRY(const Dims y, o.dims(1));
  const auto bound = [&](std::string_view name, std::size_t fallback, std::size_t rank) {
    std::int64_t v = o.integer(name).value_or(std::int64_t(fallback));
    if (v < 0) v += std::int64_t(rank);
    return std::ptrdiff_t(std::clamp<std::int64_t>(v, 0, std::int64_t(rank)));
  };
  Dims dims(x.begin(), x.begin() + bound("lhs_begin", 0, x.size()));
  dims.insert(dims.end(), y.begin() + bound("rhs_begin", 0, y.size()),
              y.begin() + bound("rhs_end", y.size(), y.size()));
  dims.insert(dims.end(), x.begin() + bound("lhs_end", x.size(), x.size()), x.end());
  return o.call(op::Reshape, {o.arg(0), o.ctx.shape(dims)});
}

Made transpose(OpCall& o) {
  const auto axes = o.ints(relay::field::Axes);
  return o.call(op::PermuteDims, {o.arg(0)}, {{op_attr::Axes, axes ? o.ints_attr(*axes) : o.ctx.attr_none()}});
}

Made expand_dims_at(OpCall& o, std::int64_t axis, std::int64_t count) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const std::size_t at, o.axis(axis, dims.size() + 1));
  return o.expand(o.arg(0), iota(std::int64_t(at), std::int64_t(at) + count));
}

Made expand_dims(OpCall& o) {
  return expand_dims_at(o, o.integer(relay::field::Axis).value_or(0), o.integer(relay::field::NumNewaxis).value_or(1));
}

// An axis that is not known to have one element is checked.
Made squeeze_axes(OpCall& o, const std::optional<Ints>& axes) {
  if (!axes) return o.call(op::Squeeze, {o.arg(0)});
  RLDB_TRY(const Dims dims, o.dims(0));
  const Expr* x = o.arg(0);
  for (const std::int64_t a : *axes) {
    RLDB_TRY(const std::size_t at, o.axis(a, dims.size()));
    x = o.with_dim(x, at, o.i64(1));
  }
  return o.call(op::Squeeze, {x}, {{op_attr::Axis, o.ints_attr(*axes)}});
}
Made squeeze(OpCall& o) { return squeeze_axes(o, o.ints(relay::field::Axis)); }

namespace {

// Fields whose dims agree except along `free`.
ir::Result<Exprs> aligned_fields(OpCall& o, std::optional<std::size_t> free) {
  RLDB_TRY(Exprs items, o.fields(0));
  if (items.empty()) return refuse("its tuple has no fields");
  for (Expr const*& e : items) {
    RLDB_TRY_VOID(o.tensor_of(e));
  }
  RLDB_TRY(const Dims first, o.dims_of(items[0]));
  for (std::size_t d = 0; d < first.size(); ++d) {
    if (d == free) continue;
    // A number is the most precise.
    const Expr* wanted = first[d];
    for (const Expr* e : items) {
      RLDB_TRY(const Dims dims, o.dims_of(e));
      if (int_of(dims[d])) wanted = dims[d];
    }
    for (Expr const*& e : items) e = o.with_dim(e, d, wanted);
  }
  return items;
}

}  // namespace

Made concatenate(OpCall& o) {
  RLDB_TRY(const Exprs fields, o.fields(0));
  if (fields.empty()) return refuse("its tuple has no fields");
  RLDB_TRY(const Dims dims, o.dims_of(fields[0]));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(0), dims.size()));
  o.args[0] = o.ctx.tuple(fields);
  RLDB_TRY(const Exprs items, aligned_fields(o, axis));
  return o.call(op::Concat, {o.ctx.tuple(items)}, {{op_attr::Axis, o.ctx.attr(std::int64_t(axis))}});
}

Made stack(OpCall& o) {
  RLDB_TRY(const Exprs items, aligned_fields(o, std::nullopt));
  return o.call(op::Stack, {o.ctx.tuple(items)},
                {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(0))}});
}

Made split(OpCall& o) {
  const relay::AttrValue* how = o.attr(relay::field::IndicesOrSections);
  const ir::Attr* parts = nullptr;
  if (how && how->kind == relay::AttrKind::Int)
    parts = o.ctx.attr(how->integer);
  else if (const auto points = o.ints(relay::field::IndicesOrSections))
    parts = o.ints_attr(*points);
  if (!parts) return refuse("its indices_or_sections is neither an integer nor a list of integers");
  return o.call(
      op::Split, {o.arg(0)},
      {{op_attr::IndicesOrSections, parts}, {op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(0))}});
}

Made tile(OpCall& o) {
  return o.call(op::Tile, {o.arg(0)}, {{op_attr::Repeats, o.ints_attr(o.ints(relay::field::Reps).value_or(Ints{1}))}});
}

Made repeat(OpCall& o) {
  const auto axis = o.integer(relay::field::Axis);
  return o.call(op::Repeat, {o.arg(0)},
                {{op_attr::Repeats, o.ctx.attr(o.integer(relay::field::Repeats).value_or(1))},
                 {op_attr::Axis, axis ? o.ctx.attr(*axis) : o.ctx.attr_none()}});
}

Made reverse(OpCall& o) {
  return o.call(op::Flip, {o.arg(0)}, {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(0))}});
}

Made reverse_sequence(OpCall& o) {
  return o.call(op::ReverseSequence, o.args,
                {{op_attr::SeqAxis, o.ctx.attr(o.integer(relay::field::SeqAxis).value_or(1))},
                 {op_attr::BatchAxis, o.ctx.attr(o.integer(relay::field::BatchAxis).value_or(0))}});
}

// Fields of rank 0 count as one element.
Made meshgrid(OpCall& o) {
  RLDB_TRY(Exprs items, o.fields(0));
  for (Expr const*& e : items) {
    RLDB_TRY(const ir::TensorType* t, o.tensor_of(e));
    if (t->ndim == 0) {
      RLDB_TRY(e, o.expand(e, {0}));
    }
  }
  return o.call(op::Meshgrid, {o.ctx.tuple(items)},
                {{op_attr::Indexing, o.ctx.attr(o.string(relay::field::Indexing))}});
}

Made batch_flatten(OpCall& o) { return o.call(op::NnBatchFlatten, {o.arg(0)}); }

// Inner axes are merged with their outer ones, then split and moved to match the target; an incomplete inner axis is
// padded with zeros.
Made relaid(OpCall& o, const Expr* data, std::string_view source, std::string_view wanted) {
  const auto from = relay::axes_of_layout(source), to = relay::axes_of_layout(wanted);
  RLDB_TRY(const Dims dims, o.dims_of(data));
  if (!from || !to || from->size() != dims.size()) return refuse("its layouts cannot be read");
  Ints joined;
  Dims whole;
  std::string letters;
  for (const relay::LayoutAxis& a : *from) {
    if (a.inner) continue;
    Dims parts;
    for (std::size_t i = 0; i < from->size(); ++i) {
      if ((*from)[i].letter != a.letter) continue;
      joined.push_back(std::int64_t(i));
      parts.push_back(dims[i]);
    }
    letters += a.letter;
    whole.push_back(ir::product(o.ctx, parts));
  }
  RLDB_TRY(const Expr* ordered, o.permute(data, joined));
  RLDB_TRY(const Expr* x, o.reshape(ordered, whole));
  Dims split;
  Ints pads, target(to->size());
  bool padded = false;
  for (std::size_t k = 0; k < letters.size(); ++k) {
    std::int64_t factor = 1;
    std::optional<std::size_t> inner, outer;
    for (std::size_t i = 0; i < to->size(); ++i) {
      if ((*to)[i].letter != letters[k]) continue;
      ((*to)[i].inner ? inner : outer) = i;
      if ((*to)[i].inner) factor = (*to)[i].factor;
    }
    if (!outer) return refuse(fmt::format("the layout {} has no axis {}", wanted, letters[k]));
    const auto size = int_of(whole[k]);
    const std::int64_t rest = size ? (factor - *size % factor) % factor : 0;
    if (!size && factor > 1) return refuse("the size of an axis that is split is not known");
    pads.insert(pads.end(), {0, rest});
    padded = padded || rest > 0;
    target[*outer] = std::int64_t(split.size());
    split.push_back(inner ? o.i64((*size + rest) / factor) : whole[k]);
    if (inner) {
      target[*inner] = std::int64_t(split.size());
      split.push_back(o.i64(factor));
    }
  }
  if (split.size() != to->size()) return refuse("its layouts have different axes");
  if (padded) {
    RLDB_TRY(x, o.emit(op::NnPad, {x}, {{op_attr::PadWidth, o.ints_attr(pads)}, {op_attr::PadValue, o.ctx.attr(0.0)}}));
  }
  RLDB_TRY(const Expr* parts, o.reshape(x, split));
  return o.permute(parts, target);
}

Made layout_transform(OpCall& o) {
  return relaid(o, o.arg(0), o.string(relay::field::SrcLayout), o.string(relay::field::DstLayout));
}

}  // namespace rldb::to_relax::translations
