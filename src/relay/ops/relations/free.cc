// Operators whose result axes are named, or counted, by more than their operands' shapes.
#include <algorithm>
#include <map>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

// The labels of `ij,jk->ik`, operand by operand, and of the result; nullopt if there are other characters.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::optional<Equation> read_equation(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != ' ') plain += c;
  Equation e;
  const std::size_t arrow = plain.find("->");
  std::string label_list = plain.substr(0, arrow);
  e.operands.emplace_back();
  for (const char c : label_list) {
    if (c == ',') {
      e.operands.emplace_back();
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      e.operands.back() += c;
    } else {
      return std::nullopt;
    }
  }
  if (arrow != std::string::npos) {
    e.result = plain.substr(arrow + 2);
    return e;
  }
  // Without an arrow: labels that occur once, in order.
  std::map<char, int> count;
  for (const char c : label_list)
    if (c != ',') ++count[c];
  for (const auto& [label, n] : count)
    if (n == 1) e.result += label;
  return e;
}

}  // namespace

Outcome Einsum(const Operands& o) {
  const auto tensors = o.tensors(0);
  if (!tensors) return Outcome::wait();
  const auto equation = read_equation(o.string(relay::field::Equation));
  if (!equation) return {};  // the context reports it
  if (equation->operands.size() != tensors->size())
    return Outcome::error("the equation has another number of operands than the tuple");
  std::map<char, Dim> dims;
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const std::string& labels = equation->operands[i];
    if (labels.size() != (*tensors)[i]->shape.size())
      return Outcome::error("an operand of the equation has another rank than its tensor");
    for (std::size_t d = 0; d < labels.size(); ++d) {
      const Dim& dim = (*tensors)[i]->shape[d];
      const auto [found, first] = dims.try_emplace(labels[d], dim);
      const auto both = broadcast(found->second, dim);
      if (!first && !both) return Outcome::error("an axis of the equation has two sizes");
      if (both) found->second = *both;
    }
  }
  Dims result;
  for (const char c : equation->result) {
    if (!dims.contains(c)) return Outcome::error("the result of the equation has an axis that no operand has");
    result.push_back(dims.at(c));
  }
  return Outcome::of(o.ctx.tensor(result, tensors->front()->dtype));
}

// The first axes of the data are replaced by those of the indices, whose shapes broadcast.
Outcome AdvIndex(const Operands& o) {
  const auto tensors = o.tensors(0);
  if (!tensors) return Outcome::wait();
  if (tensors->empty() || tensors->size() - 1 > tensors->front()->shape.size())
    return Outcome::error("the data, and no more indices than it has axes");
  std::optional<Dims> dims = Dims();
  for (std::size_t i = 1; i < tensors->size() && dims; ++i) dims = broadcast(Span<Dim>(*dims), (*tensors)[i]->shape);
  if (!dims) return Outcome::error("the shapes of the indices do not broadcast");
  const auto& data = tensors->front()->shape;
  dims->insert(dims->end(), data.begin() + std::ptrdiff_t(tensors->size() - 1), data.end());
  return Outcome::of(o.ctx.tensor(*dims, tensors->front()->dtype));
}

Outcome Searchsorted(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(1)->shape, o.dtype(relay::field::Dtype).value_or(DType::Int(32))));
}

// ---- operators with a static parameter as an operand ----

Outcome DynOneHot(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const auto axis = axis_of(o.integer(relay::field::Axis).value_or(-1), dims.size() + 1);
  if (!axis) return Outcome::error(out_of_range(*o.integer(relay::field::Axis), dims.size() + 1));
  dims.insert(dims.begin() + std::ptrdiff_t(*axis), Dim{});
  const auto dtype = o.dtype(relay::field::Dtype);
  const DType of_values = o.tensor(1) ? o.tensor(1)->dtype : DType::Float(32);
  return Outcome::of(o.ctx.tensor(dims, dtype.value_or(of_values)));
}

// Which axes are removed is not known, but how many is.
Outcome DynSqueeze(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto& axes = o.tensor(1)->shape;
  const std::size_t rank = o.tensor(0)->shape.size();
  if (axes.size() != 1 || !is_known(axes[0]))
    return Outcome::error("the axes are a tensor of rank 1, whose length is known");
  if (axes[0].value < 0 || std::size_t(axes[0].value) > rank) return Outcome::error("more axes than there are");
  return Outcome::of(o.ctx.tensor(Dims(rank - std::size_t(axes[0].value)), o.tensor(0)->dtype));
}

Outcome DynExpandDims(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  constexpr std::int64_t kMostAxes = 64;
  const std::int64_t count = o.integer(relay::field::NumNewaxis).value_or(1);
  if (count < 0 || count > kMostAxes) return Outcome::error("the number of new axes is out of range");
  return Outcome::of(o.ctx.tensor(Dims(o.tensor(0)->shape.size() + std::size_t(count)), o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
