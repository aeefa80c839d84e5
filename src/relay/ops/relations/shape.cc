// Operators that rearrange elements.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::relay::relations {

namespace {

// The product of dims; `?` when one is not known, or the product overflows.
Dim product(Span<Dim> dims) {
  Dim total = known(1);
  for (const Dim& d : dims)
    if (!is_known(d) || __builtin_mul_overflow(total.value, d.value, &total.value)) return Dim{};
  return total;
}

// Interprets the codes of `newshape` for the dims of the data.
class ReshapeCodes {
 public:
  ReshapeCodes(Dims in, std::vector<std::int64_t> codes, bool zero_is_zero)
      : in_(std::move(in)), codes_(std::move(codes)), zero_is_zero_(zero_is_zero) {}

  // Empty if it is valid.
  std::string run() {
    for (at_ = 0; at_ < codes_.size() && wrong_.empty(); ++at_) step(codes_[at_]);
    if (wrong_.empty()) infer();
    return wrong_;
  }
  const Dims& dims() const { return out_; }

 private:
  void step(std::int64_t code) {
    if (code > 0 || (code == 0 && zero_is_zero_)) {
      out_.push_back(known(code));
      ++taken_;
    } else if (code == 0) {
      out_.push_back(take());
    } else if (code == -1) {
      if (inferred_) wrong_ = "`newshape` has more than one -1";
      inferred_ = out_.size();
      out_.push_back(Dim{});
      ++taken_;
    } else if (code == -2) {
      while (taken_ < in_.size()) out_.push_back(in_[taken_++]);
    } else if (code == -3) {
      const Dim a = take(), b = take();
      out_.push_back(product(Dims{a, b}));
    } else if (code == -4) {
      split();
    } else {
      wrong_ = fmt::format("`newshape` has {}, which means nothing", code);
    }
  }

  Dim take() {
    if (taken_ < in_.size()) return in_[taken_++];
    wrong_ = "`newshape` asks for more axes than the data has";
    return Dim{};
  }

  void split() {
    if (at_ + 2 >= codes_.size()) {
      wrong_ = "-4 in `newshape` is followed by the two parts of an axis";
      return;
    }
    const Dim d = take();
    std::int64_t a = codes_[at_ + 1], b = codes_[at_ + 2];
    at_ += 2;
    if (a == -1 && b == -1) {
      wrong_ = "only one of the two parts after -4 may be -1";
      return;
    }
    Dim first = known(a), second = known(b);
    for (auto [open, other, target] : {std::tuple(a, b, &first), std::tuple(b, a, &second)}) {
      if (open != -1) continue;
      *target = is_known(d) && other > 0 && d.value % other == 0 ? known(d.value / other) : Dim{};
      if (is_known(d) && !is_known(*target))
        wrong_ = fmt::format("{} elements cannot be split into parts of {}", d.value, other);
    }
    if (is_known(d) && is_known(first) && is_known(second) && first.value * second.value != d.value)
      wrong_ = fmt::format("{} elements cannot be split into {} x {}", d.value, first.value, second.value);
    out_.push_back(first);
    out_.push_back(second);
  }

  // Infers the axis of -1, and the element counts.
  void infer() {
    const Dim total = product(in_);
    Dims rest = out_;
    if (inferred_) rest.erase(rest.begin() + std::ptrdiff_t(*inferred_));
    const Dim others = product(rest);
    if (!is_known(total) || !is_known(others)) return;
    if (!inferred_) {
      if (total.value != others.value)
        wrong_ = fmt::format("{} has {} elements, and {} has {}", shape_text(in_), total.value, shape_text(out_),
                             others.value);
      return;
    }
    if (others.value == 0 || total.value % others.value != 0) {
      wrong_ = fmt::format("{} elements cannot be divided by {}", total.value, others.value);
      return;
    }
    out_[*inferred_] = known(total.value / others.value);
  }

