// Arguments of PyTorch's nodes, and calls of the bodies of ONNX operators.
#include "onnx/aten/aten.h"

#include <fmt/format.h>

#include "onnx/model.h"

namespace rldb::onnx::aten {

bool Aten::given(std::string_view name) const {
  const Argument* a = argument(name);
  return a && (a->is_list || (!a->items.empty() && a->items[0].kind != Item::Kind::None));
}

Value Aten::item_value(const Item& item) {
  switch (item.kind) {
    case Item::Kind::Tensor:
    case Item::Kind::Symbol:
      return std::size_t(item.number) < c.inputs.size() ? c.inputs[std::size_t(item.number)] : Value();
    case Item::Kind::Int:
    case Item::Kind::Truth: {
      const DType t = item.kind == Item::Kind::Int ? DType::Int(64) : DType::Bool();
      return {nullptr, std::make_shared<const Known>(Known{t, 0, {c.i64(item.number)}})};
    }
    case Item::Kind::Real:
      return of(c.scalar(DType::Float(64), item.real));
    case Item::Kind::None:
    case Item::Kind::Text:
      break;
  }
  return {};
}

Value Aten::value(std::string_view name) {
  const Argument* a = argument(name);
  if (a && a->items.size() == 1 && !a->is_list) return item_value(a->items[0]);
  fail(fmt::format("its argument `{}` is not one value", name));
  return {};
}

std::vector<Value> Aten::values(const Argument* list) {
  std::vector<Value> made;
  if (list)
    for (const Item& item : list->items) made.push_back(item_value(item));
  return made;
}

Value Aten::self_value() {
  const Argument* a = first();
  if (a && a->items.size() == 1 && !a->is_list) return item_value(a->items[0]);
  fail("it has no operand");
  return {};
}

const Expr* Aten::self() {
  const Value v = self_value();
  return good() ? take(c.tensor_of_value(v)) : nullptr;
}

const Expr* Aten::tensor(std::string_view name) {
  const Value v = value(name);
  return good() ? take(c.tensor_of_value(v)) : nullptr;
}

const Expr* Aten::tensor_as(std::string_view name, DType t) {
  constexpr std::int64_t kExact = std::int64_t(1) << 53;  // numbers up to it are exact in `lit`
  const Argument* a = argument(name);
  if (a && a->items.size() == 1) {
    const Item& i = a->items[0];
    if (i.kind == Item::Kind::Real && t.is_float()) return lit(t, i.real);
    const bool exact = i.number < kExact && i.number > -kExact;
    if ((i.kind == Item::Kind::Int && exact) || i.kind == Item::Kind::Truth) return lit(t, double(i.number));
  }
  return cast(tensor(name), t);
}

const Expr* Aten::size_of(const Item& item) {
  if (item.kind == Item::Kind::Int) return c.i64(item.number);
  const auto known = item.kind == Item::Kind::Symbol || item.kind == Item::Kind::Tensor
                         ? NodeContext::known_of(ctx, item_value(item))
                         : nullptr;
  if (known && known->items.size() == 1 && !known->dtype.is_float()) return known->items[0];
  return fail("a size of it is not known when the program is translated");
}

std::int64_t Aten::integer(std::string_view name, std::int64_t otherwise) {
  if (!given(name)) return otherwise;
  const Argument* a = argument(name);
  const bool plain = a->items.size() == 1 && a->items[0].kind == Item::Kind::Truth;
  const Expr* e = a->items.size() != 1 ? nullptr : plain ? c.i64(a->items[0].number) : size_of(a->items[0]);
  const auto n = e ? int_of(e) : std::nullopt;
  if (!n) fail(fmt::format("its argument `{}` is not a number that is known", name));
  return n.value_or(otherwise);
}

double Aten::real(std::string_view name, double otherwise) {
  if (!given(name)) return otherwise;
  const Argument* a = argument(name);
  if (a->items.size() == 1 && a->items[0].kind == Item::Kind::Real) return a->items[0].real;
  return double(integer(name, 0));
}

std::string Aten::text(std::string_view name, std::string_view otherwise) const {
  const Argument* a = argument(name);
  const bool has = a && a->items.size() == 1 && a->items[0].kind == Item::Kind::Text;
  return has ? a->items[0].text : std::string(otherwise);
}

Dims Aten::sizes(std::string_view name) {
  Dims made;
  if (const Argument* a = argument(name))
    for (const Item& item : a->items)
      if (item.kind != Item::Kind::None) made.push_back(size_of(item));
  return good() ? made : Dims();
}

Ints Aten::ints(std::string_view name, const Ints& otherwise) {
  if (!given(name)) return otherwise;
  Ints made;
  for (const Expr* e : sizes(name)) {
    const auto n = int_of(e);
    if (!n) fail(fmt::format("its argument `{}` has a size that is not known", name));
    made.push_back(n.value_or(0));
  }
  return made;
}

Ints Aten::per_axis(std::string_view name, std::size_t axes, const Ints& otherwise) {
  Ints made = ints(name, otherwise);
  if (made.empty()) made = otherwise;
  if (made.size() == 1) made.assign(axes, made[0]);
  if (made.size() != axes) fail(fmt::format("its argument `{}` is not of {} axes", name, axes));
  return made;
}

Ints Aten::axes(std::string_view name, const Expr* x) {
  const Ints given_axes = ints(name, {});
  Ints made;
  for (const std::int64_t a : given_axes) made.push_back(std::int64_t(axis(a, x)));
  return given_axes.empty() ? iota(0, std::int64_t(rank(x))) : made;
}

// ---- dtypes ----

namespace {

int category(DType t) { return t.is_bool() ? 0 : t.is_float() ? 2 : 1; }

DType wider(DType a, DType b) {
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (a == b) return a;
  if (a.is_float()) return a.bits == b.bits ? DType::Float(32) : a.bits > b.bits ? a : b;
  if (a.is_uint() == b.is_uint()) return a.bits > b.bits ? a : b;
  // An unsigned and a signed type: one that has the numbers of both.
  const DType with_sign = a.is_uint() ? b : a, without = a.is_uint() ? a : b;
  return with_sign.bits > without.bits ? with_sign : DType::Int(std::min(64, 2 * without.bits));
}

}  // namespace

DType Aten::promoted(const std::vector<std::string_view>& operands) {
  std::optional<DType> by_rank[3];  // of tensors, of tensors of rank 0, of numbers
  for (const std::string_view name : operands) {
    const Argument* a = argument(name);
    if (!a || a->items.size() != 1) {
      fail(fmt::format("its argument `{}` is not one value", name));
      return {};
    }
    const bool is_number = a->items[0].kind != Item::Kind::Tensor;
    const Value v = item_value(a->items[0]);
    DType t = v.known ? v.known->dtype : good() ? dtype(take(c.tensor_of_value(v))) : DType();
    if (is_number && t.is_float()) t = DType::Float(32);
    const std::size_t at = is_number ? 2 : (v.known ? v.known->rank == 0 : rank(v.expr) == 0) ? 1 : 0;
    by_rank[at] = by_rank[at] ? wider(*by_rank[at], t) : t;
  }
  std::optional<DType> made;
  for (const auto& t : by_rank)
    if (t && (!made || category(*t) > category(*made))) made = t;
  return made.value_or(DType::Float(32));
}

Value Aten::per_channel(std::string_view name, const Expr* x, double otherwise) {
  const Dims all = dims(x);
  if (good() && all.size() < 2) fail("its data has no channels");
  if (!good()) return {};
  return of(given(name) ? tensor(name) : full({all[1]}, dtype(x), otherwise));
}

// ---- makers ----

Value Aten::known(const Dims& dims) const {
  return {nullptr, std::make_shared<const Known>(Known{DType::Int(64), 1, dims})};
}

Value Aten::known(const Ints& values) {
  Dims dims;
  for (const std::int64_t v : values) dims.push_back(c.i64(v));
  return known(dims);
}

Values Aten::onnx_all(std::string_view op, const Values& inputs, const Attributes& attributes, int outputs) {
  if (!good()) return {};
  const OperatorRow* row = operator_row({}, std::string(op));
  if (!row || !row->body) {
    fail(fmt::format("ONNX's `{}` is not translated", op));
    return {};
  }
  pb::NodeProto node;
  std::map<std::string, double, std::less<>> exact;
  node.set_op_type(std::string(op));
  for (std::size_t i = 0; i < inputs.size(); ++i) node.add_input(fmt::format("operand {}", i));
  for (int i = 0; i < outputs; ++i) node.add_output(fmt::format("result {}", i));
  for (const Attribute& a : attributes) {
    auto& to = *node.add_attribute();
    to.set_name(std::string(a.name));
    if (const auto* n = std::get_if<std::int64_t>(&a.value)) to.set_i(*n);
    if (const auto* r = std::get_if<double>(&a.value)) {
      to.set_f(float(*r));
      exact.emplace(a.name, *r);
    }
    if (const auto* s = std::get_if<std::string>(&a.value)) to.set_s(*s);
    if (const auto* all = std::get_if<Ints>(&a.value))
      for (const std::int64_t v : *all) to.add_ints(v);
    if (const auto* all = std::get_if<Texts>(&a.value))
      for (const std::string& v : *all) to.add_strings(v);
  }
  NodeContext inner({c.ctx, c.blocks, c.kernels}, node);
  inner.read = c.read;
  inner.inputs = inputs;
  inner.opset = kNewestOpset;
  inner.target = row->target;
  inner.run_graph = c.run_graph;
  inner.exact_reals = std::move(exact);
  const Expr* made = take(row->body(inner));
  if (!good()) return {};
  if (!made && inner.result) return {{nullptr, inner.result}};
  if (!made) return inner.results;
  if (!ir::as<ir::Tuple>(made) && !ir::as<ir::TupleType>(made->type)) return {of(made)};
  Values all;
  for (const Expr* e : take(inner.fields_of(ir::as<ir::Tuple>(made) ? made : inner.bind(made)))) all.push_back(of(e));
  return all;
}

const Expr* Aten::onnx(std::string_view op, const Values& inputs, const Attributes& attributes) {
  const Values made = onnx_all(op, inputs, attributes, 1);
  return good() && !made.empty() ? take(c.tensor_of_value(made[0])) : nullptr;
}

Made Aten::give(Values values) {
  if (!good()) return done(nullptr);
  c.results = std::move(values);
  return nullptr;
}

}  // namespace rldb::onnx::aten