  Dims in_;
  std::vector<std::int64_t> codes_;
  bool zero_is_zero_;
  Dims out_;
  std::size_t at_ = 0, taken_ = 0;
  std::optional<std::size_t> inferred_;
  std::string wrong_;
};

}  // namespace

Outcome Reshape(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto codes = o.ints(relay::field::Newshape);
  if (!codes) return Outcome::error("the attribute `newshape` is a list of integers");
  Dims in = dims_of(*o.tensor(0));
  std::vector<std::int64_t> order = *codes;
  const bool from_right = o.op.id == op::ContribReverseReshape;
  if (from_right) {
    std::reverse(in.begin(), in.end());
    std::reverse(order.begin(), order.end());
  }
  ReshapeCodes reshape(in, order, o.flag(relay::field::Allowzero));
  if (std::string wrong = reshape.run(); !wrong.empty()) return Outcome::error(std::move(wrong));
  Dims dims = reshape.dims();
  if (from_right) std::reverse(dims.begin(), dims.end());
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome ReshapeLike(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const Dims x = dims_of(*o.tensor(0)), y = dims_of(*o.tensor(1));
  const auto bound = [](std::optional<std::int64_t> given, std::size_t fallback, std::size_t rank) {
    std::int64_t v = given.value_or(std::int64_t(fallback));
    if (v < 0) v += std::int64_t(rank);
    return std::size_t(std::clamp<std::int64_t>(v, 0, std::int64_t(rank)));
  };
  const std::size_t xb = bound(o.integer(relay::field::LhsBegin), 0, x.size()),
                    xe = bound(o.integer(relay::field::LhsEnd), x.size(), x.size());
  const std::size_t yb = bound(o.integer(relay::field::RhsBegin), 0, y.size()),
                    ye = bound(o.integer(relay::field::RhsEnd), y.size(), y.size());
  if (xb > xe || yb > ye) return Outcome::error("a range of axes ends before it begins");
  Dims dims(x.begin(), x.begin() + std::ptrdiff_t(xb));
  dims.insert(dims.end(), y.begin() + std::ptrdiff_t(yb), y.begin() + std::ptrdiff_t(ye));
  dims.insert(dims.end(), x.begin() + std::ptrdiff_t(xe), x.end());
  const Dim before = product(x), after = product(dims);
  if (is_known(before) && is_known(after) && before.value != after.value)
    return Outcome::error(
        fmt::format("{} has {} elements, and {} has {}", shape_text(x), before.value, shape_text(dims), after.value));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Transpose(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const Dims in = dims_of(*o.tensor(0));
  const auto axes = o.ints(relay::field::Axes);
  Dims dims;
  if (!axes) {
    dims.assign(in.rbegin(), in.rend());
    return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
  }
  std::vector<bool> used(in.size());
  for (const std::int64_t axis : *axes) {
    const auto at = axis_of(axis, in.size());
    if (!at) return Outcome::error(out_of_range(axis, in.size()));
    if (used[*at]) return Outcome::error(fmt::format("axis {} is named twice", axis));
    used[*at] = true;
    dims.push_back(in[*at]);
  }
  if (dims.size() != in.size()) return Outcome::error(fmt::format("`axes` names each of the {} axes once", in.size()));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome ExpandDims(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const std::int64_t axis = o.integer(relay::field::Axis).value_or(0),
                     count = o.integer(relay::field::NumNewaxis).value_or(1);
  const auto at = axis_of(axis, dims.size() + 1);
  if (!at) return Outcome::error(fmt::format("a new axis cannot be at {} in a tensor of rank {}", axis, dims.size()));
  if (count < 0 || count > 1000) return Outcome::error("`num_newaxis` is not negative, and at most 1000");
  dims.insert(dims.begin() + std::ptrdiff_t(*at), std::size_t(count), known(1));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Squeeze(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const Dims in = dims_of(*o.tensor(0));
  std::vector<bool> drop(in.size());
  const auto axes = o.ints(relay::field::Axis);
  for (std::size_t i = 0; i < in.size() && !axes; ++i) {
    if (!is_known(in[i])) return Outcome::error("which axes have one element is known only with `axis`");
    drop[i] = is_one(in[i]);
  }
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
    const auto at = axis_of(axis, in.size());
    if (!at) return Outcome::error(out_of_range(axis, in.size()));
    if (is_known(in[*at]) && !is_one(in[*at]))
      return Outcome::error(fmt::format("axis {} has {} elements, but 1 is expected", axis, in[*at].value));
    drop[*at] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!drop[i]) dims.push_back(in[i]);
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

namespace {

// The fields of the only operand: tensors of one dtype and rank.
std::optional<Outcome> need_alike(const Operands& o, std::vector<const TensorType*>& fields) {
  if (!o.types.empty() && o.types[0]->kind != TypeKind::Hole && o.types[0]->kind != TypeKind::Tuple)
    return Outcome::error("the operand is a tuple");
  const auto found = o.tensors(0);
  if (!found) return Outcome::wait();
  fields = *found;
  if (fields.empty()) return Outcome::error("the tuple has no fields");
  for (const TensorType* t : fields)
    if (t->dtype != fields[0]->dtype || t->shape.size() != fields[0]->shape.size())
      return Outcome::error("the fields have one dtype and one rank");
  return std::nullopt;
}

std::optional<Dim> same_dim(const Dim& a, const Dim& b) {
  if (!is_known(a)) return b;
  if (is_known(b) && a.value != b.value) return std::nullopt;
  return a;
}

}  // namespace

Outcome Concatenate(const Operands& o) {
  std::vector<const TensorType*> fields;
  if (auto early = need_alike(o, fields)) return *early;
  Dims dims = dims_of(*fields[0]);
  const auto axis = axis_of(o.integer(relay::field::Axis).value_or(0), dims.size());
  if (!axis) return Outcome::error(out_of_range(o.integer(relay::field::Axis).value_or(0), dims.size()));
  for (std::size_t f = 1; f < fields.size(); ++f) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Dim& d = fields[f]->shape[i];
      if (i == *axis) {
        dims[i] = is_known(dims[i]) && is_known(d) ? known(dims[i].value + d.value) : Dim{};
      } else if (const auto same = same_dim(dims[i], d)) {
        dims[i] = *same;
      } else {
        return Outcome::error(fmt::format("the fields differ at axis {}: {} and {}", i, dims[i].value, d.value));
      }
    }
  }
  return Outcome::of(o.ctx.tensor(dims, fields[0]->dtype));
}

Outcome Stack(const Operands& o) {
  std::vector<const TensorType*> fields;
  if (auto early = need_alike(o, fields)) return *early;
  Dims dims = dims_of(*fields[0]);
  for (std::size_t f = 1; f < fields.size(); ++f)
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto same = same_dim(dims[i], fields[f]->shape[i]);
      if (!same) return Outcome::error(fmt::format("the fields differ at axis {}", i));
      dims[i] = *same;
    }
  const auto axis = axis_of(o.integer(relay::field::Axis).value_or(0), dims.size() + 1);
  if (!axis) return Outcome::error(out_of_range(o.integer(relay::field::Axis).value_or(0), dims.size() + 1));
  dims.insert(dims.begin() + std::ptrdiff_t(*axis), known(std::int64_t(fields.size())));
  return Outcome::of(o.ctx.tensor(dims, fields[0]->dtype));
}

namespace {

// The parts of an axis that is split at indices.
std::optional<Outcome> cut(const Dim& whole, const std::vector<std::int64_t>& points, std::vector<Dim>& parts) {
  std::int64_t begin = 0;
  for (const std::int64_t at : points) {
    if (at < begin || (is_known(whole) && at > whole.value))
      return Outcome::error("the points of the cuts ascend, within the axis");
    parts.push_back(known(at - begin));
    begin = at;
  }
  parts.push_back(is_known(whole) ? known(whole.value - begin) : Dim{});
  return std::nullopt;
}

}  // namespace

Outcome Split(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const auto axis = axis_of(o.integer(relay::field::Axis).value_or(0), dims.size());
  if (!axis) return Outcome::error(out_of_range(o.integer(relay::field::Axis).value_or(0), dims.size()));
  const AttrValue* how = o.attr(relay::field::IndicesOrSections);
  std::vector<Dim> parts;
  const Dim whole = dims[*axis];
  if (how && how->kind == AttrKind::Int) {
    const std::int64_t n = how->integer;
    if (n <= 0 || n > 100000 || (is_known(whole) && whole.value % n != 0))
      return Outcome::error(fmt::format("{} elements cannot be split into {} equal parts",
                                        is_known(whole) ? std::to_string(whole.value) : "?", n));
    parts.assign(std::size_t(n), is_known(whole) ? known(whole.value / n) : Dim{});
  } else if (const auto points = o.ints(relay::field::IndicesOrSections)) {
    if (auto wrong = cut(whole, *points, parts)) return *wrong;
  } else {
    return Outcome::error("`indices_or_sections` is an integer or a list of integers");
  }
  std::vector<const Type*> fields;
  for (const Dim& d : parts) {
    dims[*axis] = d;
    fields.push_back(o.ctx.tensor(dims, o.tensor(0)->dtype));
  }
  return Outcome::of(o.ctx.tuple_type(fields));
}

Outcome Tile(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  auto reps = o.ints(relay::field::Reps);
  if (!reps || reps->empty()) return Outcome::error("`reps` is a list of integers");
  Dims dims = dims_of(*o.tensor(0));
  while (reps->size() < dims.size()) reps->insert(reps->begin(), 1);
  while (dims.size() < reps->size()) dims.insert(dims.begin(), known(1));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if ((*reps)[i] < 0) return Outcome::error("repetitions are not negative");
    if (is_known(dims[i]) && __builtin_mul_overflow(dims[i].value, (*reps)[i], &dims[i].value))
      return Outcome::error("the result is too large");
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Repeat(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::int64_t times = o.integer(relay::field::Repeats).value_or(1);
  Dims dims = dims_of(*o.tensor(0));
  if (times < 1) return Outcome::error("`repeats` is positive");
  std::size_t at = 0;
  if (const auto axis = o.integer(relay::field::Axis)) {
    const auto found = axis_of(*axis, dims.size());
    if (!found) return Outcome::error(out_of_range(*axis, dims.size()));
    at = *found;
  } else {
    dims = {product(dims)};
  }
  if (is_known(dims[at]) && __builtin_mul_overflow(dims[at].value, times, &dims[at].value))
    return Outcome::error("the result is too large");
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome ReverseSequence(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  for (const std::string_view name : {"seq_axis", "batch_axis"})
    if (!axis_of(o.integer(name).value_or(0), o.tensor(0)->shape.size()))
      return Outcome::error(out_of_range(o.integer(name).value_or(0), o.tensor(0)->shape.size()));
  return Outcome::of(o.types[0]);
}

Outcome Meshgrid(const Operands& o) {
  const auto fields = o.tensors(0);
  if (!fields) return Outcome::wait();
  Dims dims;
  for (const TensorType* t : *fields) {
    if (t->shape.size() > 1) return Outcome::error("the fields have rank 0 or 1");
    dims.push_back(t->shape.empty() ? known(1) : t->shape[0]);
  }
  if (o.string(relay::field::Indexing) == "xy" && dims.size() >= 2) std::swap(dims[0], dims[1]);
  std::vector<const Type*> made;
  for (const TensorType* t : *fields) made.push_back(o.ctx.tensor(dims, t->dtype));
  return Outcome::of(o.ctx.tuple_type(made));
}

}  // namespace rldb::relay::relations
